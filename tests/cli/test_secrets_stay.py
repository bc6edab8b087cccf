"""A password that is used, refused and repeated by everybody else is written nowhere and told nobody."""

from __future__ import annotations

import base64
import socketserver
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from ctxsync import passes
from ctxsync.errors import AuthError, Unavailable
from tests.app.servers import MailServer
from tests.connectors.drawer import Drawer, opened
from tests.connectors.imap.scripted import Box, scripted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRET = 'open"sesame\\ö-quokka7741'
MARK = "quokka7741"  # stands in every spelling but base64; long enough to be no hash's digits
ADD = ("source", "add", "imap", "robin@127.0.0.1", "--name", "work", "--secret", "env:MAIL_PASSWORD")


def traces() -> list[bytes]:
    """What is looked for: the mark as it is, and the secret inside base64 at any alignment."""
    raw = SECRET.encode()
    inside = []
    for before in range(3):
        first, end = (0, 2, 3)[before], 8 * (before + len(raw)) // 6
        inside.append(base64.b64encode(b"\0" * before + raw)[first:end])
    return [MARK.encode(), *inside]


@pytest.fixture
def everything(line: Any, tmp_path: Path) -> Any:
    """Run commands, keep what they print; then look at it and at every file under the home."""
    printed: list[str] = []

    class Everything:
        def __call__(self, *args: str, stdin: str | None = None, password: str = SECRET) -> Any:
            ran = line(*args, stdin=stdin, MAIL_PASSWORD=password)
            printed.append(ran.out + ran.err)
            return ran

        def is_clean(self) -> bool:
            files = [path for path in tmp_path.rglob("*") if path.is_file()]
            assert {"events.db", "graph.db", "config.toml"} <= {path.name for path in files}
            texts = [text.encode() for text in printed] + [path.read_bytes() for path in files]
            found = [text for text in texts for trace in traces() if trace in text]
            assert not found
            return True

    return Everything()


def repeated(password: str) -> str:
    """A message of a library that repeats a password in every way it might have sent it."""
    coded = [base64.b64encode(user + password.encode()).decode() for user in (b"u", b"\0robin\0")]
    return f"LOGIN robin {password!r} {password} {quote(password)} {' '.join(coded)}"


ALL = (
    ("sync",),
    ("sync", "--json"),
    ("--debug", "sync", "work"),
    ("sync", "--dry-run", "--json"),
    ("status",),
    ("status", "--json"),
    ("doctor", "--online"),
    ("--debug", "doctor", "--online", "--json"),
    ("source", "list", "--json"),
    ("config", "show", "--json"),
    ("search", "refused login", "--json"),
)


