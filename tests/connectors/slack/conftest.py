"""A workspace behind a real server, and a reader that folds what the connector yields as the log would."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.connectors.base import (
    Batch,
    Change,
    Item,
    Json,
    Observed,
    Options,
    Quarantined,
    Released,
    Sighted,
    Stream,
    Unsighted,
    item_fingerprint,
)
from ctxsync.connectors.slack import SlackConnector
from ctxsync.connectors.slack.api import Timing
from ctxsync.errors import SourceError
from tests.connectors.slack.server import BOT_TOKEN, NOW, TEAM, Server, Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MINUTE, HOUR, DAY = 60, 3600, 86_400  # seconds


@dataclass
class Reader:
    """Reads a workspace again and again, and keeps what the log would. `now` is in seconds."""

    url: str
    workspace: Workspace
    settings: dict[str, Json] = field(default_factory=dict)
    now: float = NOW
    batch: int = 200
    cursor: dict[str, dict[str, Json]] = field(default_factory=dict)
    items: dict[str, Item] = field(default_factory=dict)
    places: dict[str, set[str]] = field(default_factory=dict)
    quarantined: dict[str, Quarantined] = field(default_factory=dict)
    written: int = 0
    unchanged: int = 0

    def connector(self, **options: Any) -> SlackConnector:
        settings: Mapping[str, Json] = {"token": "env:SLACK_TOKEN", "api_url": self.url, **self.settings}
        clock = self.workspace.clock
        return SlackConnector(
            "team",
            settings,
            Options(**{"now": int(self.now * 1000), **options}),
            batch=self.batch,
            timing=Timing(clock, clock.sleep),
        )

    def read(self, stream: str = "C01", batches: int | None = None, **options: Any) -> list[Change]:
        """Read one stream, or only so many batches of it; what a batch brought stays when the read then raises."""
        changes: list[Change] = []
        reading = self.connector(**options).read(Stream("team", stream), self.cursor.get(stream))
        for number, batch in enumerate(reading, 1):
            self.fold(stream, batch)
            changes += batch.changes
            if number == batches:
                reading.close()  # type: ignore[attr-defined]  # a generator, closed early
                break
        return changes

    def sync(self, **options: Any) -> dict[str, SourceError]:
        """Do a whole pass as the runner does; return the errors by stream."""
        problems: dict[str, SourceError] = {}
        connector = self.connector(**options)
        for stream in connector.discover():
            try:
                for batch in connector.read(stream, self.cursor.get(stream.name)):
                    self.fold(stream.name, batch)
            except SourceError as error:
                problems[stream.name] = error
        return problems

    def streams(self, **options: Any) -> list[str]:
        first, *rooms = [stream.name for stream in self.connector(**options).discover()]
        return [first, *sorted(rooms)]

    def fold(self, stream: str, batch: Batch) -> None:
        self.unchanged += batch.unchanged
        for change in batch.changes:
            match change:
                case Observed(item):
                    known = self.items.get(item.id)
                    self.written += known is None or item_fingerprint(known) != item_fingerprint(item)
                    self.items[item.id] = item
                case Sighted(item_id, place):
                    self.written += place not in self.places.get(item_id, set())
                    self.places.setdefault(item_id, set()).add(place)
                case Unsighted(item_id, place):
                    self.written += 1
                    self.places[item_id].remove(place)
                case Quarantined(place):
                    self.quarantined[place] = change
                case Released(place):
                    del self.quarantined[place]
        cursor = self.cursor.setdefault(stream, {})
        assert json.loads(json.dumps(dict(batch.cursor))) == dict(batch.cursor)
        for key, value in batch.cursor.items():
            if value is None:
                cursor.pop(key, None)
            else:
                cursor[key] = value

    def held(self, channel: str = "C01") -> list[str]:
        """Return the ts of the messages that are held, in order."""
        prefix = f"slack:{TEAM}/{channel}/"
        return sorted(item[len(prefix) :] for item, at in self.places.items() if at and item.startswith(prefix))

    def text(self, ts: str, channel: str = "C01") -> str:
        return self.items[f"slack:{TEAM}/{channel}/{ts}"].sections[0].text

    def item(self, ts: str, channel: str = "C01") -> Item:
        return self.items[f"slack:{TEAM}/{channel}/{ts}"]


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_TOKEN", BOT_TOKEN)
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def workspace() -> Workspace:
    made = Workspace()
    made.room()
    return made


@pytest.fixture
def server(workspace: Workspace) -> Iterator[Server]:
    with Server(workspace) as running:
        yield running


@pytest.fixture
def reader(server: Server, workspace: Workspace) -> Reader:
    return Reader(server.url, workspace)
