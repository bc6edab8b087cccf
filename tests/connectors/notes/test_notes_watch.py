"""The watcher only says that something changed; a lost event delays and loses nothing."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from watchdog.events import FileModifiedEvent, FileMovedEvent

from ctxsync.connectors.base import Stream
from ctxsync.connectors.notes.watch import LONGEST, QUIET, SAFETY, Debounce, watching

if TYPE_CHECKING:
    from pathlib import Path

    from watchdog.events import FileSystemEventHandler

    from tests.connectors.notes.conftest import Vault


def test_a_burst_of_events_is_one_wake_after_it_is_over() -> None:
    clockwork = Debounce(0.0, SAFETY)
    clockwork.event(10.0)
    clockwork.event(10.5)
    assert clockwork.due() == 10.5 + QUIET
    clockwork.woke(12.0)
    assert clockwork.due() == 12.0 + SAFETY


def test_a_folder_that_never_rests_is_read_all_the_same() -> None:
    clockwork = Debounce(0.0, SAFETY)
    for tenth in range(1000):
        clockwork.event(10 + tenth / 10)
    assert clockwork.due() == 10 + LONGEST


def test_without_any_event_a_timer_wakes_for_those_that_were_lost() -> None:
    assert Debounce(5.0, SAFETY).due() == 5.0 + SAFETY


def test_an_edit_wakes_the_source_and_what_applications_write_does_not(vault: Vault) -> None:
    vault.root = vault.root / ".hidden" / "notes.tmp"  # names count within the vault only
    vault.root.mkdir(parents=True)
    woken = threading.Event()
    streams: list[Stream] = []

    def wake(stream: Stream) -> None:
        streams.append(stream)
        woken.set()

    connector = vault.connector()
    (vault.root / ".obsidian").mkdir()
    with connector.watch(wake):
        (vault.root / ".obsidian" / "workspace.json").write_text("{}")
        (vault.root / "a.md.tmp").write_text("half")
        assert not woken.wait(QUIET + 0.5)
        vault.write("a.md", "words")
        assert woken.wait(QUIET + 10)
    assert streams[0] == Stream("vault")
    assert connector.degraded == ""


class Deaf:
    """A watcher that hears nothing: its queue has overflowed."""

    def schedule(self, event_handler: FileSystemEventHandler, path: str, *, recursive: bool = False) -> object:
        return None

    def start(self) -> None:
        pass

    def stop(self) -> None:
        pass

    def join(self) -> None:
        pass


class Full(Deaf):
    """A watcher for which the system has no watches left."""

    def start(self) -> None:
        raise OSError(28, "inotify watch limit reached")

    def stop(self) -> None:
        raise AssertionError("never started")

    join = stop


def test_where_the_system_has_no_watches_left_a_timer_stands_in_and_says_so(tmp_path: Path) -> None:
    reasons: list[str] = []
    wakes = threading.Semaphore(0)
    with watching(str(tmp_path), wakes.release, reasons.append, Full, poll=0.01):
        assert all(wakes.acquire(timeout=10) for _ in range(3))
    assert len(reasons) == 1
    assert "inotify watch limit reached" in reasons[0]


def test_a_watcher_whose_queue_overflowed_is_made_up_for_by_the_timer(tmp_path: Path) -> None:
    reasons: list[str] = []
    wakes = threading.Semaphore(0)
    with watching(str(tmp_path), wakes.release, reasons.append, Deaf, safety=0.01):
        assert all(wakes.acquire(timeout=10) for _ in range(3))
    assert reasons == []


def test_a_single_file_is_watched_without_what_lies_beside_and_below(tmp_path: Path) -> None:
    """A file may lie in a home folder: watching all of that would take every watch that the system has."""
    asked: list[tuple[FileSystemEventHandler, bool]] = []

    class Ear(Deaf):
        def schedule(self, event_handler: FileSystemEventHandler, path: str, *, recursive: bool = False) -> object:
            asked.append((event_handler, recursive))
            return None

    wakes = threading.Semaphore(0)
    with watching(str(tmp_path), wakes.release, print, Ear, file="All.mbox", safety=1000):
        ((handler, recursive),) = asked
        assert not recursive
        handler.on_any_event(FileModifiedEvent(str(tmp_path / "Other.mbox")))
        handler.on_any_event(FileMovedEvent(str(tmp_path / ".new"), str(tmp_path / "All.mbox")))
        assert wakes.acquire(timeout=10)
    assert not wakes.acquire(blocking=False)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_thirty_thousand_files_at_once_wake_and_the_pass_finds_each(vault: Vault) -> None:
    """More events than the system's queue holds (16,384): whichever are lost, the pass lists the folder itself."""
    woken = threading.Event()
    with vault.connector().watch(lambda _: woken.set()):
        for folder in range(30):
            (vault.root / f"d{folder}").mkdir()
            for number in range(1_000):
                (vault.root / f"d{folder}" / f"n{number}.md").write_bytes(b"words")
        assert woken.wait(LONGEST + 30)
    vault.pull()
    assert len(vault.held) == len(set(vault.held.values())) == 30_000
    assert max(len(batch.changes) for batch in vault.batches) <= 400
