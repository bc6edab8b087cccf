"""An export of one channel on this disk, with what can happen to it: a world of the contract suite."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from ctxsync.connectors.base import Options
from ctxsync.connectors.slack_export import SlackExportConnector

if TYPE_CHECKING:
    from pathlib import Path

    from ctxsync.connectors.base import Connector

CHANNEL = "C0GARDEN1"
START = 1_700_006_400  # 2023-11-15, 00:00 UTC
BAD = "2023-11-01"


class SlackFolder:
    """Days in a folder by the channel's id, and no lists of people and channels: so it is one stream."""

    kind = "slack-export"

    def __init__(self, folder: Path, *, name: str, now: int, batch: int) -> None:
        self.root = folder / "export"
        (self.root / CHANNEL).mkdir(parents=True)
        self.name, self.now, self.batch = name, now, batch
        self.messages: list[dict[str, Any]] = []
        self.count = self.writes = 0
        self.extra: dict[str, Any] = {}

    def connector(self, **options: Any) -> Connector:
        settings: dict[str, Any] = {"path": str(self.root)}
        return SlackExportConnector(self.name, settings, Options(**{"now": self.now, **options}), batch=self.batch)

    def put(self, day: str, data: bytes) -> None:
        path = self.root / CHANNEL / f"{day}.json"
        path.write_bytes(data)
        self.writes += 1
        os.utime(path, (START + self.writes, START + self.writes))

    def write(self) -> None:
        """Write every day of which a message ever was; eight messages are a day."""
        for day in range((self.count + 7) // 8):
            held = [{**message, **self.extra} for message in self.messages if message["number"] // 8 == day]
            text = json.dumps([{k: v for k, v in message.items() if k != "number"} for message in held])
            self.put(f"2023-11-{15 + day}", text.encode())

    def add(self, count: int, title: str = "") -> None:
        for number in range(count):
            day, hour = divmod(self.count, 8)
            self.messages.append(
                {
                    "type": "message",
                    "user": "U0ROBIN01",
                    "team": "T0GARDEN1",
                    "ts": f"{START + 86_400 * day + 3_600 * hour}.{self.count:06}",
                    "text": (not number and title) or f"Message {self.count} for <@U0ROSA001> &amp; others",
                    "number": self.count,
                }
            )
            self.count += 1
        self.write()

    def edit(self) -> None:
        self.messages[0] |= {"text": "other words", "edited": {"user": "U0ROBIN01", "ts": "1700092800.000000"}}
        self.write()

    def remove(self, count: int) -> None:
        del self.messages[-count:]
        self.write()

    def stir(self) -> None:
        self.extra = {"client_msg_id": str(self.writes), "reply_count": 2, "blocks": [{"block_id": str(self.writes)}]}
        self.write()

    def spoil(self) -> None:
        self.put(BAD, b'[{"type": "message", "user": "U0ROBIN01", "ts": "1698796800.000000", "text": "brok')

    def mend(self) -> None:
        self.put(BAD, b'[{"type": "message", "user": "U0ROBIN01", "ts": "1698796800.000000", "text": "whole"}]')

    def shock(self) -> None:
        self.put(
            "2023-10-31",
            b'[{"type": "message", "ts": "1698710400.000001", "user": "\\ud800", "username": "\x1b[31m\\r\\n\\u0000",'
            b' "text": "\\ud800 \\u001b]0;x\\u0007 \xff\xfe <@> <|> <!date^99999999999999> \xed\xa0\x80 &#x1F600;'
            b' <https://\\ud800|\\udfff>", "reactions": [{"name": "\\udfff", "count": 1e400}, 7], "files": [{"name":'
            b' "\\ud800", "size": -1}], "blocks": {"blocks": 1}, "attachments": [[], {"text": "\\ud800", "fields": 3}]}]',
        )
