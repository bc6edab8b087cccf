"""What a person is told when a mail account cannot be used, with the next step; and that the secret is told nowhere."""

from __future__ import annotations

import base64
import re
import socket
import ssl
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
import trustme

from ctxsync.connectors.base import Options
from ctxsync.connectors.imap import ImapConnector
from ctxsync.errors import AuthError, ConfigError, RateLimited, SourceError, Unavailable
from tests.connectors.imap.conftest import Mail, Reader, letter
from tests.connectors.imap.dovecot import PASSWORD, free_ports
from tests.connectors.imap.scripted import HANG_UP, SILENCE, Scripted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


BASE64 = r"^[A-Za-z0-9+/=]{20,}$"


def refusal(reader: Reader, kind: type[SourceError] = Unavailable) -> str:
    """Read, and return what the person is told; the secret is not in it, nor in what the error holds."""
    with pytest.raises(kind) as caught:
        reader.read()
    error = caught.value
    assert type(error) is kind or kind is Unavailable
    assert error.remedy
    chain: list[Any] = [error, error.__cause__, error.__context__ if not error.__suppress_context__ else None]
    assert not any(PASSWORD in repr(one) + str(one) for one in chain)
    return str(error)


@pytest.mark.parametrize("tls", ["tls", "starttls"])
def test_mail_is_read_over_tls_with_the_authority_that_is_named(mail: Mail, tls: str) -> None:
    mail.put(letter(1))
    server = mail.server
    port = server.tls_port if tls == "tls" else server.port
    mail.settings |= {"tls": tls, "port": port, "tls_ca": str(server.ca), "host": "localhost"}
    mail.read()
    assert mail.titles() == ["Letter 1"]


@pytest.mark.parametrize("tls", ["tls", "starttls"])
def test_a_certificate_of_no_known_authority_is_refused_before_the_password_is_sent(mail: Mail, tls: str) -> None:
    mail.settings |= {"tls": tls, "port": mail.server.tls_port if tls == "tls" else mail.wire.port, "host": "localhost"}
    told = refusal(mail)
    assert "is signed by no authority this machine trusts" in told
    assert "`tls_ca` of the source work" in told
    assert "LOGIN" not in mail.wire.commands()


def test_a_certificate_of_another_name_is_refused_with_the_name(mail: Mail, monkeypatch: pytest.MonkeyPatch) -> None:
    known = socket.create_connection
    monkeypatch.setattr(socket, "create_connection", lambda at, **more: known(("127.0.0.1", at[1]), **more))
    mail.settings |= {"tls": "tls", "host": "mail.example.com", "port": mail.server.tls_port}
    mail.settings["tls_ca"] = str(mail.server.ca)
    told = refusal(mail)
    assert "is for another name than mail.example.com" in told
    assert "Set `host`" in told


