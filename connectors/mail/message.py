"""A message's bytes become an item: the same wherever they were found. Knows no server, file or folder."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

from ctxsync.connectors.base import UTC_OFFSET, Item, Person, Section, digest
from ctxsync.connectors.mail.automated import is_automated, list_of
from ctxsync.connectors.mail.body import LOSSY, body_of
from ctxsync.connectors.mail.charsets import few_guesses
from ctxsync.connectors.mail.headers import MAX_IDS, addresses, date_of, field, fields, message_ids, text_of, time_of
from ctxsync.connectors.mail.parts import Leaf, body_digest, parsed, parts_of
from ctxsync.connectors.mail.tree import names_of
from ctxsync.connectors.people import address_key
from ctxsync.errors import BadItem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from email.message import Message

    from ctxsync.connectors.base import Json

MAX_BODY: Final = 25_000_000
MAX_PEOPLE: Final = 100
MAX_NAME: Final = 300  # characters
MAX_FILES: Final = 200
MAX_FORWARDED: Final = 50
MAX_CALENDARS: Final = 2_000_000  # bytes of all calendars in a message
CUT: Final = "message-cut"
_ADDRESSED: Final = ("from", "sender", "reply-to", "to", "cc", "bcc")
_KNOWN: Final = frozenset({*_ADDRESSED, "date", "subject", "message-id", "received", "return-path", "content-type"})
_ANSWER = re.compile(
    r"^(?:(?:re|aw|sv|antw|antwort|ant|odp|rif|rép|vs|vá|ynt|回复|回覆|答复|res|ref)(?:\[\d+\])?[ \t]?[:\uff1a]\s*)+",
    re.IGNORECASE,
)
_TAGS = re.compile(r"^(?:\[[^\]]{1,60}\]\s*|(?:fwd?|wg|tr|rv|enc|i|vb)[ \t]?[:\uff1a]\s*)+", re.IGNORECASE)


def mail_item(raw: bytes, *, received: int = 0, now: int = 0, max_body: int = MAX_BODY) -> Item:
    """Return the item of a message.

    Its identity is its Message-ID with the digest of its decoded body; without a Message-ID, that of sender, date,
    subject and body. Neither depends on line ends, transfer encodings, or what an mbox did to lines `From `.

    Args:
        raw: The message, CRLF or LF line ends, without an mbox's `From ` line. It may be cut behind `max_body`.
        received: When it came, milliseconds UTC, for messages without a usable Date; 0 when not known.
        now: Milliseconds UTC, taken where nothing else tells the time, and for times that have not come yet; 0 when
            not known.
        max_body: Bytes of the message (counted with CRLF line ends) that are read; what is behind is left away, and
            the item has the flag `message-cut`.

    Raises:
        BadItem: It is no message, or is nested too deep or has too many parts to be one.
    """
    plain, cut = _measured(raw, max_body)
    try:
        with few_guesses():
            item = _Reading(plain, cut=cut, received=received, now=now).item(hashlib.sha256(raw).hexdigest())
    except RecursionError as error:
        raise BadItem("The message is nested too deep to be read.") from error
    return item


def _measured(raw: bytes, most: int) -> tuple[bytes, bool]:
    """Return the message with LF line ends, no longer than `most` bytes had it CRLF, and whether it was cut."""
    plain = raw
    if b"\r" in raw:
        plain = raw.translate(None, b"\r")  # much faster than a replacement, and the same where each CR has its LF
        if len(raw) - len(plain) != raw.count(b"\r\n"):
            plain = raw.replace(b"\r\n", b"\n")
    if len(plain) * 2 <= most or len(plain) + plain.count(b"\n") <= most:
        return plain, False
    low, high = 0, min(len(plain), most)
    while low < high:  # the longest beginning that fits; the same one from a server and from a file
        middle = (low + high + 1) // 2
        if middle + plain.count(b"\n", 0, middle) <= most:
            low = middle
        else:
            high = middle - 1
    return plain[:low], True


# What an item of mail is made of besides its Message-ID and its body. Without these, whoever was sent a message could send it
# back under its id, from another person and to others, and it would count as the one that stands among what was sent.
_BOUND = (
    *("from", "sender", "reply-to", "to", "cc", "date", "subject", "in-reply-to", "references"),
    *("list-id", "list-post", "list-unsubscribe", "precedence", "auto-submitted"),
)


class _Reading:
    """One message on its way to an item; the flags gather what was irregular."""

    def __init__(self, plain: bytes, *, cut: bool, received: int, now: int) -> None:
        self.received, self.now, self.cut = received, now, cut
        self.flags: set[str] = {CUT} if cut else set()
        self.message = parsed(plain)
        if _KNOWN.isdisjoint(names_of(self.message)):
            raise BadItem("There is no message here: it has none of a message's header fields.")

    def item(self, raw_digest: str) -> Item:
        message = self.message
        subject = text_of(field(message, "subject"))
        own = next(iter(message_ids(field(message, "message-id"))), "")
        content = body_digest(message)
        stated = [text_of(fields(message, name)) for name in _BOUND]
        item_id = f"mail:{digest(own, *stated, content)}"
        answered = next(iter(message_ids(field(message, "in-reply-to"))), "")
        references = message_ids(fields(message, "references"))
        root = next(iter(references), answered or own)
        thread = f"mail:{root}" if root else item_id
        parts = parts_of(message)
        body = body_of(parts.texts)
        self.flags |= body.flags
        at, offset = self._date(message)
        attributes: dict[str, Json] = {
            **_people(message),
            "message_id": own,
            "in_reply_to": answered,
            "references": [*references[:1], *references[1:][-MAX_IDS + 1 :]],
            "list": dict(list_of(message)),
            "automated": is_automated(message),
            "attachments": self._files(parts.files),
            "invitations": self._invitations(parts.calendars),
            "subject_key": "" if references or answered else _subject_key(subject),
            UTC_OFFSET: offset,
        }
        section = Section(
            "body",
            body.text,
            at,
            author=_author(message),
            thread=thread,
            quoted=body.quoted,
            code=body.code,
            attributes={key: value for key, value in attributes.items() if value},
        )
        return Item(
            item_id,
            "mail",
            subject or "(no subject)",
            (section, *self._forwarded(parts.messages, thread, at)),
            flags=tuple(sorted(self.flags)),
            raw_digest=raw_digest,
        )

    def _date(self, message: Message) -> tuple[int, int]:
        """Return when a message was written: its Date, else when it came, as told, else as the last server wrote.

        Beside it stands where the author's clock stood, which only the Date tells, minutes east of UTC.
        """
        stated = field(message, "date")
        at, offset = time_of(stated)
        if not at:
            self.flags.add("date-impossible" if stated.strip() else "date-missing")
            came = field(message, "received").rpartition(";")[2]
            at = self.received or date_of(came) or date_of(field(message, "resent-date")) or self.now
        return (min(at, self.now) if self.now else at), offset

    def _forwarded(self, messages: Sequence[Message], thread: str, at: int) -> Iterator[Section]:
        """Yield a section for each attached message, and for those attached to it; all of it is others' words."""
        waiting = list(reversed(messages))
        number = 0
        while waiting and number < MAX_FORWARDED:
            message = waiting.pop()
            number += 1
            parts = parts_of(message)
            waiting += reversed(parts.messages)
            body = body_of(parts.texts)
            self.flags |= body.flags
            names = ("From", "Date", "To", "Subject")
            stated = [(name, text_of(field(message, name))[:1000]) for name in names]
            head = "\n".join(f"{name}: {value}" for name, value in stated if value)
            text = f"{head}\n\n{body.text}".strip()
            date, offset = time_of(field(message, "date"))
            date = date or at
            said: dict[str, Json] = {
                "message_id": next(iter(message_ids(field(message, "message-id"))), ""),
                "attachments": self._files(parts.files),
                UTC_OFFSET: offset,
            }
            yield Section(
                f"forwarded:{number}",
                text,
                min(date, self.now) if self.now else date,
                author=_author(message),
                thread=thread,
                quoted=((0, len(text)),) if text else (),
                attributes={key: value for key, value in said.items() if value},
            )
        if waiting:
            self.flags.add("forwarded-cut")

    def _files(self, files: Sequence[Leaf]) -> list[Json]:
        if len(files) > MAX_FILES:
            self.flags.add("attachments-cut")
        return [_file(leaf) for leaf in files[:MAX_FILES]]

    def _invitations(self, calendars: Sequence[Leaf]) -> list[Json]:
        """Return the events of the calendars; the same calendar is often there twice, as a text and as a file."""
        found: list[Json] = []
        left = MAX_CALENDARS
        for leaf in calendars[:MAX_FORWARDED]:
            from ctxsync.connectors.mail.invitations import invitations_of

            left -= len(leaf.data)
            if left < 0:
                self.flags.add("calendar-unparsed")
                break
            text, lossy = leaf.text()
            if lossy:
                self.flags.add(LOSSY)
            try:
                events = invitations_of(text, leaf.method)
            except ValueError:
                self.flags.add("calendar-unparsed")
                continue
            found += [event for event in events if event not in found]
        return found


