"""A Slack message as an item: what a person would look for, and nothing of where it was found."""

from __future__ import annotations

import json
from contextlib import nullcontext, suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxsync.connectors.base import Item, Person, episode_id, item_fingerprint
from ctxsync.connectors.slack.directory import Directory
from ctxsync.connectors.slack.message import deleted_ts, message_item
from ctxsync.errors import BadItem

TS = "1700000000.000200"
DIRECTORY = Directory.of(
    "T1",
    [
        {"id": "U1ROBIN", "name": "robin", "profile": {"real_name": "Robin Vale", "email": "robin@example.com"}},
        {"id": "U2BOT", "name": "weather", "is_bot": True},
    ],
    [{"id": "C1GARDEN", "name": "garden"}],
    title="The Allotment",
)


def item(**message: Any) -> Item | None:
    full = {"type": "message", "user": "U1ROBIN", "ts": TS, "text": "The frame is broken", **message}
    full = {key: value for key, value in full.items() if value is not None}
    return message_item(full, team="T1", channel="C1GARDEN", directory=DIRECTORY)


def sure(**message: Any) -> Item:
    found = item(**message)
    assert found is not None
    return found


def test_a_message_has_the_shape_that_every_source_of_slack_gives() -> None:
    found = sure()
    (section,) = found.sections
    assert (found.id, found.kind, found.title) == (f"slack:T1/C1GARDEN/{TS}", "slack", "The frame is broken")
    assert (section.key, section.text) == ("message", "The frame is broken")
    assert section.occurred_at == 1_700_000_000_000
    assert section.author == Person("Robin Vale", ("slack:T1:U1ROBIN",))
    assert section.thread == f"slack:T1/C1GARDEN/{TS}"
    assert section.attributes == {"team": "T1", "channel": "C1GARDEN", "ts": TS}
    assert (found.flags, found.raw_digest) == ((), "")


@pytest.mark.parametrize(
    ("user", "ts", "minutes"),
    [
        ({"tz": "America/Los_Angeles"}, "1700000000.000200", -480),  # in November
        ({"tz": "America/Los_Angeles"}, "1720000000.000200", -420),  # in July, whatever the clock shows today
        ({"tz": "America/Los_Angeles", "is_bot": True}, "1700000000.000200", None),
        ({"tz": "Europe/Lisbon"}, "1700000000.000200", None),
        ({"tz": "Asia/Kathmandu"}, "1700000000.000200", 345),
        ({"tz": "Asia/Kathmandu"}, "999999999999.000200", None),
        ({"tz": "Nowhere/At_All"}, TS, None),
        ({"tz": "../../etc/passwd"}, TS, None),
        ({"tz": "Europe"}, TS, None),
        ({"tz": "\0"}, TS, None),
        ({"tz": 7}, TS, None),
        ({}, TS, None),
    ],
)
def test_a_message_tells_where_its_author_s_clock_stood_when_it_was_said(
    user: dict[str, Any], ts: str, minutes: int | None
) -> None:
    directory = Directory.of("T1", [{"id": "U1ROBIN", "name": "robin", "tz_offset": 3600, **user}])
    message = {"type": "message", "user": "U1ROBIN", "ts": ts, "text": "The frame broke today"}
    found = message_item(message, team="T1", channel="C1GARDEN", directory=directory)
    assert found is not None
    assert found.sections[0].attributes.get("utc_offset") == minutes


def test_someone_who_moves_makes_no_new_version_of_what_they_said() -> None:
    message = {"type": "message", "user": "U1ROBIN", "ts": TS, "text": "The frame broke today"}
    zones = [Directory.of("T1", [{"id": "U1ROBIN", "name": "robin", "tz": zone}]) for zone in ("Asia/Tokyo", "")]
    there, here = (message_item(message, team="T1", channel="C1", directory=directory) for directory in zones)
    assert there is not None
    assert here is not None
    assert there.sections[0].attributes != here.sections[0].attributes
    assert item_fingerprint(there) == item_fingerprint(here)


