"""Whether a message was sent to many or by a machine, as its header fields say. Reads no text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctxsync.connectors.mail.headers import addresses, field, text_of
from ctxsync.connectors.mail.tree import names_of
from ctxsync.connectors.people import is_automatic

if TYPE_CHECKING:
    from email.message import Message

_TELLING_FIELDS = frozenset(
    {
        "list-id",
        "list-unsubscribe",
        "list-post",
        "mailing-list",
        "x-mailing-list",
        "x-campaign",
        "x-csa-complaints",
        "x-auto-response-suppress",
        "x-autoreply",
        "x-autorespond",
    }
)
_BULK = frozenset({"bulk", "list", "junk", "auto_reply"})  # of Precedence: never standardized, much used (RFC 2076)
_LIST_ID = re.compile(r"<([^<>]*)>")
_MAILTO = re.compile(r"mailto:([^>?\s,]+)", re.IGNORECASE)


def is_automated(message: Message) -> bool:
    """Say whether a message is bulk, from a list, sent by a machine, or from an address that only machines use."""
    if not _TELLING_FIELDS.isdisjoint(names_of(message)):
        return True
    if field(message, "precedence").strip().casefold() in _BULK:
        return True
    submitted = field(message, "auto-submitted").partition(";")[0].strip().casefold()
    if submitted and submitted != "no":  # RFC 3834
        return True
    if message.get_content_type() == "multipart/report" or field(message, "return-path").strip() == "<>":
        return True  # a bounce (RFC 3464)
    return any(is_automatic(address, name) for name, address in addresses(field(message, "from"))[:1])


def list_of(message: Message) -> dict[str, str]:
    """Return the mailing list that a message came through: `id`, `name` and `address`, only what is stated."""
    if "list-id" not in message and "list-post" not in message:
        return {}
    stated = text_of(field(message, "list-id"))
    angled = _LIST_ID.search(stated)
    post = _MAILTO.search(field(message, "list-post"))
    said = {
        "id": (angled[1] if angled else stated).strip().casefold()[:255],
        "name": stated[: angled.start()].strip(' "')[:255] if angled else "",
        "address": text_of(post[1]).casefold()[:255] if post else "",
    }
    if not said["id"] and not said["address"]:
        return {}
    return {key: value for key, value in said.items() if value}
