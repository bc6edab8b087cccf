"""When a result asks for a higher tier, and the figures that it says so with."""

from __future__ import annotations

import pytest

from ctxsync.engine.extraction.base import Entity, Episode, Extraction, Identity
from ctxsync.engine.extraction.chain import Chain
from ctxsync.engine.extraction.gate import MARKERS, Gate, asks, wish
from ctxsync.engine.schema import universal

TYPES = universal().entity_types


def decided(text: str, *found: tuple[str, str, float], gate: Gate | None = None, tier: int = 1) -> list[str]:
    episode = Episode("e", "note:1", "note", "", text, 0)
    entities = [Entity(f"e{n}", name, kind, confidence=sure, tier=tier) for n, (name, kind, sure) in enumerate(found)]
    result = Extraction("e", tier, "m", entities)
    using = gate or Gate()
    return using.decide(result, episode, TYPES) if tier == 1 else using.decide_again(result, TYPES)


def test_a_dense_and_sure_result_is_kept_with_its_figures() -> None:
    assert decided("Rosa joined Acme", ("Rosa", "Person", 0.9), ("Acme", "Organization", 0.7)) == [
        "keep:density 6.7>=1.5, confidence 0.80"
    ]


@pytest.mark.parametrize(
    ("text", "found", "reason"),
    [
        ("one two three four five six seven eight nine Rosa", [("Rosa", "Person", 0.9)], "few-entities 1<1.5"),
        ("Rosa and Acme", [("Rosa", "Person", 0.3), ("Acme", "Organization", 0.4)], "low-confidence 0.35<0.4"),
        ("Rosa and Acme", [("Rosa", "Human", 0.9), ("Acme", "Organization", 0.9)], "types 0.50<0.6"),
        ("word " * 26, [(f"N{n}", "Person", 0.9) for n in range(4)], "long-text 26>25 words, 4<5 entities"),
        ("Rosa broke std::string", [("Rosa", "Person", 0.9)], "complex ::"),
        ("Rosa saw the Outage", [("Rosa", "Person", 0.9)], "complex Outage"),
        ("Rosa ships v12", [("Rosa", "Person", 0.9)], "complex v12"),
        ("Rosa found the root\n cause", [("Rosa", "Person", 0.9)], "complex root cause"),
    ],
)
def test_each_reason_of_the_gate_names_the_figures_that_it_compared(
    text: str, found: list[tuple[str, str, float]], reason: str
) -> None:
    assert f"escalate:{reason}" in decided(text, *found)


def test_a_marker_that_is_a_word_is_not_found_inside_another() -> None:
    assert decided("Rosa incidentally", ("Rosa", "Person", 0.9)) == ["keep:density 5>=1.5, confidence 0.90"]


def test_what_is_stated_outright_counts_for_no_density() -> None:
    episode = Episode("e", "note:1", "note", "", "Rosa joined", 0)
    result = Extraction("e", 1, "m", [Entity("0", "Rosa", "Person", tier=0)])
    assert Gate().decide(result, episode, TYPES) == ["escalate:few-entities 0<1.5"]


def test_values_of_the_settings_take_the_place_of_the_starting_ones() -> None:
    gate = Gate(entities_per_ten_words=0.0, mean_confidence=0.0, valid_types=0.0, many_words=1_000, markers=())
    assert decided("nothing but an outage of v2 :: at @ " * 9, gate=gate) == ["keep:density 0>=0, confidence 0.00"]
    assert decided("Rosa hums", ("Rosa", "Person", 0.9), gate=Gate(markers=(*MARKERS, "hums")))[0].startswith(
        "escalate:"
    )


def test_a_higher_tier_is_asked_again_only_when_it_is_unsure_itself() -> None:
    assert decided("word " * 99, ("Rosa", "Person", 0.9), tier=2) == ["keep:1 entities, confidence 0.90"]
    assert decided("word " * 99, tier=2) == ["keep:0 entities, confidence 0.00"]
    assert decided("Rosa", ("Rosa", "Person", 0.1), tier=2) == ["escalate:low-confidence 0.10<0.4"]


def test_the_last_decision_in_an_event_is_the_one_that_counts() -> None:
    assert asks(["escalate:few-entities 0.4<1.5", "escalate:complex @"])
    assert asks(["escalate:few-entities"])  # as logs of earlier versions have it
    assert not asks(["escalate:few-entities 0.4<1.5", "tier2:qwen3:8b", "keep:3 entities, confidence 0.90"])
    assert not asks(["tier0:bulk"])
    assert not asks([])


def test_what_may_have_tier_0_only_wishes_for_nothing_and_a_failed_tier_1_for_a_higher_one() -> None:
    assert [wish(0, ["tier0:bulk"]), wish(1, ["keep:x"]), wish(1, []), wish(1, ["escalate:x"]), wish(0, [])] == [
        0, 1, 1, 2, 2,
    ]  # fmt: skip


def test_another_gate_is_another_run_and_the_starting_one_is_not() -> None:
    def run(**values: float) -> str:
        return Chain(universal(), Identity(), (), gates=Gate(**values)).run  # type: ignore[arg-type]

    assert run() == Chain(universal(), Identity(), ()).run
    assert run(mean_confidence=0.5) != run()
