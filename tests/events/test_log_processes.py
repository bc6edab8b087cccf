"""Several processes at one log: real ones, some of them killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from ctxsync.errors import StoreError, StoreLocked
from ctxsync.events.lock import WriterLock
from ctxsync.events.store import EventStore

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


@pytest.fixture
def start():
    """Start Python with the code above; what still runs at the end is killed."""
    running = []

    def run(code, *arguments):
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


def test_a_second_writer_waits_and_names_the_first(tmp_path, start):
    lock = tmp_path / "writer.lock"
    first = start(HOLD, lock)
    assert first.stdout.readline() == "held\n"
    told = []
    with pytest.raises(StoreLocked) as caught, WriterLock(lock, "rebuild", timeout=0.1, on_wait=told.append):
        pass
    assert f"process {first.pid} (sync, since 2" in told[0]
    assert f"process {first.pid} (sync, since 2" in caught.value.message
    assert caught.value.remedy


def test_a_second_writer_goes_on_as_soon_as_the_first_is_done(tmp_path, start):
    lock = tmp_path / "writer.lock"
    first = start(HOLD, lock)
    assert first.stdout.readline() == "held\n"

    def finish_first(_):
        first.stdin.write("\n")
        first.stdin.flush()

    with WriterLock(lock, "rebuild", on_wait=finish_first) as held:
        assert f"process {os.getpid()} (rebuild" in held.holder()
    assert first.wait() == 0


def test_a_killed_writer_leaves_the_lock_free(tmp_path, start):
    lock = tmp_path / "writer.lock"
    first = start(HOLD, lock)
    assert first.stdout.readline() == "held\n"
    first.send_signal(signal.SIGKILL)
    first.wait()
    told = []
    with WriterLock(lock, "rebuild", timeout=0, on_wait=told.append) as held:
        assert f"process {os.getpid()} (rebuild" in held.holder()
    assert told == []


def test_a_lock_can_be_taken_again_after_an_error_under_it(tmp_path):
    lock = WriterLock(tmp_path / "writer.lock", "sync")
    with pytest.raises(KeyError), lock:
        raise KeyError
    with WriterLock(tmp_path / "writer.lock", "sync", timeout=0):
        pass


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid": "x", "purpose": 1, "since": 1e99}'])
def test_an_unreadable_note_of_the_holder_does_not_keep_anyone_from_waiting(tmp_path, start, content):
    lock = tmp_path / "writer.lock"
    first = start(HOLD, lock)
    assert first.stdout.readline() == "held\n"
    (tmp_path / "writer.lock.holder").write_bytes(content)
    with pytest.raises(StoreLocked, match="another process of ctxsync"), WriterLock(lock, "rebuild", timeout=0):
        pass


def test_the_holder_is_shown_without_control_characters(tmp_path, start):
    lock = tmp_path / "writer.lock"
    first = start(HOLD, lock)
    assert first.stdout.readline() == "held\n"
    (tmp_path / "writer.lock.holder").write_text('{"pid": 1, "purpose": "\\u001b[2Jsync\\n", "since": 1}')
    assert "process 1 ([2Jsync, since" in WriterLock(lock, "rebuild").holder()


def test_a_lock_where_no_file_can_be_says_what_to_check(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError) as caught, WriterLock(tmp_path / "file" / "writer.lock", "sync"):
        pass
    assert caught.value.remedy


@pytest.mark.parametrize("where", ["append", "cursor"])
def test_a_writer_killed_inside_an_append_leaves_no_trace_of_it(path, start, make, where):
    with EventStore.open(path, write=True) as store:
        store.append([make.observed()], cursors={("vault", "."): {"at": "kept"}})
    writer = start(STOP_AT, path, where)
    assert writer.stdout.readline() == "stopped\n"
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    with EventStore.open(path) as store:
        assert [event.type for event in store.read()] == ["item.observed"]
        assert store.cursor("vault", ".") == {"at": "kept"}
        assert store.verify().ok
    with EventStore.open(path, write=True) as store:
        assert store.append([make.sighted()]).positions == (2,)


def test_readers_see_the_last_commit_while_a_writer_is_at_work(path, start, make):
    with EventStore.open(path, write=True) as store:
        store.append([make.observed()])
    writer = start(STOP_AT, path, "cursor")
    assert writer.stdout.readline() == "stopped\n"
    with EventStore.open(path) as reader:
        assert reader.count() == 1
        assert reader.cursor("vault", ".") == {}
        writer.stdin.write("\n")
        writer.stdin.flush()
        assert writer.wait() == 0
        assert reader.count() == 2
        assert reader.cursor("vault", ".") == {"at": "lost"}


def test_a_writer_that_finds_another_inside_a_transaction_gives_up_with_a_remedy(path, start, make):
    with EventStore.open(path, write=True) as store:
        store.append([make.observed()])
        writer = start(STOP_AT, path, "append")
        assert writer.stdout.readline() == "stopped\n"
        store.db.set_busy_timeout(10)
        with pytest.raises(StoreLocked) as caught:
            store.append([make.sighted()])
        assert caught.value.remedy


def test_two_processes_that_append_at_once_make_one_whole_log(path, start):
    writers = {name: start(APPEND, path, name) for name in ("a", "b")}
    for writer in writers.values():
        assert writer.stdout.readline() == "ready\n"
    for writer in writers.values():
        writer.stdin.write("\n")
        writer.stdin.flush()
    assert [writer.wait() for writer in writers.values()] == [0, 0]
    with EventStore.open(path) as store:
        names = [event.payload["name"] for event in store.read()]
        assert [name for name in names if name.startswith("a")] == [f"a{n}" for n in range(40)]
        assert [name for name in names if name.startswith("b")] == [f"b{n}" for n in range(40)]
        assert store.cursor("vault", "a") == store.cursor("vault", "b") == {"at": 39}
        assert store.verify().ok


def test_a_position_taken_by_another_process_is_noticed(path, start, make):
    with EventStore.open(path, write=True) as store:
        store.append([make.observed()])
        writer = start(APPEND, path, "a")
        assert writer.stdout.readline() == "ready\n"
        writer.communicate("\n")
        with pytest.raises(StoreError, match="ends at 41, not at 1"):
            store.append([make.sighted()], expected=1)
