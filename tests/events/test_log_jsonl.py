"""Export to CloudEvents JSON Lines, and import."""

from __future__ import annotations

import json
import stat
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.errors import StoreCorrupt, StoreError, StoreTooNew
from ctxsync.events import model
from ctxsync.events.erasure import erase
from ctxsync.events.jsonl import export_log, import_log
from ctxsync.events.store import EventStore, NewEvent

if TYPE_CHECKING:
    from pathlib import Path

    from tests.events.conftest import Clock, Make

TABLES = ("event", "state", "cursor")


def ms(*date: int) -> Any:
    return int(datetime(*date, tzinfo=UTC).timestamp() * 1000)  # type: ignore[arg-type, misc]  # a tuple of date parts


def content(store: EventStore) -> Any:
    return {name: store.db.execute(f"SELECT * FROM {name} ORDER BY 1, 2, 3").fetchall() for name in TABLES}


def files(folder: Path) -> Any:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


@pytest.fixture
def filled(store: EventStore, make: Make, clock: Clock) -> Any:
    """Events of three months, with a move, a change, an old time and two cursors."""
    clock.now = ms(2026, 1, 31, 23, 59, 59)
    store.append([make.observed(), make.sighted()], cursors={("vault", "."): {"n1.md": [1, "x"]}})
    clock.now = ms(2026, 2, 1)
    store.append([make.moved("n1.md", "b.md"), make.observed(content="b", text="Zoë → \u2028 'x' \"y\" 0.1")])
    clock.now = ms(2026, 4, 1)
    odd = NewEvent("my notes/ä", "entity:n", model.EntityRenamed(node="n", name="N"), -62_135_596_800_000)
    store.append([odd], cursors={("vault", "."): {"n1.md": None, "b.md": 2}, ("code", "."): {"head": "abc"}})
    return store


@pytest.fixture
def fresh(tmp_path: Path) -> Any:
    with EventStore.open(tmp_path / "fresh.db", write=True) as store:
        yield store


def test_an_export_is_one_file_a_month_of_recording(filled: EventStore, tmp_path: Path) -> None:
    assert export_log(filled, tmp_path / "out") == 5
    found = files(tmp_path / "out")
    assert list(found) == ["2026-01.jsonl", "2026-02.jsonl", "2026-04.jsonl", "cursors.jsonl", "log.json"]
    assert [found[name].count(b"\n") for name in list(found)[:3]] == [2, 2, 1]
    assert stat.S_IMODE((tmp_path / "out" / "2026-01.jsonl").stat().st_mode) == 0o600


def test_every_line_is_a_cloud_event(filled: EventStore, tmp_path: Path) -> None:
    export_log(filled, tmp_path / "out")
    for path in (tmp_path / "out").glob("2*.jsonl"):
        for line in path.read_bytes().splitlines():
            event = json.loads(line)
            assert event["specversion"] == "1.0"
            assert all(event[name] for name in ("id", "source", "type", "subject", "time"))
            assert all(name.isalnum() and name.islower() and len(name) <= 20 for name in event)
            assert event["datacontenttype"] == "application/json"
            assert datetime.fromisoformat(event["time"]).tzinfo is not None
            assert " " not in event["source"]


def test_the_same_log_gives_the_same_bytes_and_right_files_are_left_alone(filled: EventStore, tmp_path: Path) -> None:
    export_log(filled, tmp_path / "one")
    before = {file.name: file.stat().st_ino for file in (tmp_path / "one").iterdir()}
    export_log(filled, tmp_path / "one")
    assert {file.name: file.stat().st_ino for file in (tmp_path / "one").iterdir()} == before
    export_log(filled, tmp_path / "two")
    assert files(tmp_path / "one") == files(tmp_path / "two")


def test_an_empty_log_becomes_the_exported_one(filled: EventStore, fresh: EventStore, tmp_path: Path) -> None:
    export_log(filled, tmp_path / "out")
    assert import_log(fresh, tmp_path / "out") == 5
    assert content(fresh) == content(filled)
    assert fresh.log_id == filled.log_id
    assert fresh.head() == filled.head()
    assert list(fresh.read()) == list(filled.read())
    assert fresh.verify().ok
    export_log(fresh, tmp_path / "again")
    assert files(tmp_path / "again") == files(tmp_path / "out")


