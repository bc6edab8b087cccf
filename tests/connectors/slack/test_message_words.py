"""Where a Slack message's words come from when its text has none, or not all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxsync.connectors.slack.directory import Directory
from ctxsync.connectors.slack.message import message_item

if TYPE_CHECKING:
    from ctxsync.connectors.base import Item

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


def sure(**message: Any) -> Item:
    full = {"type": "message", "user": "U1ROBIN", "ts": TS, **message}
    found = message_item(full, team="T1", channel="C1GARDEN", directory=DIRECTORY)
    assert found is not None
    return found


def text(**message: Any) -> str:
    return sure(**message).sections[0].text


RICH = [
    {
        "type": "rich_text",
        "elements": [
            {
                "type": "rich_text_section",
                "elements": [
                    {"type": "user", "user_id": "U1ROBIN"},
                    {"type": "text", "text": " see "},
                    {"type": "link", "url": "https://example.com/a", "text": "the plan"},
                    {"type": "text", "text": " in "},
                    {"type": "channel", "channel_id": "C1GARDEN"},
                    {"type": "text", "text": " <raw> & "},
                    {"type": "text", "text": "run me", "style": {"code": True}},
                    {"type": "emoji", "name": "tada"},
                    {"type": "broadcast", "range": "here"},
                    {"type": "date", "timestamp": 1709208000, "format": "{date}", "fallback": " on 29 Feb"},
                ],
            },
            {
                "type": "rich_text_list",
                "style": "ordered",
                "elements": [
                    {"type": "rich_text_section", "elements": [{"type": "text", "text": "dig"}]},
                    {"type": "rich_text_section", "elements": [{"type": "text", "text": "sow"}]},
                ],
            },
            {
                "type": "rich_text_list",
                "style": "bullet",
                "indent": 1,
                "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": "peas"}]}],
            },
            {"type": "rich_text_quote", "elements": [{"type": "text", "text": "Rosa said so"}]},
            {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "x = 1\ny = 2"}]},
        ],
    }
]


def test_without_a_text_the_words_come_from_rich_text() -> None:
    section = sure(text="", blocks=RICH).sections[0]
    assert section.text == (
        "@Robin Vale see the plan (https://example.com/a) in #garden <raw> & `run me`:tada:@here on 29 Feb\n"
        "1. dig\n2. sow\n    • peas\n> Rosa said so\n```x = 1\ny = 2```\n"
    )
    assert [section.text[a:b] for a, b in section.code] == ["`run me`", "```x = 1\ny = 2```"]
    assert [section.text[a:b] for a, b in section.quoted] == ["> Rosa said so"]
    assert [link.target for link in section.links] == ["https://example.com/a"]
    assert section.attributes["mentions"] == [{"name": "Robin Vale", "keys": ["slack:T1:U1ROBIN"]}]
    assert section.attributes["channels"] == ["C1GARDEN"]


def test_without_a_text_the_words_come_from_what_apps_lay_out() -> None:
    blocks = [
        {"type": "header", "text": {"type": "plain_text", "text": "Frost & fog"}},
        {
            "type": "section",
            "text": {"type": "mrkdwn", "text": "*Cover* the <https://example.com|beds>"},
            "fields": [{"type": "mrkdwn", "text": "Low: -2"}, {"type": "plain_text", "text": "High: 4"}],
            "accessory": {"type": "image", "alt_text": "a thermometer", "image_url": "https://example.com/i.png"},
        },
        {
            "type": "context",
            "elements": [{"type": "image", "alt_text": "a cloud"}, {"type": "mrkdwn", "text": "since 6"}],
        },
        {"type": "image", "title": {"type": "plain_text", "text": "Map"}, "alt_text": "of the valley"},
        {"type": "divider"},
        {"type": "actions", "elements": [{"type": "button", "text": {"type": "plain_text", "text": "Press"}}]},
        {"type": "markdown", "text": "**as it is**"},
        {"type": "table", "rows": [[{"type": "raw_text", "text": "bed"}, {"type": "raw_text", "text": "crop"}]]},
        {"type": "of tomorrow", "elements": [{"type": "section", "text": {"type": "mrkdwn", "text": "new words"}}]},
    ]
    assert text(text="", blocks=blocks) == (
        "Frost & fog\nCover the beds (https://example.com)\nLow: -2\nHigh: 4\na thermometer\na cloud\nsince 6\nMap\n"
        "of the valley\n**as it is**\nbed | crop\nnew words"
    )


def test_a_notification_gives_way_to_the_blocks_that_say_more() -> None:
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": "Frost tonight: cover the beds and the frame"}}]
    assert text(text="Frost tonight", blocks=blocks) == "Frost tonight: cover the beds and the frame"
    assert text(text="Frost tonight, says the one who knows it all too well", blocks=blocks).endswith("all too well")


def test_attachments_are_read_with_their_nests_and_what_they_were_made_of_is_quoted() -> None:
    section = sure(
        text="look",
        attachments=[
            {"pretext": "New ticket", "title": "Frame", "title_link": "https://example.com/1", "text": "pane *gone*"}
            | {
                "fields": [{"title": "Who", "value": "<@U1ROBIN>"}],
                "attachments": [{"text": "deep"}],
                "fallback": "no",
            },
            {"from_url": "https://example.com/p", "title": "A page", "text": "Others' words"},
            {
                "is_share": True,
                "author_name": "Rosa",
                "message_blocks": [
                    {"message": {"blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "hi"}}]}}
                ],
            },
            {"fallback": "only this"},
        ],
    ).sections[0]
    assert section.text == (
        "look\nNew ticket\nFrame (https://example.com/1)\npane gone\nWho\n@Robin Vale\ndeep\n"
        "A page\nOthers' words\nRosa\nhi\nonly this"
    )
    assert [section.text[a:b] for a, b in section.quoted] == ["A page\nOthers' words\nRosa\nhi"]


def test_a_message_of_files_alone_reads_as_their_names() -> None:
    found = sure(
        text="",
        files=[
            {"id": "F1", "name": "plan.pdf", "title": "The plan", "filetype": "pdf", "size": 70_000},
            {"id": "F2", "mode": "tombstone"},
        ],
    )
    assert (found.title, found.sections[0].text) == ("The plan", "The plan")
    assert found.sections[0].attributes["files"] == [{"name": "plan.pdf", "type": "pdf", "size": 70_000}]


def test_a_snippets_preview_is_code_and_a_posts_is_prose() -> None:
    snippet = {"name": "a.py", "filetype": "python", "mode": "snippet", "preview": "print(<1>)", "size": 9}
    section = sure(text="try", files=[snippet]).sections[0]
    assert section.text == "try\nprint(<1>)"
    assert [section.text[a:b] for a, b in section.code] == ["print(<1>)"]
    post = {"name": "Notes", "mode": "post", "preview": "We met."}
    assert sure(text="", files=[post]).sections[0].text == "We met."
    assert sure(text="", file=post).sections[0].attributes["files"]


def test_what_has_no_words_still_has_a_title() -> None:
    assert sure(text="", user="U1ROBIN").title == "A message without words"
    assert sure(text="", subtype="huddle_thread").title == "A huddle"
    assert len(sure(text="word " * 100).title) <= 80


def test_nests_without_end_are_walked_to_a_depth_and_a_number() -> None:
    deep: dict[str, Any] = {"type": "rich_text_section", "elements": [{"type": "text", "text": "bottom"}]}
    for _ in range(900):
        deep = {"type": "rich_text_section", "elements": [deep]}
    assert sure(text="", blocks=[{"type": "rich_text", "elements": [deep]}]).title == "A message without words"
    nested: dict[str, Any] = {"text": "bottom"}
    for _ in range(900):
        nested = {"text": "level", "attachments": [nested]}
    assert 10 < text(text="", attachments=[nested]).count("level") < 100
    wide = [{"type": "section", "text": {"type": "mrkdwn", "text": "x"}}] * 100_000
    assert text(text="", blocks=wide).count("x") <= 5_000
