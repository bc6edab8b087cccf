"""Measures the quality of extraction on every set that is there: `make eval`; `docs/evaluation.md` says what each line is.

usage: python -m evaluation [--no-llm] [--no-articles] [--no-errors] [--ablation]

One table: value, 95 % bootstrap interval, what is wanted, whether it holds; then the twenty worst errors. `--no-llm` leaves
out the small language model and `--no-articles` the five-fold run over Re-DocRED: each takes minutes.
`--ablation` removes every rule in turn besides.
It measures and does not judge: the status is 0.
"""

from __future__ import annotations

import argparse
import sys
import time

from ctxsync.engine.extraction.base import Identity
from ctxsync.engine.extraction.chain import build_chain
from ctxsync.engine.schema import universal
from evaluation import own, third
from evaluation.sentences import ME
from evaluation.table import Line, failing, rendered


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m evaluation", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--no-llm", action="store_true", help="leave out the small language model")
    parser.add_argument("--no-articles", action="store_true", help="leave out Re-DocRED")
    parser.add_argument("--no-errors", action="store_true", help="leave out the worst errors")
    parser.add_argument("--ablation", action="store_true", help="remove every rule of tier 1 in turn besides")
    return parser.parse_args()


def main() -> int:
    asked = arguments()
    started = time.perf_counter()
    schema = universal()
    chain = build_chain(schema, Identity())
    lines: list[Line] = []
    scores = {half: own.scores_of(half, chain) for half in ("locked", "open")}
    for half, scored in scores.items():
        lines += own.gold_lines(half, scored)
    lines += third.lines(chain)
    lines += own.phrase_lines()
    lines += own.sentence_lines(build_chain(schema, ME))
    if not asked.no_articles:
        from evaluation import articles

        lines += articles.lines()
    if not asked.no_llm:
        lines += own.llm_lines()
    print(rendered(lines))
    missed = failing(lines)
    print("\nEverything that is wanted holds." if not missed else "\nWhat does not hold:")
    for words in missed:
        print(f"  {words}")
    if not asked.no_errors:
        from evaluation import errors

        print(errors.report([errors.of_gold(scores["open"]), *errors.of_others(chain)]))
    if asked.ablation:
        from evaluation import ablation

        print(f"\nWhat is left without each rule\n\n{ablation.run()}")
    print(f"\n{time.perf_counter() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