def test_an_import_goes_on_as_the_log_it_came_from_would(
    filled: EventStore, fresh: EventStore, tmp_path: Path, make: Make
) -> None:
    export_log(filled, tmp_path / "out")
    import_log(fresh, tmp_path / "out")
    assert fresh.append([make.observed(content="b"), make.sighted(place="b.md")]).skipped == 2
    assert fresh.append([make.observed(content="a")]).positions == (6,)
    assert next(fresh.read(after=5)).seq == 5
    assert fresh.verify().ok


def test_importing_again_adds_only_what_is_new(
    filled: EventStore, fresh: EventStore, tmp_path: Path, make: Make
) -> None:
    export_log(filled, tmp_path / "out")
    import_log(fresh, tmp_path / "out")
    assert import_log(fresh, tmp_path / "out") == 0
    filled.append([make.observed("n9")], cursors={("vault", "."): {"n9.md": 1, "b.md": None}})
    export_log(filled, tmp_path / "out")
    assert import_log(fresh, tmp_path / "out") == 1
    assert content(fresh) == content(filled)
    assert fresh.cursor("vault", ".") == {"n9.md": 1}
    assert import_log(filled, tmp_path / "out") == 0


def test_a_log_that_is_ahead_of_the_export_stays_ahead(filled: EventStore, tmp_path: Path, make: Make) -> None:
    export_log(filled, tmp_path / "out")
    filled.append([make.observed("n9")], cursors={("vault", "."): {"n9.md": 1}})
    assert import_log(filled, tmp_path / "out") == 0
    assert filled.count() == 6
    assert "n9.md" in filled.cursor("vault", ".")


def test_a_log_of_another_origin_is_not_mixed_in(
    filled: EventStore, fresh: EventStore, tmp_path: Path, make: Make
) -> None:
    export_log(filled, tmp_path / "out")
    fresh.append([make.observed()])
    with pytest.raises(StoreError, match="another log"):
        import_log(fresh, tmp_path / "out")
    with pytest.raises(StoreError, match="another log"):
        export_log(fresh, tmp_path / "out")
    assert fresh.count() == 1


def test_two_copies_that_went_different_ways_are_not_mixed(
    filled: EventStore, fresh: EventStore, tmp_path: Path, make: Make
) -> None:
    export_log(filled, tmp_path / "out")
    import_log(fresh, tmp_path / "out")
    fresh.append([make.observed("mine"), make.observed("mine2")])
    filled.append([make.observed("theirs")])
    export_log(filled, tmp_path / "out")
    with pytest.raises(StoreError, match=r"2026-04\.jsonl:2: .* position 6: they have gone different ways"):
        import_log(fresh, tmp_path / "out")
    assert fresh.count() == 7


def edit(path: Path, number: int, change: Any) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    lines[number - 1] = change(lines[number - 1])
    path.write_bytes(b"".join(lines))


@pytest.mark.parametrize(
    "change",
    [
        lambda line: line[:-20],
        lambda line: b"\n",
        lambda line: b"",
        lambda line: b"[]\n",
        lambda line: line.replace(b'"seq":3', b'"seq":"x"'),
        lambda line: line.replace(b'"seq":3', b'"seq":4'),
        lambda line: line.replace(b"n1.md", b"n2.md"),
        lambda line: line.replace(b"2025-06-15", b"2025-06-16"),
        lambda line: line.replace(b'"specversion":"1.0"', b'"specversion":"0.3"'),
        lambda line: line.replace(b'"data"', b'"datum"'),
        lambda line: line + line,
        lambda line: b"\xff" + line,
    ],
)
def test_a_damaged_line_is_named_and_nothing_is_imported(
    filled: EventStore, fresh: EventStore, tmp_path: Path, change: Any
) -> None:
    export_log(filled, tmp_path / "out")
    before = (tmp_path / "out" / "2026-02.jsonl").read_bytes()
    edit(tmp_path / "out" / "2026-02.jsonl", 1, change)
    assert (tmp_path / "out" / "2026-02.jsonl").read_bytes() != before
    log_id = fresh.log_id
    with pytest.raises(StoreCorrupt, match=r"2026-02\.jsonl:[12]") as caught:
        import_log(fresh, tmp_path / "out")
    assert caught.value.remedy
    assert fresh.count() == 0
    assert fresh.log_id == log_id
    assert fresh.cursor("vault", ".") == {}


def test_a_missing_month_is_noticed(filled: EventStore, fresh: EventStore, tmp_path: Path) -> None:
    export_log(filled, tmp_path / "out")
    (tmp_path / "out" / "2026-02.jsonl").unlink()
    with pytest.raises(StoreCorrupt, match=r"2026-04\.jsonl:1: an event is missing"):
        import_log(fresh, tmp_path / "out")


