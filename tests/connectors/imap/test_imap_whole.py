"""The whole pipeline over a real mail server: what is delivered is answered, and the password is written nowhere."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ctxsync.app import App
from ctxsync.config import load_config
from ctxsync.engine.reading import ask
from ctxsync.home import Home
from ctxsync.sync import SyncRequest
from ctxsync.watch import Watch
from tests.connectors.imap.conftest import Mail, letter
from tests.connectors.imap.dovecot import PASSWORD
from tests.whole.support import PlainModels

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Desk:
    """A home with one mail account."""

    def __init__(self, folder: Path, mail: Mail) -> None:
        self.home = Home(folder / "home")
        options = {key: value for key, value in mail.settings.items() if key != "user"}
        self.app().add_source("imap", mail.user, name="work", **options)

    def app(self) -> App:
        return App(self.home, load_config(self.home), models=PlainModels())

    def answers(self, question: str) -> list[str]:
        """Return whom or what the answers name."""
        found = ask(self.app().reader(), question, now=time.time_ns() // 1_000_000)
        return [answer["tail"]["name"] for answer in found["answers"]]


@contextmanager
def watching(desk: Desk) -> Iterator[threading.Condition]:
    """Run `watch`; the condition is notified with every line that it reports."""
    told = threading.Condition()
    lines: list[str] = []

    def report(line: str) -> None:
        with told:
            lines.append(line)
            told.notify_all()

    watch = Watch(desk.app(), report, signals=False)
    thread = threading.Thread(target=watch.run)
    thread.start()
    try:
        with told:
            assert told.wait_for(lambda: "ready" in lines, 30), lines
        yield told
    finally:
        watch.stop()
        thread.join(20)
    assert not thread.is_alive()


def test_a_new_mail_answers_within_three_seconds_while_watched(mail: Mail, tmp_path: Path) -> None:
    mail.put(letter(1))
    desk = Desk(tmp_path, mail)
    with watching(desk) as told:
        mail.wire.wait_for("^IDLE")
        began = time.monotonic()
        mail.put(letter(2, "Rosa Quint works at Acme.\n"))
        with told:
            assert told.wait_for(lambda: desk.answers("Where does Rosa Quint work?") == ["Acme"], 15)
        assert time.monotonic() - began < 5  # three with nothing else running
    mail.commands()


def test_a_pass_that_fails_says_why_in_status_and_the_password_is_written_nowhere(mail: Mail, tmp_path: Path) -> None:
    mail.put(letter(1), letter(2))
    desk = Desk(tmp_path, mail)
    assert desk.app().sync(SyncRequest())["sources"][0]["observed"] == 2
    mail.wire.refuses = True
    (problem,) = desk.app().sync(SyncRequest())["problems"]
    assert problem["kind"] == "paused"
    assert desk.app().status()["sources"][0]["items"] == 2
    mail.wire.refuses = False
    assert desk.app().sync(SyncRequest())["problems"] == []
    written = [path for path in desk.home.path.rglob("*") if path.is_file()]
    assert len(written) > 3
    assert [path for path in written if PASSWORD.encode() in path.read_bytes()] == []