def test_a_certificate_that_ended_is_told_as_that(tmp_path: Path) -> None:
    from datetime import UTC, datetime

    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    old = authority.issue_cert(
        "localhost", not_after=datetime(2020, 1, 1, tzinfo=UTC), not_before=datetime(2019, 1, 1, tzinfo=UTC)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    old.configure_cert(context)
    with listening(context) as port:
        told = refusal(Reader(port, tls="tls", tls_ca=str(tmp_path / "ca.pem"), host="localhost"))
    assert "is not valid at this time" in told
    assert "clock" in told


@contextmanager
def listening(context: ssl.SSLContext | None = None) -> Iterator[int]:
    """Accept one connection; shake hands when there is a context, else say nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = threading.Event()

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                try:
                    if context is not None:
                        context.wrap_socket(connection, server_side=True).close()
                except (ssl.SSLError, OSError):
                    pass
                done.wait(10)

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        done.set()
        thread.join()


def test_a_file_of_certificates_that_is_not_there_is_named(mail: Mail, tmp_path: Path) -> None:
    mail.settings |= {"tls": "tls", "port": mail.server.tls_port, "tls_ca": str(tmp_path / "none.pem")}
    assert f"The certificates in {tmp_path}/none.pem cannot be read" in refusal(mail)


def test_a_file_that_holds_no_certificate_is_not_taken_for_a_servers_fault(mail: Mail, tmp_path: Path) -> None:
    (tmp_path / "notes.pem").write_text("no certificate")
    for tls, port in (("tls", mail.server.tls_port), ("starttls", mail.server.port)):
        mail.settings |= {"tls": tls, "port": port, "tls_ca": str(tmp_path / "notes.pem")}
        assert f"The certificates in {tmp_path}/notes.pem cannot be read" in refusal(mail)


def test_folders_of_no_account_are_told_with_those_that_there_are(mail: Mail) -> None:
    mail.put(letter(1))
    mail.settings |= {"folders": ["INBXO", "Snet/*"]}
    told = refusal(mail)
    assert "No folder of work fits `folders` (INBXO, Snet/*). It has: INBOX" in told
    mail.settings |= {"folders": ["INB*"]}
    assert mail.read()


def test_a_port_that_speaks_no_tls_is_told_with_the_other_way(mail: Mail) -> None:
    mail.settings |= {"tls": "tls", "port": mail.server.port}
    told = refusal(mail)
    assert "does not speak TLS as asked" in told
    assert 'tls = "starttls"' in told


def test_a_wrong_password_says_how_to_store_the_right_one(mail: Mail, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMAP_TEST_PASSWORD", "wrong-and-secret")
    told = refusal(mail, AuthError)
    assert f"The login at 127.0.0.1:{mail.wire.port} as {mail.user} was refused: wrong user or password" in told
    assert "where `password` says" in told
    assert "for the keyring: `ctxsync source secret work`" in told
    assert "wrong-and-secret" not in told
    assert "b'" not in told


def test_a_password_of_any_characters_arrives_as_it_is(server: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMAP_TEST_PASSWORD", 'p\\a"s s')
    server.password = 'p\\\\a\\"s s'
    Reader(server.port).read()
    monkeypatch.setenv("IMAP_TEST_PASSWORD", "pässwort")
    server.script = [(BASE64, b"TAG OK in\r\n")]
    Reader(server.port).read()
    (sent,) = [line for line in server.lines if re.match(BASE64, line)]
    assert base64.b64decode(sent).decode() == "\0robin\0pässwort"


def test_a_token_is_sent_as_xoauth2_and_an_expired_one_says_so(
    server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IMAP_TEST_TOKEN", "ya29.not-a-real-token")
    sent: list[str] = []

    def refused(_tag: str, found: Any) -> bytes:
        sent.append(base64.b64decode(found[0]).decode())
        if len(sent) == 1:
            return b"+ " + base64.b64encode(b'{"status":"400","schemes":"Bearer"}') + b"\r\n"
        return b"TAG NO [AUTHENTICATIONFAILED] Invalid credentials " + sent[0].encode().split(b"\1")[1] + b"\r\n"

    server.script = [(BASE64, refused)]
    server.capabilities += " AUTH=XOAUTH2"
    reader = Reader(server.port, oauth_token="env:IMAP_TEST_TOKEN", password="")
    told = refusal(reader, AuthError)
    assert sent[0] == "user=robin\1auth=Bearer ya29.not-a-real-token\1\1"
    assert "the access token has expired or was revoked" in told
    assert "ya29" not in told
    server.script = [(BASE64, b"TAG OK in\r\n")]
    assert reader.read() == []
    assert "AUTHENTICATE XOAUTH2" in server.lines


def test_a_server_that_takes_no_tokens_does_not_call_them_expired(mail: Mail, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMAP_TEST_TOKEN", "ya29.not-a-real-token")
    mail.settings |= {"oauth_token": "env:IMAP_TEST_TOKEN"}
    told = refusal(mail, AuthError)
    assert "takes no access tokens (XOAUTH2)" in told
    assert "expired" not in told


def test_a_server_that_hangs_up_in_the_middle_of_a_login_refused_nobody(server: Scripted) -> None:
    server.script = [("^LOGIN", HANG_UP)]
    assert "closed the connection" in refusal(Reader(server.port))


def test_a_server_that_has_too_many_connections_is_tried_again_later(server: Scripted) -> None:
    server.script = [("^LOGIN", b"TAG NO [LIMIT] Too many simultaneous connections\r\n")]
    assert "lets no more connections in for now" in refusal(Reader(server.port), RateLimited)
    server.script = [("^LOGIN", b"TAG NO [UNAVAILABLE] Temporary authentication failure\r\n")]
    assert "cannot log anyone in now" in refusal(Reader(server.port))


def test_a_server_that_takes_no_password_in_the_clear_is_told_with_the_setting(server: Scripted) -> None:
    server.capabilities += " LOGINDISABLED"
    assert 'tls = "tls"' in refusal(Reader(server.port))
    assert "LOGIN" not in server.lines


def test_a_server_without_starttls_gets_no_password(server: Scripted) -> None:
    assert "does not offer STARTTLS" in refusal(Reader(server.port, tls="starttls"))
    assert "LOGIN" not in server.lines


def test_a_host_that_is_not_known_and_a_port_that_is_closed_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    told = refusal(Reader(993, tls="tls", host="mail.invalid"))
    assert "The server mail.invalid is not known." in told
    (port,) = free_ports(1)
    assert f"The server 127.0.0.1:{port} refuses connections." in refusal(Reader(port))


def test_a_server_that_is_silent_is_left_after_the_timeout(server: Scripted) -> None:
    with listening() as port:
        reader = Reader(port)
        reader.timeouts = {"connect": 0.2, "read": 0.2}
        assert "did not answer within 0 seconds" in refusal(reader)
    server.script = [("^LIST", SILENCE)]
    reader = Reader(server.port)
    reader.timeouts = {"connect": 5, "read": 0.2}
    assert "fell silent" in refusal(reader)


def test_a_server_that_says_bye_at_once_is_quoted(server: Scripted) -> None:
    server.script = [("GREETING", b"* BYE Go away \x1b[31m\r\n" + HANG_UP)]
    told = refusal(Reader(server.port))
    assert "Go away" in told
    assert "\x1b" not in told
    server.script = [("^ENABLE", b"* BYE Maintenance\r\n" + HANG_UP)]
    assert "hung up: Maintenance" in refusal(Reader(server.port))


def test_something_that_is_no_mail_server_is_told_as_that(server: Scripted) -> None:
    server.script = [("GREETING", b"SSH-2.0-OpenSSH_9.2\r\n")]
    assert "cannot be used: unexpected response" in refusal(Reader(server.port))


def test_a_missing_secret_is_told_before_anything_is_sent(server: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("IMAP_TEST_PASSWORD")
    refusal(Reader(server.port), AuthError)
    assert server.lines == []


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"host": ""}, "has no `host`"),
        ({"user": None}, "has no `user`"),
        ({"host": "mail.example.com"}, 'would send its password to mail.example.com in the clear (`tls = "none"`)'),
        ({"tls": "ssl"}, "it is tls, starttls or none"),
        ({"folders": [1]}, "`folders` of the source work must be a list"),
        ({"since": "soon"}, "must be a date"),
        ({"port": "x"}, "`port` of the source work must be a number"),
        ({"user": "a\r\nb"}, "control character"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, Any], told: str) -> None:
    good = {"host": "127.0.0.1", "user": "robin", "tls": "none"}
    with pytest.raises(ConfigError) as caught:
        ImapConnector("work", {**good, **settings}, Options())
    assert told in caught.value.message
    assert caught.value.remedy


def test_building_a_connector_loads_no_library_and_shows_no_secret() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from ctxsync.connectors.base import Options; from ctxsync.connectors.imap import ImapConnector;"
        "c = ImapConnector('work', {'host': 'h', 'user': 'u', 'password': 'env:X'}, Options()); list(c.discover());"
        "print(sorted({'imapclient', 'imaplib', 'email.parser', 'ssl', 'keyring'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout == "[]\n"


def test_whoever_says_before_tls_that_all_is_logged_in_is_not_believed(server: Scripted) -> None:
    server.capabilities += " STARTTLS"
    server.script = [("^GREETING", b"* PREAUTH welcome\r\n")]
    refusal(Reader(server.port, tls="starttls"))
    assert not [
        line for line in server.lines if line.startswith(("LOGIN", "AUTHENTICATE", "EXAMINE", "SELECT", "LIST"))
    ]
