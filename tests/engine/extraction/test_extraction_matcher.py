from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from ctxsync.engine.embedding import Embedder, VectorCache
from ctxsync.engine.extraction.anchors import read
from ctxsync.engine.extraction.lexicon import Lexicon
from ctxsync.engine.extraction.matcher import Matcher
from ctxsync.engine.schema import parse, universal

if TYPE_CHECKING:
    from pathlib import Path

# A small schema: its anchors are embedded in a moment.
SMALL = """
[entity.Person]
description = "a person"
[relation.related_to]
description = "associated"
[relation.related_to.class.association]
phrases = ["is related to"]
symmetric = true
[relation.owned_by]
description = "tail owns head"
[relation.owned_by.class.ownership]
anchors = ["belongs to", "is the property of"]
inverse_anchors = ["owns", "bought", "is the owner of"]
"""
PROMOTED = """
[relation.promoted]
description = "head raised tail in rank"
[relation.promoted.class.promotion]
anchors = ["promoted", "gave a higher rank to"]
"""


@pytest.fixture(scope="module")
def matcher() -> Matcher:
    return Matcher(universal())


@pytest.mark.parametrize(
    ("phrase", "relation", "direction"),
    [
        ("works at", "part_of", 1),
        ("owns", "owned_by", -1),
        ("was caused by", "caused", -1),
        ("was penned by", "participated_in", -1),
        ("is being maintained by", "owned_by", 1),
        ("got acquired by", "owned_by", 1),
        ("caused by", "caused", -1),
        ("has since become the owner of", "owned_by", -1),
        ("is overseen by", "owned_by", 1),
        ("replaced", "preceded", -1),
        ("mentions", "mentions", -1),
        ("can\N{RIGHT SINGLE QUOTATION MARK}t run without", "depends_on", 1),
        ("isn't possible without", "depends_on", 1),
        ("is a wrapper around", "depends_on", 1),
        ("is linked from", "references", -1),
        ("is linked to", "related_to", 1),
        ("is an earlier version of", "preceded", 1),
        ("is a later version of", "preceded", -1),
    ],
)
def test_listed_phrases_have_their_relation_and_direction_in_any_voice_and_tense(
    matcher: Matcher, phrase: str, relation: str, direction: int
) -> None:
    [found] = matcher.match([phrase])
    assert (found.relation, found.direction) == (relation, direction)
    assert found.score >= 0.6


@pytest.mark.parametrize(
    ("phrase", "relation", "direction"),
    [
        ("spearheads", "owned_by", -1),
        ("hinges upon", "depends_on", 1),
        ("is lodged inside", "located_at", 1),
        ("was ghostwritten by", "participated_in", -1),
        ("is the caretaker for", "owned_by", -1),
    ],
)
def test_phrases_that_nothing_lists_are_guessed_from_those_that_are(
    matcher: Matcher, phrase: str, relation: str, direction: int
) -> None:
    [found] = matcher.match([phrase])
    assert (found.relation, found.direction) == (relation, direction)
    assert 0 < found.score < 1


def test_every_anchor_that_ships_means_what_it_is_listed_under(matcher: Matcher) -> None:
    listed = [
        (phrase, known.relation, direction)
        for known in universal().classes.values()
        for phrases, direction in ((known.anchors, 1), (known.inverse_anchors, -1))
        for phrase in phrases
    ]
    found = matcher.match([phrase for phrase, _, _ in listed])
    wrong = [
        (entry, match.relation, match.direction)
        for entry, match in zip(listed, found, strict=True)
        if (match.relation, match.direction) != entry[1:]
    ]
    assert len(listed) > 2000
    assert wrong == []


@pytest.mark.parametrize(
    "phrase",
    ["xyzzy plugh", "", "the", "is", "does not own", "never attended", "failed to attend", "has no relation to", "…"],
)
def test_denials_and_phrases_near_to_nothing_are_only_related(matcher: Matcher, phrase: str) -> None:
    [found] = matcher.match([phrase])
    assert (found.relation, found.score) == ("related_to", 0.0)


@pytest.mark.parametrize(
    ("phrase", "relation", "direction"),
    [
        ("no longer maintains", "owned_by", -1),
        ("used to work for", "part_of", 1),
        ("doesn't own anymore", "owned_by", -1),
        ("quit", "part_of", 1),
    ],
)
def test_what_stopped_keeps_its_relation_and_ends(matcher: Matcher, phrase: str, relation: str, direction: int) -> None:
    [found] = matcher.match([phrase])
    assert (found.relation, found.direction, found.ends) == (relation, direction, True)


