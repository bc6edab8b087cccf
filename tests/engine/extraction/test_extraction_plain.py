from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ctxsync.engine.extraction.plain import MAX_BLOCK, blocks


def texts(source: str, **more: object) -> list[str]:
    return [block.text for block in blocks(source, **more)]  # type: ignore[arg-type]  # JSON or keyword values whose types the test chose


def test_markup_is_read_as_the_words_it_shows() -> None:
    assert texts(
        "Some **bold** text with [[Acme Corp#about|the firm]], [a guide](Notes/My%20Guide.md) and `kafka-1`."
    ) == ["Some bold text with the firm, a guide and kafka-1."]


def test_a_link_is_known_by_its_target_and_stands_where_its_words_stand() -> None:
    source = "She joined [[Companies/Acme Corp|the firm]] and read [a guide](Notes/My%20Guide.md)."
    block = next(iter(blocks(source)))
    assert [(a.name, source[slice(*block.source(a.start, a.end))]) for a in block.anchors] == [
        ("Acme Corp", "the firm"),
        ("My Guide", "a guide"),
    ]


def test_headings_code_tables_quotes_and_struck_text_say_nothing() -> None:
    source = "# Tom leads X\n\n> Tom left\n\n```\nTom runs\n```\n\n| Tom | X |\n| --- | - |\n\nHe ~~never~~ stayed.\n"
    assert texts(source) == ["He  stayed."]


def test_code_and_quotes_that_the_source_marks_are_left_out() -> None:
    source = "Fine words.\n\nnot\nprose\n\nTheir words.\n"
    code, quoted = source.index("not"), source.index("Their")
    assert texts(source, code=((code, code + 9),), quoted=((quoted, quoted + 12),)) == ["Fine words."]


def test_a_wrapped_paragraph_is_one_block_and_each_item_is_its_own() -> None:
    assert texts("One line\nand the next.\n- first\n  goes on\n- second") == [
        "One line and the next.",
        "first goes on",
        "second",
    ]


def test_a_label_and_an_open_task_are_told_apart() -> None:
    owner, task = blocks("- Owner: [[Priya Raman]]\n- [ ] move to Kafka")
    assert (owner.label, owner.text, task.open_task) == ("Owner", "Priya Raman", True)


def test_a_commit_gives_its_words_without_trailers_and_type() -> None:
    source = "fix(parser): handle empty lines\n\nThe parser now uses regex.\n\nSigned-off-by: Robin Vale <robin@example.com>\n"
    assert texts(source, kind="commit") == ["handle empty lines", "The parser now uses regex."]


def test_a_block_longer_than_a_parse_is_cut_at_a_sentence() -> None:
    parts = texts("A plain sentence of words. " * 400)
    assert len(parts) > 1
    assert all(len(part) <= MAX_BLOCK for part in parts)
    assert "".join(parts).strip() == ("A plain sentence of words. " * 400).strip()


@given(st.text(alphabet="ab [[]]|#*_`-\n>~()!\\:x1.", max_size=200))
def test_every_character_of_a_block_stands_for_its_own_in_the_source(source: str) -> None:
    for block in blocks(source):
        for position, char in enumerate(block.text):
            start, end = block.source(position, position + 1)
            assert 0 <= start <= end <= len(source)
            if not char.isspace() and block.text not in ("this link", "code") and "code" not in block.text:
                assert source[start:end] == char


@given(st.text(alphabet="ab [[]]|#*_`-\n>", max_size=120))
def test_a_subject_put_in_moves_no_quote(source: str) -> None:
    for block in blocks(source):
        whole = block.completed("It ")
        before, after = block.source(0, len(block.text)), whole.source(0, len(whole.text))
        assert before == after
