"""GLiNER2 through its library, on a small model of the same files, inputs and outputs."""

from __future__ import annotations

import json
import shutil
import socket
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import huggingface_hub.constants
import pytest

from ctxsync.engine.extraction import gliner
from ctxsync.engine.extraction.base import Entity, Episode, Extraction, Identity, Relation
from ctxsync.engine.extraction.chain import Chain
from ctxsync.engine.extraction.gliner.runtime import Find, Names
from ctxsync.engine.extraction.gliner.tier import FAILED, joined
from ctxsync.engine.extraction.gliner.windows import MARGIN, WORDS, prepared, windows
from ctxsync.engine.schema import universal
from ctxsync.errors import ModelError
from tests.engine.extraction.gliner import tiny

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = universal()


def episode(text: str, **more: Any) -> Episode:
    return Episode(id="e1", item="text:1", kind="text", title="", text=text, occurred_at=1_700_000_000_000, **more)


def names(path: Path) -> Names:
    return Names(path, SCHEMA.entity_types)


def chain(path: Path) -> Chain:
    return Chain(SCHEMA, Identity(), [gliner.load(path, SCHEMA, Identity())])


def extracted(path: Path, *episodes: Episode) -> list[Extraction]:
    return [result for result, _ in chain(path).extract(episodes)]


def by_name(result: Extraction) -> dict[str, Entity]:
    return {entity.name: entity for entity in result.entities}


@pytest.fixture(scope="module")
def finder(model: Path) -> Names:
    found = names(model)
    found.open()
    return found


def test_names_come_with_type_score_and_place(finder: Names) -> None:
    text = "Yesterday Nadia Okoro of Fennel Labs flew to Lisbon."
    found = finder.find(text)

    assert [(f.name, f.type) for f in found] == [
        ("Nadia Okoro", "Person"), ("Fennel Labs", "Organization"), ("Lisbon", "Place"),
    ]  # fmt: skip
    assert all(text[f.start : f.end] == f.name and f.score == pytest.approx(0.982) for f in found)


@pytest.mark.parametrize("text", ["", " \n\t", "\ud800", "x" * 5000, "nobody is named here"])
def test_text_without_names_gives_none(finder: Names, text: str) -> None:
    assert finder.find(text) == []


def test_a_letter_that_grows_in_lower_case_shifts_no_name(finder: Names) -> None:
    text = "İstanbul, İzmir, İznik: Lisbon"
    (found,) = finder.find(text)

    assert (found.name, text[found.start : found.end]) == ("Lisbon", "Lisbon")


def test_every_place_of_a_long_text_is_one_windows_to_answer_for() -> None:
    text = " ".join(f"word{number}" for number in range(1000))
    cut = list(windows(text))

    assert len(cut) > 5
    assert cut[0].first == 0
    assert cut[-1].last == len(text)
    assert all(before.last == after.first for before, after in pairwise(cut))
    assert all(window.text == text[window.start : window.start + len(window.text)] for window in cut)
    assert all(len(window.text.split()) <= WORDS for window in cut)


def test_words_of_the_longest_kind_still_leave_more_than_two_margins() -> None:
    cut = list(windows(prepared(" ".join(["y" * 64] * 300 + ["z" * 65]))))

    assert all(len(window.text.split()) > 2 * MARGIN for window in cut[:-1])
    assert "z" not in cut[-1].text


def test_a_name_is_found_once_wherever_a_window_ends(finder: Names) -> None:
    for before in range(WORDS - 2 * MARGIN - 2, WORDS + 2, 3):
        text = "so " * before + "Nadia Okoro " + "so " * 200
        assert [(f.start, f.name) for f in finder.find(text)] == [(3 * before, "Nadia Okoro")]


def test_the_model_runs_on_one_thread_without_an_arena(finder: Names) -> None:
    for part in ("encoder", "classifier", "span_rep", "count_embed"):
        options = getattr(finder._runtime, part).get_session_options()
        assert (options.intra_op_num_threads, options.inter_op_num_threads, options.enable_cpu_mem_arena) == (
            1,
            1,
            False,
        )