def test_the_types_of_the_ends_choose_between_meanings(matcher: Matcher) -> None:
    found = matcher.match(["moved to", "moved to"], [("Person", "Place"), ("Person", "Organization")])
    assert [match.relation for match in found] == ["located_at", "part_of"]


def test_anchors_do_not_change_how_text_is_read() -> None:
    bare = parse(
        SMALL.replace('anchors = ["belongs to", "is the property of"]', "").replace(
            'inverse_anchors = ["owns", "bought", "is the owner of"]', ""
        )
    )
    for phrase in ("belongs to", "bought", "is the owner of", "is related to"):
        assert Lexicon(parse(SMALL)).find(phrase) == Lexicon(bare).find(phrase)


def test_a_relation_that_the_schema_gains_is_matched_at_the_next_call(tmp_path: Path) -> None:
    current = [parse(SMALL)]
    embedder = Counting()
    with closing(VectorCache(tmp_path / "cache.db")) as cache:
        matcher = Matcher(lambda: current[0], embedder=embedder, cache=cache)
        assert matcher.match(["raised to a higher rank"])[0].relation != "promoted"
        current[0] = parse(SMALL + PROMOTED)
        found = matcher.match(["raised to a higher rank", "was promoted by", "buys"])
    assert [(match.relation, match.direction) for match in found] == [
        ("promoted", 1),
        ("promoted", -1),
        ("owned_by", -1),
    ]
    # Only what the new schema brought was embedded the second time.
    assert embedder.calls[-1] == sorted(read(phrase).text for phrase in ("promoted", "gave a higher rank to"))


def test_with_a_warm_cache_the_model_is_never_loaded(tmp_path: Path) -> None:
    phrases = ["purchased", "belongs to"]
    with closing(VectorCache(tmp_path / "cache.db")) as cache:
        cold = Matcher(parse(SMALL), cache=cache).match(phrases)
        embedder = Counting()
        warm = Matcher(parse(SMALL), embedder=embedder, cache=cache).match(phrases)
    assert warm == cold
    assert warm[0].relation == "owned_by"
    assert (embedder.calls, embedder._session) == ([], None)


def test_a_cache_that_cannot_be_used_is_done_without(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "cache.db")
    cache.close()
    [found] = Matcher(parse(SMALL), cache=cache).match(["purchased"])
    assert (found.relation, found.direction) == ("owned_by", -1)


def test_the_command_keeps_vectors_in_the_home_and_loads_no_model_the_second_time(tmp_path: Path) -> None:
    script = (
        "import sys; from ctxsync.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print('onnxruntime' in sys.modules)"
    )

    def run(phrase: str) -> list[str]:
        environment = {**os.environ, "CTXSYNC_HOME": str(tmp_path)}
        command = [sys.executable, "-c", script, "schema", "match", phrase]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.splitlines()

    assert run("spearheads")[-1] == "True"
    assert not (tmp_path / "cache.db").exists()  # no home, nothing is left behind
    (tmp_path / "config.toml").touch(mode=0o600)
    first, second = run("spearheads"), run("spearheads")
    assert (first[0], first[-1], second[-1]) == (second[0], "True", "False")
    assert "owned_by" in second[0]


@pytest.mark.parametrize(
    ("phrase", "key", "turn"),
    [
        ("was led by", ("lead",), -1),
        ("has been led by", ("lead",), -1),
        ("is based in", ("be", "base", "in"), 1),
        ("is the owner of", ("owner", "of"), 1),
        ("is still working at", ("work", "at"), 1),
        ("stands by", ("stand", "by"), 1),
    ],
)
def test_the_voice_is_read_off_the_words(phrase: str, key: tuple[str, ...], turn: int) -> None:
    reading = read(phrase)
    assert (reading.key, reading.turn) == (key, turn)


class Counting(Embedder):
    """The shipped embedder, with a note of what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[list[str]] = []

    def embed(self, texts: object) -> object:  # type: ignore[override]  # the real signature, loosely
        self.calls.append(list(texts))  # type: ignore[call-overload]
        return super().embed(texts)  # type: ignore[arg-type]
