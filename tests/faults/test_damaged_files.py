"""Files of a home that are gone, cut, overwritten, held by others or of another time: told, mended, never made worse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw
import pytest

from tests.faults.conftest import Whole, ctxsync, new_home, state_hash

if TYPE_CHECKING:
    from pathlib import Path


def overwrite(path: Path, content: bytes) -> None:
    for side in ("-wal", "-shm"):
        path.with_name(path.name + side).unlink(missing_ok=True)
    path.write_bytes(content)


def broken(content: bytes, how: str) -> bytes:
    half = len(content) // 2
    return {
        "empty": b"",
        "cut in its first page": content[:1000],
        "cut in half": content[:half],
        "zeroed": bytes(len(content)),
        "text": b"hello\n" * 1000,
        "torn": content[:4096] + b"\xa5" * 8192 + content[12288:],
    }[how]


WAYS = ("empty", "cut in its first page", "cut in half", "zeroed", "text", "torn")


@pytest.mark.parametrize("how", WAYS)
def test_a_damaged_log_stops_a_sync_and_is_left_as_it_is(home: Path, how: str) -> None:
    log = home / "events.db"
    overwrite(log, broken(log.read_bytes(), how))
    before = log.read_bytes()
    ran = ctxsync(home, "sync")
    assert ran.tells
    assert "import FOLDER" in ran.err
    assert log.read_bytes() == before


def test_a_log_that_is_gone_beside_its_graph_is_not_begun_anew(home: Path) -> None:
    for path in home.glob("events.db*"):
        path.unlink()
    graph = (home / "graph.db").read_bytes()
    for command in ("sync", "status", "verify", "log hello"):
        ran = ctxsync(home, *command.split())
        assert ran.tells, command
        assert "is gone" in ran.err
    assert not (home / "events.db").exists()
    assert (home / "graph.db").read_bytes() == graph


@pytest.mark.parametrize("how", WAYS)
def test_a_damaged_graph_is_told_to_readers_and_mended_by_the_next_sync(home: Path, whole: Whole, how: str) -> None:
    graph = home / "graph.db"
    overwrite(graph, broken(graph.read_bytes(), how))
    ran = ctxsync(home, "facts")
    assert ran.tells
    assert "ctxsync rebuild" in ran.err
    assert ctxsync(home, "sync").code == 0
    assert state_hash(home) == whole.state_hash


def test_a_graph_damaged_where_only_vectors_stand_is_told_and_rebuilt(home: Path, whole: Whole) -> None:
    db = apsw.Connection(str(home / "graph.db"))
    db.execute("UPDATE passage_vector_vector_chunks00 SET vectors = x'00'")
    db.close()
    ran = ctxsync(home, "search", "word7")
    assert ran.code == 0 or ran.tells
    assert ctxsync(home, "rebuild").code == 0
    assert ctxsync(home, "search", "word7").code == 0
    assert state_hash(home) == whole.state_hash


def test_a_graph_of_another_log_is_told_and_built_anew(home: Path, whole: Whole, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (tmp_path / "zebras").mkdir()
    (tmp_path / "zebras" / "zebra.md").write_text("zebra\n", encoding="utf-8")
    assert ctxsync(new_home(other, tmp_path / "zebras"), "sync").code == 0
    overwrite(home / "graph.db", (other / "graph.db").read_bytes())
    assert "another log" in ctxsync(home, "status").out
    assert ctxsync(home, "sync").code == 0
    assert state_hash(home) == whole.state_hash


@pytest.mark.parametrize("how", WAYS)
def test_a_damaged_vector_cache_costs_nothing_but_time(home: Path, whole: Whole, how: str) -> None:
    cache = home / "cache.db"
    overwrite(cache, broken(cache.read_bytes(), how))
    assert ctxsync(home, "rebuild").code == 0
    assert state_hash(home) == whole.state_hash
    db = apsw.Connection(str(cache))
    assert db.execute("PRAGMA integrity_check").get == "ok"
    db.close()


@pytest.mark.parametrize(
    ("name", "newer"),
    [
        ("events.db", "INSERT INTO migration VALUES (99, 'later', 1)"),
        ("graph.db", "UPDATE meta SET value = 99 WHERE key = 'layout'"),
    ],
)
def test_a_file_of_a_newer_version_is_left_alone(home: Path, name: str, newer: str) -> None:
    db = apsw.Connection(str(home / name))
    db.execute(newer)
    db.close()
    for command in ("status", "sync"):
        ran = ctxsync(home, command)
        assert ran.tells, command
        assert "pip install --upgrade ctxsync" in ran.err


def test_readers_of_a_graph_that_another_program_locked_are_told(home: Path) -> None:
    db = apsw.Connection(str(home / "graph.db"))
    db.execute("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").fetchall()
    ran = ctxsync(home, "facts")
    db.close()
    assert ran.tells
    assert "busy" in ran.err
    assert ctxsync(home, "facts").code == 0
