from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from ctxsync.engine.extraction.base import Identity
from ctxsync.engine.extraction.chain import build_chain, extract_text
from ctxsync.engine.schema import universal
from ctxsync.errors import ExtractionError

if TYPE_CHECKING:
    from tests.engine.extraction.conftest import Reads

GERMAN = (
    "Nadia hat die Firma im Mai verlassen und arbeitet jetzt bei Fennel Labs, weil ihr die Arbeit dort besser gefällt."
)
JAPANESE = "ナディアは五月に会社を辞めて、新しい仕事を始めました。"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"attributes": {"bot": True}}, "tier0:bot"),
        ({"attributes": {"merge": True}, "kind": "commit"}, "tier0:merge"),
        ({"attributes": {"bulk": True}}, "tier0:bulk"),
        ({"kind": "mailmap"}, "tier0:kind:mailmap"),
        ({"text": GERMAN}, "tier0:language"),
        ({"text": JAPANESE}, "tier0:language"),
        ({"text": " \n"}, "tier0:empty"),
    ],
)
def test_bots_merges_bulk_and_other_languages_get_tier_0_only_and_say_why(
    reads: Reads, fields: dict[str, object], reason: str
) -> None:
    found = reads.extract(**{"text": "Nadia works at Acme.", **fields})  # type: ignore[arg-type]  # JSON or keyword values whose types the test chose
    assert found.tier == 0
    assert reason in found.gate
    assert all(relation.tier == 0 for relation in found.relations)


def test_results_come_in_the_order_of_the_episodes_whatever_their_length(reads: Reads) -> None:
    texts = [
        "Nadia works at Acme. " * n + f"Tom lives in {place}." for n, place in ((9, "Oslo"), (0, "Porto"), (3, "Graz"))
    ]
    episodes = [reads.episode(text, id=f"e{n}") for n, text in enumerate(texts)]
    results = [found for found, _ in reads.chain.extract(episodes)]
    assert [found.episode for found in results] == ["e0", "e1", "e2"]
    for found, place in zip(results, ("Oslo", "Porto", "Graz"), strict=True):
        assert place in {entity.name for entity in found.entities}


def test_company_in_a_batch_changes_no_result(reads: Reads) -> None:
    texts = ["Nadia works at Acme.", "She lives in Porto.", "The gateway uses Kafka. It runs on Kubernetes."]
    episodes = [reads.episode(text, id=f"e{n}", item=f"note:{n}", title=f"T{n}") for n, text in enumerate(texts)]
    together = [reads.lines(found) for found, _ in reads.chain.extract(episodes)]
    alone = [reads.lines(next(reads.chain.extract([episode]))[0]) for episode in episodes]
    assert together == alone


def test_a_missing_model_fails_every_episode_by_name_and_keeps_tier_0() -> None:
    def load() -> object:
        raise ExtractionError("No English model is installed.", remedy="Install it.")

    chain = build_chain(universal(), Identity(), load=load)
    found = extract_text("Nadia works at Acme.", title="Nadia", kind="note", chain=chain)
    assert (found.tier, [entity.name for entity in found.entities]) == (0, ["Nadia"])


def test_the_run_names_schema_identity_and_models() -> None:
    plain = build_chain(universal(), Identity())
    assert plain.run == build_chain(universal(), Identity()).run
    assert plain.run != build_chain(universal(), Identity(("Robin Vale",), ())).run


def test_a_note_of_a_megabyte_is_read_to_its_end(reads: Reads) -> None:
    filler = "The weather was grey and nobody minded much.\n\n" * 2000
    assert "Tom located_at Porto" in reads.facts(filler + "Tom lives in Porto.")


def test_building_a_chain_loads_no_language_model() -> None:
    code = (
        "import sys; from ctxsync.engine.schema import universal; from ctxsync.engine.extraction.base import Identity;"
        "from ctxsync.engine.extraction.chain import build_chain; build_chain(universal(), Identity());"
        "print(sorted({'spacy', 'numpy', 'onnxruntime', 'pydantic'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
