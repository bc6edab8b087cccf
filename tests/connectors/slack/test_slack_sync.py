"""The whole of it over a real log: what stops a pass, what a killed one leaves, and an export of the same workspace."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.connectors.base import Options
from ctxsync.connectors.slack import SlackConnector
from ctxsync.connectors.slack.api import Timing
from ctxsync.connectors.slack.message import message_item
from ctxsync.connectors.slack_export import SlackExportConnector
from ctxsync.errors import BadItem
from ctxsync.events.store import EventStore
from ctxsync.sync import SourceReport, read_source
from tests.connectors.slack.conftest import DAY, Reader
from tests.connectors.slack.exporting import export
from tests.connectors.slack.server import APP_TOKEN, BOT_TOKEN, NOW, TEAM, USER_TOKEN, Workspace, error, limited

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ctxsync.connectors.base import Connector
    from ctxsync.events.store import Event
    from tests.connectors.slack.server import Server


class Log:
    """A log on disk and the runner over it."""

    def __init__(self, path: Path, server: Server, workspace: Workspace) -> None:
        self.path, self.url, self.workspace = path, server.url, workspace

    def connector(self, *, batch: int = 200, now: float = NOW, **options: Any) -> SlackConnector:
        settings = {"token": "env:SLACK_TOKEN", "api_url": self.url}
        clock = self.workspace.clock
        given = Options(**{"now": int(now * 1000), **options})
        return SlackConnector("team", settings, given, batch=batch, timing=Timing(clock, clock.sleep))

    def sync(
        self, connector: Connector | None = None, checkpoint: Callable[[str], None] = lambda _: None, **given: Any
    ) -> tuple[Counter[str], SourceReport]:
        """Read once; return how many events of each type that stored, and the report."""
        connector = connector or self.connector(**given)
        report = SourceReport(connector.name)
        with EventStore.open(self.path, write=True, checkpoint=checkpoint) as store:
            before = store.head()[0]
            read_source(store, connector, NOW * 1000, report)
            return Counter(event.type for event in store.read(before)), report

    def events(self) -> list[Event]:
        with EventStore.open(self.path) as store:
            return list(store.read())

    def held(self, channel: str) -> set[str]:
        held: set[str] = set()
        for event in self.events():
            if event.payload.get("place") == channel and event.type == "item.sighted":
                held.add(event.payload["item"])
            elif event.payload.get("place") == channel and event.type == "item.unsighted":
                held.discard(event.payload["item"])
        return held


@pytest.fixture
def log(tmp_path: Path, server: Server, workspace: Workspace) -> Log:
    return Log(tmp_path / "events.db", server, workspace)


def lively(workspace: Workspace) -> None:
    """Fill a workspace with all kinds of messages."""
    workspace.room("C02", "harbour-works")
    workspace.room("C03", "old-stuff", archived=True)
    workspace.room("G01", "council", kind="private_channel")
    workspace.room("D01", "", kind="im", user="U02")
    for number, room in enumerate(("C01", "C02", "C03", "G01", "D01")):
        said = [workspace.post(room, at=NOW - 40 * DAY + 9_000 * number + each * 40_000) for each in range(6)]
        workspace.post(room, "see <@U02> in <#C02|harbour-works>, <https://example.com/a?b=1&amp;c=2|the plan>")
        first = workspace.post(room, "an answer", user="U02", thread_ts=said[1])
        workspace.post(room, "to all", user="U02", thread_ts=said[1], broadcast=True)
        workspace.post(
            room, "", thread_ts=said[4], files=[{"id": "F1", "name": "plan.pdf", "filetype": "pdf", "size": 7}]
        )
        workspace.edit(room, said[2], "edited &amp; better")
        workspace.react(room, first, "tada", "U01", "U02")
        workspace.post(room, "built", user="U09", bot_id="B09", subtype="bot_message")
        workspace.post(room, "joined", subtype="channel_join")
        workspace.delete(room, said[4])


# Every connector 1


def test_a_refused_login_pauses_the_source_deletes_nothing_and_its_return_changes_nothing(
    log: Log, workspace: Workspace
) -> None:
    lively(workspace)
    log.sync()
    held = log.held("C01")
    workspace.always["*"] = error("token_revoked")
    types, report = log.sync()
    assert types == {"source.paused": 1}
    assert "token_revoked" in str(report.paused)
    assert "ctxsync sync team" in str(report.problems[0]["remedy"])
    assert log.sync()[0] == {}
    workspace.always.clear()
    assert log.sync()[0] == {"source.resumed": 1}
    assert log.held("C01") == held


def test_a_channel_that_is_emptied_pauses_alone_until_it_is_allowed(log: Log, workspace: Workspace) -> None:
    workspace.room("C02", "random")
    for room in ("C01", "C02"):
        for _ in range(30):
            workspace.post(room)
    log.sync()
    workspace.rooms["C02"].messages.clear()
    workspace.post("C01")
    types, report = log.sync()
    assert types == {"item.observed": 1, "item.sighted": 1, "source.paused": 1}
    assert "30 of 30 messages of #random" in str(report.paused)
    assert "ctxsync sync --allow-deletes team" in str(report.problems[0]["remedy"])
    assert log.sync()[0] == {}
    assert log.sync(allow_deletes=True)[0] == {"item.unsighted": 30, "source.resumed": 1}
    assert log.held("C02") == set()
    assert len(log.held("C01")) == 31


# Every connector 2


UNREADABLE = "A message that the parser fails at."


@pytest.fixture
def _fragile(monkeypatch: pytest.MonkeyPatch) -> None:
    """No message of Slack's is known that cannot be read: one that the parser fails at stands for it."""

    def fragile(message: Any, **given: Any) -> Any:
        if message.get("text") == UNREADABLE:
            raise BadItem("It cannot be read.")
        return message_item(message, **given)

    monkeypatch.setattr("ctxsync.connectors.slack.message.message_item", fragile)


