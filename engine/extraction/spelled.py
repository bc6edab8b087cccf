"""Names by their spelling alone: paths, scoped packages, numbered things; knows no list and no model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ctxsync.engine.extraction import gazetteer as g
from ctxsync.engine.extraction.votes import is_technical

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PATH = re.compile(r"(?<![\w:/.])(?:@|\.{0,2}/)?[\w.-]+(?:/[\w.*-]+)+/?")
_PATHLIKE = re.compile(r"^[@./]|[._\d-]|/[^/]+/|/$")
_NUMBER = re.compile(r"^\d[\d.]*[a-z]?$")
_FOLLOWS = ("NN", "NNS", "NNP", "NNPS", "JJ", "CD")


def paths(doc: Any, taken: Sequence[bool]) -> Iterator[Any]:
    """Yield the spans of paths and scoped packages, `third_party/zlib`, `@loom/ui`: the tokenizer cuts them."""
    for match in _PATH.finditer(doc.text):
        text = match[0].rstrip(".")
        span = doc.char_span(match.start(), match.start() + len(text), alignment_mode="expand")
        if _PATHLIKE.search(text) and span is not None and not any(taken[span.start : span.end]):
            yield span


def numbers(doc: Any, index: int, taken: Sequence[bool]) -> bool:
    """Say whether a number belongs to the noun before it: `RFC 9110`, `room 3.107`, `protobuf 4`."""
    if index == 0 or taken[index - 1] or not _NUMBER.match(doc[index].text):
        return False
    before = doc[index - 1]
    if before.tag_ not in ("NN", "NNP") or not before.is_alpha:
        return False
    if index + 1 < len(doc) and doc[index + 1].tag_ in _FOLLOWS and doc[index + 1].is_alpha:
        return False
    return before.text[:1].isupper() or before.lower_ in g.HEADS or is_technical(before.text)
