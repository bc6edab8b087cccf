"""Messages, threads, edits and deletions over the real client and a real server: each line names the edge it is for."""

from __future__ import annotations

from typing import Any

import pytest

from ctxsync.connectors.base import Observed, Sighted, Unsighted
from ctxsync.errors import SuspiciousDeletion
from tests.connectors.slack.conftest import DAY, Reader
from tests.connectors.slack.server import NOW, TEAM, Workspace

LATER = 2 * DAY  # by then, every channel has been due to be reconciled


def test_a_first_sync_holds_every_message_and_reply_of_a_channel_once(workspace: Workspace, reader: Reader) -> None:
    said = [workspace.post("C01") for _ in range(3)]
    answers = [workspace.post("C01", thread_ts=said[0]) for _ in range(2)]
    changes = reader.read()
    assert reader.held() == sorted(said + answers)
    assert sum(isinstance(change, Observed) for change in changes) == 5
    assert sum(isinstance(change, Sighted) for change in changes) == 5
    assert {place for places in reader.places.values() for place in places} == {"C01"}
    assert reader.item(answers[0]).sections[0].thread == f"slack:{TEAM}/C01/{said[0]}"


def test_a_second_sync_says_nothing_and_asks_history_once(workspace: Workspace, reader: Reader) -> None:
    parent = workspace.post("C01")
    workspace.post("C01", thread_ts=parent)
    reader.read()
    cursor = dict(reader.cursor["C01"])
    workspace.calls.clear()
    reader.unchanged = 0
    assert reader.read() == []
    assert reader.cursor["C01"] == cursor
    assert reader.unchanged == 2
    assert workspace.count("conversations.history") == 1
    assert workspace.count("conversations.replies") == 0


def test_pages_of_history_and_of_replies_are_read_to_their_end(workspace: Workspace, reader: Reader) -> None:
    said = [workspace.post("C01") for _ in range(23)]
    answers = [workspace.post("C01", thread_ts=said[4]) for _ in range(17)]
    reader.batch = 5
    reader.read()
    assert reader.held() == sorted(said + answers)


# Slack 2


def test_the_same_ts_in_two_channels_is_two_messages_and_its_text_is_never_a_number(
    workspace: Workspace, reader: Reader
) -> None:
    workspace.room("C02", "random")
    ts = workspace.post("C01", "here", at=1_700_000_000)
    for trailing in ("1700000000.000100", "1700000000.100000", "1700000000.000000"):
        workspace.rooms["C01"].messages[trailing] = {"type": "message", "user": "U01", "text": "zero", "ts": trailing}
        workspace.rooms["C02"].messages[trailing] = {"type": "message", "user": "U01", "text": "two", "ts": trailing}
    reader.read("C01")
    reader.read("C02")
    assert reader.held("C01") == sorted([ts, "1700000000.000100", "1700000000.100000", "1700000000.000000"])
    assert reader.text("1700000000.100000", "C01") == "zero"
    assert reader.text("1700000000.100000", "C02") == "two"
    assert reader.read("C01") == []


# Slack 3


def test_an_edit_within_the_window_is_a_new_version(workspace: Workspace, reader: Reader) -> None:
    ts = workspace.post("C01", "first", at=NOW - 6 * DAY)
    reader.read()
    workspace.edit("C01", ts, "second")
    assert [type(change) for change in reader.read()] == [Observed]
    assert reader.text(ts) == "second"
    assert reader.item(ts).sections[0].attributes["edited"] is True


def test_an_edit_before_the_window_is_found_by_the_reconcile(workspace: Workspace, reader: Reader) -> None:
    ts = workspace.post("C01", "first", at=NOW - 8 * DAY)
    workspace.post("C01", at=NOW - DAY)
    reader.read()
    workspace.edit("C01", ts, "second")
    assert reader.read() == []
    reader.now += LATER
    reader.read()
    assert reader.text(ts) == "second"


def test_the_window_is_as_long_as_the_settings_say(workspace: Workspace, reader: Reader) -> None:
    reader.settings["lookback_days"] = 30
    ts = workspace.post("C01", "first", at=NOW - 29 * DAY)
    reader.read()
    workspace.edit("C01", ts, "second")
    reader.read()
    assert reader.text(ts) == "second"


