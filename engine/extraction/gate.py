"""Which tiers an episode deserves, and why; pure functions over values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from ctxsync.engine.extraction.words import word_set

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ctxsync.engine.extraction.base import Entity, Episode, Extraction

# SPEC "Tiers": the escalation gate after tier 1. Starting values; `[gate]` has others.
ENTITIES_PER_TEN_WORDS = 1.5
MEAN_CONFIDENCE = 0.4
VALID_TYPES = 0.6
MANY_WORDS, FEW_ENTITIES = 25, 5
MARKERS = ("@", "v2", "::", "outage", "incident", "rollback", "root cause", "regression", "postmortem")

ASKS, KEEPS = "escalate:", "keep:"
"""How a decision of the gate begins, in the event of the tier that it judged."""


@dataclass(frozen=True, slots=True)
class Gate:
    """When a result asks for a higher tier.

    Args:
        entities_per_ten_words: Fewer than so many entities in ten words ask.
        mean_confidence: A mean confidence of the entities below this asks, 0 to 1.
        valid_types: A smaller share of entities with a type of the schema asks, 0 to 1.
        many_words: In a text of more words than this ...
        few_entities: ... fewer different entities than this ask.
        markers: What makes a text hard: found as a word where it is one, anywhere where it is none; a digit stands for
            any number, so that `v2` is every version.
    """

    entities_per_ten_words: float = ENTITIES_PER_TEN_WORDS
    mean_confidence: float = MEAN_CONFIDENCE
    valid_types: float = VALID_TYPES
    many_words: int = MANY_WORDS
    few_entities: int = FEW_ENTITIES
    markers: tuple[str, ...] = MARKERS

    def decide(self, extraction: Extraction, episode: Episode, types: Collection[str]) -> list[str]:
        """Return why tier 1's result asks for a higher tier, or why it will do.

        Returns:
            `escalate:REASON FIGURES` for each reason, else one `keep:FIGURES`. The figures are those compared.
        """
        words = len(episode.text.split())
        entities = [entity for entity in extraction.entities if entity.tier > 0]
        density = len(entities) * 10 / words if words else 0.0
        distinct = len({entity.name.casefold() for entity in entities})
        reasons = []
        if words and density < self.entities_per_ten_words:
            reasons.append(f"few-entities {density:.2g}<{self.entities_per_ten_words:g}")
        reasons += self._weak(entities, types)
        if words > self.many_words and distinct < self.few_entities:
            reasons.append(f"long-text {words}>{self.many_words} words, {distinct}<{self.few_entities} entities")
        if found := _marker(self.markers).search(episode.text):
            reasons.append(f"complex {' '.join(found[0].split())}")
        if reasons:
            return [f"{ASKS}{reason}" for reason in reasons]
        mean = _mean(entities)
        return [f"{KEEPS}density {density:.2g}>={self.entities_per_ten_words:g}, confidence {mean:.2f}"]

    def decide_again(self, extraction: Extraction, types: Collection[str]) -> list[str]:
        """Return as `decide` whether what a higher tier found will do: how dense a text is says nothing of that one."""
        entities = extraction.entities
        reasons = self._weak(entities, types)
        if reasons:
            return [f"{ASKS}{reason}" for reason in reasons]
        return [f"{KEEPS}{len(entities)} entities, confidence {_mean(entities):.2f}"]

    def _weak(self, entities: Sequence[Entity], types: Collection[str]) -> list[str]:
        if not entities:
            return []
        reasons = []
        mean = _mean(entities)
        if mean < self.mean_confidence:
            reasons.append(f"low-confidence {mean:.2f}<{self.mean_confidence:g}")
        valid = sum(entity.type in types for entity in entities) / len(entities)
        if valid < self.valid_types:
            reasons.append(f"types {valid:.2f}<{self.valid_types:g}")
        return reasons


STARTING = Gate()


def asks(gate: Sequence[str]) -> bool:
    """Say whether the decision in an event asks for a higher tier than the event's: its last words count."""
    decisions = [entry for entry in gate if entry.startswith((ASKS, KEEPS))]
    return bool(decisions) and decisions[-1].startswith(ASKS)


