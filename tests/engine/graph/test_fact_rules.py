from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ctxsync.engine.graph.facts import DENIES, ENDS, STATES, Evidence, Member, Tally, Verdict, evaluate
from ctxsync.engine.graph.times import end_of, interval, start_of

ACME, GLOBEX = 10, 20


def said(id_: int, tail: int, at: int, **changes: Any) -> Member:
    one = Evidence(
        id=id_,
        content=f"c{id_:04d}",
        head=1,
        relation="part_of",
        phrase_class="employment",
        phrase="works at",
        tail=tail,
        confidence=0.7,
        valid_from=None,
        valid_to=None,
        mode=STATES,
        occurred_at=at,
        trust=2,
    )
    return Member(tail, one._replace(**changes))


def spans(verdict: Verdict) -> list[tuple[int, int, int | None, str]]:
    return [(s.tail, s.valid_from, s.valid_to, s.reason) for s in verdict.spans]


def test_a_restatement_is_one_more_support_and_makes_the_fact_surer() -> None:
    once = evaluate([said(1, ACME, 5)], single=True)
    twice = evaluate([said(1, ACME, 5), said(2, ACME, 3)], single=True)
    assert spans(twice) == [(ACME, 3, None, "")]
    assert twice.support == [(ACME, 2, "states"), (ACME, 1, "states")]
    assert (once.spans[0].confidence, twice.spans[0].confidence) == (0.7, 0.91)


def test_restatements_never_make_a_guess_certain() -> None:
    many = evaluate([said(k, ACME, k) for k in range(20)], single=True)
    assert many.spans[0].confidence == 0.99
    assert evaluate([said(1, ACME, 1, confidence=1.0)], single=True).spans[0].confidence == 1.0


def test_a_later_statement_supersedes_in_a_single_valued_class_only() -> None:
    both = [said(1, ACME, 5), said(2, GLOBEX, 9)]
    assert spans(evaluate(both, single=True)) == [(ACME, 5, 9, "superseded"), (GLOBEX, 9, None, "")]
    assert evaluate(both, single=True).spans[0].superseded_by == GLOBEX
    assert spans(evaluate(both, single=False)) == [(ACME, 5, None, ""), (GLOBEX, 9, None, "")]


def test_what_is_said_again_after_it_was_superseded_opens_a_new_span() -> None:
    found = evaluate([said(1, ACME, 5), said(2, GLOBEX, 7), said(3, ACME, 9)], single=True)
    assert spans(found) == [(ACME, 5, 7, "superseded"), (GLOBEX, 7, 9, "superseded"), (ACME, 9, None, "")]


def test_an_old_mail_that_arrives_today_leaves_the_newer_fact_standing() -> None:
    found = evaluate([said(2, GLOBEX, 2024), said(1, ACME, 2021)], single=True)
    assert spans(found) == [(ACME, 2021, 2024, "superseded"), (GLOBEX, 2024, None, "")]
    assert spans(evaluate([said(1, ACME, 2024), said(2, ACME, 2021, mode=ENDS)], single=True)) == [
        (ACME, 2021, 2021, "ended"),
        (ACME, 2024, None, ""),
    ]


def test_others_words_alone_never_retire_an_own_fact() -> None:
    assert spans(evaluate([said(1, ACME, 5), said(2, GLOBEX, 9, trust=1)], single=True)) == [
        (ACME, 5, None, ""),
        (GLOBEX, 9, None, ""),
    ]
    assert spans(evaluate([said(1, ACME, 5), said(2, ACME, 9, trust=1, mode=ENDS)], single=True)) == [
        (ACME, 5, None, "")
    ]
    assert spans(evaluate([said(1, ACME, 5, trust=1), said(2, GLOBEX, 9)], single=True))[0] == (
        ACME,
        5,
        9,
        "superseded",
    )


def test_an_end_closes_what_stands_at_the_date_it_gives_else_when_it_was_written() -> None:
    assert spans(evaluate([said(1, ACME, 5), said(2, ACME, 9, mode=ENDS)], single=True)) == [(ACME, 5, 9, "ended")]
    dated = [said(1, ACME, 5), said(2, ACME, 9, mode=ENDS, valid_to=7)]
    assert spans(evaluate(dated, single=True)) == [(ACME, 5, 7, "ended")]


def test_an_end_of_what_was_never_stated_leaves_a_closed_span_and_no_current_fact() -> None:
    assert spans(evaluate([said(1, ACME, 9, mode=ENDS)], single=True)) == [(ACME, 9, 9, "ended")]
    known = [said(1, ACME, 9, mode=ENDS, valid_from=2, valid_to=6)]
    assert spans(evaluate(known, single=True)) == [(ACME, 2, 6, "ended")]