@pytest.mark.usefixtures("_fragile")
def test_one_bad_message_is_quarantined_and_tried_again_when_its_bytes_change(log: Log, workspace: Workspace) -> None:
    said = [workspace.post("C01") for _ in range(3)]
    bad = workspace.post("C01", text=UNREADABLE)
    reply = workspace.post("C01", thread_ts=said[0], text=UNREADABLE)
    types, report = log.sync()
    assert types["item.quarantined"] == 2
    assert report.paused is None
    assert len(log.held("C01")) == 3
    assert log.sync()[0] == {}
    assert log.sync(retry_quarantined=True)[0] == {}
    for ts in (bad, reply):
        workspace.rooms["C01"].messages[ts]["text"] = "Now it is."
    assert log.sync()[0] == {"item.released": 1, "item.observed": 1, "item.sighted": 1}
    assert log.sync(retry_quarantined=True)[0] == {"item.released": 1, "item.observed": 1, "item.sighted": 1}
    assert len(log.held("C01")) == 5


@pytest.mark.usefixtures("_fragile")
def test_a_bad_message_that_is_deleted_leaves_quarantine(log: Log, workspace: Workspace) -> None:
    workspace.post("C01")
    bad = workspace.post("C01", text=UNREADABLE)
    assert log.sync()[0]["item.quarantined"] == 1
    workspace.delete("C01", bad)
    assert log.sync()[0] == {"item.released": 1}
    assert log.sync()[0] == {}


# Every connector 3 and Slack 6


class Killed(BaseException):
    """The process dies here."""


def test_dying_anywhere_loses_and_doubles_nothing(
    tmp_path: Path, log: Log, server: Server, workspace: Workspace
) -> None:
    lively(workspace)
    points = 0

    def count(_: str) -> None:
        nonlocal points
        points += 1

    log.sync(checkpoint=count, batch=3)

    def says(one: Log) -> list[tuple[str, str, str]]:
        return sorted((event.type, event.subject, json.dumps(event.payload, sort_keys=True)) for event in one.events())

    whole = says(log)
    assert points > 40
    for number in range(1, points, 9):
        dying = Log(tmp_path / f"dying-{number}.db", server, workspace)
        passed = 0

        def die(_: str, number: int = number) -> None:
            nonlocal passed
            passed += 1
            if passed == number:
                raise Killed

        with pytest.raises(Killed):
            dying.sync(checkpoint=die, batch=3)
        dying.sync(batch=3)
        assert says(dying) == whole, f"died at point {number}"


