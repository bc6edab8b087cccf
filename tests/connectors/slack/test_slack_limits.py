"""Rate limits, failing servers and refused tokens: what is complete is kept, and each message says what to do."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from ctxsync.connectors.base import Observed, Options
from ctxsync.connectors.slack import SlackConnector
from ctxsync.connectors.slack.api import LONGEST_WAIT, REFUSALS, TRIES
from ctxsync.errors import AuthError, ConfigError, RateLimited, Unavailable
from tests.connectors.slack.conftest import DAY, Reader
from tests.connectors.slack.server import (
    ALL_SCOPES,
    BOT_TOKEN,
    NOW,
    USER_TOKEN,
    Refusal,
    Workspace,
    error,
    limited,
)

# Slack 5


def test_a_short_retry_after_is_waited_out_for_as_long_as_it_says(workspace: Workspace, reader: Reader) -> None:
    said = workspace.post("C01")
    workspace.fail("conversations.history", limited(7), limited(13))
    reader.read()
    assert reader.held() == [said]
    assert workspace.clock.slept == [7, 13]


def test_a_long_retry_after_ends_the_pass_and_keeps_what_is_complete(workspace: Workspace, reader: Reader) -> None:
    said = [workspace.post("C01") for _ in range(12)]
    reader.batch = 5
    workspace.fail("conversations.history", None, limited(900))
    with pytest.raises(RateLimited) as caught:
        reader.read()
    assert caught.value.retry_after == 900
    assert "900 s" in str(caught.value)
    assert "ctxsync sync team" in caught.value.remedy
    assert reader.held() == said[7:]
    assert workspace.clock.slept == []
    workspace.calls.clear()
    assert sum(isinstance(change, Observed) for change in reader.read()) == 7
    assert reader.held() == said


def test_a_limit_on_replies_leaves_history_going(workspace: Workspace, reader: Reader) -> None:
    said = [workspace.post("C01") for _ in range(12)]
    answer = workspace.post("C01", thread_ts=said[-1])
    reader.batch = 5
    workspace.fail("conversations.replies", limited(300))
    with pytest.raises(RateLimited):
        reader.read()
    assert reader.held() == said
    reader.read()
    assert reader.held() == [*said, answer]
    assert reader.read() == []


def test_a_limited_method_is_not_asked_again_for_the_next_channel(workspace: Workspace, reader: Reader) -> None:
    for number in (2, 3, 4):
        workspace.room(f"C0{number}", f"room-{number}")
    workspace.fail("conversations.history", limited(900))
    problems = reader.sync()
    assert {type(problem) for problem in problems.values()} == {RateLimited}
    assert set(problems) == {"C01", "C02", "C03", "C04"}
    assert workspace.count("conversations.history") == 1


def test_an_app_that_slack_holds_to_one_call_a_minute_and_fifteen_messages_gets_everything(
    workspace: Workspace, reader: Reader
) -> None:
    said = [workspace.post("C01") for _ in range(40)]
    answers = [workspace.post("C01", thread_ts=said[3]) for _ in range(20)]
    workspace.page_cap = 15
    for method in ("conversations.history", "conversations.replies"):
        workspace.limits[method] = (1, 60.0, 60)
    reader.read()
    assert reader.held() == sorted(said + answers)
    assert max(workspace.clock.slept) <= LONGEST_WAIT
    assert workspace.clock.now < 6 * 60


def test_calls_keep_to_the_tier_of_their_method(workspace: Workspace, reader: Reader) -> None:
    for number in range(70):
        workspace.post("C01", thread_ts=workspace.post("C01", at=NOW - 9_000 + number))
    made: list[float] = []
    answer = workspace.answer

    def timed(method: str, arguments: dict[str, str], token: str) -> Refusal:
        if method == "conversations.replies":
            made.append(workspace.clock.now)
        return answer(method, arguments, token)

    workspace.answer = timed  # type: ignore[method-assign]  # the test listens
    reader.read()
    assert len(made) == 70
    assert made[49] == 0  # a minute's worth at once is tolerated
    assert all(later - earlier == pytest.approx(1.2) for earlier, later in pairwise(made[50:]))


@pytest.mark.parametrize("header", ["soon", "nan", "-5", "inf", ""])
def test_a_retry_after_that_is_no_number_is_survived(workspace: Workspace, reader: Reader, header: str) -> None:
    said = workspace.post("C01")
    workspace.fail("conversations.history", limited(header))
    reader.read()
    assert reader.held() == [said]
    assert all(0 <= seconds <= LONGEST_WAIT for seconds in workspace.clock.slept)


def test_refusals_without_end_end_the_pass(workspace: Workspace, reader: Reader) -> None:
    workspace.always["conversations.history"] = limited(1)
    with pytest.raises(RateLimited):
        reader.read()
    assert workspace.count("conversations.history") == REFUSALS


# Servers that fail


@pytest.mark.parametrize(
    "failure",
    [
        Refusal(503, "<html>down</html>"),
        Refusal(500, {"ok": False, "error": "internal_error"}),
        Refusal(200, {"ok": False, "error": "fatal_error"}),
        Refusal(200, "no json"),
        Refusal(cut=True),
    ],
    ids=["503", "500", "fatal_error", "no-json", "cut"],
)
def test_a_failing_server_is_tried_again_and_then_unavailable(
    workspace: Workspace, reader: Reader, failure: Refusal
) -> None:
    said = [workspace.post("C01") for _ in range(8)]
    reader.batch = 5
    workspace.fail("conversations.history", failure, failure, None, *[failure] * TRIES)
    with pytest.raises(Unavailable) as caught:
        reader.read()
    assert reader.url in str(caught.value)
    assert BOT_TOKEN not in repr(caught.value)
    assert reader.held() == said[3:]
    assert workspace.clock.slept == [1, 2, 1, 2, 4]
    reader.read()
    assert reader.held() == said


def test_a_server_that_is_not_there_is_unavailable_and_nothing_is_deleted(workspace: Workspace, reader: Reader) -> None:
    said = workspace.post("C01")
    reader.sync()
    reader.url = "http://127.0.0.1:9/api/"
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:9"):
        reader.streams()
    assert reader.held() == [said]


@pytest.mark.parametrize("cursor", ["bmV4dDo1", ""])
def test_pages_that_go_round_in_circles_end_and_what_came_is_kept(
    workspace: Workspace, reader: Reader, cursor: str
) -> None:
    said = [workspace.post("C01") for _ in range(3)]
    workspace.post("C01", thread_ts=said[0])

    def circle(method: str, answer: dict[str, object]) -> dict[str, object]:
        if method == "conversations.replies":
            return answer | {"has_more": True, "response_metadata": {"next_cursor": cursor}}
        return answer

    workspace.alter = circle
    with pytest.raises(Unavailable, match="do not end"):
        reader.read()
    assert set(said) <= set(reader.held())
    assert workspace.count("conversations.replies") <= 4


def test_history_that_says_there_is_more_and_gives_nothing_ends(workspace: Workspace, reader: Reader) -> None:
    said = [workspace.post("C01") for _ in range(3)]
    reader.read()

    def empty(method: str, answer: dict[str, object]) -> dict[str, object]:
        return answer | ({"messages": [], "has_more": True} if method == "conversations.history" else {})

    workspace.alter = empty
    with pytest.raises(Unavailable, match="do not end"):
        reader.read()
    assert reader.held() == said


def test_an_empty_page_with_a_cursor_leads_on(workspace: Workspace, reader: Reader) -> None:
    said = workspace.post("C01")
    pages = iter([{"messages": [], "has_more": True, "response_metadata": {"next_cursor": "bmV4dDow"}}])

    def hollow(method: str, answer: dict[str, object]) -> dict[str, object]:
        return answer | (next(pages, {}) if method == "conversations.history" else {})

    workspace.alter = hollow
    reader.read()
    assert reader.held() == [said]


# Tokens


@pytest.mark.parametrize(
    "code",
    ["invalid_auth", "token_revoked", "token_expired", "account_inactive", "not_allowed_token_type", "not_authed"],
)
def test_a_refused_token_says_so_and_what_to_do_and_deletes_nothing(
    workspace: Workspace, reader: Reader, code: str
) -> None:
    said = workspace.post("C01")
    reader.sync()
    workspace.always["*"] = error(code)
    with pytest.raises(AuthError) as caught:
        reader.streams()
    assert code in str(caught.value)
    assert "ctxsync sync team" in caught.value.remedy
    assert BOT_TOKEN not in str(caught.value)
    assert reader.held() == [said]


def test_a_token_that_is_revoked_in_the_middle_keeps_what_was_read(workspace: Workspace, reader: Reader) -> None:
    said = [workspace.post("C01") for _ in range(8)]
    reader.batch = 5
    workspace.fail("conversations.history", None, error("token_revoked"))
    with pytest.raises(AuthError):
        reader.read()
    assert reader.held() == said[3:]


def test_a_history_scope_that_is_missing_is_named(workspace: Workspace, reader: Reader) -> None:
    workspace.says_scopes = False
    workspace.tokens[BOT_TOKEN] = ALL_SCOPES - {"channels:history"}
    workspace.room("G01", "council", kind="private_channel")
    said = workspace.post("G01")
    problems = reader.sync()
    assert list(problems) == ["C01"]
    assert isinstance(problems["C01"], AuthError)
    assert "channels:history" in str(problems["C01"])
    assert "groups:history" in str(problems["C01"])  # what the token has, as Slack says
    assert reader.held("G01") == [said]


@pytest.mark.parametrize("half", ["groups:history", "groups:read", "users:read"])
def test_a_scope_that_is_half_given_is_named_once_and_all_else_is_read(
    workspace: Workspace, reader: Reader, half: str
) -> None:
    workspace.tokens[BOT_TOKEN] = ALL_SCOPES - {half}
    said = workspace.post("C01")
    workspace.room("G01", "council", kind="private_channel")
    workspace.room("G02", "choir", kind="private_channel")
    problems = reader.sync()
    assert list(problems) == [".directory"]
    assert half in str(problems[".directory"])
    assert reader.held() == [said]


def test_kinds_that_no_scope_was_asked_for_are_left_out_without_a_word(workspace: Workspace, reader: Reader) -> None:
    workspace.tokens[BOT_TOKEN] = frozenset({"channels:read", "channels:history", "users:read"})
    workspace.room("D01", "", kind="im", user="U02")
    for says in (True, False):
        workspace.says_scopes = says
        assert reader.sync() == {}
        assert reader.streams() == [".directory", "C01"]


def test_a_token_without_any_scope_of_use_says_which_it_needs(workspace: Workspace, reader: Reader) -> None:
    for says in (True, False):
        workspace.says_scopes = says
        workspace.tokens[BOT_TOKEN] = frozenset({"users:read"})
        with pytest.raises(AuthError, match=r":read"):
            reader.streams()


def test_a_bot_reads_the_channels_it_was_invited_to_and_a_user_all_public_ones(
    workspace: Workspace, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.room("C02", "elsewhere", joined=False)
    workspace.room("G01", "council", kind="private_channel")
    workspace.room("G02", "trio", kind="mpim")
    workspace.room("D01", "", kind="im", user="U02")
    said = [workspace.post(room) for room in ("C02", "D01")]
    assert reader.streams() == [".directory", "C01", "D01", "G01", "G02"]
    monkeypatch.setenv("SLACK_TOKEN", USER_TOKEN)
    assert reader.sync() == {}
    assert reader.held("C02") + reader.held("D01") == said


def test_channels_are_chosen_by_name_by_id_and_by_glob(workspace: Workspace, reader: Reader) -> None:
    for number, name in enumerate(("team-east", "team-west", "random", "archive"), 2):
        workspace.room(f"C0{number}", name)
    workspace.room("D01", "", kind="im", user="U02")
    for channels, exclude, found in (
        (["general"], [], ["C01"]),
        (["#general", "C04"], [], ["C01", "C04"]),
        (["team-*"], ["*west"], ["C02"]),
        ([], ["C*"], ["D01"]),
        (["U02"], [], ["D01"]),
    ):
        reader.settings |= {"channels": list(channels), "exclude": list(exclude)}
        assert reader.streams() == [".directory", *found]


def test_a_channel_that_cannot_be_read_pauses_alone(workspace: Workspace, reader: Reader) -> None:
    workspace.room("C02", "random")
    said = workspace.post("C02")
    for code in ("not_in_channel", "channel_not_found"):
        workspace.fail("conversations.history", error(code))
        problems = reader.sync()
        assert list(problems) == ["C01"]
        assert "#general" in str(problems["C01"])
        assert code in str(problems["C01"])
        assert reader.held("C02") == [said]


# Settings


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"token": ""}, "token"),
        ({"since": "last year"}, "since"),
        ({"channels": 7}, "channels"),
        ({"api_url": "http://slack.example.com/api/"}, "https"),
        ({"api_url": "file:///etc/"}, "https"),
    ],
)
def test_a_setting_that_means_nothing_is_named(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        SlackConnector("team", {"token": "env:SLACK_TOKEN", **settings}, Options())


def test_names_go_through_as_text_and_the_directory_tells_whose_they_are(workspace: Workspace, reader: Reader) -> None:
    for number in range(450):
        workspace.user(f"U1{number:03}", f"Person {number}")
    said = workspace.post("C01", "hello <@U02>", at=NOW - DAY)
    reader.sync()
    assert workspace.count("users.list") == 3
    assert reader.text(said) == "hello @Maya Lindqvist"
    (directory,) = [item for item in reader.items.values() if item.kind == "directory"]
    people = directory.attributes["people"]
    assert isinstance(people, list)
    assert len(people) == 453
    assert reader.places[directory.id] == {".directory"}
    written = reader.written
    reader.sync()
    assert reader.written == written
    workspace.user("U02", "Maya Lindqvist", email="maya.l@example.com")
    reader.sync()
    assert reader.written == written + 1