def test_the_schemas_descriptions_stand_before_the_labels(finder: Names, model: Path) -> None:
    marks = json.loads((model / "gliner2_config.json").read_text(encoding="utf-8"))["special_tokens"]
    tokens, places = finder._runtime._build_schema_prefix("entities", ["person", "place"], "[E]")

    assert tokens.count(marks["[DESCRIPTION]"]) == len(SCHEMA.entity_types)
    assert [tokens[place] for place in places] == [marks["[E]"]] * 2


def test_a_model_without_descriptions_gets_none(tmp_path: Path) -> None:
    path = tiny.build(tmp_path)
    config = json.loads((path / "gliner2_config.json").read_text(encoding="utf-8"))
    del config["special_tokens"]["[DESCRIPTION]"]
    (path / "gliner2_config.json").write_text(json.dumps(config), encoding="utf-8")
    found = names(path)

    assert [f.name for f in found.find("She met Nadia Okoro.")] == ["She", "Nadia Okoro"]
    assert len(found._runtime._build_schema_prefix("entities", ["person"], "[E]")[0]) < 20


def test_half_precision_is_used_where_it_is_all_there_is(tmp_path: Path) -> None:
    assert [f.name for f in names(tiny.build(tmp_path, precision="fp16")).find("in Lisbon")] == ["Lisbon"]


def test_opening_and_reading_ask_no_network(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a connection")

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)  # as where another part imported it first
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)

    assert names(model).find("in Lisbon")
    assert huggingface_hub.is_offline_mode()


def test_statements_are_the_built_in_ones_and_names_of_both_count(model: Path) -> None:
    text = "Nadia Okoro works at Fennel Labs. She praised quillfeather on Monday."
    (result,) = extracted(model, episode(text))
    found = by_name(result)

    assert [(r.head, r.relation, r.tail) for r in result.relations] == [
        (found["Nadia Okoro"].id, "part_of", found["Fennel Labs"].id)
    ]
    assert found["quillfeather"].type == "Organization"
    assert found["quillfeather"].tier == 1
    assert text[slice(*(found["quillfeather"].span or (0, 0)))] == "quillfeather"
    assert found["Nadia Okoro"].confidence > 0.98  # two that agree are surer than either
    assert not {"She", "she"} & found.keys()
    assert found["Monday"].type == "Time"


def test_code_and_others_words_are_not_read(model: Path) -> None:
    quote = "quillfeather was wrong"
    text = f"{quote}\n\nI was in Lisbon.\n\n```\nfennel labs\n```\n\n> Harbour Summit\n"
    start = text.index("```")
    (result,) = extracted(
        model, episode(text, quoted=((0, len(quote)),), code=((start, text.index("```", start + 3) + 3),))
    )

    found = {name.casefold() for name in by_name(result)}
    assert not found & {"quillfeather", "fennel labs", "harbour summit"}
    assert "Lisbon" in by_name(result)


def test_a_name_in_markdown_keeps_its_place_in_the_source(model: Path) -> None:
    text = "# Plans\n\nNothing new.\n\n- **about** [quillfeather](https://example.com/q) and more\n"
    (result,) = extracted(model, episode(text))

    start, end = by_name(result)["quillfeather"].span or (0, 0)
    assert text[start:end] == "quillfeather"


def test_another_model_is_another_run(model: Path, tmp_path: Path) -> None:
    other = tiny.build(tmp_path, names={"lisbon": "place"})

    assert chain(model).run != chain(other).run
    assert gliner.load(model, SCHEMA, Identity()).model.startswith(f"gliner2:{gliner.digest_of(model)[:12]}+")