def test_passes_that_are_all_cut_short_by_a_limit_get_everything_in_the_end(
    tmp_path: Path, log: Log, server: Server, workspace: Workspace
) -> None:
    lively(workspace)
    for method in ("conversations.history", "conversations.replies"):
        workspace.limits[method] = (2, 600.0, 500)
    for number in range(40):
        _, report = log.sync(batch=3, now=NOW + 60 * number)
        assert report.paused is not None  # five channels, two calls
        workspace.clock.now += 600
    workspace.limits.clear()
    whole = Log(tmp_path / "whole.db", server, workspace)
    whole.sync()
    for room in workspace.rooms:
        assert log.held(room) == whole.held(room)
    assert set(log.sync()[0]) == {"source.resumed"}


# Every connector 4 and 5


def test_text_has_lf_line_ends_and_what_slack_changes_by_itself_is_no_content(log: Log, workspace: Workspace) -> None:
    ts = workspace.post("C01", "one\r\ntwo\rthree")
    log.sync()
    (event,) = [event for event in log.events() if event.type == "item.observed" and event.subject.endswith(ts)]
    assert event.payload["sections"][0]["text"] == "one\ntwo\nthree"
    workspace.rooms["C01"].messages[ts] |= {"client_msg_id": "another", "is_starred": True, "pinned_to": ["C01"]}
    assert log.sync()[0] == {}


# An export of the same workspace


def test_importing_an_export_of_a_workspace_that_is_synced_adds_nothing(
    tmp_path: Path, log: Log, workspace: Workspace
) -> None:
    lively(workspace)
    types, _ = log.sync()
    assert types["item.observed"] > 50
    export(workspace, tmp_path / "export")
    settings = {"path": str(tmp_path / "export")}
    types, report = log.sync(SlackExportConnector("archive", settings, Options(now=NOW * 1000)))
    assert report.problems == []
    assert types["item.observed"] == 0
    # The same messages, each seen at another source.
    seen: dict[str, set[str]] = {"team": set(), "archive": set()}
    for event in log.events():
        if event.type == "item.sighted":
            seen[event.source].add(event.subject)
    assert seen["archive"] == seen["team"]


# Secrets


def test_no_token_is_in_anything_that_is_written_or_said(
    tmp_path: Path, log: Log, workspace: Workspace, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lively(workspace)
    monkeypatch.setenv("SLACK_TOKEN", USER_TOKEN)
    reports = [log.sync()[1]]
    for refusal in (error("invalid_auth"), limited(4_000), error("missing_scope", needed="channels:read")):
        workspace.always["*"] = refusal
        reports.append(log.sync()[1])
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    told = json.dumps([report.as_json() for report in reports]) + json.dumps([report.problems for report in reports])
    for token in (USER_TOKEN, BOT_TOKEN, APP_TOKEN):
        assert token.encode() not in written
        assert token not in told + caplog.text


def test_the_directory_is_observed_again_when_it_changes(log: Log, workspace: Workspace) -> None:
    workspace.post("C01")
    log.sync()
    workspace.user("U03", "Tomas Brandt", email="tomas@example.com")
    assert log.sync()[0] == {"item.observed": 1}
    assert {event.subject for event in log.events() if event.payload.get("place") == ".directory"} == {
        f"slack-directory:{TEAM}"
    }


def test_reconciling_costs_a_page_per_two_hundred_messages(workspace: Workspace, reader: Reader) -> None:
    for number in range(1_000):
        workspace.post("C01", at=NOW - 90 * DAY + number)
    workspace.post("C01", at=NOW - 60)
    reader.read()
    workspace.calls.clear()
    reader.read()
    assert workspace.count("conversations.history") == 1
    assert workspace.count() == 4  # with auth.test, the conversations and the users
    reader.now += 2 * DAY
    workspace.calls.clear()
    reader.read()
    assert workspace.count("conversations.history") == 6
