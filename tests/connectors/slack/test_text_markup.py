"""Slack's markup as readable text: what a person reads, and what is marked in it."""

from __future__ import annotations

import re
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxsync.connectors.slack.directory import Directory
from ctxsync.connectors.slack.text import MAX_TEXT, Writer, mrkdwn

DIRECTORY = Directory.of(
    "T1",
    [
        {"id": "U1ROBIN", "name": "robin", "profile": {"real_name": "Robin Vale", "email": "Robin@Example.com"}},
        {"id": "U2BOT", "name": "weather", "is_bot": True},
    ],
    [{"id": "C1GARDEN", "name": "garden"}],
)


def written(text: str) -> Writer:
    out = Writer(DIRECTORY)
    mrkdwn(out, text)
    return out


def reads(text: str) -> str:
    return written(text).text()


@pytest.mark.parametrize(
    ("slack", "reads_as"),
    [
        ("<@U1ROBIN> come", "@Robin Vale come"),
        ("<@U1ROBIN|old name> come", "@Robin Vale come"),
        ("<@U9GONE|rosa> and <@U9GONE>", "@rosa and @U9GONE"),
        (
            "<#C1GARDEN|old-name> <#C1GARDEN> <#C9GONE|beds> <#C9GONE|> <#C9GONE>",
            "#garden #garden #beds #C9GONE #C9GONE",
        ),
        ("<!here> <!channel|@channel> <!everyone>", "@here @channel @everyone"),
        ("<!subteam^S1|@gardeners> <!subteam^S1>", "@gardeners @S1"),
        ("<!date^1709208000^{date_num} {time}|29 Feb 2024> ", "29 Feb 2024 "),
        ("<!date^1709208000^{date_num}>", "2024-02-29 12:00 UTC"),
        ("<!date^1709208000^{date_num}^https://example.com/cal|then>", "then"),
        ("<!date^99999999999999999999^x> <!date^soon^x>", "99999999999999999999 soon"),
        ("<https://example.com/a?b=1&amp;c=2|the plan>", "the plan (https://example.com/a?b=1&c=2)"),
        ("<https://example.com/a?b=1&amp;c=2>", "https://example.com/a?b=1&c=2"),
        ("<http://example.com|example.com>", "http://example.com"),
        ("<mailto:robin@example.com|robin@example.com>", "robin@example.com"),
        ("<mailto:robin@example.com|write to Robin>", "write to Robin (robin@example.com)"),
        ("1 &lt; 2 &amp;&amp; 3 &gt; 2, &amp;lt; stays", "1 < 2 && 3 > 2, &lt; stays"),
        (":tada: done :+1::skin-tone-2:", ":tada: done :+1::skin-tone-2:"),
        ("*bold* _it_ ~gone~ and *two words*, _*both*_", "bold it gone and two words, both"),
        ("2 * 3 * 4, snake_case_name, ~/x and ~/y, __init__", "2 * 3 * 4, snake_case_name, ~/x and ~/y, __init__"),
        ("a <b> and <not a token|x>", "a <b> and <not a token|x>"),
        ("line\r\nnext\rlast", "line\nnext\nlast"),
        ("<@> <#> <!> <|> <> <", "<@> <#> <!> <|> <> <"),
    ],
)
def test_markup_reads_as_a_person_sees_it(slack: str, reads_as: str) -> None:
    assert reads(slack) == reads_as


def test_mentions_and_channels_are_kept_once_by_id_and_bots_are_things() -> None:
    out = written("<@U1ROBIN> <@U2BOT> <@U1ROBIN> <@U9GONE> <#C1GARDEN> <#C9GONE|beds> <#C1GARDEN>")
    assert [(one.name, one.keys) for one in out.mentions.values()] == [
        ("Robin Vale", ("slack:T1:U1ROBIN",)),
        ("weather", ("address:slack:T1:U2BOT",)),
        ("U9GONE", ("slack:T1:U9GONE",)),
    ]
    assert list(out.channels) == ["C1GARDEN", "C9GONE"]


def test_links_say_where_they_stand_and_lead() -> None:
    out = written("see <https://example.com/a|the plan> or <https://example.com/b>")
    text = out.text()
    assert [(link.target, link.kind, link.label, text[link.start : link.end]) for link in out.links] == [
        ("https://example.com/a", "url", "the plan", "the plan (https://example.com/a)"),
        ("https://example.com/b", "url", "", "https://example.com/b"),
    ]


def test_code_is_marked_and_nothing_in_it_is_a_mention_a_link_or_emphasis() -> None:
    out = written("run `a *b* <https://example.com> &lt;x&gt;`\n```<@U1ROBIN> *x*\n&gt; no quote```\ndone `` ` ``")
    text = out.text()
    assert [text[start:end] for start, end in out.code] == [
        "`a *b* https://example.com <x>`",
        "```@Robin Vale *x*\n> no quote```",
        "` `",
    ]
    assert not out.mentions
    assert not out.links
    assert not out.quoted


def test_quotes_are_marked_line_by_line_and_what_touches_is_one() -> None:
    out = written("Rosa said\n&gt; the frame\n&gt;is broken\nI agree\n&gt; twice\n\nend")
    text = out.text()
    assert text == "Rosa said\n> the frame\n> is broken\nI agree\n> twice\n\nend"
    assert [text[start:end] for start, end in out.quoted] == ["> the frame\n> is broken", "> twice"]


def test_three_marks_quote_all_that_follows() -> None:
    out = written("me\n&gt;&gt;&gt; one\ntwo\nthree")
    text = out.text()
    assert [text[start:end] for start, end in out.quoted] == ["> one\ntwo\nthree"]


def test_a_text_without_end_is_cut_and_says_so() -> None:
    out = written("<@U1ROBIN> " * 100_000)
    assert out.cut
    assert out.length == len(out.text()) == MAX_TEXT


HOSTILE = ("`", "`a", "<", "<@", "*a", "_", "&gt;", "<https://", "> ", "\n&gt;", "*a b ", "|", "<!date^", "```a")


@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_text_takes_longer_than_its_length_warrants(hostile: str) -> None:
    begun = time.process_time()
    written(hostile * 50_000)
    assert time.process_time() - begun < 2


SURE = st.text(alphabet="abc XYZ09\n*_~`'\"-.,:;!?()é漢🙂", max_size=60)


@given(st.lists(SURE, max_size=5))
def test_plain_words_are_never_lost(parts: list[str]) -> None:
    text = " <@U1ROBIN> &amp; <https://example.com/a|plan> ".join(parts)
    bare = re.sub(r"<[^>]*>|&amp;", " ", text)
    found = reads(text)
    for word in re.findall(r"[^\W_]+", bare):
        assert word in found


@given(st.text(max_size=200))
def test_any_text_is_read_and_its_marks_lie_in_it(text: str) -> None:
    out = written(text)
    found = out.text()
    assert out.length == len(found)
    found.encode()
    for start, end in [*out.code, *out.quoted, *((link.start, link.end) for link in out.links)]:
        assert 0 <= start < end <= len(found)
    for ranges in (out.code, out.quoted):
        assert all(one[1] <= other[0] for one, other in pairwise(ranges))
