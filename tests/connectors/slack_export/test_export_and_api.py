"""One workspace, synced from its API and imported from an export: in the log it is there once."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.connectors.base import Options
from ctxsync.connectors.slack import SlackConnector
from ctxsync.connectors.slack_export import SlackExportConnector
from ctxsync.events.store import EventStore
from ctxsync.sync import SourceReport, read_source
from tests.connectors.slack.server import BOT_TOKEN, NOW, Server, Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from ctxsync.connectors.base import Connector

AT = NOW * 1000


@pytest.fixture
def workspace() -> Workspace:
    """Return a workspace in which people have said all kinds of things."""
    made = Workspace()
    made.room(topic="Boats")
    made.room("C02", "quay")
    parent = made.post("C01", "Who has the &lt;key&gt;?")
    made.post("C01", "I, <@U01>", user="U02", thread_ts=parent)
    made.post("C01", "Found, see <https://example.com/a?b=1&amp;c=2|the list>", thread_ts=parent, broadcast=True)
    made.react("C01", parent, "eyes", "U01", "U02")
    edited = made.post("C02", "first words")
    made.edit("C02", edited, "second words")
    made.post("C02", "", blocks=[{"type": "header", "text": {"type": "plain_text", "text": "Tide tables"}}])
    made.post("C02", "Wind from the west", user="U09", bot_id="B9", subtype="bot_message", username="Wind")
    made.post("C02", "joined", subtype="channel_join")
    file = {"id": "F1", "name": "chart.pdf", "filetype": "pdf", "size": 12, "url_private": "https://example.com/?t=1"}
    made.post("C02", "the chart", files=[file], user="U77")
    return made


def export(workspace: Workspace, folder: Path) -> None:
    """Write what Slack would export of the workspace, with what only exports have."""
    rooms = workspace.rooms.values()
    folder.mkdir()
    (folder / "users.json").write_text(json.dumps(list(workspace.users.values())))
    channels = [{"id": room.id, "name": room.name, "topic": {"value": room.topic}} for room in rooms]
    (folder / "channels.json").write_text(json.dumps(channels))
    for room in rooms:
        days: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for ts, message in sorted(room.messages.items()):
            day = f"{datetime.fromtimestamp(float(ts), UTC):%Y-%m-%d}"
            days[day].append({**message, "user_team": "T0HARBOUR", "source_team": "T0HARBOUR", "replies": []})
        for day, messages in days.items():
            path = folder / room.name / f"{day}.json"
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(messages, indent=4))


def sync(store: EventStore, connector: Connector) -> SourceReport:
    report = SourceReport(connector.name)
    read_source(store, connector, AT, report)
    assert report.problems == []
    return report


@pytest.mark.parametrize("api_first", [True, False])
def test_whichever_comes_second_observes_nothing_new(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api_first: bool
) -> None:
    monkeypatch.setenv("SLACK_TOKEN", BOT_TOKEN)
    export(workspace, tmp_path / "export")
    with Server(workspace) as server, EventStore.open(tmp_path / "events.db", write=True) as store:
        live = SlackConnector("live", {"token": "env:SLACK_TOKEN", "api_url": server.url}, Options(now=AT))
        archive = SlackExportConnector("archive", {"path": str(tmp_path / "export")}, Options(now=AT))
        first, second = (live, archive) if api_first else (archive, live)
        sync(store, first)
        before = store.head()[0]
        assert len([event for event in store.read() if event.type == "item.observed"]) == 8  # and the directory
        sync(store, second)
        added = [event.type for event in store.read(before)]
        assert added.count("item.sighted") == 8
        assert "item.observed" not in added
