"""Several processes at one log: real ones, some of them killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from ctxsync.errors import StoreError, StoreLocked
from ctxsync.events.lock import WriterLock
from ctxsync.events.store import EventStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.events.conftest import Make

    Start = Callable[..., subprocess.Popen[str]]

PRELUDE = """
import os, sys
from pathlib import Path
from ctxsync.events.lock import WriterLock
from ctxsync.events.model import EntityRenamed
from ctxsync.events.store import EventStore, NewEvent

def renamed(name):
    return NewEvent("ctxsync", "entity:n", EntityRenamed(node="n", name=name), 1)

def say(text):
    print(text, flush=True)

path = Path(sys.argv[1])
"""

HOLD = """
with WriterLock(path, "sync"):
    say("held")
    sys.stdin.readline()
"""

STOP_AT = """
def stop(name):
    if name == sys.argv[2]:
        say("stopped")
        sys.stdin.readline()

store = EventStore.open(path, write=True, checkpoint=stop)
store.append([renamed("lost")], cursors={("vault", "."): {"at": "lost"}})
"""

APPEND = """
store = EventStore.open(path, write=True)
say("ready")
sys.stdin.readline()
for number in range(40):
    store.append([renamed(f"{sys.argv[2]}{number}")], cursors={("vault", sys.argv[2]): {"at": number}})
