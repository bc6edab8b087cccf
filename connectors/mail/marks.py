"""How mail programs mark in HTML what they quote, and signatures; knows no text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# What mail programs put around what they quote, and around signatures.
_QUOTE_CLASS = re.compile(
    r"""\b(?:gmail_quote(?:_container)?|gmail_extra|yahoo_quoted|moz-cite-prefix|moz-forward-container|protonmail_quote
    |zmail_extra|tutanota_quote|ms-outlook-mobile-reference-message|OutlookMessageHeader|WordSection1_reply
    |x_gmail_quote|gmail_signature|gmail_signature_prefix|moz-signature|protonmail_signature_block)\b""",
    re.VERBOSE,
)
_QUOTE_ID = re.compile(
    r"^(?:x_)*(?:signature|applemailsignature|ms-outlook-mobile-signature|divtagdefaultsignature|reply-intro"
    r"|yahoo_quoted_\d+|isForwardContent|isReplyContent)$",
    re.IGNORECASE,
)
# From such an element on, everything is quoted: Outlook puts it beside what it quotes.
_REST_ID = re.compile(
    r"^(?:x_)*(?:divrplyfwdmsg|appendonsend|stopspelling|mail-editor-reference-message-container)$", re.IGNORECASE
)
_REST_STYLE = re.compile(r"border:none;border-top:solid#(?:e1e1e1|b5c4df)1\.0pt", re.IGNORECASE)


def begins_rest(attributes: Mapping[str, str | None], style: str) -> bool:
    """Say whether everything from an element on is quoted; `style` is lower case, without white space."""
    name = attributes.get("id") or ""
    return bool((name and _REST_ID.match(name)) or (style and _REST_STYLE.search(style)))


def is_marked(tag: str, attributes: Mapping[str, str | None], style: str) -> bool:
    """Say whether what is in an element is quoted, or a signature."""
    name = attributes.get("id") or ""
    if (name and _QUOTE_ID.match(name)) or _QUOTE_CLASS.search(attributes.get("class") or ""):
        return True
    # A button for indenting makes these, round the author's own words.
    return tag == "blockquote" and ("type" in attributes or "border:none" not in style)
