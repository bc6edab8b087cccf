from __future__ import annotations

import subprocess
import sys

import pytest

from ctxsync.engine.extraction.lexicon import Lexicon
from ctxsync.engine.schema import universal

LEXICON = Lexicon(universal())


def best(phrase: str, left: str = "", right: str = "") -> tuple[str, int, bool]:
    match = LEXICON.find(phrase, left, right)[0]
    return match.phrase_class, match.direction, match.ends


@pytest.mark.parametrize(
    ("phrase", "meaning"),
    [
        ("works at", ("employment", 1, False)),
        ("has been working for", ("employment", 1, False)),
        ("is now working at", ("employment", 1, False)),
        ("hired", ("employment", -1, False)),
        ("was hired by", ("employment", 1, False)),
        ("is a senior engineer at", ("employment", 1, False)),
        ("caused", ("cause", 1, False)),
        ("was caused by", ("cause", -1, False)),
        ("is owned by", ("ownership", 1, False)),
        ("owned by", ("ownership", 1, False)),
        ("owns", ("ownership", -1, False)),
        ("was led by", ("responsibility", 1, False)),
        ("is leading", ("responsibility", -1, False)),
        ("is the owner of", ("responsibility", -1, False)),
        ("depend on", ("dependency", 1, False)),
        ("is used by", ("dependency", -1, False)),
        ("stores orders in", ("datastore", 1, False)),
        ("is now called", ("rename", 1, False)),
        ("used to be called", ("rename", -1, False)),
    ],
)
def test_a_phrase_in_any_tense_or_voice_has_its_class_and_direction(
    phrase: str, meaning: tuple[str, int, bool]
) -> None:
    assert best(phrase) == meaning


@pytest.mark.parametrize(
    "phrase",
    ["no longer works at", "used to work at", "does not work at anymore", "stopped working at", "left", "was fired by"],
)
def test_a_phrase_that_says_it_stopped_ends_the_employment(phrase: str) -> None:
    assert best(phrase, "Person", "Organization") == ("employment", 1, True)


def test_a_negated_phrase_means_nothing() -> None:
    assert LEXICON.find("does not work at") == []
    assert LEXICON.find("never owned") == []


@pytest.mark.parametrize(
    ("left", "right", "phrase_class"),
    [("Person", "Place", "residence"), ("Person", "Organization", "employment"), ("Organization", "Place", "site")],
)
def test_types_choose_among_the_meanings_of_moved_to(left: str, right: str, phrase_class: str) -> None:
    assert best("moved to", left, right)[0] == phrase_class


def test_a_property_name_means_what_its_noun_means() -> None:
    assert LEXICON.property("employer")[0].phrase_class == "employment"
    assert (LEXICON.property("lead")[0].phrase_class, LEXICON.property("lead")[0].direction) == ("responsibility", 1)
    assert LEXICON.property("works-at")[0].phrase_class == "employment"
    assert LEXICON.property("cssclass") == []


def test_every_phrase_of_the_schema_finds_its_own_class() -> None:
    lost = [
        phrase
        for known in universal().classes.values()
        for phrases, direction, ends in (
            (known.phrases, 1, False),
            (known.inverse, -1, False),
            (known.ends, 1, True),
            (known.inverse_ends, -1, True),
        )
        for phrase in phrases
        if (known.name, direction, ends) not in {(m.phrase_class, m.direction, m.ends) for m in LEXICON.find(phrase)}
    ]
    assert lost == []


@pytest.mark.parametrize(
    ("base", "forms"),
    [
        ("work", "works working worked"),
        ("store", "stores storing stored"),
        ("stop", "stops stopping stopped"),
        ("study", "studies studying studied"),
        ("leave", "leaves leaving left"),
        ("be", "is was were been being"),
        ("replace", "replaces replaced replacing"),
        ("migrate", "migrates migrated migrating"),
        ("manage", "manages managed managing"),
        ("miss", "misses missed missing"),
    ],
)
def test_all_forms_of_a_verb_have_one_base(base: str, forms: str) -> None:
    assert set(Lexicon.lemmas([base, *forms.split()])) == {base}


def test_the_lexicon_loads_no_model_and_no_validation() -> None:
    code = (
        "import sys; from ctxsync.engine.schema import universal; from ctxsync.engine.extraction.lexicon import Lexicon;"
        "Lexicon(universal()).find('works at');"
        "print(sorted({'spacy', 'numpy', 'onnxruntime', 'pydantic', 'tokenizers'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
