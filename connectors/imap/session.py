"""One connection to an IMAP server, for reading only: the few commands that a pass needs; knows no item and no cursor.

It selects with EXAMINE and fetches with BODY.PEEK, so no flag ever changes, and has no command that could write.
imapclient connects, logs in and takes FETCH answers apart. Two things go below it, to imaplib: answers are taken apart
one message at a time (one odd answer spoils no other), and the next FETCH can be asked before the last is looked at.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ctxsync.connectors.imap import problems
from ctxsync.connectors.imap.answers import Listed, Message, groups, listed, message, numbers, status
from ctxsync.connectors.imap.connecting import connected, trusting
from ctxsync.connectors.secrets import resolve
from ctxsync.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import date

    from ctxsync.connectors.imap.account import Account

CONNECT, READ = 20.0, 60.0
"""Seconds to wait for a connection, and for the next bytes of an answer."""


@dataclass(frozen=True, slots=True)
class Counters:
    """What a server says of a folder.

    Args:
        validity: UIDVALIDITY.
        next: UIDNEXT; 0 when the server does not say.
        exists: How many messages there are.
        modseq: HIGHESTMODSEQ; 0 without CONDSTORE.
    """

    validity: int
    next: int
    exists: int
    modseq: int


class Session:
    """A connection that is logged in. Every method raises `Dropped` when the connection is gone.

    Args:
        account: Where and who.
        connect: Seconds to wait for the connection.
        read: Seconds to wait for more of an answer.

    Raises:
        AuthError: There is no secret, or the server refuses it.
        RateLimited: It has too many connections.
        Unavailable: It cannot be reached or trusted.
    """

    def __init__(self, account: Account, *, connect: float = CONNECT, read: float = READ) -> None:
        self.account = account
        self._read = read
        setting = "oauth_token" if account.oauth_token else "password"
        self._secret = resolve(getattr(account, setting), source=account.source, setting=setting)
        self._asked: Any = None
        self.client = connected(account, connect=connect, read=read)
        self._imap: Any = self.client._imap  # noqa: SLF001 - imapclient has no other way to imaplib
        self.enabled: frozenset[str] = frozenset()
        try:
            with self.talking():
                self._starttls()
            self._login()
            self._enable()
        except BaseException:
            self.shutdown()
            raise

    def has(self, capability: str) -> bool:
        """Say whether the server has a capability."""
        return bool(self.client.has_capability(capability))

    def folders(self) -> list[Listed]:
        """Return every folder, as the server lists them."""
        with self.talking():
            kind, data = self._imap._simple_command("LIST", '""', '"*"')  # noqa: SLF001
            self._check(kind, data)
            _, data = self._imap._untagged_response(kind, data, "LIST")  # noqa: SLF001
        return [one for one in map(listed, groups(data)) if one is not None]

    def status(self, name: bytes) -> Counters:
        """Return a folder's counters without selecting it. Raises `Refused` when it cannot be had."""
        wanted = "UIDVALIDITY UIDNEXT MESSAGES" + (" HIGHESTMODSEQ" if self.enabled else "")
        with self.talking():
            kind, data = self._imap._simple_command("STATUS", _quoted(name), f"({wanted})")  # noqa: SLF001
            self._check(kind, data)
            _, data = self._imap._untagged_response(kind, data, "STATUS")  # noqa: SLF001
        return Counters(*status(data, ("UIDVALIDITY", "UIDNEXT", "MESSAGES", "HIGHESTMODSEQ")))

    def examine(self, name: bytes) -> Counters:
        """Select a folder for reading only. Raises `Refused` when it cannot be opened."""
        with self.talking():
            kind, data = self._imap.select(_quoted(name), readonly=True)
            self._check(kind, data)
            answers = self._imap.untagged_responses
            found = [_number(answers.get(key)) for key in ("UIDVALIDITY", "UIDNEXT", "EXISTS", "HIGHESTMODSEQ")]
        return Counters(*found)

    def search(self, low: int, high: int, since: date | None = None) -> list[int]:
        """Return the UIDs from `low` to `high` (0: to the last one), of mail received since a day.

        A server answers `n:*` with its last message even where that is below n (RFC 3501: the order of a range means
        nothing), so what lies outside is dropped.
        """
        words = f"UID {low}:{high or '*'}"
        if since:
            words += f" SINCE {since.day}-{_MONTHS[since.month - 1]}-{since.year}"
        return [uid for uid in self._search(words) if low <= uid and (not high or uid <= high)]

    def present(self, uids: Iterable[int]) -> set[int]:
        """Return those of some UIDs that the folder still has."""
        return set(self._search(f"UID {uid_set(uids)}")).intersection(uids)

    def _search(self, words: str) -> list[int]:
        with self.talking():
            kind, data = self._imap._simple_command("UID", "SEARCH", words)  # noqa: SLF001
            self._check(kind, data)
            _, data = self._imap._untagged_response(kind, data, "SEARCH")  # noqa: SLF001
        return sorted(set(numbers(data)))

    def fetch(self, uids: Iterable[int], what: str) -> Iterator[Message]:
        """Yield what the server answers of some messages; it may answer of others, of fewer, or of none."""
        self.ask(uids, what)
        return self.answers()

    def ask(self, uids: Iterable[int] | str, what: str, modifier: str = "") -> None:
        """Send a FETCH and return at once; `answers` reads what comes of it."""
        wanted = uids if isinstance(uids, str) else uid_set(uids)
        with self.talking():
            self._asked = self._imap._command("UID", "FETCH", wanted, what, modifier or None)  # noqa: SLF001

    def answers(self) -> Iterator[Message]:
        """Yield the answers to what was asked last. Raises `Refused` when the server says NO or BAD."""
        with self.talking():
            kind, data = self._imap._command_complete("FETCH", self._asked)  # noqa: SLF001
            self._asked = None
            self._check(kind, data)
            _, data = self._imap._untagged_response(kind, data, "FETCH")  # noqa: SLF001
        return (one for one in map(message, groups(data)) if one is not None)

    def vanished(self, low: int, high: int, modseq: int) -> list[tuple[int, int]]:
        """Return ranges of UIDs that were expunged since a HIGHESTMODSEQ; needs QRESYNC."""
        self.ask(f"{low}:{high}", "(UID)", f"(CHANGEDSINCE {modseq} VANISHED)")
        for _ in self.answers():
            pass  # flags that changed
        found = []
        for line in self._imap.untagged_responses.pop("VANISHED", []):
            words = line.decode("ascii", "replace").replace("(EARLIER)", " ").replace(",", " ").split()
            for word in words:
                first, _, last = word.partition(":")
                if first.isdigit() and (last or first).isdigit():
                    ends = sorted((int(first), int(last or first)))
                    found.append((ends[0], ends[1]))
        return found

    def close(self) -> None:
        """Log out, or hang up when an answer is still on its way."""
        if self._asked is None:
            with suppress(Exception):  # whatever the server says now, nothing depends on it
                self.client.socket().settimeout(2.0)
                self._imap.logout()
        self.shutdown()

    def shutdown(self) -> None:
        """Hang up; from any thread, which ends a wait for an answer."""
        with suppress(Exception):
            self.client.shutdown()

    def _starttls(self) -> None:
        if self.account.tls != "starttls":
            return
        if not self.has("STARTTLS"):
            raise Unavailable(
                f"The server {self.account.address} does not offer STARTTLS.",
                remedy=f'Use tls = "tls" for the source {self.account.source} in config.toml.',
            )
        try:
            self.client.starttls(trusting(self.account))
        except OSError as error:
            raise problems.connecting(error, self.account, CONNECT) from None

    def _login(self) -> None:
        if self._imap.state == "AUTH":
            return  # PREAUTH: the connection itself says who this is
        from imapclient.exceptions import LoginError

        account = self.account
        if not account.oauth_token and self.has("LOGINDISABLED"):
            raise Unavailable(
                f"The server {account.address} takes no password over this connection.",
                remedy=f'Use tls = "tls" or "starttls" for the source {account.source} in config.toml.',
            )
        words = ""
        with self.talking():
            try:
                if account.oauth_token:
                    self.client.oauth2_login(account.user, self._secret)
                elif account.user.isascii() and self._secret.isascii() and "\n" not in self._secret:
                    self.client.login(account.user, self._secret)
                else:
                    self.client.plain_login(account.user, self._secret)
            except LoginError as error:
                if isinstance(error.__context__, self._imap.abort):
                    raise error.__context__ from None  # it was not refused: the connection broke
                words = problems.said(error, self._secret) or "no reason given"
                words = words.removeprefix("login failed: ").removeprefix("authenticate failed: ")
        if words:
            raise problems.logging_in(words, account, tokens=self.has("AUTH=XOAUTH2"))

    def _enable(self) -> None:
        """Turn on change counters and reports of vanished messages, which is only allowed before a folder is selected."""
        wanted = [name for name in ("QRESYNC", "CONDSTORE") if self.has(name)]
        if not wanted or not self.has("ENABLE"):
            return
        with suppress(problems.Refused), self.talking():
            told = self.client.enable(wanted[0])  # QRESYNC implies CONDSTORE (RFC 7162)
            self.enabled = frozenset(wanted if told else ())

    def _check(self, kind: str, data: list[Any]) -> None:
        if kind != "OK":
            raise problems.Refused(problems.said(data[0] if data else kind, self._secret))

    def lost(self) -> problems.Dropped:
        """Return that the server closed the connection without a word."""
        return problems.Dropped(
            f"The server {self.account.address} closed the connection.",
            remedy=f"Run `ctxsync sync {self.account.source}` later.",
        )

    @contextmanager
    def talking(self) -> Iterator[None]:
        """Raise what imaplib and the socket raise as what it means."""
        imap: Any = getattr(self, "_imap", None)
        try:
            yield
        except imap.error as error:
            words = imap.untagged_responses.get("BYE")
            if words:
                raise problems.goodbye(problems.said(words[-1], self._secret), self.account) from None
            if not isinstance(error, imap.abort) and "command error: BAD" in str(error):
                raise problems.Refused(problems.said(error, self._secret)) from None
            raise problems.talking(error, self.account, self._secret, self._read) from None
        except (OSError, ValueError) as error:  # ValueError: the file of a connection that was hung up
            raise problems.talking(error, self.account, self._secret, self._read) from None


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def uid_set(uids: Iterable[int]) -> str:
    """Return UIDs as IMAP writes a set: `3:5,9`."""
    parts: list[list[int]] = []
    for uid in sorted(set(uids)):
        if parts and parts[-1][1] == uid - 1:
            parts[-1][1] = uid
        else:
            parts.append([uid, uid])
    return ",".join(str(first) if first == last else f"{first}:{last}" for first, last in parts)


def _quoted(name: bytes) -> bytes:
    return b'"' + name.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'


def _number(data: Any) -> int:
    try:
        return int(data[-1])
    except (TypeError, ValueError, IndexError):
        return 0
