"""The gate's decisions in words; knows the forms in which `ctxsync.engine.extraction.gate` writes them."""

from __future__ import annotations

import re

_TIER0 = {
    "bot": "a bot wrote it",
    "bulk": "it is bulk mail",
    "merge": "it is a merge",
    "automated": "a machine wrote it",
    "empty": "it has no text",
    "quoted": "it only quotes",
    "language": "it is not in English",
    "long": "it is a log or a listing",
    "short": "it is too short to state anything",
}
_COMPARED = re.compile(r"(?P<found>[\d.e+-]+)(?:<|>=?)(?P<limit>[\d.e+-]+)")
_FORMS = (
    ("few-entities", "{found} entities in ten words, fewer than {limit}"),
    ("low-confidence", "mean confidence {found}, under {limit}"),
    ("types", "a share of {found} has a type of the schema, under {limit}"),
)


def in_words(entry: str) -> str:
    """Return one entry of `gate` in words; what is not known as it stands."""
    kind, colon, rest = entry.partition(":")
    if kind == "tier0" and colon:
        return f"no higher tier reads it: {_TIER0.get(rest, rest)}"
    if kind == "keep":
        return f"good enough: {rest.replace('>=', ' of at least ')}"
    if kind == "escalate":
        return f"asks for a higher tier: {_reason(rest)}"
    if re.fullmatch(r"tier\d", kind):
        failed, _, why = rest.partition(" ")
        return f"tier {kind[4:]} failed: {why}" if failed == "failed" else f"tier {kind[4:]} read it: {rest}"
    if kind == "door":
        what, _, which = rest.partition(":")
        return f"kept back from the cloud: {which or what}" + (" (a secret)" if what == "secret" else "")
    if kind == "llm":
        return f"the model's answer: {rest.replace('dropped:', 'dropped ').replace('-', ' ')}"
    return entry


def _reason(text: str) -> str:
    name, _, figures = text.partition(" ")
    if name == "complex":
        return f"a sign of a hard text: {figures}" if figures else "a sign of a hard text"
    if name == "long-text":
        return f"long, and little found: {figures}" if figures else "long, and little found"
    compared = _COMPARED.match(figures)
    for known, form in _FORMS:
        if name == known and compared:
            return form.format(found=compared["found"], limit=compared["limit"])
    return text