def test_reactions_are_content_and_block_ids_are_not(workspace: Workspace, reader: Reader) -> None:
    ts = workspace.post("C01")
    reader.read()
    assert reader.read() == []  # the server gives other block ids each time
    workspace.react("C01", ts, "tada", "U01", "U02")
    assert [type(change) for change in reader.read()] == [Observed]
    assert reader.item(ts).sections[0].attributes["reactions"] == {"tada": 2}


def test_a_deletion_within_the_window_is_seen_at_once_and_an_older_one_by_the_reconcile(
    workspace: Workspace, reader: Reader
) -> None:
    old, recent, kept = (workspace.post("C01", at=NOW - days * DAY) for days in (100, 2, 1))
    reader.read()
    workspace.delete("C01", recent)
    workspace.delete("C01", old)
    changes = reader.read()
    assert changes == [Unsighted(f"slack:{TEAM}/C01/{recent}", "C01")]
    reader.now += LATER
    reader.read()
    assert reader.held() == [kept]


def test_a_deleted_parent_goes_and_its_replies_stay(workspace: Workspace, reader: Reader) -> None:
    parent, other = workspace.post("C01"), workspace.post("C01")
    answer = workspace.post("C01", thread_ts=parent)
    reader.read()
    workspace.delete("C01", parent)
    reader.read()
    assert reader.held() == sorted([answer, other])
    later = workspace.post("C01", thread_ts=parent)
    reader.read()
    assert reader.held() == sorted([answer, other, later])
    assert reader.read() == []


def test_a_deleted_reply_goes(workspace: Workspace, reader: Reader) -> None:
    parent = workspace.post("C01")
    first, second, third = (workspace.post("C01", thread_ts=parent) for _ in range(3))
    reader.read()
    workspace.delete("C01", second)
    reader.read()
    assert reader.held() == [parent, first, third]
    workspace.delete("C01", first)
    workspace.delete("C01", third)
    reader.read()
    assert reader.held() == [parent]
    assert reader.read() == []


def test_a_deleted_message_that_comes_back_is_held_again(workspace: Workspace, reader: Reader) -> None:
    ts = workspace.post("C01")
    workspace.post("C01")
    reader.read()
    gone = workspace.rooms["C01"].messages.pop(ts)
    reader.read()
    assert ts not in reader.held()
    workspace.rooms["C01"].messages[ts] = gone
    reader.read()
    assert ts in reader.held()


def test_a_mass_deletion_waits_for_the_person_and_additions_go_on(workspace: Workspace, reader: Reader) -> None:
    said = [workspace.post("C01", at=NOW - 50 * DAY + number) for number in range(60)]
    reader.read()
    for ts in said[:40]:
        workspace.delete("C01", ts)
    reader.now += LATER
    new = workspace.post("C01", at=reader.now - 5)
    with pytest.raises(SuspiciousDeletion) as caught:
        reader.read()
    assert (caught.value.vanished, caught.value.known) == (40, 60)
    assert reader.held() == [*said, new]
    with pytest.raises(SuspiciousDeletion):
        reader.read()
    assert reader.held() == [*said, new]
    reader.read(allow_deletes=True)
    assert reader.held() == [*said[40:], new]
    assert not [key for key in reader.cursor["C01"] if key.startswith("gone:")]


def test_what_vanished_and_returned_before_it_was_allowed_is_not_deleted(workspace: Workspace, reader: Reader) -> None:
    said = [workspace.post("C01", at=NOW - 50 * DAY + number) for number in range(30)]
    reader.read()
    away = {ts: workspace.rooms["C01"].messages.pop(ts) for ts in said[:25]}
    reader.now += LATER
    with pytest.raises(SuspiciousDeletion):
        reader.read()
    workspace.rooms["C01"].messages |= away
    reader.read(allow_deletes=True)
    assert reader.held() == said


# Slack 10


