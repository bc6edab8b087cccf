"""The lines of our own sets: the gold set in both halves, the verb phrases, the sentences, and a small language model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from evaluation import gold, phrases, sentences
from evaluation.table import Line, interval, ratio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxsync.engine.extraction.base import Extracts
    from ctxsync.engine.extraction.chain import Chain

# What is wanted of the locked half; of the open half, which was looked at, nothing is.
RELATIONS, ENTITIES = 0.40, 0.60
CALIBRATION, SURE, SURE_SHARE, SURE_RIGHT = 0.10, 0.8, 0.30, 0.80
PHRASE_RELATION, PHRASE_DIRECTION = 0.92, 0.87
VALID = 0.90


def scores_of(half: str, chain: Extracts) -> list[gold.Scored]:
    """Return the scores of every episode of a half of the gold set."""
    rows = gold.rows_of(half)
    return [gold.scored(row, found) for row, found in zip(rows, gold.extracted(rows, chain), strict=True)]


def error_of(scores: Sequence[gold.Scored]) -> float:
    """Return the expected calibration error over the facts of episodes."""
    return gold.calibration(gold.judged(scores))


def sure_share(scores: Sequence[gold.Scored]) -> float:
    """Return the share of facts that are given as sure."""
    pairs = gold.judged(scores)
    return ratio(sum(c >= SURE for c, _ in pairs), len(pairs))


def sure_right(scores: Sequence[gold.Scored]) -> float:
    """Return the share of the sure facts that are right."""
    sure = [right for c, right in gold.judged(scores) if c >= SURE]
    return ratio(sum(sure), len(sure))


def gold_lines(half: str, scores: Sequence[gold.Scored]) -> list[Line]:
    """Return the lines of a half of the gold set."""
    gated = half == "locked"
    precision, recall, f1 = gold.rates(scores)
    found = len(gold.judged(scores))
    wanted = sum(len(s.row["relations"]) for s in scores)
    lines = [
        Line(
            f"gold, {half} half",
            "relations, directed and typed, F1",
            f1,
            interval(scores, lambda drawn: gold.rates(drawn)[2]),
            f"{len(scores)} episodes",
            RELATIONS if gated else None,
        ),
        Line("", "  precision", precision, interval(scores, lambda drawn: gold.rates(drawn)[0]), f"{found} found"),
        Line("", "  recall", recall, interval(scores, lambda drawn: gold.rates(drawn)[1]), f"{wanted} wanted"),
    ]
    for how, what in (("substring", "by substring"), ("exact", "by exact name"), ("timeless", "by substring, no Time")):
        rates = gold.entity_rates(scores, how)
        lines.append(
            Line(
                "",
                f"entities with type, {what}, F1",
                rates[2],
                interval(scores, lambda drawn, how=how: gold.entity_rates(drawn, how)[2]),  # type: ignore[misc]
                f"P {rates[0]:.3f} R {rates[1]:.3f}",
                ENTITIES if gated and how == "substring" else None,
            )
        )
    dated, stating = (sum(s.dated[k] for s in scores) for k in (0, 1))
    traps = [s for s in scores if s.row["trap"]]
    pairs = gold.judged(scores)
    sure = [right for c, right in pairs if c >= SURE]
    return [
        *lines,
        Line("", "dates right, of right relations that state one", ratio(dated, stating), "", f"{dated} of {stating}"),
        Line("", "relations on traps", sum(len(s.wrong) for s in traps), "", f"{len(traps)} episodes", places=0),
        Line(
            "",
            "expected calibration error",
            error_of(scores),
            interval(scores, error_of),
            f"{len(pairs)} facts",
            most=CALIBRATION if gated else None,
        ),
        Line(
            "",
            "facts at 0.8 or more, of all",
            sure_share(scores),
            interval(scores, sure_share),
            f"{len(sure)} of {len(pairs)}",
            SURE_SHARE if gated else None,
        ),
        Line(
            "",
            "right, of those at 0.8 or more",
            sure_right(scores),
            interval(scores, sure_right),
            f"{sum(sure)} of {len(sure)}",
            SURE_RIGHT if gated else None,
        ),
    ]


def phrase_lines() -> list[Line]:
    """Return the lines of the labelled verb phrases."""
    matcher = phrases.Matcher(phrases.universal())
    lines = []
    for name, file in phrases.HALVES:
        results, gated = phrases.judged(phrases.GOLD / file, matcher), "locked" in name
        for k, what, least in ((0, "relation", PHRASE_RELATION), (1, "relation and direction", PHRASE_DIRECTION)):
            hits = [pair[k] for pair in results]
            share = ratio(sum(hits), len(hits))
            size = f"{sum(hits)} of {len(hits)}"
            spread = interval(hits, lambda drawn: ratio(sum(drawn), len(drawn)))
            lines.append(Line(name if k == 0 else "", what, share, spread, size, least if gated else None))
    return lines


def sentence_lines(chain: Chain) -> list[Line]:
    """Return the lines of the sets that rules were written with (`sentences`) or read with (`heldout`)."""
    lines = []
    for file in sentences.OWN_SETS:
        scores = sentences.score_file(Path(__file__).with_name(file), chain)
        precision, recall, f1 = sentences.rates(scores)
        right, dated = sum(s.right for s in scores), sum(s.dated for s in scores)
        typed, wanted = sum(s.typed for s in scores), sum(s.entities for s in scores)
        lines += [
            Line(
                file,
                "relations, directed and typed, F1",
                f1,
                interval(scores, lambda drawn: sentences.rates(drawn)[2]),
                f"{len(scores)} sentences, P {precision:.3f} R {recall:.3f}",
            ),
            Line("", "dates right, of right relations", ratio(dated, right), "", f"{dated} of {right}"),
            Line("", "entities found with name and type", ratio(typed, wanted), "", f"{typed} of {wanted}"),
        ]
    return lines


def llm_lines() -> list[Line]:
    """Return the lines of a small language model on a llama.cpp server; some minutes."""
    from evaluation import small_llm

    lines = []
    for name, what, value, size in small_llm.rows():
        if value == "-":
            return [Line(name, f"not measured: {size}", least=VALID)]
        lines.append(
            Line(
                name,
                what,
                float(value),
                "",
                size,
                least=VALID if what.startswith("first answers") else None,
                most=0.0 if what == "anything else" else None,
            )
        )
    return lines