@pytest.mark.parametrize("error", [AuthError, Unavailable, ValueError])
def test_a_login_that_fails_loudly_leaves_no_trace_of_the_password(
    everything: Any, error: type[Exception], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server = behind(monkeypatch)
    server.refuses = lambda password: error(repeated(password))
    everything("init", "--name", "Robin Vale")
    assert everything(*ADD).code == 0
    for command in ALL:
        everything(*command)
    assert "login" in server.asked
    assert "***" in everything("status").out
    everything("export", str(tmp_path / "exported"))
    assert everything.is_clean()


def test_a_login_that_works_leaves_no_trace_either(
    everything: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server = behind(monkeypatch)
    everything("init", "--name", "Robin Vale")
    everything(*ADD)
    for command in ALL:
        assert everything(*command).code in (0, 3)
    assert "read INBOX" in server.asked
    everything("export", str(tmp_path / "exported"))
    assert everything.is_clean()


def test_the_connector_itself_hides_what_a_server_repeats(
    everything: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MAIL_PASSWORD", SECRET)
    with parrot() as (port, heard):
        everything("init", "--name", "Robin Vale")
        assert everything(*ADD, "--port", str(port), "--tls", "none").code == 0
        for command in ALL:
            everything(*command)
    assert any(trace in said for said in heard for trace in traces()), "the password was sent, and repeated"
    everything("export", str(tmp_path / "exported"))
    assert everything.is_clean()


def test_mail_that_is_read_leaves_no_trace_of_the_password_either(
    everything: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    secret = f"sesame-{MARK}"
    letter = (
        b"From: Ines Falk <ines@example.com>\r\nMessage-ID: <1@example.com>\r\nSubject: Hello\r\n\r\nHello, Robin.\r\n"
    )
    with scripted() as server:
        server.password, server.boxes["INBOX"] = secret, Box({1: letter})
        monkeypatch.setenv("MAIL_PASSWORD", secret)
        everything("init", "--name", "Robin Vale")
        everything(*ADD, "--port", str(server.port), "--tls", "none")
        for command in ALL:
            ran = everything(*command, password=secret)
            assert ran.code == 0, ran.out + ran.err
        assert "Hello" in everything("search", "hello", "--json").out
        server.password = "changed"
        assert everything("sync", password=secret).code == 3
    everything("export", str(tmp_path / "exported"))
    assert everything.is_clean()


@pytest.fixture
def drawer() -> Iterator[Drawer]:
    with opened() as drawer:
        yield drawer


def test_a_password_that_is_asked_for_goes_to_the_keyring_and_nowhere_else(
    everything: Any, drawer: Drawer, monkeypatch: pytest.MonkeyPatch
) -> None:
    behind(monkeypatch)
    everything("init", "--name", "Robin Vale")
    everything("source", "add", "imap", "robin@127.0.0.1", "--name", "work")
    assert everything("sync").code == 3
    stored = everything("source", "secret", "work", "--json", stdin=f"{SECRET}\n")
    assert (stored.code, stored.json) == (0, {"name": "work", "setting": "password", "replaced": False})
    assert drawer.held == {("ctxsync", "work/password"): SECRET}
    assert everything("sync").code == 0
    assert everything("source", "remove", "work", "--json").json["forgotten"] == ["password"]
    assert drawer.held == {}
    assert everything.is_clean()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("wrok",), "Did you mean work?"),
        (("work", "token"), "Use password or oauth_token."),
        (("vault",), "it needs no secret"),
        (("other",), "elsewhere (env:)"),
    ],
)
def test_a_secret_that_would_not_be_found_is_not_asked_for(
    line: Any, drawer: Drawer, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    (tmp_path / "vault").mkdir()
    line("init")
    line("source", "add", "notes", str(tmp_path / "vault"))
    line("source", "add", "imap", "robin@mail.example.com", "--name", "work")
    line("source", "add", "imap", "ann@mail.example.com", "--name", "other", "--secret", "env:MAIL_PASSWORD")
    ran = line("source", "secret", *arguments, stdin=f"{SECRET}\n")
    assert ran.code == 2
    assert said in ran.err
    assert not drawer.held


def test_adding_an_account_says_what_is_left_to_do(line: Any, tmp_path: Path) -> None:
    line("init")
    added = line("source", "add", "imap", "robin@example.com", "--host", "mail.example.com", "--folders", "INBOX")
    assert "Added example.com (imap, robin@example.com at mail.example.com)." in added.out
    assert "ctxsync source secret example.com" in added.out
    team = line("source", "add", "slack", "harbourlight", "--app-token", "keyring:", "--channels", "team-*", "--json")
    assert team.json | {"token": "keyring:", "app_token": "keyring:", "channels": ["team-*"]} == team.json
    (tmp_path / "old.mbox").write_text("no mail")
    refused = line("source", "add", "mailbox", str(tmp_path / "old.mbox"))
    assert (refused.code, "is no mbox" in refused.err) == (2, True)
    listed = line("source", "list").out
    assert "robin@example.com at mail.example.com" in listed
    assert "harbourlight  slack  slack.com" in listed


def test_nothing_typed_stores_nothing(line: Any, drawer: Drawer) -> None:
    line("init")
    line("source", "add", "slack", "--name", "team")
    ran = line("source", "secret", "team", stdin="")
    assert (ran.code, drawer.held) == (2, {})
    assert "No token of team was given" in ran.err


def behind(monkeypatch: pytest.MonkeyPatch) -> MailServer:
    """Put a scripted server behind every imap source."""
    server = MailServer()
    installed: dict[str, Any] = {**passes._installed(), "imap": server}
    monkeypatch.setattr(passes, "_installed", lambda: installed)
    return server


@contextmanager
def parrot() -> Iterator[tuple[int, list[bytes]]]:
    """A server that speaks enough IMAP to refuse a login, and repeats what it was told."""
    heard: list[bytes] = []

    class Conversation(socketserver.StreamRequestHandler):
        timeout = 10

        def handle(self) -> None:
            self.wfile.write(b"* OK ready\r\n")
            while command := self.rfile.readline():
                tag, _, rest = command.partition(b" ")
                while rest.endswith(b"}\r\n"):
                    self.wfile.write(b"+ go on\r\n")
                    size = int(rest[rest.rindex(b"{") + 1 : -3].rstrip(b"+"))
                    rest = rest[: rest.rindex(b"{")] + self.rfile.read(size) + self.rfile.readline()
                if rest.upper().startswith(b"AUTHENTICATE"):
                    self.wfile.write(b"+ \r\n")
                    rest += self.rfile.readline()
                if rest.upper().startswith(b"CAPABILITY"):
                    self.wfile.write(b"* CAPABILITY IMAP4rev1\r\n" + tag + b" OK done\r\n")
                elif rest.upper().startswith(b"LOGOUT"):
                    self.wfile.write(b"* BYE\r\n" + tag + b" OK done\r\n")
                    return
                else:
                    heard.append(rest)
                    told = rest.strip().replace(b"\r\n", b" ")
                    self.wfile.write(tag + b" NO [AUTHENTICATIONFAILED] not with " + told + b"\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Conversation) as server:
        server.daemon_threads = False
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server.server_address[1], heard
        finally:
            server.shutdown()
            thread.join(10)