TIER0 = "tier0:"
"""How a reason begins for which an episode gets no more than tier 0."""


def wish(tier: int, gate: Sequence[str]) -> int:
    """Return whether higher tiers should read an episode after an extraction of it.

    Returns:
        0 when none may; 1 when the result will do; 2 when it asks for one, as it does where tier 1 failed.
    """
    if any(entry.startswith(TIER0) for entry in gate):
        return 0
    return 2 if tier == 0 or asks(gate) else 1


def _mean(entities: Sequence[Entity]) -> float:
    return sum(entity.confidence for entity in entities) / len(entities) if entities else 0.0


@lru_cache(maxsize=16)
def _marker(markers: tuple[str, ...]) -> re.Pattern[str]:
    parts = []
    for marker in filter(None, (marker.strip() for marker in markers)):
        pattern = re.sub(r"\d+", lambda _: r"\d+", r"\s+".join(map(re.escape, marker.split())))
        parts.append(rf"\b{pattern}\b" if re.fullmatch(r"[\w ]+", marker) else pattern)
    return re.compile("|".join(parts) or r"(?!)", re.IGNORECASE)


_WORD = re.compile(r"[^\W\d_]+")
# The commonest function words tell a language from a few lines (Cavnar and Trenkle 1994 show how far less will do).
_ENGLISH = word_set(
    """the of and to in is was for it with as his on be at by i this had not are but from or have an they which one you
    we has he she will my our their that its were been do does now about after into who when what if so up out just"""
)
_OTHERS = word_set(
    """der die das und ist nicht ein eine ich wir mit auf für von zu den dem sich auch wird haben wurde le la les des
    est et une dans pour que qui pas sur avec au aux nous vous je il elle sont été du el los las una por con para
    como pero más este esta ha han muy il lo gli che di per sono della nel anche questo o os um uma não em com mais
    foi ao het een van en dat niet op te zijn voor met wij ik och att det som är jag inte på av men på og ikke w na
    z się nie jest że do jak"""
)
# Nobody writes as much in a mail: it is a log or a listing, which would take minutes to parse.
MANY_CHARACTERS = 100_000
# A statement has two ends and a verb; much of what is said in chat has less.
LEAST_WORDS = 3
# Under this many words a text is too short to tell, and is taken for English.
_TOO_SHORT = 8


def tier0_only(episode: Episode) -> list[str]:
    """Return why an episode gets no more than tier 0; empty when higher tiers should look at it."""
    if episode.kind not in ("note", "commit", "message", "mail", "slack", "text", "log"):
        return [f"kind:{episode.kind}"]
    reasons = [flag for flag in ("bot", "bulk", "merge", "automated") if episode.attributes.get(flag)]
    own = own_words(episode.text, episode.quoted)
    if not episode.text.strip():
        reasons.append("empty")
    elif not own.strip():
        reasons.append("quoted")
    elif not is_english(own):
        reasons.append("language")
    elif episode.kind in ("mail", "slack") and len(own) > MANY_CHARACTERS:
        reasons.append("long")
    elif episode.kind in ("mail", "slack") and len(own.split()) < LEAST_WORDS:
        reasons.append("short")
    return reasons


def own_words(text: str, quoted: Sequence[tuple[int, int]]) -> str:
    """Return a text without the ranges that are others' words."""
    if not quoted:
        return text
    parts, at = [], 0
    for start, end in sorted(quoted):
        parts.append(text[at : max(at, start)])
        at = max(at, end)
    return "".join((*parts, text[at:]))


def is_english(text: str) -> bool:
    """Guess whether a text is English, by script and function words."""
    sample = text[:4000]
    letters = [char for char in sample if char.isalpha()]
    if letters and sum(char > "\u024f" for char in letters) > 0.3 * len(letters):
        return False
    words = [word.lower() for word in _WORD.findall(sample)]
    if len(words) < _TOO_SHORT:
        return True
    english = sum(word in _ENGLISH for word in words)
    others = sum(word in _OTHERS and word not in _ENGLISH for word in words)
    return english >= others or others < 0.12 * len(words)