def test_the_api_and_an_export_give_the_same_bytes_of_one_message() -> None:
    """The key is team, channel and time; all that only one of the two has is left out."""
    api = {
        "client_msg_id": "1",
        "blocks": [{"type": "rich_text", "block_id": "a1", "elements": []}],
        "reply_count": 2,
        "reply_users": ["U1ROBIN"],
        "latest_reply": "1700000100.000100",
        "thread_ts": TS,
        "subscribed": True,
        "last_read": "1700000100.000100",
        "is_locked": False,
        "reactions": [{"name": "tada", "users": ["U1ROBIN"], "count": 1}, {"name": "eyes", "users": [], "count": 3}],
        "files": [{"id": "F1", "name": "plan.pdf", "filetype": "pdf", "size": 7, "url_private": "https://x/?t=1"}],
        "edited": {"user": "U1ROBIN", "ts": "1700000050.000000"},
    }
    export = {
        "user_profile": {"real_name": "R. Vale", "avatar_hash": "x"},
        "user_team": "T1",
        "source_team": "T1",
        "replies": [{"user": "U1ROBIN", "ts": "1700000100.000100"}],
        "blocks": None,
        "metadata": {"event_type": "", "event_payload": None},
        "reactions": [{"name": "eyes", "users": ["U1ROBIN"], "count": 3}, {"name": "tada", "users": [], "count": 1}],
        "files": [{"id": "F1", "name": "plan.pdf", "filetype": "pdf", "size": 7, "url_private": "https://x/?t=2"}],
        "edited": {"user": "U1ROBIN", "ts": "1700000050.000000"},
    }
    one, other = sure(**api), sure(**export)
    assert one == other
    assert item_fingerprint(one) == item_fingerprint(other)
    assert json.dumps(dict(one.sections[0].attributes)) == json.dumps(dict(other.sections[0].attributes))


def test_the_same_time_in_two_channels_is_two_messages() -> None:
    message = {"type": "message", "user": "U1ROBIN", "ts": TS, "text": "The same"}
    here = message_item(message, team="T1", channel="C1GARDEN", directory=DIRECTORY)
    there = message_item(message, team="T1", channel="C2SHED", directory=DIRECTORY)
    assert here
    assert there
    assert here.id != there.id
    assert episode_id(here.id, here.sections[0]) != episode_id(there.id, there.sections[0])


@pytest.mark.parametrize("ts", [None, 1700000000.0002, 1700000000, "", "x", "1700000000", "17e9.000000", "0.000000"])
def test_a_time_that_is_no_text_of_slacks_is_a_bad_item(ts: object) -> None:
    with pytest.raises(BadItem, match="`ts`"):
        message_item({"type": "message", "text": "x", "ts": ts}, team="T1", channel="C1", directory=DIRECTORY)


def test_the_last_digits_of_a_time_survive() -> None:
    assert sure(ts="1700000000.123450").id.endswith("/1700000000.123450")
    assert sure(ts="1700000000.123450").sections[0].occurred_at == 1_700_000_000_123


def test_a_time_to_come_is_clamped_and_flagged() -> None:
    message = {"type": "message", "text": "x", "ts": "9999999999.000000"}
    found = message_item(message, team="T1", channel="C1", directory=DIRECTORY, now=1_750_000_000_000)
    assert found
    assert (found.sections[0].occurred_at, found.flags) == (1_750_000_000_000, ("time-clamped",))


def test_an_answer_is_in_its_parents_thread_and_a_parent_in_its_own() -> None:
    answer = sure(ts="1700000100.000100", thread_ts=TS, parent_user_id="U1ROBIN")
    assert answer.sections[0].thread == sure(thread_ts=TS).sections[0].thread == f"slack:T1/C1GARDEN/{TS}"
    assert answer.sections[0].attributes["thread_ts"] == TS
    # The first answer to a message says nothing new of that message.
    assert sure(thread_ts=TS, reply_count=1) == sure()