def test_a_graph_that_is_cut_off_stops_before_any_episode(model: Path, tmp_path: Path) -> None:
    path = shutil.copytree(model, tmp_path / "cut")
    whole = (path / "onnx" / "encoder.onnx").read_bytes()
    (path / "onnx" / "encoder.onnx").write_bytes(whole[: len(whole) // 2])

    with pytest.raises(ModelError, match="cannot be opened") as caught:
        extracted(path, episode("Nadia Okoro works at Fennel Labs."))
    assert "ctxsync models remove gliner2" in caught.value.remedy


def test_an_episode_that_the_model_fails_on_keeps_the_built_in_result_and_says_so(tmp_path: Path) -> None:
    path = tiny.build(tmp_path)
    tokenizer = json.loads((path / "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer["model"]["vocab"]["poison"] = 10_000  # beyond the encoder's table: it fails at this word alone
    (path / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    texts = ["Nadia Okoro works at Fennel Labs on poison.", "Nadia Okoro works at Fennel Labs."]
    failed, well = extracted(path, *(episode(text) for text in texts))

    assert FAILED in failed.gate
    assert [relation.relation for relation in failed.relations] == ["part_of"]
    assert FAILED not in well.gate


def test_without_the_library_there_is_no_tier_and_a_way_to_get_it(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gliner, "LIBRARY", "gliner2_onnx_that_is_not_here")

    with pytest.raises(ModelError) as caught:
        gliner.load(model, SCHEMA, Identity())
    assert caught.value.remedy == "Run `pip install 'ctxsync[gliner]'`."


WORKS = Relation("b1", "part_of", "b2", "works at", "employment")


def with_types(head: str, tail: str) -> Extraction:
    entities = [Entity("b1", "Ada", head, confidence=0.8, tier=1), Entity("b2", "Brook", tail, confidence=0.8, tier=1)]
    return Extraction("e1", 1, "builtin", entities, [WORKS])


@pytest.mark.parametrize(
    ("tail", "said", "score", "becomes"),
    [
        ("Concept", "Organization", 0.55, "Organization"),
        ("Organization", "Organization", 0.99, "Organization"),
        ("Organization", "Place", 0.99, "Organization"),  # one does not work at a place, says the schema
    ],
)
def test_a_type_changes_where_every_statement_still_fits(tail: str, said: str, score: float, becomes: str) -> None:
    result = joined(with_types("Person", tail), [Find(0, 5, "Brook", said, score)], SCHEMA, "m")

    assert by_name(result)["Brook"].type == becomes
    assert result.relations == [WORKS]
    assert result.model == "m"


@pytest.mark.parametrize(("score", "becomes"), [(0.69, "Artifact"), (0.7, "Event")])
def test_a_known_type_changes_for_a_sure_one_alone(score: float, becomes: str) -> None:
    lone = Extraction("e1", 1, "builtin", [Entity("b1", "Heron", "Artifact", confidence=0.6, tier=1)])
    assert joined(lone, [Find(0, 5, "Heron", "Event", score)], SCHEMA, "m").entities[0].type == becomes


def test_what_a_source_says_of_a_thing_is_not_the_models_to_change() -> None:
    told = Extraction("e1", 1, "builtin", [Entity("s1", "Heron", "Person", ("email:h@example.com",), tier=0)])
    assert joined(told, [Find(0, 5, "Heron", "Event", 0.99)], SCHEMA, "m").entities == told.entities


@pytest.mark.parametrize(
    ("name", "kind", "new"),
    [
        ("Brook", "Person", False), ("brook", "Place", False), ("them", "Person", False), ("--", "Person", False),
        ("Monday", "Time", False), ("May 2025", "Time", True), ("Wren", "Person", True),
    ],
)  # fmt: skip
def test_a_further_name_is_one_that_says_something_new(name: str, kind: str, new: bool) -> None:
    known = Extraction("e1", 1, "builtin", [Entity("b1", "Ada Brook", "Person", span=(0, 9), tier=1)])
    result = joined(known, [Find(20, 20 + len(name), name, kind, 0.9)], SCHEMA, "m")

    assert (len(result.entities) == 2) is new