def _author(message: Message) -> Person | None:
    """Return who wrote a message: the first of From, else of Sender; None when neither names an address."""
    for name in ("from", "sender"):
        for shown, address in addresses(field(message, name)):
            key = address_key(address)
            if key:
                return Person(shown[:MAX_NAME], (key,))
    return None


def _people(message: Message) -> dict[str, Json]:
    said: dict[str, Json] = {}
    recipients = 0
    for name in _ADDRESSED:
        value = fields(message, name)
        found = addresses(value) if value else ()
        if name in {"to", "cc", "bcc"}:
            recipients += sum(1 for _, address in found if address)
        said[name.replace("-", "_")] = [_person(*each) for each in found[:MAX_PEOPLE]]
    said["recipient_count"] = recipients
    return said


def _person(name: str, address: str) -> dict[str, Json]:
    key = address_key(address)
    return {"name": (name if key else name or address)[:MAX_NAME], "keys": [key] if key else []}


def _file(leaf: Leaf) -> dict[str, Json]:
    return {
        "name": leaf.name,
        "type": leaf.type,
        "size": len(leaf.data),
        "sha256": hashlib.sha256(leaf.data).hexdigest(),
    }


def _subject_key(subject: str) -> str:
    """Return the subject that an answer answers, for want of better; empty for what is no answer."""
    rest = _TAGS.sub("", subject.strip())
    answered = _ANSWER.sub("", rest)
    if answered == rest:
        return ""
    return " ".join(_TAGS.sub("", answered).split()).casefold()[:MAX_NAME]
