"""Tells that something in an account changed, never what: IDLE on the first folder, STATUS of all beside it.

One connection, one thread. It idles on INBOX (or the first folder) and leaves IDLE every minute: that is well within the
30 minutes after which servers hang up, and the 10 after which routers forget a silent connection (RFC 2177 asks for 29);
an IDLE that died silently shows then, for the server does not answer; and the STATUS of every folder, taken while it is
left, shows what IDLE did not tell. After every new connection there is a wake, for what came meanwhile is not known.
"""

from __future__ import annotations

import select
import socket
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ctxsync.connectors.imap import gmail
from ctxsync.connectors.imap.folders import choose
from ctxsync.connectors.imap.problems import Refused
from ctxsync.errors import AuthError, RateLimited, SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ctxsync.connectors.imap.account import Account
    from ctxsync.connectors.imap.folders import Folder
    from ctxsync.connectors.imap.session import Counters, Session

POLL = 60.0
"""Seconds between two looks at every folder; IDLE is renewed with each."""
FIRST_WAIT, LONGEST_WAIT = 1.0, 300.0
"""Seconds before a lost connection is made anew: at first, and at most."""
REFUSED_WAIT = 900.0
"""Seconds after a refused login: servers lock accounts that try often."""
MOST_SILENT = 3  # times that a socket is readable and has nothing to read, before the connection counts as closed
LEAVE = 2.0
"""Seconds to wait for the thread when the context is left."""


@contextmanager
def watching(
    account: Account,
    opened: Callable[[Account], Session],
    wake: Callable[[], None],
    report: Callable[[str], None],
    *,
    poll: float = POLL,
    first_wait: float = FIRST_WAIT,
) -> Iterator[None]:
    """Call `wake` from a thread when a folder may have changed, until the context is left.

    Args:
        account: Where and who.
        opened: Opens a session; called again whenever the connection was lost.
        wake: Called once for each change, and after each new connection.
        report: Called with why changes are noticed late, and with nothing when that is over.
        poll: Seconds between two looks at every folder.
        first_wait: Seconds before the first attempt to connect anew; doubled with each that fails.
    """
    watch = _Watch(account, opened, wake, report, poll=poll, first_wait=first_wait)
    thread = threading.Thread(target=watch.run, name=f"imap-watch-{account.source}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        watch.stop()
        thread.join(LEAVE)


class _Watch:
    def __init__(
        self,
        account: Account,
        opened: Callable[[Account], Session],
        wake: Callable[[], None],
        report: Callable[[str], None],
        *,
        poll: float,
        first_wait: float,
    ) -> None:
        self._account, self._opened = account, opened
        self._wake, self._report = wake, report
        self._poll, self._first_wait = poll, first_wait
        self._stopped = threading.Event()
        self._woken, self._waker = socket.socketpair()
        self._session: Session | None = None

    def stop(self) -> None:
        """End `run`, wherever it waits; but a connection that is being made is waited for by its own timeout."""
        self._stopped.set()
        with suppress(OSError):
            self._waker.send(b"\0")
        session = self._session
        if session is not None:
            with suppress(OSError):
                session.client.socket().shutdown(socket.SHUT_RDWR)

    def run(self) -> None:
        """Watch over one connection after the other until stopped."""
        wait = self._first_wait
        while not self._stopped.is_set():
            began = time.monotonic()
            pause = wait
            try:
                self._connected()
            except AuthError as error:
                pause = REFUSED_WAIT
                self._tell(error)
            except RateLimited as error:
                pause = error.retry_after
                self._tell(error)
            except SourceError as error:
                self._tell(error)
            except Exception as error:  # noqa: BLE001 - a thread that dies would end the watching without a word
                self._tell(error)
            finally:
                session, self._session = self._session, None
                if session is not None:
                    session.shutdown()
            lasted = time.monotonic() - began > self._poll
            wait = self._first_wait if lasted else min(LONGEST_WAIT, wait * 2)
            self._stopped.wait(min(pause, self._first_wait) if lasted else pause)
        self._woken.close()
        self._waker.close()

    def _tell(self, error: Exception) -> None:
        if not self._stopped.is_set():
            why = error.message if isinstance(error, SourceError) else f"{type(error).__name__}: {error}"
            self._report(f"New mail is noticed late, for the server cannot be watched: {why}")

    def _connected(self) -> None:
        """Watch over one connection until it is lost, or the context left."""
        session = self._opened(self._account)
        self._session = session
        if self._stopped.is_set():
            return
        listing = session.folders()
        choice = choose(listing, self._account.folders, self._account.exclude)
        if session.has(gmail.CAPABILITY):
            choice, _ = gmail.narrowed(choice, listing)
        folders = choice.folders
        seen = self._counters(session, folders)
        idles = bool(folders) and session.has("IDLE")
        if idles:
            session.examine(folders[0].name)
        self._report("" if idles else f"The server has no IDLE: new mail is looked for every {self._poll:.0f} seconds.")
        self._wake()
        while not self._stopped.is_set():
            due = time.monotonic() + self._poll
            while idles and self._told(session, due):
                # Noted before the wake, so that what comes behind it is another change.
                seen |= self._counters(session, folders[:1])
                self._wake()
            self._stopped.wait(max(0.0, due - time.monotonic()))
            if self._stopped.is_set():
                return
            now = self._counters(session, folders)
            if now != seen:
                seen = now
                self._wake()

    def _counters(self, session: Session, folders: tuple[Folder, ...]) -> dict[str, Counters]:
        found: dict[str, Counters] = {}
        for folder in folders:
            with suppress(Refused):
                found[folder.place] = session.status(folder.name)
        return found

    def _told(self, session: Session, due: float) -> bool:
        """Idle until the server tells of a message; return False when the poll is due or the context left first."""
        sock: Any = session.client.socket()
        told = False
        silent = 0
        if self._stopped.is_set() or due <= time.monotonic():
            return False
        with session.talking():
            session.client.idle()
            while not told and not self._stopped.is_set() and (left := due - time.monotonic()) > 0:
                readable, _, _ = select.select([sock, self._woken], [], [], left)
                if sock in readable:
                    lines = session.client.idle_check(timeout=0)
                    told = any(map(_matters, lines))
                    silent = 0 if lines else silent + 1  # a TLS record without data may be readable, once
                    if silent > MOST_SILENT:
                        raise session.lost()
            if not self._stopped.is_set():
                session.client.idle_done()
        return told and not self._stopped.is_set()


def _matters(told: tuple[Any, ...]) -> bool:
    """Say whether an untagged answer means that a message came or went; that a flag changed means nothing."""
    return any(word in (b"EXISTS", b"EXPUNGE", b"VANISHED", b"RECENT", b"BYE") for word in told[:2])