def test_a_broadcast_answer_is_the_same_in_the_channel_and_in_its_thread() -> None:
    in_channel = sure(ts="1700000100.000100", thread_ts=TS, subtype="thread_broadcast", root={"ts": TS, "text": "x"})
    in_thread = sure(ts="1700000100.000100", thread_ts=TS, subtype="thread_broadcast")
    assert in_channel == in_thread


TRAFFIC = ("channel_join", "channel_leave", "group_join", "channel_archive", "bot_add", "pinned_item", "tombstone")


@pytest.mark.parametrize("subtype", [*TRAFFIC, "message_deleted", "message_replied"])
def test_traffic_of_a_channel_and_what_is_deleted_is_no_item(subtype: str) -> None:
    assert item(subtype=subtype) is None


def test_what_slack_hides_and_what_is_no_message_is_no_item() -> None:
    assert item(hidden=True) is None
    assert item(type="reaction_added") is None


@pytest.mark.parametrize("subtype", ["channel_topic", "channel_purpose", "channel_name", "reminder_add", "bot_message"])
def test_what_slack_or_an_app_writes_is_automated(subtype: str) -> None:
    assert sure(subtype=subtype).sections[0].attributes["automated"] is True


def test_what_a_person_does_in_a_message_is_theirs() -> None:
    for subtype in ("me_message", "file_share", "thread_broadcast", "something_new"):
        assert "automated" not in sure(subtype=subtype).sections[0].attributes


def test_a_changed_message_is_its_new_version_and_a_deleted_one_names_what_went() -> None:
    changed = item(subtype="message_changed", ts="1700000200.000000", hidden=True, message={"ts": TS, "text": "Mended"})
    assert changed
    assert (changed.id, changed.title) == (f"slack:T1/C1GARDEN/{TS}", "Mended")
    assert deleted_ts({"subtype": "message_deleted", "deleted_ts": TS, "ts": "1700000200.000000"}) == TS
    assert deleted_ts({"subtype": "tombstone", "ts": TS}) == TS
    assert deleted_ts({"ts": TS}) == ""
    nested: dict[str, Any] = {"ts": TS}
    for _ in range(5_000):
        nested = {"subtype": "message_changed", "message": nested}
    assert message_item(nested, team="T1", channel="C1", directory=DIRECTORY) is None


def test_an_edited_message_says_so_and_is_a_new_version() -> None:
    before, after = sure(), sure(text="The frame is mended", edited={"user": "U1ROBIN", "ts": "1700000050.000000"})
    assert before.id == after.id
    assert item_fingerprint(before) != item_fingerprint(after)
    assert after.sections[0].attributes["edited"] is True


@pytest.mark.parametrize(
    ("message", "author", "automated"),
    [
        ({"user": "U9GONE"}, Person("U9GONE", ("slack:T1:U9GONE",)), False),
        ({"user": "U9GONE", "user_profile": {"real_name": "Rosa"}}, Person("Rosa", ("slack:T1:U9GONE",)), False),
        ({"user_profile": {"real_name": "R."}}, Person("Robin Vale", ("slack:T1:U1ROBIN",)), False),
        ({"user": "U2BOT"}, Person("weather", ("address:slack:T1:U2BOT",)), True),
        ({"user": "USLACKBOT"}, Person("USLACKBOT", ("address:slack:T1:USLACKBOT",)), True),
        ({"user": "U9APP", "bot_id": "B1"}, Person("U9APP", ("address:slack:T1:U9APP",)), True),
        ({"user": "U1ROBIN", "bot_id": "B1"}, Person("Robin Vale", ("slack:T1:U1ROBIN",)), True),
        ({"user": None, "bot_id": "B1"}, Person("B1", ("address:slack:T1:B1",)), True),
        (
            {"user": None, "bot_id": "B1", "subtype": "bot_message", "username": "Rain"},
            Person("Rain", ("address:slack:T1:B1",)),
            True,
        ),
        ({"user": None, "bot_id": "B1", "bot_profile": {"name": "R"}}, Person("R", ("address:slack:T1:B1",)), True),
        ({"user": None, "subtype": "bot_message", "username": "Rain"}, Person("Rain"), True),
        ({"user": None}, Person(""), False),
    ],
)
def test_an_author_is_whom_the_id_means_and_an_unknown_id_stays(
    message: dict[str, Any], author: Person, automated: bool
) -> None:
    section = sure(**message).sections[0]
    assert section.author == author
    assert section.attributes.get("automated", False) is automated


