"""Makes of a call's body what may leave, and of an answer what it means here; knows no network.

Secrets are cut out first, for good; then personal data gets pseudonyms, which are put back in the answer.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ctxsync.engine.privacy.secret_finder import cut, find
from ctxsync.errors import DoorClosed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from ctxsync.engine.door.provider import Call
    from ctxsync.engine.privacy.scrub import Pseudonyms, Scrubber

TEXTS = frozenset({"messages", "prompt", "input", "system", "suffix"})
"""Where texts stand in a body; the rest (a schema, a grammar, numbers) is made by ctxsync."""
_FIXED = frozenset({"role", "type", "id", "tool_call_id"})
# What is looked for where no text stands: schemas say `token: string`, and grammars look random.
_LOOSE = frozenset({"assigned", "random", "phrase"})
# Characters of a known secret from which on a body that still has it, anywhere, is not sent. A shorter one may be a
# word that every body has, as `user`; it is cut out of the texts all the same.
_TELLING = 8
# And from which on it is looked for at all: what is shorter is in every text.
_SHORTEST = 4


@dataclass(slots=True)
class Redacted:
    """A body that may leave.

    Args:
        body: The body.
        flags: What was cut out of it, as `secret:KIND`, in order of their names.
        pseudonyms: What stands for what in it; None where names stay.
    """

    body: dict[str, Any]
    flags: tuple[str, ...]
    pseudonyms: Pseudonyms | None

    def restored(self, answer: Any) -> Any:
        """Return an answer with real names in all of its strings, also inside JSON that stands in a string."""
        if self.pseudonyms is None or not self.pseudonyms.given:
            return answer
        return _restored(answer, self.pseudonyms)


def redacted(call: Call, *, known: Collection[str], scrubber: Scrubber | None) -> Redacted:
    """Return what may leave of a call's body.

    Args:
        call: The call.
        known: Secrets that are cut out wherever they stand.
        scrubber: Gives pseudonyms; None where the settings say that names may leave.

    Raises:
        DoorClosed: Personal data cannot be looked for.
    """
    known = {secret for secret in known if len(secret) >= _SHORTEST}
    marks: dict[str, str] = {}
    kinds: set[str] = set()

    def without_secrets(text: str, *, loose: bool) -> str:
        findings = [one for one in find(text, known) if loose or one.kind not in _LOOSE]
        kinds.update(one.kind for one in findings)
        return cut(text, findings, marks)

    body: dict[str, Any] = {}
    for key, value in call.body.items():
        body[key] = _mapped(value, partial(without_secrets, loose=key in TEXTS), call.shipped)
    pseudonyms = None
    if scrubber is not None:
        texts: list[str] = []
        others: list[str] = [call.shipped]
        for key, value in body.items():
            _mapped(value, (texts if key in TEXTS else others).append, call.shipped)
        pseudonyms = scrubber.pseudonyms(texts, people=call.people, also=others)
        body = {key: _mapped(value, pseudonyms.scrub, call.shipped) for key, value in body.items()}
    return Redacted(body, tuple(sorted(f"secret:{kind}" for kind in kinds)), pseudonyms)


def encoded(body: dict[str, Any], *, known: Collection[str]) -> bytes:
    """Return a body as it leaves.

    Raises:
        DoorClosed: A known secret is still in it: it stands where no text should.
    """
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    if any(secret in text for secret in known if len(secret) >= _TELLING):
        raise DoorClosed("A secret of this installation stands in what was to be sent; so nothing was.")
    return text.encode("utf-8", "replace")


def _mapped(value: Any, change: Callable[[str], Any], shipped: str) -> Any:
    """Return a value with each of its strings changed, but for a beginning that ships with ctxsync."""
    if isinstance(value, str):
        start = shipped if shipped and value.startswith(shipped) else ""
        changed = change(value[len(start) :])
        return start + changed if isinstance(changed, str) else value
    if isinstance(value, dict):
        return {
            key: one if key in _FIXED and isinstance(one, str) else _mapped(one, change, shipped)
            for key, one in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_mapped(one, change, shipped) for one in value]
    return value


def _restored(value: Any, pseudonyms: Pseudonyms) -> Any:
    if isinstance(value, str):
        return _restored_text(value, pseudonyms)
    if isinstance(value, dict):
        return {_restored_text(key, pseudonyms): _restored(one, pseudonyms) for key, one in value.items()}
    if isinstance(value, list):
        return [_restored(one, pseudonyms) for one in value]
    return value


def _restored_text(text: str, pseudonyms: Pseudonyms) -> str:
    if text.lstrip()[:1] in {"{", "["}:
        try:
            inner = json.loads(text)
        except (ValueError, RecursionError):
            pass
        else:
            restored = _restored(inner, pseudonyms)
            return text if restored == inner else json.dumps(restored, ensure_ascii=False)
    if "{" in text and '"' in text:  # JSON in a fence, behind a word of greeting, or cut off
        return pseudonyms.restore(text, in_json=True)
    return pseudonyms.restore(text)
