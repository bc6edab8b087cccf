"""Tier 0 of mail and Slack: who said what to whom, where, in answer to what; reads no prose.

A message is an Event named by its title. Its keys are, of mail, the item's id and its Message-ID (`message-id:…`), so that
answers find it; of Slack `message:<team>/<channel>/<ts>`. A thread is its first message: what follows is part of that.
"""

from __future__ import annotations

import contextlib
import re
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from ctxsync.connectors.people import plain_address
from ctxsync.engine.extraction.found import LONGEST_NAME, REFERRED, mappings, strings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ctxsync.connectors.base import Json
    from ctxsync.engine.extraction.base import Entity, Episode
    from ctxsync.engine.extraction.found import Found

# More recipients than these say how widely it went out, not who has to do with it.
MAX_RECIPIENTS = 50
MAX_FILES = 10
MAX_LINKS = 20

_AUTHORED = ("participated_in", "authorship")
_TAKES_PART = ("participated_in", "participation")
_PART_OF = ("part_of", "component")
_LINK = ("references", "link")
# Re:, Fwd: and what they are called elsewhere; a count in brackets as old mail programs wrote it.
_PREFIX = re.compile(
    r"\s*(?:re|fwd?|aw|antw|wg|sv|vs|vl|ref|rif|rv|res|enc|tr|odp|pd|ynt|ilt|答复|回复|转发|回覆|轉寄)(?:\[\d{1,3}\])?\s?[:\uff1a]\s*",
    re.IGNORECASE,
)
# Pictures are mostly logos, the others the mail's own machinery.
_NO_DOCUMENT = ("image/", "text/calendar", "application/ics", "application/pkcs7", "application/pgp", "message/")
_IMAGE = re.compile(r"(?:image|png|jpe?g|gif|webp|bmp|heic|svg)", re.IGNORECASE)
_THREAD = "mail:"


def bare_subject(subject: str) -> str:
    """Return a subject without what answers and forwards put before it."""
    at = 0
    while (found := _PREFIX.match(subject, at)) and found.end() < len(subject):
        at = found.end()
    return subject[at:].strip()


def mail(found: Found, episode: Episode) -> None:
    """Find what a mail states outright. Attached messages are others' words about other mail: they state nothing."""
    if episode.section != "body":
        return
    stated = episode.attributes
    own = _text(stated.get("message_id"))
    keys = (episode.item, _message_key(own)) if own else (episode.item,)
    message = found.entity(episode.title[:LONGEST_NAME], "Event", keys)
    group, listed = _list(found, stated)
    # A list that rewrites From lines is not whom it writes for.
    known = [key for key in episode.author_keys if f"address:{_address(key)}" not in listed]
    sender = found.someone(episode.author_name, known)
    if sender is not None:
        found.relation(sender, _AUTHORED, message, "authored")
    for person in mappings(stated.get("sender")):
        by = _someone(found, person)
        # For whom somebody sends it is known from the From line; a list's machine sends for everyone.
        if by is not None and by.type == "Person" and by is not sender:
            found.relation(by, _TAKES_PART, message, "sent")
    if group is not None:
        found.relation(message, _PART_OF, group, "was sent to")
    for person in _recipients(stated):
        if any(f"address:{_address(key)}" in listed for key in strings(person.get("keys"))):
            continue
        who = _someone(found, person)
        if who is not None:
            found.relation(who, _TAKES_PART, message, "received")
    _answers(found, episode, message, own)
    _attached(found, stated, message)
    for invitation in mappings(stated.get("invitations")):
        _invitation(found, message, invitation, _keys_of(stated, episode))


def _answers(found: Found, episode: Episode, message: Entity, own: str) -> None:
    subject = bare_subject(episode.title)[:LONGEST_NAME]
    root = episode.thread.removeprefix(_THREAD) if episode.thread.startswith(_THREAD) else ""
    answered = _text(episode.attributes.get("in_reply_to"))
    if root and root not in (own, episode.item, episode.item.removeprefix(_THREAD)):
        thread = found.entity(subject, REFERRED, (_message_key(root),))
        found.relation(message, _PART_OF, thread, "is part of")
    if answered and answered != own:
        found.relation(message, _LINK, found.entity(subject, REFERRED, (_message_key(answered),)), "replies to")


def _message_key(message_id: str) -> str:
    return f"message-id:{message_id}"


def _list(found: Found, stated: Mapping[str, Json]) -> tuple[Entity | None, frozenset[str]]:
    """Return the mailing list that the mail came through (a group, known by its id, else by its address), and its keys.

    Only one of them is the group's: two keys of one mention are one thing for ever, and anybody can send a mail with the
    id of one list and the address of another, or of a bank's office.
    """
    given = stated.get("list")
    if not isinstance(given, dict):
        return None, frozenset()
    address = plain_address(_text(given.get("address")))
    name = _text(given.get("id"))[:LONGEST_NAME]
    keys = tuple(key for key in (name and f"list:{name.lower()}", address and f"address:{address}") if key)
    shown = _text(given.get("name"))[:LONGEST_NAME] or name or address
    return (found.entity(shown, "Organization", keys[:1]) if keys else None), frozenset(keys)