def test_a_missing_end_is_noticed(filled: EventStore, fresh: EventStore, tmp_path: Path) -> None:
    export_log(filled, tmp_path / "out")
    (tmp_path / "out" / "2026-04.jsonl").unlink()
    with pytest.raises(StoreCorrupt, match=r"ends at position 4, and log\.json says 5"):
        import_log(fresh, tmp_path / "out")
    assert fresh.count() == 0


def test_windows_line_ends_do_no_harm(filled: EventStore, fresh: EventStore, tmp_path: Path) -> None:
    export_log(filled, tmp_path / "out")
    for path in (tmp_path / "out").iterdir():
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    import_log(fresh, tmp_path / "out")
    assert content(fresh) == content(filled)


def test_a_damaged_cursor_line_is_named(filled: EventStore, fresh: EventStore, tmp_path: Path) -> None:
    export_log(filled, tmp_path / "out")
    edit(tmp_path / "out" / "cursors.jsonl", 2, lambda _: b"{}\n")
    with pytest.raises(StoreCorrupt, match=r"cursors\.jsonl:2"):
        import_log(fresh, tmp_path / "out")
    assert fresh.count() == 0


def test_an_export_without_cursors_is_read_from_the_start_again(
    filled: EventStore, fresh: EventStore, tmp_path: Path
) -> None:
    export_log(filled, tmp_path / "out")
    (tmp_path / "out" / "cursors.jsonl").unlink()
    import_log(fresh, tmp_path / "out")
    assert fresh.cursor("vault", ".") == {}
    assert fresh.verify().ok


@pytest.mark.parametrize("manifest", [b"", b"{}", b'{"format": 1}', b'{"format": "x"}', b"[1]"])
def test_a_damaged_manifest_is_named(filled: EventStore, fresh: EventStore, tmp_path: Path, manifest: bytes) -> None:
    export_log(filled, tmp_path / "out")
    (tmp_path / "out" / "log.json").write_bytes(manifest)
    with pytest.raises(StoreCorrupt, match=r"log\.json"):
        import_log(fresh, tmp_path / "out")


def test_a_newer_format_asks_for_an_upgrade(filled: EventStore, fresh: EventStore, tmp_path: Path) -> None:
    export_log(filled, tmp_path / "out")
    (tmp_path / "out" / "log.json").write_bytes(b'{"format": 2}')
    with pytest.raises(StoreTooNew):
        import_log(fresh, tmp_path / "out")


def test_a_folder_without_an_export_is_refused(fresh: EventStore, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no export"):
        import_log(fresh, tmp_path / "none")


def test_an_erased_log_exports_without_what_was_erased_and_imports_whole(
    filled: EventStore, fresh: EventStore, tmp_path: Path
) -> None:
    erase(filled, [1, 3])
    export_log(filled, tmp_path / "out")
    assert b"Robin Vale wrote a." not in b"".join(files(tmp_path / "out").values())
    import_log(fresh, tmp_path / "out")
    assert content(fresh) == content(filled)
    assert fresh.verify().ok
    assert fresh.verify().erased == 2


def test_a_copy_that_still_has_what_was_erased_erases_it_on_import(
    filled: EventStore, fresh: EventStore, tmp_path: Path
) -> None:
    export_log(filled, tmp_path / "out")
    import_log(fresh, tmp_path / "out")
    erase(filled, [1, 3])
    export_log(filled, tmp_path / "out")
    assert import_log(fresh, tmp_path / "out") == 2
    assert content(fresh) == content(filled)
    assert fresh.verify().ok


def test_the_order_of_keys_in_data_does_not_matter(filled: EventStore, fresh: EventStore, tmp_path: Path) -> None:
    export_log(filled, tmp_path / "out")

    def reverse(line: Any) -> Any:
        event = json.loads(line)
        event["data"] = dict(reversed(event["data"].items()))
        return json.dumps(event).encode() + b"\n"

    edit(tmp_path / "out" / "2026-01.jsonl", 1, reverse)
    import_log(fresh, tmp_path / "out")
    assert content(fresh) == content(filled)


def test_progress_is_reported_both_ways(store: EventStore, fresh: EventStore, tmp_path: Path, make: Make) -> None:
    store.append([make.renamed(str(n)) for n in range(5000)])
    out: list[int] = []
    back: list[int] = []
    export_log(store, tmp_path / "out", out.append)
    import_log(fresh, tmp_path / "out", back.append)
    assert out == back == [5000]
