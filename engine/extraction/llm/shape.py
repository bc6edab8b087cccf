"""The JSON Schema that a server decodes under, made from the schema; knows no server.

Two of them: bounded for local servers, whose small models ramble (lengths and counts end what they would not), and
portable for cloud ones, which refuse keywords that they do not know. Neither uses patterns: llama.cpp ignores what it
cannot turn into a grammar without saying so. Attributes are open-ended and are left out of both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxsync.connectors.base import Json
    from ctxsync.engine.schema import Schema

NAME, PHRASE, QUOTE, SENTENCE, DATE = 80, 60, 160, 120, 20
"""Longest texts in characters: a name, a phrase, a quote, a reason, a date."""

# Steps that a model can tell apart; a free number costs a small one up to sixteen digits.
CONFIDENCES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
# Tokens that an element takes in the answers of a small model that puts every key on a line of its own (SmolLM2-135M;
# compact ones take 24 and 72): within them, most answers end before they are cut off.
_TOKENS_ENTITY, _TOKENS_RELATION = 40, 100


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one answer may hold.

    Args:
        tokens: The longest answer, tokens.
        entities: Most entities.
        relations: Most relations.
        invalidates: Most facts named as ended.
        suggestions: Most suggestions.
    """

    tokens: int = 1536
    entities: int = 15
    relations: int = 9
    invalidates: int = 4
    suggestions: int = 1

    @classmethod
    def of(cls, tokens: int) -> Limits:
        """Return limits under which an answer of ordinary elements ends before it is cut off."""
        entities = max(3, tokens * 2 // 5 // _TOKENS_ENTITY)
        relations = max(2, tokens * 3 // 5 // _TOKENS_RELATION)
        return cls(tokens, min(entities, 40), min(relations, 40), 4 if tokens > 512 else 2, 1 if tokens > 512 else 0)


def shape(schema: Schema, limits: Limits | None = None) -> dict[str, Json]:
    """Return the JSON Schema of an answer.

    Args:
        schema: Its types and relations are the enumerations.
        limits: For a local server; None gives the portable form.
    """
    ids: dict[str, Json] = {"type": "string"}
    if limits:
        ids["enum"] = [f"e{number}" for number in range(1, limits.entities + 1)]
    sure: dict[str, Json] = {"type": "number"}
    if limits:
        sure = {"enum": list(CONFIDENCES)}
    date: dict[str, Json] = {"anyOf": [_text(limits, DATE), {"type": "null"}]}
    entity = _object(id=ids, name=_text(limits, NAME, 1), type={"type": "string", "enum": list(schema.entity_types)})
    relation = _object(
        head=ids,
        relation={"type": "string", "enum": list(schema.relations)},
        tail=ids,
        phrase=_text(limits, PHRASE),
        quote=_text(limits, QUOTE),
        confidence=sure,
        valid_from=date,
        valid_to=date,
    )
    kind_of_entity: dict[str, Json] = {"type": "string", "enum": ["entity_type"]}
    kind_of_relation: dict[str, Json] = {"type": "string", "enum": ["relation_type"]}
    about = {"confidence": sure, "rationale": _text(limits, SENTENCE)}
    name = _text(limits, PHRASE, 1)
    suggestion: dict[str, Json] = {
        "anyOf": [
            _object(kind=kind_of_entity, name=name, supporting_entity_ids=_list(ids, 4 if limits else None), **about),
            _object(kind=kind_of_relation, name=name, head_id=ids, tail_id=ids, **about),
        ]
    }
    return _object(
        entities=_list(entity, limits.entities if limits else None),
        relations=_list(relation, limits.relations if limits else None),
        invalidates=_list(_text(limits, SENTENCE, 1), limits.invalidates if limits else None),
        suggestions=_list(suggestion, limits.suggestions if limits else None),
        confidence=sure,
    )


def _object(**properties: dict[str, Json]) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: dict[str, Json], most: int | None) -> dict[str, Json]:
    bound: dict[str, Json] = {} if most is None else {"maxItems": most}
    return {"type": "array", "items": items, **bound}


def _text(limits: Limits | None, longest: int, shortest: int = 0) -> dict[str, Json]:
    if limits is None:
        return {"type": "string"}
    return {"type": "string", "maxLength": longest, **({"minLength": shortest} if shortest else {})}