def test_reactions_are_counts_in_order_of_their_names() -> None:
    reactions = [{"name": "tada", "users": ["U1ROBIN"], "count": 5}, {"name": "+1", "count": 1}, {"count": 2}, 7]
    assert list(dict(sure(reactions=reactions).sections[0].attributes)["reactions"].items()) == [("+1", 1), ("tada", 5)]  # type: ignore[union-attr]


def test_the_directory_is_one_item_the_same_in_any_order() -> None:
    users: list[object] = [
        {
            "id": "U2",
            "name": "rosa",
            "real_name": "Rosa Quint",
            "profile": {"display_name": "rq", "email": "Rosa@Example.com"},
        },
        {"id": "U1", "name": "rain", "is_bot": True},
        {"id": "USLACKBOT", "name": "slackbot"},
        {"name": "nobody"},
        "nothing",
    ]
    channels: list[object] = [
        {"id": "C2", "name": "shed"},
        {"id": "C1", "name": "beds", "topic": {"value": "Dig"}},
        {"id": "D1"},
    ]
    found = Directory.of("T1", users, channels, title="The Allotment").item()
    assert (found.id, found.kind, found.title, found.sections) == (
        "slack-directory:T1",
        "directory",
        "The Allotment",
        (),
    )
    assert found.attributes == {
        "team": "T1",
        "people": [
            {"key": "address:slack:T1:U1", "name": "rain", "names": ["rain"], "email": "", "bot": True},
            {
                "key": "slack:T1:U2",
                "name": "Rosa Quint",
                "names": ["Rosa Quint", "rq", "rosa"],
                "email": "rosa@example.com",
                "bot": False,
            },
            {"key": "address:slack:T1:USLACKBOT", "name": "slackbot", "names": ["slackbot"], "email": "", "bot": True},
        ],
        "channels": [{"id": "C1", "name": "beds", "topic": "Dig"}, {"id": "C2", "name": "shed", "topic": ""}],
    }
    again = Directory.of("T1", users[::-1], channels[::-1], title="The Allotment").item()
    assert item_fingerprint(found) == item_fingerprint(again)


LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from([TS, "U1ROBIN"])
)
NAMES = """type subtype ts thread_ts user bot_id username text blocks attachments files file reactions edited hidden message
    comment user_profile bot_profile elements fields accessory title alt_text message_blocks name count preview mode size
    rows url style indent offset user_id channel_id real_name title_link"""
KEYS = st.sampled_from(NAMES.split())
TYPES = "rich_text rich_text_list section context table message post snippet bot_message user"
WORDS = st.sampled_from(TYPES.split())
ANYTHING = st.recursive(
    LEAVES | WORDS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=25
)


@given(st.dictionaries(KEYS, ANYTHING, max_size=8), st.booleans())
def test_whatever_a_message_holds_it_is_an_item_or_none_or_bad(message: dict[str, Any], timed: bool) -> None:
    if timed:
        message |= {"ts": TS, "type": "message"}
    found = None
    with nullcontext() if timed else suppress(BadItem):  # only a time makes it bad
        found = message_item(message, team="T1", channel="C1", directory=DIRECTORY, now=1_750_000_000_000)
    if found is not None:
        assert found.title
        assert item_fingerprint(found)
        assert "\r" not in found.sections[0].text
