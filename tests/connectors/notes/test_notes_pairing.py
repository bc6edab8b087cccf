"""Who moved where, without a disk: rules and ties."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ctxsync.connectors.notes.pairing import Trace, chains, pair


def never(_source: str, _path: str) -> bool:
    return False


def t(content: str, inode: int) -> Trace:
    return Trace(content, inode, len(content))


def test_a_vanished_note_goes_to_its_inode_then_its_name_then_a_new_path_then_the_first() -> None:
    gone = {"x/n.md": t("same", 1)}
    fresh = {"a.md": t("same", 7), "b/n.md": t("same", 8), "z.md": t("same", 1)}
    assert pair(gone, {}, fresh, never).moves == {"x/n.md": "z.md"}
    del fresh["z.md"]
    assert pair(gone, {}, fresh, never).moves == {"x/n.md": "b/n.md"}
    del fresh["b/n.md"]
    changed = {"0.md": (t("other", 3), t("same", 4))}
    assert pair(gone, changed, fresh, never).moves == {"x/n.md": "a.md"}
    assert pair(gone, changed, {}, never).moves == {"x/n.md": "0.md"}
    assert pair(gone, changed, {}, never).displaced == ("0.md",)


def test_moves_that_share_no_path_stand_alone_and_the_others_are_stored_together() -> None:
    alone, linked = chains({"a": "b", "c": "d", "d": "c", "e": "f"}, ["f"])
    assert alone == [("a", "b")]
    assert linked == [("c", "d"), ("d", "c"), ("e", "f")]


def test_ten_thousand_identical_notes_are_paired_in_one_go() -> None:
    gone = {f"old/{number}.md": t("same", number) for number in range(10_000)}
    fresh = {f"new/n{number}.md": t("same", 20_000 + number) for number in range(10_000)}
    pairing = pair(gone, {}, fresh, never)
    assert len(set(pairing.moves.values())) == 10_000


TRACES = st.builds(t, st.sampled_from(["", "x", "yy", "zzz"]), st.integers(1, 4))
NAMES = st.sampled_from([f"{folder}{name}" for folder in ("", "d/") for name in "abcd"])


@given(
    st.dictionaries(NAMES, TRACES),
    st.dictionaries(NAMES, st.tuples(TRACES, TRACES)),
    st.dictionaries(NAMES, TRACES),
    st.booleans(),
)
def test_every_note_ends_in_one_place_or_is_told_gone(
    gone: dict[str, Trace], changed: dict[str, tuple[Trace, Trace]], fresh: dict[str, Trace], alike: bool
) -> None:
    changed = {
        path: pair_ for path, pair_ in changed.items() if path not in gone and pair_[0].digest != pair_[1].digest
    }
    fresh = {path: trace for path, trace in fresh.items() if path not in gone and path not in changed}
    pairing = pair(gone, changed, fresh, lambda _source, _path: alike)
    targets = list(pairing.moves.values())
    assert len(targets) == len(set(targets))
    assert set(targets) <= {*fresh, *changed}
    assert set(pairing.moves) | set(pairing.vanished) >= set(gone)
    assert not set(pairing.moves) & {*pairing.vanished, *pairing.displaced}
    # A known path that was taken has either moved on or is displaced; any other was only edited.
    for path in changed:
        assert (path in targets and path not in pairing.moves) == (path in pairing.displaced)