store.close()
"""


def said(process: subprocess.Popen[str], word: str) -> None:
    """Wait until the process says the word."""
    assert process.stdout is not None
    assert process.stdout.readline() == f"{word}\n"


def go_on(process: subprocess.Popen[str]) -> None:
    """Let the process go on."""
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


@pytest.fixture
def start() -> Iterator[Start]:
    """Start Python with the code above; what still runs at the end is killed."""
    running: list[subprocess.Popen[str]] = []

    def run(code: str, *arguments: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", PRELUDE + code, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process

    yield run
    for process in running:
        process.kill()
        process.communicate()


def test_a_second_writer_waits_and_names_the_first(tmp_path: Path, start: Start) -> None:
    lock = tmp_path / "writer.lock"
    first = start(HOLD, lock)
    said(first, "held")
    told: list[str] = []
    with pytest.raises(StoreLocked) as caught, WriterLock(lock, "rebuild", timeout=0.1, on_wait=told.append):
        pass
    assert f"process {first.pid} (sync, since 2" in told[0]
    assert f"process {first.pid} (sync, since 2" in caught.value.message
    assert caught.value.remedy


def test_a_second_writer_goes_on_as_soon_as_the_first_is_done(tmp_path: Path, start: Start) -> None:
    lock = tmp_path / "writer.lock"
    first = start(HOLD, lock)
    said(first, "held")

    def finish_first(_: str) -> None:
        go_on(first)

    with WriterLock(lock, "rebuild", on_wait=finish_first) as held:
        assert f"process {os.getpid()} (rebuild" in held.holder()
    assert first.wait() == 0


def test_a_killed_writer_leaves_the_lock_free(tmp_path: Path, start: Start) -> None:
    lock = tmp_path / "writer.lock"
    first = start(HOLD, lock)
    said(first, "held")
    first.send_signal(signal.SIGKILL)
    first.wait()
    told: list[str] = []
    with WriterLock(lock, "rebuild", timeout=0, on_wait=told.append) as held:
        assert f"process {os.getpid()} (rebuild" in held.holder()
    assert told == []


def test_a_lock_can_be_taken_again_after_an_error_under_it(tmp_path: Path) -> None:
    lock = WriterLock(tmp_path / "writer.lock", "sync")
    with pytest.raises(KeyError), lock:
        raise KeyError
    with WriterLock(tmp_path / "writer.lock", "sync", timeout=0):
        pass


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid": "x", "purpose": 1, "since": 1e99}'])
def test_an_unreadable_note_of_the_holder_does_not_keep_anyone_from_waiting(
    tmp_path: Path, start: Start, content: bytes
) -> None:
    lock = tmp_path / "writer.lock"
    first = start(HOLD, lock)
    said(first, "held")
    (tmp_path / "writer.lock.holder").write_bytes(content)
    with pytest.raises(StoreLocked, match="another process of ctxsync"), WriterLock(lock, "rebuild", timeout=0):
        pass


def test_the_holder_is_shown_without_control_characters(tmp_path: Path, start: Start) -> None:
    lock = tmp_path / "writer.lock"
    first = start(HOLD, lock)
    said(first, "held")
    (tmp_path / "writer.lock.holder").write_text('{"pid": 1, "purpose": "\\u001b[2Jsync\\n", "since": 1}')
    assert "process 1 ([2Jsync, since" in WriterLock(lock, "rebuild").holder()


def test_a_lock_where_no_file_can_be_says_what_to_check(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError) as caught, WriterLock(tmp_path / "file" / "writer.lock", "sync"):
        pass
    assert caught.value.remedy


@pytest.mark.parametrize("where", ["append", "cursor"])
def test_a_writer_killed_inside_an_append_leaves_no_trace_of_it(
    path: Path, start: Start, make: Make, where: str
) -> None:
    with EventStore.open(path, write=True) as store:
        store.append([make.observed()], cursors={("vault", "."): {"at": "kept"}})
    writer = start(STOP_AT, path, where)
    said(writer, "stopped")
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    with EventStore.open(path) as store:
        assert [event.type for event in store.read()] == ["item.observed"]
        assert store.cursor("vault", ".") == {"at": "kept"}
        assert store.verify().ok
    with EventStore.open(path, write=True) as store:
        assert store.append([make.sighted()]).positions == (2,)


def test_readers_see_the_last_commit_while_a_writer_is_at_work(path: Path, start: Start, make: Make) -> None:
    with EventStore.open(path, write=True) as store:
        store.append([make.observed()])
    writer = start(STOP_AT, path, "cursor")
    said(writer, "stopped")
    with EventStore.open(path) as reader:
        assert reader.count() == 1
        assert reader.cursor("vault", ".") == {}
        go_on(writer)
        assert writer.wait() == 0
        assert reader.count() == 2
        assert reader.cursor("vault", ".") == {"at": "lost"}


def test_a_writer_that_finds_another_inside_a_transaction_gives_up_with_a_remedy(
    path: Path, start: Start, make: Make
) -> None:
    with EventStore.open(path, write=True) as store:
        store.append([make.observed()])
        writer = start(STOP_AT, path, "append")
        said(writer, "stopped")
        store.db.set_busy_timeout(10)
        with pytest.raises(StoreLocked) as caught:
            store.append([make.sighted()])
        assert caught.value.remedy


def test_two_processes_that_append_at_once_make_one_whole_log(path: Path, start: Start) -> None:
    writers = {name: start(APPEND, path, name) for name in ("a", "b")}
    for writer in writers.values():
        said(writer, "ready")
    for writer in writers.values():
        go_on(writer)
    assert [writer.wait() for writer in writers.values()] == [0, 0]
    with EventStore.open(path) as store:
        names = [event.payload["name"] for event in store.read()]
        assert [name for name in names if name.startswith("a")] == [f"a{n}" for n in range(40)]
        assert [name for name in names if name.startswith("b")] == [f"b{n}" for n in range(40)]
        assert store.cursor("vault", "a") == store.cursor("vault", "b") == {"at": 39}
        assert store.verify().ok


def test_a_position_taken_by_another_process_is_noticed(path: Path, start: Start, make: Make) -> None:
    with EventStore.open(path, write=True) as store:
        store.append([make.observed()])
        writer = start(APPEND, path, "a")
        said(writer, "ready")
        writer.communicate("\n")
        with pytest.raises(StoreError, match="ends at 41, not at 1"):
            store.append([make.sighted()], expected=1)