def _recipients(stated: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    everyone = (person for field in ("to", "cc", "bcc") for person in mappings(stated.get(field)))
    for count, person in enumerate(everyone):
        if count == MAX_RECIPIENTS:
            return
        yield person


def _attached(found: Found, stated: Mapping[str, Json], message: Entity) -> None:
    files = (
        (_text(file.get("name")), _text(file.get("sha256")))
        for file in mappings(stated.get("attachments"))
        if not _text(file.get("type")).lower().startswith(_NO_DOCUMENT)
    )
    for name, digest in [file for file in files if file[0]][:MAX_FILES]:
        document = found.entity(name[:LONGEST_NAME], "Artifact", (f"file:{digest}",) if digest else ())
        found.relation(message, _LINK, document, "attaches")


def _keys_of(stated: Mapping[str, Json], episode: Episode) -> frozenset[str]:
    """Return the keys of whoever the mail says it is from."""
    people = (person for field in ("from", "sender") for person in mappings(stated.get(field)))
    return frozenset((*episode.author_keys, *(key for person in people for key in strings(person.get("keys")))))


def _invitation(found: Found, message: Entity, stated: Mapping[str, Json], senders: frozenset[str]) -> None:
    """Read a calendar's invitation as an Event, with who takes part, when and where.

    An update or a cancellation is an event of the same key with a later `sequence`: the graph lets the latest one speak,
    of those that come from the organizer themselves (`by_organizer`) before any other.
    """
    uid, method = _text(stated.get("uid")), _text(stated.get("method")).upper()
    if not uid or method not in ("", "REQUEST", "PUBLISH", "ADD", "CANCEL"):
        return  # answers to an invitation are no invitations
    sequence = stated.get("sequence")
    organizer = stated.get("organizer")
    head = organizer if isinstance(organizer, dict) else {}
    over = method == "CANCEL" or _text(stated.get("status")).upper() == "CANCELLED"
    occurrence = _text(stated.get("occurrence"))  # one of a series, which has its own time
    event = found.entity(
        _text(stated.get("title"))[:LONGEST_NAME] or "(no title)",
        "Event",
        (f"ical:{uid}/{occurrence}" if occurrence else f"ical:{uid}",),
        sequence=sequence if isinstance(sequence, int) else 0,
        by_organizer=not senders.isdisjoint(strings(head.get("keys"))),
        cancelled=over,
    )
    found.relation(message, _LINK, event, "cancels" if over else "invites to")
    if over:
        return
    when = dict(zip(("valid_from", "valid_to"), _when(stated), strict=True))
    host = _someone(found, head)
    if host is not None:
        found.relation(event, ("owned_by", "responsibility"), host, "is organized by", **when)
        found.relation(host, _TAKES_PART, event, "organizes", **when)
    for person in mappings(stated.get("attendees"))[:MAX_RECIPIENTS]:
        who = _someone(found, person)
        if who is not None and who is not host:
            found.relation(who, _TAKES_PART, event, "takes part in", **when)
    place = " ".join(_text(stated.get("location")).split())
    if place and "://" not in place and len(place) <= LONGEST_NAME:
        found.relation(event, ("located_at", "site"), found.entity(place, "Place"), "takes place in", **when)


def _when(stated: Mapping[str, Json]) -> tuple[str | None, str | None]:
    """Return the first and the last date or time of a meeting; of a series the first one only."""
    start, end = _text(stated.get("start")), _text(stated.get("end"))
    if stated.get("recurrence") or not start:
        return start or None, None
    if stated.get("all_day") is True and end:
        with contextlib.suppress(ValueError, OverflowError):
            # RFC 5545 3.6.1: the end of a day-long event is the day after it.
            end = (date.fromisoformat(end) - timedelta(days=1)).isoformat()
    return start, end or start[:10]


def slack(found: Found, episode: Episode) -> None:
    """Find what a Slack message states outright. Reactions are counts of the message, not facts."""
    stated = episode.attributes
    team, channel, ts = (_text(stated.get(key)) for key in ("team", "channel", "ts"))
    if not (team and channel and ts):
        return
    message = found.entity(episode.title[:LONGEST_NAME], "Event", (f"message:{team}/{channel}/{ts}",))
    if stated.get("reactions"):
        message.attributes["reactions"] = stated["reactions"]
    author = found.someone(episode.author_name, episode.author_keys, machine=stated.get("automated") is True)
    if author is not None:
        found.relation(author, _AUTHORED, message, "authored")
    found.relation(message, _PART_OF, _channel(found, team, channel), "was posted in")
    root = _text(stated.get("thread_ts"))
    if root and root != ts:
        answered = found.entity(f"message of {_time_of(root)}", REFERRED, (f"message:{team}/{channel}/{root}",))
        found.relation(message, _LINK, answered, "replies to")
    for person in mappings(stated.get("mentions"))[:MAX_RECIPIENTS]:
        who = _someone(found, person)
        if who is not None:
            found.relation(who, ("mentions", "mention"), message, "is mentioned in")
    for named in strings(stated.get("channels"))[:MAX_LINKS]:
        found.relation(message, _LINK, _channel(found, team, named), "refers to")
    for link in [link for link in episode.links if link.get("kind") == "url"][:MAX_LINKS]:
        url = _text(link.get("target"))
        if url.startswith(("http://", "https://")) and len(url) <= 2000:
            # Its label is `here` as often as not.
            found.relation(message, _LINK, found.entity(url[:LONGEST_NAME], "Artifact", (f"url:{url}",)), "links to")
    for file in mappings(stated.get("files"))[:MAX_FILES]:
        name = _text(file.get("name"))[:LONGEST_NAME]
        if name and not _IMAGE.match(_text(file.get("type"))):
            found.relation(message, _LINK, found.entity(name, "Artifact"), "attaches")


def _channel(found: Found, team: str, channel: str) -> Entity:
    """Return a channel; the workspace's directory says what it is called."""
    return found.entity(f"channel {channel}", REFERRED, (f"channel:{team}/{channel}",))


def _time_of(ts: str) -> str:
    try:
        return datetime.fromtimestamp(float(ts), tz=UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return ts


def _someone(found: Found, person: Mapping[str, Json]) -> Entity | None:
    return found.someone(_text(person.get("name")), strings(person.get("keys")))


def _address(key: str) -> str:
    return key.partition(":")[2]


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
