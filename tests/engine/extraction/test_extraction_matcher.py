from __future__ import annotations

import pytest

from ctxsync.engine.extraction.matcher import Matcher, active
from ctxsync.engine.schema import universal


@pytest.fixture(scope="module")
def matcher() -> Matcher:
    return Matcher(universal())


@pytest.mark.parametrize(
    ("phrase", "relation", "direction"),
    [
        ("works at", "part_of", 1),
        ("was caused by", "caused", -1),
        ("spearheads", "owned_by", -1),
        ("penned", "participated_in", 1),
        ("was penned by", "participated_in", -1),
        ("was engineered by", "participated_in", -1),
        ("gave birth to", "caused", 1),
        ("makes use of", "depends_on", 1),
        ("is stationed in", "located_at", 1),
    ],
)
def test_phrases_the_schema_lists_or_not_have_relation_and_direction(
    matcher: Matcher, phrase: str, relation: str, direction: int
) -> None:
    [found] = matcher.match([phrase])
    assert (found.relation, found.direction) == (relation, direction)


def test_a_phrase_near_to_nothing_is_only_related(matcher: Matcher) -> None:
    [found] = matcher.match(["xyzzy plugh"])
    assert (found.relation, found.score) == ("related_to", 0.0)


def test_the_voice_is_read_off_the_words() -> None:
    assert active("was led by") == ("led", -1)
    assert active("is based in") == ("based in", 1)
