from __future__ import annotations

from typing import Any

import pytest

from ctxsync.engine.extraction.builtin import load_english
from ctxsync.engine.extraction.parsing import Pipeline

TEXTS = (
    "",
    " ",
    "Nadia Okoro moved from Copperline Labs in Lisbon to the University of Oslo on 12 May 2024.",
    "It cost 1,200 dollars. Two of the twenty Norwegian engineers of Fennel Labs left on Tuesday afternoon",
    "Tom Berg\nPriya Raman\n\nThe  Treaty of Port Ellery , signed in the 1990s by Harbourlight, Inc.",
    "priya likes kafka (Kafka 3.7) - see https://example.com/a?b=1 & ask Jonas Weber-Holm, 42% of \u201cThe Long Winter\u201d.",
)


@pytest.fixture(scope="module")
def english() -> Any:
    return load_english()


def _analysis(doc: Any) -> list[tuple[object, ...]]:
    return [(t.text, t.tag_, t.dep_, t.head.i, t.ent_iob_, t.ent_type_, t.is_sent_start) for t in doc]


def test_documents_come_out_as_spacy_itself_analyses_them(english: Any) -> None:
    docs = [english.make_doc(text) for text in TEXTS]
    Pipeline(english).analyse(docs)
    assert [_analysis(doc) for doc in docs] == [_analysis(doc) for doc in english.pipe(TEXTS)]
    assert any(doc.ents for doc in docs)


def test_a_recogniser_of_another_build_labels_at_its_own_speed(english: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(english.get_pipe("ner").cfg, "beam_width", 2)
    monkeypatch.setitem(english.get_pipe("ner").cfg, "beam_density", 0.0)
    docs = [english.make_doc(TEXTS[2])]
    Pipeline(english).analyse(docs)
    assert [ent.text for ent in docs[0].ents][:1] == ["Nadia Okoro"]
