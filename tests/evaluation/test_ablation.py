"""Removing one thing at a time: what is left out, where it can matter, and that it comes back."""

from __future__ import annotations

import numpy as np
import pytest

from ctxsync.engine.extraction import gazetteer, scene, votes
from ctxsync.engine.extraction.base import Episode, Identity
from ctxsync.engine.extraction.chain import Chain, build_chain
from ctxsync.engine.schema import universal
from evaluation import features, others, removable
from evaluation.ablation import Ablation, batches, report
from evaluation.removable import Removal

SCHEMA = universal()


@pytest.fixture(scope="module")
def chain() -> Chain:
    return build_chain(SCHEMA, Identity())


def named(removals: list[Removal], name: str) -> Removal:
    return next(removal for removal in removals if removal.name == name)


def test_a_phrase_is_removed_from_its_class_alone() -> None:
    removal = named(list(removable.of_schema(SCHEMA)), "residence: lives in")
    less = removable.without_phrases(SCHEMA, [removal])
    assert "lives in" not in (less.classes["residence"].phrases if removal.part[1] == "phrases" else ())
    assert less.classes["work"] == SCHEMA.classes["work"]
    assert len(SCHEMA.classes["residence"].phrases) == len(less.classes["residence"].phrases) + 1


def test_a_phrase_can_matter_only_where_its_verb_stands_in_any_form() -> None:
    removal = named(list(removable.of_schema(SCHEMA)), "residence: lives in")
    assert removal.words is not None
    assert removal.words <= removable.spoken("She lived in Porto.")
    assert not removal.words <= removable.spoken("She is in Porto.")


def test_an_entry_of_a_list_is_gone_in_every_module_that_knows_the_list_and_comes_back() -> None:
    before = gazetteer.PLACES
    removal = named(list(removable.of_lists(SCHEMA)), "PLACES: lisbon")
    with removable.without_entries(SCHEMA, [removal]):
        assert "lisbon" not in gazetteer.PLACES
        assert "porto" in gazetteer.PLACES
        assert "lisbon" not in getattr(votes, "PLACES", ())
    assert gazetteer.PLACES is before


def test_a_whole_list_can_be_gone() -> None:
    removal = named(list(removable.whole_lists(SCHEMA)), "gazetteer.PLACES")
    with removable.without_entries(SCHEMA, [removal]):
        assert not gazetteer.PLACES
    assert gazetteer.PLACES


@pytest.mark.parametrize("removal", list(removable.of_rules()), ids=lambda removal: removal.name)
def test_every_rule_can_do_nothing_and_the_rest_goes_on(removal: Removal, chain: Chain) -> None:
    text = "Rosa Amsel works at Acme in Lisbon. She moved from Porto. `billing` uses Kafka instead of Redis."
    with removable.without_rule(removal):
        ((found, failed),) = chain.extract([_episode(text)])
    assert failed == []
    assert found.tier == 1


def test_a_rule_comes_back() -> None:
    before = scene.Scene._we
    with removable.without_rule(named(list(removable.of_rules()), "scene._we")):
        assert scene.Scene._we is not before
    assert scene.Scene._we is before


def test_a_kind_of_feature_weighs_nothing_without_it() -> None:
    arrays = features.weights()
    removal = named(list(features.of_features(arrays)), "types")
    less = features.without_feature(arrays, removal)
    names = arrays["pair.features"].tobytes().decode().split("\n")
    at = [k for k, name in enumerate(names) if features.family(name) == "types"]
    assert at
    assert not less["pair.weights"][at].any()
    rest = [k for k in range(len(names)) if k not in set(at)]
    assert np.array_equal(less["pair.weights"][rest], arrays["pair.weights"][rest])


def test_removals_that_share_a_text_are_tried_apart_and_those_of_no_text_not_at_all() -> None:
    a, b, c, d = (Removal("phrase", name, None, (name,)) for name in "abcd")
    touched = {a: frozenset({1, 2}), b: frozenset({3}), c: frozenset({2}), d: frozenset[int]()}
    assert batches(touched) == [[a, b], [c]]


def test_the_report_says_whether_any_single_rule_moves_a_row_too_far() -> None:
    small, large, many = (
        Removal("phrase", "p", None, ()),
        Removal("rule", "r", None, ()),
        Removal("whole list", "w", None, ()),
    )
    text = report({small: {"row": 0.01}, many: {"row": -0.3}}, {"phrase": 4})
    assert "by more than 0.01: holds." in text
    assert "phrase: 5, of which 4 have their words in no text" in text
    assert "does NOT hold: 1 do" in report({small: {"row": 0.01}, large: {"row": -0.02}}, {})


def _episode(text: str) -> Episode:
    return Episode("e", "text:e", "text", "", text, 1_779_271_200_000)


@pytest.mark.skipif(others.scorer("score") is None, reason="no scorer in eval/ beside the repository")
def test_an_extractor_that_lacks_nothing_finds_what_the_first_one_found() -> None:
    bench = Ablation()
    at = range(min(8, len(bench.texts)))
    again = bench._predicted(at, schema=bench.schema, arrays=bench.weights)  # what each removal goes through
    assert again == {k: bench._found[k] for k in at}
