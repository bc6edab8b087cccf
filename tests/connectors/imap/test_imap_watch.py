"""Changes on the server wake, soon and whatever happens to the connection; leaving the watch is quick."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ctxsync.connectors.imap import watch
from ctxsync.connectors.imap.account import account
from ctxsync.connectors.imap.session import Session
from tests.connectors.imap.conftest import NAME, Mail, Reader, letter
from tests.connectors.imap.scripted import SILENCE, Box, Scripted

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest


class Wakes:
    """What a watch told."""

    def __init__(self) -> None:
        self.count = 0
        self.reports: list[str] = []
        self.told = threading.Condition()

    def wake(self) -> None:
        with self.told:
            self.count += 1
            self.told.notify_all()

    def report(self, reason: str) -> None:
        with self.told:
            self.reports.append(reason)
            self.told.notify_all()

    def wait(self, count: int, timeout: float = 10) -> None:
        with self.told:
            assert self.told.wait_for(lambda: self.count >= count, timeout), (self.count, self.reports)

    def wait_report(self, words: str) -> None:
        with self.told:
            assert self.told.wait_for(lambda: any(words in report for report in self.reports), 10), self.reports


@contextmanager
def watched(reader: Reader, poll: float = 60.0, read: float = 5.0) -> Iterator[Wakes]:
    wakes = Wakes()

    def opened(where: Any) -> Session:
        return Session(where, connect=5, read=read)

    where = account(NAME, reader.settings)
    with watch.watching(where, opened, wakes.wake, wakes.report, poll=poll, first_wait=0.01):
        yield wakes
        left = time.monotonic()
    assert time.monotonic() - left < 1.5


def test_a_new_mail_wakes_within_a_second_by_idle(mail: Mail) -> None:
    mail.put(letter(1))
    with watched(mail) as wakes:
        wakes.wait(1)
        mail.wire.wait_for("^IDLE")
        began = time.monotonic()
        mail.put(letter(2))
        wakes.wait(2, timeout=5)
        assert time.monotonic() - began < 2  # a busy machine; it takes a tenth
        mail.wire.wait_for("^DONE")
    mail.commands()
    assert wakes.reports == [""]


def test_an_expunge_wakes_and_a_flag_does_not(mail: Mail) -> None:
    mail.put(letter(1), letter(2))
    with watched(mail) as wakes:
        wakes.wait(1)
        mail.wire.wait_for("^IDLE")
        with mail.server.client(mail.user) as client:
            client.select_folder("INBOX")
            client.add_flags([1], [b"\\Seen"])
        mail.expunge(2)
        wakes.wait(2)
        assert wakes.count == 2


def test_other_folders_are_seen_by_the_poll_that_leaves_idle_and_enters_it_again(mail: Mail) -> None:
    mail.put(letter(1))
    mail.put(letter(2), folder="Work")
    with watched(mail, poll=0.2) as wakes:
        wakes.wait(1)
        mail.put(letter(3), folder="Work")
        wakes.wait(2)
        mail.wire.clear()
        mail.wire.wait_for("^DONE")
        mail.wire.wait_for('^STATUS "Work"')
        mail.wire.wait_for("^IDLE")


def test_idle_is_renewed_well_within_nine_minutes() -> None:
    assert watch.POLL <= 9 * 60


def test_a_connection_that_breaks_is_made_anew_and_wakes_for_what_was_missed(mail: Mail) -> None:
    mail.put(letter(1))
    with watched(mail) as wakes:
        wakes.wait(1)
        mail.wire.wait_for("^IDLE")
        mail.wire.refuses = True
        mail.wire.cut()
        wakes.wait_report("closed the connection")
        mail.put(letter(2))
        mail.wire.refuses = False
        wakes.wait(2)
        assert wakes.reports[-1] == ""


def test_an_idle_that_died_silently_is_noticed_when_it_is_renewed(server: Scripted) -> None:
    server.boxes["INBOX"] = Box({1: letter(1)})
    server.script = [("^DONE", SILENCE)]
    with watched(Reader(server.port), poll=0.2, read=0.3) as wakes:
        wakes.wait_report("fell silent")
        wakes.wait(2)
        server.wait_for("^LOGIN", 2)


def test_a_mail_of_which_idle_never_tells_is_found_by_the_poll(server: Scripted) -> None:
    server.boxes["INBOX"] = Box({1: letter(1)})
    with watched(Reader(server.port), poll=0.1) as wakes:
        wakes.wait(1)
        server.wait_for("^IDLE")
        server.boxes["INBOX"].messages = {1: letter(1), 2: letter(2)}
        wakes.wait(2)
        assert len([line for line in server.lines if line == "LOGIN"]) == 1


def test_a_server_without_idle_is_polled_and_that_is_told(server: Scripted) -> None:
    server.capabilities = "IMAP4rev1"
    with watched(Reader(server.port), poll=0.1) as wakes:
        wakes.wait(1)
        wakes.wait_report("has no IDLE")
        server.boxes["INBOX"].messages = {1: letter(1)}
        wakes.wait(2)
    assert "IDLE" not in server.lines


def test_a_refused_login_is_told_and_not_tried_over_and_over(server: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMAP_TEST_PASSWORD", "wrong")
    with watched(Reader(server.port)) as wakes:
        wakes.wait_report("was refused")
    assert server.lines.count("LOGIN") == 1
    assert wakes.count == 0


def test_leaving_is_quick_though_the_server_says_nothing(server: Scripted) -> None:
    server.script = [("^STATUS", SILENCE)]
    with watched(Reader(server.port), read=60):
        server.wait_for("^STATUS")


def test_the_connector_wakes_with_its_stream_and_says_when_it_is_degraded(mail: Mail) -> None:
    mail.put(letter(1))
    woken: list[str] = []
    told = threading.Event()
    connector = mail.connector()
    with connector.watch(lambda stream: (woken.append(stream.source), told.set())):  # type: ignore[arg-type, func-returns-value]
        assert told.wait(10)
    assert (woken, connector.degraded) == ([NAME], "")