def test_an_author_that_nobody_knows_keeps_the_raw_id(workspace: Workspace, reader: Reader) -> None:
    stranger = workspace.post("C01", user="U0GONE")
    bot = workspace.post("C01", user="U01", bot_id="B77", subtype="bot_message")
    workspace.rooms["C01"].messages[bot].pop("user")
    reader.read()
    author = reader.item(stranger).sections[0].author
    assert author is not None
    assert (author.name, author.keys) == ("U0GONE", (f"slack:{TEAM}:U0GONE",))
    machine = reader.item(bot).sections[0]
    assert machine.author is not None
    assert "B77" in machine.author.keys[0]
    assert machine.attributes["automated"] is True


def test_what_bots_say_is_left_out_when_the_settings_say_so(workspace: Workspace, reader: Reader) -> None:
    said = workspace.post("C01")
    bot = workspace.post("C01", user="U09", bot_id="B09")
    reader.read()
    assert reader.held() == [said, bot]
    reader.settings["bots"] = False
    reader.read()
    assert reader.held() == [said]
    assert reader.read() == []


# Slack 11


def test_a_channel_that_is_joined_later_is_read_from_its_beginning(workspace: Workspace, reader: Reader) -> None:
    workspace.room("C02", "later", joined=False)
    said = [workspace.post("C02", at=NOW - 400 * DAY + number) for number in range(7)]
    reader.sync()
    assert reader.streams() == [".directory", "C01"]
    workspace.rooms["C02"].joined = True
    reader.sync()
    assert reader.held("C02") == said


def test_a_renamed_channel_keeps_its_history(workspace: Workspace, reader: Reader) -> None:
    said = workspace.post("C01")
    reader.sync()
    written = reader.written
    workspace.rooms["C01"].name = "all-hands"
    reader.sync()
    assert reader.held() == [said]
    assert reader.written == written + 1  # the directory
    channels = reader.items[f"slack-directory:{TEAM}"].attributes["channels"]
    assert channels == [{"id": "C01", "name": "all-hands", "topic": ""}]


def test_an_archived_channel_is_read_once_and_then_only_reconciled(workspace: Workspace, reader: Reader) -> None:
    said = [workspace.post("C01", at=NOW - 300 * DAY + number) for number in range(3)]
    workspace.rooms["C01"].archived = True
    reader.sync()
    assert reader.held() == said
    workspace.calls.clear()
    reader.unchanged = 0
    reader.sync()
    assert workspace.count("conversations.history") == 0
    assert reader.unchanged == 4  # the directory as well
    workspace.delete("C01", said[0])
    reader.now += LATER
    reader.sync()
    assert reader.held() == said[1:]
    workspace.rooms["C01"].archived = False
    new = workspace.post("C01", at=reader.now - 9)
    reader.sync()
    assert reader.held() == [*said[1:], new]


def test_since_bounds_the_backfill_and_an_earlier_one_widens_it(workspace: Workspace, reader: Reader) -> None:
    said = [workspace.post("C01", at=NOW - days * DAY) for days in (400, 200, 20, 1)]
    reader.settings["since"] = "2025-05-01"
    reader.read()
    assert reader.held() == said[2:]
    reader.settings["since"] = "2024-11-01"
    reader.read()
    assert reader.held() == said[1:]
    del reader.settings["since"]
    reader.read()
    assert reader.held() == said
    assert reader.read() == []


# What cannot be read


@pytest.mark.parametrize("ts", ["17", "1.5", 1_700_000_000.5, None, "1700000000.1000000"])
def test_a_message_without_a_ts_is_quarantined_until_it_is_gone(
    workspace: Workspace, reader: Reader, ts: object
) -> None:
    said = workspace.post("C01")
    workspace.rooms["C01"].messages["0"] = {"type": "message", "user": "U01", "text": "when?", "ts": said}
    workspace.alter = lambda method, answer: _without_time(answer, ts) if method == "conversations.history" else answer
    reader.read()
    assert reader.held() == [said]
    (bad,) = reader.quarantined.values()
    assert bad.place.startswith(f"slack:{TEAM}/C01/")
    assert reader.read() == []
    workspace.alter = lambda _, answer: answer
    del workspace.rooms["C01"].messages["0"]
    reader.now += LATER
    reader.read()
    assert reader.quarantined == {}


def _without_time(answer: dict[str, Any], ts: object) -> dict[str, Any]:
    for message in answer["messages"]:
        if message["text"] == "when?":
            message["ts"] = ts
    return answer
