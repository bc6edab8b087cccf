"""Where a secret comes from, what is said when it is not there, and that no message ever holds it."""

from __future__ import annotations

import base64
import sys
from typing import TYPE_CHECKING
from urllib.parse import quote

import keyring
import keyring.backends.fail
import keyring.errors
import pytest

from ctxsync.connectors import secrets
from ctxsync.errors import AuthError
from tests.connectors.drawer import Drawer, opened

if TYPE_CHECKING:
    from collections.abc import Iterator

SECRET = 'tr0ub4dor "ö\\& 3'


@pytest.fixture
def drawer() -> Iterator[Drawer]:
    with opened() as drawer:
        yield drawer


def resolve(spec: str) -> str:
    return secrets.resolve(spec, source="work", setting="password")


def refused(spec: str) -> str:
    with pytest.raises(AuthError) as caught:
        resolve(spec)
    assert caught.value.remedy
    assert caught.value.__cause__ is None or SECRET not in repr(caught.value.__cause__)
    return str(caught.value)


def test_what_was_stored_for_a_source_is_found_by_the_bare_form(drawer: Drawer) -> None:
    secrets.store(SECRET, source="work", setting="password")
    assert drawer.held == {("ctxsync", "work/password"): SECRET}
    assert resolve("keyring:") == SECRET


def test_what_was_stored_can_be_forgotten_once(drawer: Drawer) -> None:
    secrets.store(SECRET, source="work", setting="password")
    assert secrets.forget(source="work", setting="password")
    assert not secrets.forget(source="work", setting="password")
    assert not drawer.held


def test_a_secret_is_stored_where_its_spec_looks(drawer: Drawer) -> None:
    secrets.store(SECRET, source="work", setting="password", spec="keyring:Mail/robin")
    assert resolve("keyring:Mail/robin") == SECRET


def test_a_secret_that_was_resolved_is_hidden_in_whatever_is_said_later(drawer: Drawer) -> None:
    secrets.store(SECRET, source="work", setting="password")
    resolve("keyring:")
    assert secrets.without_secrets(f"refused: {SECRET}") == "refused: ***"


def test_another_programs_entry_is_found_by_its_service_and_user(drawer: Drawer) -> None:
    drawer.held["mail.example.com", "robin@example.com"] = SECRET
    assert resolve("keyring:mail.example.com/robin@example.com") == SECRET


def test_a_secret_that_is_not_in_the_keyring_says_how_to_store_it(drawer: Drawer) -> None:
    assert "`ctxsync source secret work`" in refused("keyring:")
    assert "(service Mail, user robin)" in refused("keyring:Mail/robin")
    assert "keyring:SERVICE/USER" in refused("keyring:Mail")
    with pytest.raises(AuthError, match="source secret team app_token"):
        secrets.resolve("keyring:", source="team", setting="app_token")


def test_a_machine_without_a_keyring_is_told_the_other_forms(drawer: Drawer) -> None:
    keyring.set_keyring(keyring.backends.fail.Keyring())  # type: ignore[no-untyped-call]
    for said in (refused("keyring:"), refused("keyring:Mail/robin")):
        assert "no keyring" in said
        assert "env:" in said
        assert "command:" in said


def test_a_keyring_that_fails_is_not_quoted(drawer: Drawer) -> None:
    drawer.raises = keyring.errors.KeyringLocked("locked over " + SECRET)
    assert "locked" in refused("keyring:")
    drawer.raises = RuntimeError("D-Bus said " + SECRET)
    assert SECRET not in refused("keyring:")


def test_a_variable_is_read_when_it_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAIL_PASSWORD", SECRET)
    assert resolve("env:MAIL_PASSWORD") == SECRET
    monkeypatch.delenv("MAIL_PASSWORD")
    assert "$MAIL_PASSWORD, which is not set" in refused("env:MAIL_PASSWORD")
    monkeypatch.setenv("MAIL_PASSWORD", "")
    assert "is empty" in refused("env:MAIL_PASSWORD")
    assert "must name a variable" in refused("env:not a name")


def test_a_commands_first_line_is_the_secret_and_no_shell_runs_it() -> None:
    script = f"print({SECRET!r}); print('a second line')"
    assert resolve(f'command:{sys.executable} -c "{_quoted(script)}"') == SECRET
    assert resolve("command:echo a; echo $HOME") == "a; echo $HOME"


def test_a_command_that_fails_tells_neither_its_arguments_nor_what_it_printed() -> None:
    script = f"import sys; print({SECRET!r}); sys.exit({SECRET!r})"
    said = refused(f'command:{sys.executable} -c "{_quoted(script)}"')
    assert "exit code 1" in said
    assert SECRET not in said
    assert "sys.exit" not in said
    assert "cannot be started: no-such-program" in refused("command:no-such-program --with x")
    assert "is not a command line" in refused('command:pass "show')
    assert "is not a command line" in refused("command:")
    assert "is empty" in refused("command:true")


def test_a_command_that_hangs_is_ended_though_its_child_keeps_the_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "COMMAND_TIMEOUT", 0.3)
    assert "did not answer" in refused("command:sh -c 'sleep 3 & wait'")


def test_a_secret_in_the_clear_is_refused_and_not_repeated() -> None:
    said = refused("tr0ub4dor")
    assert "tr0ub4dor" not in said
    assert "source secret work" in said


@pytest.mark.parametrize(
    "told",
    [
        f"LOGIN failed for {SECRET}",
        repr({"password": SECRET}),
        repr(SECRET.encode()),
        'LOGIN robin "' + SECRET.replace("\\", "\\\\").replace('"', '\\"') + '"',
        "https://example.com/?token=" + quote(SECRET, safe=""),
        "AUTHENTICATE PLAIN " + base64.b64encode(b"\0robin\0" + SECRET.encode()).decode(),
        "AUTHENTICATE PLAIN " + base64.b64encode(b"\0robyn.\0" + SECRET.encode()).decode(),
        "XOAUTH2 " + base64.b64encode(b"user=r\x01auth=Bearer " + SECRET.encode() + b"\x01\x01").decode(),
    ],
)
def test_what_a_library_repeats_of_a_secret_is_hidden(told: str) -> None:
    shown = secrets.scrubbed(ValueError(told), SECRET, "")
    assert "***" in shown
    assert "tr0ub4dor" not in shown
    for size in (4,):
        for start in range(len(SECRET) - size):
            piece = SECRET[start : start + size].encode()
            for before in range(3):
                coded = base64.b64encode(b"\0" * before + piece).decode()
                assert coded[(0, 2, 3)[before] : 8 * (before + len(piece)) // 6] not in shown


def _quoted(script: str) -> str:
    return script.replace("\\", "\\\\").replace('"', '\\"')
