"""How a phrase is read before it is matched: its words in base form, its voice and whether it denies; stdlib only.

Sentence vectors barely tell `triggered` from `was triggered by`, so the voice is read off the words: a passive with its
agent (`was led by`) has the key of the active (`lead`) and is turned around. Everything else that says which way a
phrase runs (`is the owner of`, `has as its owner`, `is linked from`) stays in the key and in the traits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxsync.engine.extraction import words as w

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_WORD = re.compile(r"[^\W_]+(?:[-'][^\W_]+)*")
_CONTRACTED = (("can't", "can not"), ("cannot", "can not"), ("won't", "will not"), ("n't", " not"))

# What may be left out of a phrase without a change of meaning; `later version of` is not `version of`.
_SKIPPED = (w.FILLERS - w.word_set("own back first later together only")) | w.word_set("so much such well here")
_KEPT = w.word_set("early friendly only family")
_DENYING = w.word_set("not never neither nor no none nothing hardly barely scarcely")
# `failed to attend`: the verb that carries the meaning is denied.
_DENYING_VERBS = frozenset({"fail", "refuse", "decline", "neglect", "forget", "deny", "avoid"})
# What may stand before the participle of a passive.
_BEFORE = w.word_set("be have get not never will would shall can could may might must")
# `is`, `became` and `serves as` an owner.
_COPULAS = frozenset({"be", "become", "remain"})
# `overseen`, `outgrown`: what holds of the verb inside holds of them.
_PREFIX = re.compile(r"^(?:over|out|under|fore|mis|un|re|co-)(?=\w{3})")
_AGENT = re.compile(r"(?:er|or|ar|ian|ist)$")


@dataclass(frozen=True, slots=True)
class Reading:
    """A phrase as the matcher compares it.

    Args:
        key: Base forms that decide the meaning, active voice.
        turn: -1 where a passive was turned around, else 1.
        denied: The phrase says that it does not hold.
        text: The words in the active voice, as they are embedded.
    """

    key: tuple[str, ...]
    turn: int = 1
    denied: bool = False
    text: str = ""


def read(phrase: str) -> Reading:
    """Return the reading of a phrase; one of articles and the like alone has an empty key."""
    text = phrase.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    for short, long in _CONTRACTED:
        text = text.replace(short, long)
    every = [word.removesuffix("'s") for word in _WORD.findall(text)]
    every = [word for word in every if word != "s"]
    words = [
        word for word in every if word not in _SKIPPED and (word in _KEPT or not w.is_adverb(word) or word in _DENYING)
    ]
    spoken, turn = _active(every)
    words, _ = _active(words)
    key = tuple(_bases(words))
    if key == ("be",):
        key = ()
    if key and key[0] in _COPULAS and len(key) > 1 and not is_participle(words[-len(key) + 1]):
        key = key[1:]
    denying = sum(word in _DENYING for word in words) + (key[:1] != () and key[0] in _DENYING_VERBS and len(key) > 1)
    # `cannot run without` needs it: two denials are none.
    denied = denying % 2 == 1 and "without" not in key and key[:2] != ("not", "only")
    return Reading(key, turn, denied=denied, text=" ".join(spoken))


def _active(words: Sequence[str]) -> tuple[list[str], int]:
    if len(words) > 1 and words[-1] == "by":
        for index, word in enumerate(words[:-1]):
            before = {w.lemma(other) for other in words[:index]}
            if is_participle(word) and w.lemma(word) not in _BEFORE and before <= _BEFORE:
                kept = [other for other in words[:index] if other in _DENYING]
                return [*kept, *words[index:-1]], -1
    return list(words), 1


def _bases(words: Sequence[str]) -> Iterator[str]:
    for index, word in enumerate(words):
        base = _lemma(word)
        following = words[index + 1] if index + 1 < len(words) else ""
        participle = bool(following) and (is_participle(following) or following in w.BE_FORMS)
        if base == "be" and following.endswith("ing") and following not in w.NOT_VERBS:
            continue
        if base == "be" and following in w.BE_FORMS:
            continue
        if base == "get" and participle:
            yield "be"
        elif (base == "have" and participle) or (base in w.AUXILIARIES and following and base != "to"):
            continue
        else:
            yield base


def is_participle(word: str) -> bool:
    """Say whether a lower-case word can be a past participle, with a prefix or without."""
    return w.is_participle(word) or w.is_participle(_PREFIX.sub("", word))


def _lemma(word: str) -> str:
    base = w.lemma(word)
    prefix = _PREFIX.match(word)
    # An irregular verb is listed without its prefixes.
    return prefix.group() + w.lemma(word[prefix.end() :]) if prefix and base == word else base


def traits(reading: Reading) -> list[tuple[str, float]]:
    """Return what may tell relation and direction beside the sentence vector, with weights; see docs/adr."""
    key = reading.key
    found: list[tuple[str, float]] = []
    heavy = [word for word in key if word not in w.LIGHT and word != "not"]
    for word in heavy:
        found += [(f"word {word}", 1.0), (f"stem {_stem(word)}", 0.7)]
    if heavy:
        found.append((f"main {_stem(heavy[0])}", 0.7))
    last = key[-1] if key else ""
    if last in w.PREPOSITIONS:
        found.append((f"last {last}", 0.7))
        found.append((f"shape {_shape(key)} {last}", 0.7))
        if heavy:
            found.append((f"pair {_stem(heavy[-1])} {last}", 0.7))
    found.append((f"shape {_shape(key)}", 0.5))
    found.append((f"opening {key[0] if key and key[0] in w.LIGHT else 'verb'}", 0.4))
    if len(key) > 1:
        found.append((f"two {key[0]} {key[1]}", 0.5))
    return found


def _stem(word: str) -> str:
    """Bring `owner`, `owns`, `ownership` together, coarsely."""
    word = word.removeprefix("co-")
    for ending in ("ership", "ments", "ment", "ations", "ation", "tion", "ions", "ion", "ency", "ent", "ance", "ence"):
        if word.endswith(ending) and len(word) - len(ending) > 2:
            return word[: -len(ending)][:6]
    if _AGENT.search(word) and len(word) > 4:
        word = word[:-2]
    return word.rstrip("e")[:6]


def _shape(key: Sequence[str]) -> str:
    """Name the build: passive or stative (`be locate in`), noun (`owner of`), having (`have as owner`), or verb."""
    if not key:
        return "none"
    if key[0] == "be":
        return "be"
    if key[0] == "have":
        return "have"
    if key[-1] == "of" and _AGENT.search(key[-2] if len(key) > 1 else ""):
        return "agent"
    if key[-1] in ("of", "for", "to", "behind"):
        return "noun"
    return "verb"