def test_an_end_stated_with_the_fact_is_its_end() -> None:
    assert spans(evaluate([said(1, ACME, 5, valid_to=8)], single=True)) == [(ACME, 5, 8, "stated")]
    assert spans(evaluate([said(1, ACME, 5, valid_to=8), said(2, ACME, 9)], single=False)) == [
        (ACME, 5, 8, "stated"),
        (ACME, 9, None, ""),
    ]


def test_a_denial_takes_away_what_was_said_before_and_not_what_is_said_later() -> None:
    no = said(2, ACME, 7, mode=DENIES, trust=3)
    assert spans(evaluate([said(1, ACME, 5), no], single=True)) == []
    assert spans(evaluate([said(1, ACME, 5), no, said(3, ACME, 9)], single=True)) == [(ACME, 9, None, "")]


EVIDENCE = st.lists(
    st.builds(
        lambda tail, at, start, end, mode, trust, confidence: {
            "tail": tail,
            "at": at,
            "valid_from": start,
            "valid_to": end,
            "mode": mode,
            "trust": trust,
            "confidence": confidence,
        },
        st.sampled_from([ACME, GLOBEX, 30]),
        st.integers(0, 20),
        st.none() | st.integers(0, 20),
        st.none() | st.integers(0, 20),
        st.sampled_from([STATES, STATES, STATES, ENDS, DENIES]),
        st.integers(1, 3),
        st.sampled_from([0.5, 0.7, 1.0]),
    ),
    max_size=12,
)


@given(EVIDENCE, st.randoms(use_true_random=False), st.booleans())
def test_the_order_in_which_evidence_is_given_changes_nothing(kinds: Any, rng: Any, single: bool) -> None:
    members = [said(n, **kind) for n, kind in enumerate(kinds)]
    first = evaluate(members, single=single)
    rng.shuffle(members)
    second = evaluate(members, single=single)
    assert first.spans == second.spans
    assert sorted(first.support) == sorted(second.support)


@given(EVIDENCE)
def test_at_equal_trust_a_single_valued_class_never_has_two_at_once(kinds: Any) -> None:
    # An end that gives its own start tells of a past beside the one that stands; it is never current.
    bare = [{**kind, "trust": 2, **({"valid_from": None} if kind["mode"] == ENDS else {})} for kind in kinds]
    found = evaluate([said(n, **kind) for n, kind in enumerate(bare)], single=True).spans
    for moment in range(22):
        assert (
            len({s.tail for s in found if s.valid_from <= moment and (s.valid_to is None or s.valid_to > moment)}) <= 1
        )


@given(EVIDENCE)
def test_every_piece_of_evidence_backs_something_and_every_span_is_backed(kinds: Any) -> None:
    members = [said(n, **kind) for n, kind in enumerate(kinds)]
    found = evaluate(members, single=True)
    assert {id_ for _, id_, _ in found.support} == {k.evidence.id for k in members}
    assert {s.tail for s in found.spans} <= {tail for tail, _, _ in found.support}


@given(EVIDENCE.map(lambda kinds: [{**k, "tail": ACME, "mode": STATES, "valid_to": None} for k in kinds]))
def test_adding_up_says_what_evaluating_says(kinds: Any) -> None:
    tally = Tally()
    members = [said(n, **kind, phrase=f"p{n}") for n, kind in enumerate(kinds)]
    for member in members:
        tally.add(member.evidence)
    if members:
        assert [tally.span(ACME)] == evaluate(members, single=False).spans


def test_a_partial_date_is_the_period_it_names() -> None:
    assert start_of("2025") == start_of("2025-01") == start_of("2025-01-01") == start_of("2025-Q1") == 1735689600000
    assert end_of("2025", ends=False) == start_of("2026")
    assert end_of("2025-Q4", ends=False) == start_of("2026-01")
    assert end_of("2025-12", ends=False) == start_of("2026-01")
    assert start_of("2025-03-04T05:06:07+02:00") == start_of("2025-03-04T03:06:07Z")


def test_what_ended_in_march_ended_when_march_began() -> None:
    assert end_of("2025-03", ends=True) == start_of("2025-03")


def test_what_is_no_date_says_nothing() -> None:
    assert [interval(k) for k in ("soon", "2025-13", "2025-02-30", "10000", "")] == [None] * 5
    assert start_of(None) is None
