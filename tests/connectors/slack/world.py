"""A workspace of one channel behind a real server, with what can happen to it: a world of the contract suite.

The contract speaks of a root on a disk. Here it is a folder without which the server answers no call, and a part of
the API's address, so that messages name it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ctxsync.connectors.base import Options, Stream
from ctxsync.connectors.slack import SlackConnector
from ctxsync.connectors.slack import message as parser
from ctxsync.connectors.slack.api import Timing
from ctxsync.errors import BadItem
from tests.connectors.slack.server import Refusal, Server, Workspace, error

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from ctxsync.connectors.base import Connector, Item

TOKEN = "env:CTXSYNC_TEST_SLACK_TOKEN"
ROOM = "C01"
BAD = "what the parser fails at"

_read = parser.message_item


def _failing(message: Mapping[str, object], **more: Any) -> Item | None:
    if message.get("text") == BAD:
        raise BadItem("It cannot be read.")
    return _read(message, **more)


class _Channels(SlackConnector):
    """The workspace without its directory, which is no message and no stream like the others."""

    def discover(self) -> Iterator[Stream]:
        _, *channels = super().discover()
        yield from channels


class _Served(Workspace):
    def __init__(self, root: Path) -> None:
        super().__init__()
        self.root = root

    def answer(self, method: str, arguments: dict[str, str], token: str) -> Refusal:
        if not (self.root / "workspace.json").is_file():
            return error("workspace_not_mounted")
        return super().answer(method, arguments, token)


class SlackWorkspace:
    kind = "slack"
    standing = 1  # the directory

    def __init__(self, folder: Path, *, name: str, now: int, batch: int) -> None:
        self.root = folder / "workspace"
        self.root.mkdir()
        (self.root / "workspace.json").write_text(json.dumps({"team": "Harbour"}))
        self.name, self.now, self.batch = name, now, batch
        self.workspace = _Served(self.root)
        self.workspace.room(ROOM)
        self.server = Server(self.workspace)
        self.server.__enter__()
        self.url = self.server.url.removesuffix("/api/") + f"{self.root}/api/"
        # A whole pipeline has the real time; what the world adds is older than the usual window by then.
        self.options = {"token": TOKEN, "api_url": self.url, "lookback_days": 3650}
        self.said: list[str] = []
        self.bad = ""

    def close(self) -> None:
        parser.message_item = _read
        self.server.__exit__()

    def connector(self, **options: Any) -> Connector:
        clock = self.workspace.clock
        return _Channels(
            self.name,
            {"token": TOKEN, "api_url": self.url},
            Options(**{"now": self.now, **options}),
            batch=self.batch,
            timing=Timing(clock, clock.sleep),
        )

    def add(self, count: int, title: str = "") -> None:
        self.said += [self.workspace.post(ROOM, title if title and not number else "") for number in range(count)]

    def edit(self) -> None:
        self.workspace.edit(ROOM, self.said[0], "other words")

    def remove(self, count: int) -> None:
        for _ in range(count):
            self.workspace.delete(ROOM, self.said.pop())

    def stir(self) -> None:
        for ts in self.said:
            self.workspace.rooms[ROOM].messages[ts] |= {"client_msg_id": f"another-{ts}", "is_starred": True}

    def spoil(self) -> None:
        """Say something that the parser fails at: nothing that Slack sends is too bad for it by itself."""
        self.bad = self.workspace.post(ROOM, BAD)
        parser.message_item = _failing

    def mend(self) -> None:
        self.workspace.edit(ROOM, self.bad, "words")

    def shock(self) -> None:
        self.workspace.post(
            ROOM,
            "\ud800 \x1b]0;x\x07 <@> <|> <!date^99999999999999> &#x1F600; <https://\ud800|\udfff>\r\n\x00",
            user="U\ud800",
            blocks={"blocks": 1},
            attachments=[[], {"text": "\ud800", "fields": 3}],
            files=[{"name": "\ud800", "size": -1}],
        )
