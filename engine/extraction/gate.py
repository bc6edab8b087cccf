"""Which tiers an episode deserves, and why; pure functions over values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctxsync.engine.extraction.words import word_set

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ctxsync.engine.extraction.base import Episode, Extraction

# SPEC "Tiers": the escalation gate after tier 1.
ENTITIES_PER_TEN_WORDS = 1.5
MEAN_CONFIDENCE = 0.4
VALID_TYPES = 0.6
MANY_WORDS, FEW_ENTITIES = 25, 5
_MARKERS = re.compile(r"@|\bv\d|::|\b(?:outage|incident|rollback|root cause|regression|postmortem)\b", re.IGNORECASE)

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


def doubts(extraction: Extraction, episode: Episode, types: Collection[str]) -> list[str]:
    """Return SPEC's reasons to ask a higher tier, `escalate:…` each; empty when tier 1's result will do."""
    words = len(episode.text.split())
    entities = [entity for entity in extraction.entities if entity.tier > 0]
    reasons = []
    if words and len(entities) * 10 < ENTITIES_PER_TEN_WORDS * words:
        reasons.append("few-entities")
    if entities and sum(entity.confidence for entity in entities) / len(entities) < MEAN_CONFIDENCE:
        reasons.append("low-confidence")
    if entities and sum(entity.type in types for entity in entities) < VALID_TYPES * len(entities):
        reasons.append("types")
    if words > MANY_WORDS and len({entity.name.casefold() for entity in entities}) < FEW_ENTITIES:
        reasons.append("long-text")
    if _MARKERS.search(episode.text):
        reasons.append("complex")
    return [f"escalate:{reason}" for reason in reasons]
