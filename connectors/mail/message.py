"""A message's bytes become an item: the same wherever they were found. Knows no server, file or folder."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from ctxsync.connectors.base import Item, Person, Section, digest
from ctxsync.connectors.mail.headers import (
    MAX_IDS,
    addresses,
    date_of,
    field,
    fields,
    message_ids,
    text_of,
)
from ctxsync.connectors.mail.parts import Leaf, Parts, body_digest, parsed, parts_of
from ctxsync.connectors.people import address_key
from ctxsync.errors import BadItem

if TYPE_CHECKING:
    from ctxsync.connectors.base import Json

MAX_BODY: Final = 25_000_000
MAX_PEOPLE: Final = 100


def mail_item(raw: bytes, *, received: int = 0, now: int = 0, max_body: int = MAX_BODY) -> Item:
    r"""Return the item of a message.

    Args:
        raw: The message, CRLF or LF line ends, without an mbox's `From ` line.
        received: When it came, milliseconds UTC, for messages without a usable Date; 0 when not known.
        now: Milliseconds UTC; no message is later.
        max_body: Bytes (with CRLF line ends) of the message that are read.

    Raises:
        BadItem: It is no message, or is nested too deep.
    """
    return _Item(raw, received, now, max_body).item()


class _Item:
    def __init__(self, raw: bytes, received: int, now: int, max_body: int) -> None:
        self.raw, self.received, self.now = raw, received, now
        self.flags: set[str] = set()
        self.message = parsed(raw)
        self.parts = parts_of(self.message)

    def item(self) -> Item:
        message = self.message
        subject = text_of(field(message, "subject"))
        text = self._body(self.parts)
        ids = message_ids(field(message, "message-id"))
        body = body_digest(message)
        own = ids[0] if ids else ""
        if not own and not message.keys() and not text.strip():
            raise BadItem("There is no message here.")
        date = date_of(field(message, "date"))
        item_id = "mail:" + (
            digest(own, body) if own else digest(field(message, "from"), field(message, "date"), subject, body)
        )
        references = (message_ids(field(message, "references")) if message.get("references") else [])[-MAX_IDS:]
        answered = message_ids(field(message, "in-reply-to"))
        root = (references or answered or [own or item_id])[0]
        attributes = self._attributes()
        attributes.update(message_id=own, in_reply_to=answered[0] if answered else "", references=list(references))
        sender = addresses(field(message, "from"))
        author = None
        if sender:
            author = Person(sender[0][0], (address_key(sender[0][1]),))
        section = Section(
            "body",
            text,
            date or self.received or self.now,
            author=author,
            thread=f"mail:{root}",
            attributes={key: value for key, value in attributes.items() if value},
        )
        return Item(
            item_id,
            "mail",
            subject or "(no subject)",
            (section,),
            flags=tuple(sorted(self.flags)),
            raw_digest=hashlib.sha256(self.raw).hexdigest(),
        )

    def _attributes(self) -> dict[str, Json]:
        found: dict[str, Json] = {}
        count = 0
        for name in ("from", "sender", "reply-to", "to", "cc", "bcc"):
            value = fields(self.message, name)
            people = addresses(value) if value else []
            count += len(people) if name in {"to", "cc", "bcc"} else 0
            found[name.replace("-", "_")] = [_person(*each) for each in people[:MAX_PEOPLE]]
        found["recipient_count"] = count
        found["attachments"] = [_file(leaf) for leaf in self.parts.files]
        return found

    def _body(self, parts: Parts) -> str:
        texts = []
        for forms in parts.texts:
            leaf = next((form for form in forms if form.type == "text/plain"), forms[0] if forms else None)
            if leaf is None:
                continue
            text, lossy = leaf.text()
            if lossy:
                self.flags.add("decoded-lossy")
            texts.append(text.strip("\n"))
        return "\n\n".join(texts)


def _person(name: str, address: str) -> Json:
    key = address_key(address)
    return {"name": name, "keys": [key] if key else []}


def _file(leaf: Leaf) -> Json:
    return {
        "name": leaf.name,
        "type": leaf.type,
        "size": len(leaf.data),
        "sha256": hashlib.sha256(leaf.data).hexdigest(),
    }
