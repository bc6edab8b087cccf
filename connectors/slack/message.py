"""One Slack message, as the API or an export holds it, becomes an item; knows neither of the two.

Nothing of where a message was found is in the item, and nothing that changes without anyone saying anything: counts of
replies, block ids, links with tokens, the author's picture. So the API and an export give the same bytes.

What is no item: joins, leaves and other traffic of a channel, which a person would not look for; deleted messages,
the tombstone of one with replies included; and what Slack marks as hidden. Topics, purposes and renames are items, but
automated: they say what a channel is for.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ctxsync.connectors.base import UTC_OFFSET, Item, Json, Person, Section
from ctxsync.connectors.slack.blocks import MAX_PREVIEW, Words
from ctxsync.connectors.slack.directory import SLACKBOT, readable, text_of
from ctxsync.connectors.slack.text import MAX_TEXT, Writer, has_markup, mrkdwn
from ctxsync.errors import BadItem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ctxsync.connectors.base import Link
    from ctxsync.connectors.slack.directory import Directory

KIND: Final = "slack"
TITLE_LENGTH: Final = 80
NO_WORDS: Final = "A message without words"
MAX_FILES: Final = 100
MAX_REACTIONS: Final = 200
_is_ts: Final = re.compile(r"[1-9][0-9]{0,11}\.[0-9]{6}").fullmatch
_JOINED: Final = ("join", "leave", "archive", "unarchive", "convert_to_private", "convert_to_public", "open", "close")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TRAFFIC: Final = frozenset(f"{kind}_{what}" for kind in ("channel", "group") for what in _JOINED) | _words(
    """app_conversation_join app_conversation_leave assistant_app_thread bot_add bot_enable bot_disable bot_remove
    channel_posting_permissions ekm_access_denied message_replied message_deleted pinned_item unpinned_item
    sh_room_shared tombstone"""
)
_AUTOMATIC: Final = _words(
    """bot_message channel_topic channel_purpose channel_name channel_canvas_updated channel_list_updated group_topic
    group_purpose group_name huddle_thread reminder_add sh_room_created tabbed_canvas_updated document_comment_root"""
)


def message_item(
    message: Mapping[str, object], *, team: str, channel: str, directory: Directory, now: int = 0
) -> Item | None:
    """Return the item of a message; None when it is none (see above).

    Args:
        message: Slack's JSON. An event that wraps a changed message stands for that message.
        team: The workspace's id.
        channel: The channel's id.
        directory: What ids mean.
        now: Milliseconds UTC: no message is later than that; 0 knows no such end.

    Raises:
        BadItem: It has no `ts` that is one.
    """
    subtype = message.get("subtype")
    if subtype:
        subtype = text_of(message, "subtype")
        if subtype == "message_changed":
            changed = message.get("message")
            return (
                message_item(changed, team=team, channel=channel, directory=directory, now=now)
                if isinstance(changed, dict) and changed.get("subtype") != "message_changed"
                else None
            )
        if subtype in _TRAFFIC:
            return None
    if message.get("hidden") is True or message.get("type", "message") != "message":
        return None
    ts = message.get("ts")
    if not isinstance(ts, str) or not _is_ts(ts):
        ts = message_ts(message)
    said = int(ts[:-7]) * 1000 + int(ts[-6:-3])
    flags: tuple[str, ...] = ()
    if now and said > now:
        said, flags = now, ("time-clamped",)
    thread_ts = message.get("thread_ts")
    root = thread_ts if thread_ts and isinstance(thread_ts, str) and _is_ts(thread_ts) else ts

    attributes: dict[str, Json] = {"team": team, "channel": channel, "ts": ts}
    if root != ts:
        attributes["thread_ts"] = root
    links: tuple[Link, ...] = ()
    code: tuple[tuple[int, int], ...] = ()
    quoted: tuple[tuple[int, int], ...] = ()
    text = _only_text(message)
    if text is None or has_markup(text):
        out = Writer(directory)
        files: list[Mapping[str, object]] = []
        if text is None:
            files = _files(message)
            _write(out, message, files)
        else:
            mrkdwn(out, text)
        text, links, code, quoted = out.text(), tuple(out.links), tuple(out.code), tuple(out.quoted)
        if out.cut:
            flags = (*flags, "text-truncated")
        if out.mentions:
            attributes["mentions"] = [{"name": one.name, "keys": list(one.keys)} for one in out.mentions.values()]
        if out.channels:
            attributes["channels"] = list(out.channels)
        if files:
            attributes["files"] = [_file(file) for file in files]
    reactions = message.get("reactions")
    if reactions and (counts := _reactions(reactions)):
        attributes["reactions"] = counts
    user = message.get("user")
    known = directory.author(user) if isinstance(user, str) else None
    if known is None or subtype or "bot_id" in message:
        author, automated = _author(message, str(subtype or ""), directory)
    else:
        author, automated = known
        if not automated and (offset := directory.utc_offset(str(user), said)):
            attributes[UTC_OFFSET] = offset
    if automated:
        attributes["automated"] = True
    if message.get("edited"):
        attributes["edited"] = True

    # By position, in the order of the class: names would cost a tenth of all the rest.
    section = Section(
        "message", text, said, (), 0, author, f"slack:{team}/{channel}/{root}", links, (), code, quoted, attributes
    )
    title = text
    if len(text) > TITLE_LENGTH or not text.isprintable() or "  " in text or text != text.strip():
        title = " ".join(text[: 4 * TITLE_LENGTH].split())[:TITLE_LENGTH].rstrip()
    return Item(f"slack:{team}/{channel}/{ts}", KIND, title or NO_WORDS, (section,), (), (), {}, flags)


def message_ts(message: Mapping[str, object]) -> str:
    """Return a message's `ts`, which is a text for ever: as a number it would lose its last digits.

    Raises:
        BadItem: There is none, or it is none.
    """
    ts = message.get("ts")
    if not isinstance(ts, str) or not _is_ts(ts):
        raise BadItem(f"A message has no `ts`: {str(ts)[:40]!r}.")
    return ts


def deleted_ts(message: Mapping[str, object]) -> str:
    """Return the `ts` of the message whose deletion this one tells of; empty when it tells of none."""
    if message.get("subtype") == "message_deleted":
        ts = message.get("deleted_ts")
    elif message.get("subtype") == "tombstone":
        ts = message.get("ts")
    else:
        return ""
    return ts if isinstance(ts, str) and _is_ts(ts) else ""


def _only_text(message: Mapping[str, object]) -> str | None:
    """Return the text of a message that is nothing else, as most are; None for any other."""
    text, blocks = message.get("text"), message.get("blocks")
    if (
        not isinstance(text, str)
        or not text
        or (blocks and not _typed(blocks))
        or message.get("attachments")
        or message.get("files")
        or message.get("file")
        or text.isspace()
        or len(text) > MAX_TEXT
    ):
        return None
    return readable(text)


def _write(out: Writer, message: Mapping[str, object], files: list[Mapping[str, object]]) -> None:
    """Write what was said: the text, or the blocks where they say more; what is attached; what files show."""
    text = message.get("text")
    if not isinstance(text, str):
        text = ""
    comment = message.get("comment")
    if not text and isinstance(comment, dict) and isinstance(comment.get("comment"), str):
        text = str(comment["comment"])
    blocks = message.get("blocks")
    if not text.strip() or (blocks and _say_more(blocks, text, out.directory)):
        Words(out).blocks(blocks)
        if not out.length:
            mrkdwn(out, text)
    else:
        mrkdwn(out, text)
    if message.get("attachments"):
        Words(out).attachments(message["attachments"])
    for file in files:
        preview = file.get("preview")
        if isinstance(preview, str) and preview and file.get("mode") in ("snippet", "post", "space", "email"):
            out.line()
            start = out.begin_code()
            out.raw(preview[:MAX_PREVIEW])
            if file.get("mode") == "snippet":
                out.end_code(start)
            else:
                out.in_code -= 1
    if not out.length:
        out.raw("\n".join(text_of(file, "title") or text_of(file, "name") for file in files))
    if not out.length and message.get("subtype") == "huddle_thread":
        out.raw("A huddle")


def _say_more(blocks: object, text: str, directory: Directory) -> bool:
    """Say whether laid-out blocks hold all words of the text, and others: it is only their notification then."""
    if not isinstance(blocks, list) or _typed(blocks):
        return False
    laid_out, told = Writer(directory), Writer(directory)
    Words(laid_out).blocks(blocks)
    mrkdwn(told, text)
    return len(laid_out.text().split()) > len(told.text().split())


def _typed(blocks: object) -> bool:
    """Say whether blocks are what a person typed, which the text says as well."""
    if not isinstance(blocks, list):
        return False
    for block in blocks:  # noqa: SIM110  # once a message: a generator costs as much as all the rest of this
        if not isinstance(block, dict) or block.get("type") != "rich_text":
            return False
    return True


def _author(message: Mapping[str, object], subtype: str, directory: Directory) -> tuple[Person, bool]:
    """Return who wrote a message, and whether a machine did."""
    user, bot_id = text_of(message, "user"), text_of(message, "bot_id")
    comment = message.get("comment")
    if not user and isinstance(comment, dict):
        user = text_of(comment, "user")
    member = directory.members.get(user) if user else None
    automated = bool(bot_id or user == SLACKBOT or subtype in _AUTOMATIC or (member is not None and member.bot))
    if member is not None:
        return directory.person(user), automated
    bot = bool(bot_id) or subtype == "bot_message"
    name = ""
    for key in ("bot_profile", "user_profile"):
        profile = message.get(key)
        if not name and isinstance(profile, dict):
            name = text_of(profile, "real_name") or text_of(profile, "display_name") or text_of(profile, "name")
    name = (bot and text_of(message, "username")) or name or text_of(message, "username")
    if user or bot_id:
        return directory.person(user or bot_id, fallback=name, bot=bot), automated
    return Person(name), automated


def _reactions(reactions: object) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for reaction in reactions[:MAX_REACTIONS] if isinstance(reactions, list) else ():
        if isinstance(reaction, dict) and (name := text_of(reaction, "name")):
            count = reaction.get("count")
            # JSON may hold numbers of any size, and an event does not.
            found[name] = count if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < 2**53 else 0
    return dict(sorted(found.items()))


def _files(message: Mapping[str, object]) -> list[Mapping[str, object]]:
    """Return a message's files that still have a name; the oldest exports have one in `file`."""
    files = message.get("files") or ([message["file"]] if message.get("file") else [])
    if not isinstance(files, list):
        return []
    return [
        file
        for file in files[:MAX_FILES]
        if isinstance(file, dict) and (text_of(file, "name") or text_of(file, "title"))
    ]


def _file(file: Mapping[str, object]) -> dict[str, Json]:
    size = file.get("size")
    return {
        "name": text_of(file, "name") or text_of(file, "title"),
        "type": text_of(file, "filetype") or text_of(file, "mimetype"),
        "size": size if isinstance(size, int) and 0 <= size < 2**53 else 0,
    }
