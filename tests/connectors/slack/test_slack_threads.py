"""Threads over the real client and a real server: each line names the edge it is for."""

from __future__ import annotations

from typing import Any

from ctxsync.connectors.base import Observed, Sighted
from tests.connectors.slack.conftest import DAY, HOUR, MINUTE, Reader
from tests.connectors.slack.server import NOW, Workspace, error

LATER = 2 * DAY  # by then, every channel has been due to be reconciled


# Slack 1


def test_a_reply_to_a_thread_within_the_window_is_found_at_once(workspace: Workspace, reader: Reader) -> None:
    parent = workspace.post("C01", at=NOW - 3 * DAY)
    workspace.post("C01", thread_ts=parent)
    reader.read()
    answer = workspace.post("C01", "late", thread_ts=parent)
    workspace.calls.clear()
    assert [type(change) for change in reader.read()] == [Observed, Sighted]
    assert reader.text(answer) == "late"
    assert workspace.count("conversations.replies") == 1


def test_a_reply_to_an_old_thread_is_found_by_the_reconcile(workspace: Workspace, reader: Reader) -> None:
    parents = [workspace.post("C01", at=NOW - 300 * DAY + number) for number in range(4)]
    for parent in parents:
        workspace.post("C01", thread_ts=parent, at=NOW - 299 * DAY)
    reader.read()
    answer = workspace.post("C01", "after all this time", thread_ts=parents[2])
    reader.now += MINUTE
    assert reader.read() == []
    reader.now += LATER
    workspace.calls.clear()
    reader.read()
    assert reader.text(answer) == "after all this time"
    assert [given["ts"] for method, given in workspace.calls if method == "conversations.replies"] == [parents[2]]


def test_a_lively_old_thread_is_read_again_within_the_hour(workspace: Workspace, reader: Reader) -> None:
    workspace.room("C02", "random")
    parent = workspace.post("C02", at=NOW - 300 * DAY)
    first = workspace.post("C02", thread_ts=parent)
    workspace.post("C02")
    reader.read("C02")
    answer = workspace.post("C02", "more of it", thread_ts=parent)
    workspace.edit("C02", first, "an edited reply")
    assert reader.read("C02") == []
    reader.now += HOUR
    workspace.calls.clear()
    reader.read("C02")
    assert workspace.count("conversations.history") == 1  # no reconcile yet
    assert reader.text(answer, "C02") == "more of it"
    assert reader.text(first, "C02") == "an edited reply"


# Slack 4


def test_a_thread_that_is_not_found_is_let_go_and_the_pass_goes_on(workspace: Workspace, reader: Reader) -> None:
    parent, other = workspace.post("C01"), workspace.post("C01")
    workspace.post("C01", thread_ts=parent)
    mine = workspace.post("C01", thread_ts=other)
    reader.read()
    for ts in [message["ts"] for message in workspace.replies("C01", parent)]:
        workspace.delete("C01", ts)
    workspace.delete("C01", parent)
    new = workspace.post("C01")
    reader.read()
    assert reader.held() == sorted([other, mine, new])


def test_a_thread_that_history_lists_and_replies_does_not_find_is_asked_for_once(
    workspace: Workspace, reader: Reader
) -> None:
    parent = workspace.post("C01")
    workspace.post("C01", thread_ts=parent)
    other = workspace.post("C01")
    workspace.always["conversations.replies"] = error("thread_not_found")
    reader.read()
    assert reader.held() == [parent, other]
    workspace.calls.clear()
    assert reader.read() == []
    assert workspace.count("conversations.replies") == 0


# Slack 7


def test_a_reply_that_was_sent_to_the_channel_as_well_is_one_message(workspace: Workspace, reader: Reader) -> None:
    parent = workspace.post("C01")
    both = workspace.post("C01", "to all", thread_ts=parent, broadcast=True)
    only = workspace.post("C01", thread_ts=parent)
    reader.batch = 2
    changes = reader.read()
    assert sum(isinstance(change, Observed) for change in changes) == 3
    assert reader.held() == sorted([parent, both, only])
    reader.now += HOUR
    assert reader.read() == []
    reader.now += LATER
    assert reader.read() == []
    workspace.delete("C01", both)
    reader.read()
    assert reader.held() == [parent, only]


def test_a_reply_that_is_taken_out_of_the_channel_stays_in_its_thread(workspace: Workspace, reader: Reader) -> None:
    parent = workspace.post("C01")
    both = workspace.post("C01", "to all", thread_ts=parent, broadcast=True)
    reader.read()
    del workspace.rooms["C01"].messages[both]["subtype"]
    reader.read()
    assert reader.held() == [parent, both]
    workspace.calls.clear()
    assert reader.read() == []
    assert workspace.count("conversations.replies") == 0


def test_what_a_hostile_parent_says_of_its_thread_breaks_no_cursor(workspace: Workspace, reader: Reader) -> None:
    said = [workspace.post("C01") for _ in range(4)]
    odd: list[dict[str, Any]] = [
        {"reply_count": 3, "latest_reply": "1.0 2.0,x,,r"},
        {"reply_count": True, "latest_reply": None},
        {"reply_count": -1, "latest_reply": "1749900001.000001"},
        {"thread_ts": "1749900001.000001 , x", "reply_count": "7"},
    ]
    for ts, more in zip(said, odd, strict=True):
        workspace.rooms["C01"].messages[ts] |= more
    reader.read()
    listed = [ts for ts in said if ts != said[3]]  # a thread_ts of its own kind: no message of the channel's list
    assert reader.held() == listed
    workspace.calls.clear()
    assert reader.read() == []
    assert workspace.count("conversations.replies") == 0
