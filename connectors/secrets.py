"""Where a secret of a source really is: a keyring, the environment, a command's output. Knows no source and no protocol.

Settings hold only the spec (`keyring:`, `env:NAME`, `command:…`), which is safe to show. `resolve` turns it into the
secret at the moment of connecting, and remembers it for one purpose: to hide it in what this process says. A message never holds a secret, nor a command's arguments,
which may hold one: only the program's name and the variable's name are told.
"""

from __future__ import annotations

import base64
import os
import re
import shlex
import subprocess
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

from ctxsync.errors import AuthError

if TYPE_CHECKING:
    from types import ModuleType

FORMS = ("keyring:", "env:", "command:")
"""How a spec may begin."""
SERVICE = "ctxsync"
"""The keyring service under which ctxsync keeps the secrets of its sources; the user is `SOURCE/SETTING`."""
COMMAND_TIMEOUT = 30.0
"""Seconds a command gets: long enough for a password manager to be unlocked by hand, short enough for a pass to go on."""
HIDDEN = "***"
"""What stands in a message where a secret stood."""
_RESOLVED: set[str] = set()


def resolve(spec: str, *, source: str, setting: str) -> str:
    """Return the secret that a spec names.

    Args:
        spec: `keyring:` (service `ctxsync`, user `SOURCE/SETTING`), `keyring:SERVICE/USER`, `env:NAME`, or `command:` and
            a command line (split as a shell would, run without one; the first line of its output counts).
        source: The source's name, for the keyring and for messages.
        setting: The setting's name: `password`, `token` …

    Raises:
        AuthError: There is no such secret, it is empty, or the spec has none of these forms; the remedy says how to
            store one.
    """
    form, _, rest = spec.partition(":")
    if form == "keyring":
        secret = _from_keyring(spec, source, setting)
    elif form == "env":
        secret = _from_environment(rest.strip(), source, setting)
    elif form == "command":
        secret = _from_command(rest, source, setting)
    else:
        raise AuthError(
            f'"{setting}" of the source "{source}" does not say where the secret is.',
            remedy=f'Write {setting} = "keyring:" in config.toml and run `{storing(source, setting)}`.',
        )
    if not secret:
        raise AuthError(f'The {setting} of the source "{source}" is empty.', remedy=_remedy(source, setting))
    _RESOLVED.add(secret)
    return secret


def store(secret: str, *, source: str, setting: str, spec: str = "keyring:") -> None:
    """Put a source's secret into the keyring, where its spec finds it.

    Raises:
        AuthError: There is no keyring, or it refuses; the remedy names the other forms.
    """
    _ask("set_password", *_entry(spec, source, setting), secret, source=source, setting=setting)


def stored(*, source: str, setting: str, spec: str = "keyring:") -> bool:
    """Say whether the keyring has a source's secret; raises `AuthError` where there is no keyring."""
    return _ask("get_password", *_entry(spec, source, setting), source=source, setting=setting) is not None


def forget(*, source: str, setting: str) -> bool:
    """Take from the keyring what `store` put there under the bare spec; return whether something was there."""
    try:
        if not stored(source=source, setting=setting):
            return False
        _ask("delete_password", SERVICE, f"{source}/{setting}", source=source, setting=setting)
    except AuthError:
        return False
    return True


def storing(source: str, setting: str) -> str:
    """Return the command that asks for a source's secret and stores it, for messages."""
    return f"ctxsync source secret {source}" + ("" if setting in {"password", "token"} else f" {setting}")


def scrubbed(text: object, *secrets: str) -> str:
    """Return a text with each secret hidden, in every spelling in which a library may repeat it.

    Args:
        text: An exception or a message of a library or a server; its `str` is taken.
        secrets: What must not be told; empty ones are ignored.

    Returns:
        The text with `***` for each secret: as it is, escaped as in a repr, percent-encoded, and inside base64 at any
        alignment (as AUTHENTICATE PLAIN and XOAUTH2 send it). Raise what is made of it `from None`: a chained
        exception would tell the rest.
    """
    told = str(text)
    spellings = {spelling for secret in secrets if secret for spelling in _spellings(secret)}
    for spelling in sorted(spellings, key=len, reverse=True):
        told = told.replace(spelling, HIDDEN)
    return told


def resolved_spellings() -> frozenset[str]:
    """Return every secret that this process resolved, in every spelling that `scrubbed` knows; never to be shown."""
    return frozenset(spelling for secret in tuple(_RESOLVED) for spelling in _spellings(secret))


def without_secrets(text: object) -> str:
    """Return a text with every secret hidden that this process resolved: the last door before a log or a screen."""
    return scrubbed(text, *_RESOLVED)


def _spellings(secret: str) -> set[str]:
    raw = secret.encode("utf-8", "surrogatepass")
    escaped = repr(secret)[1:-1]
    found = {secret, escaped, repr(raw)[2:-1], escaped.replace("\\", "\\\\"), secret.replace("\\", "\\\\")}
    found |= {secret.replace('"', '\\"'), secret.replace("\\", "\\\\").replace('"', '\\"')}  # an IMAP quoted string
    found |= {quote(raw, safe=""), quote(raw), quote_plus(raw)}
    if len(raw) >= 4:  # fewer bytes determine too few base64 characters to be told from other text
        for before in range(3):
            first, end = (0, 2, 3)[before], 8 * (before + len(raw)) // 6  # characters that the secret alone determines
            whole = base64.b64encode(b"\0" * before + raw)[first:end]
            if len(whole) >= 4:
                found |= {whole.decode(), whole.translate(bytes.maketrans(b"+/", b"-_")).decode()}
    return found


def _from_keyring(spec: str, source: str, setting: str) -> str:
    service, user = _entry(spec, source, setting)
    secret = _ask("get_password", service, user, source=source, setting=setting)
    if secret is None:
        where = f"in the keyring (service {service}, user {user})"
        raise AuthError(f'The {setting} of the source "{source}" is not {where}.', remedy=_remedy(source, setting))
    return secret


def _entry(spec: str, source: str, setting: str) -> tuple[str, str]:
    """Return service and user of a `keyring:` spec."""
    name = spec.removeprefix("keyring:").strip()
    if not name:
        return SERVICE, f"{source}/{setting}"
    service, _, user = name.rpartition("/")
    if not (service and user):
        raise AuthError(
            f'"{setting}" of the source "{source}" must be keyring: or keyring:SERVICE/USER.',
            remedy="Correct it: `ctxsync config edit`.",
        )
    return service, user


def _ask(act: str, *arguments: str, source: str, setting: str) -> str | None:
    """Call the keyring library; whatever a back-end raises is one error here, without what it says."""
    keyring = _keyring(source, setting)
    errors = keyring.errors
    try:
        answer: str | None = getattr(keyring, act)(*arguments)
    except errors.NoKeyringError:
        raise _no_keyring(source, setting) from None
    except errors.KeyringLocked:
        raise AuthError("The keyring is locked.", remedy="Unlock it, then run the command again.") from None
    except Exception as error:  # noqa: BLE001 - back-ends are plug-ins over D-Bus and the like, and raise what they please
        raise AuthError(
            f"The keyring cannot be used ({type(error).__name__}).",
            remedy=f'Try `keyring diagnose`, or write {setting} = "env:NAME" or "command:…" in config.toml.',
        ) from None
    return answer


def _keyring(source: str, setting: str) -> ModuleType:
    try:
        import keyring
        import keyring.errors
    except ImportError:
        raise _no_keyring(source, setting) from None
    return keyring


def _no_keyring(source: str, setting: str) -> AuthError:
    return AuthError(
        f'This machine has no keyring for the {setting} of the source "{source}".',
        remedy=f'Write {setting} = "env:NAME" or {setting} = "command:pass show NAME" in config.toml, or install a keyring '
        "(a desktop has one; without a desktop, the package keyrings.alt keeps a file).",
    )


def _from_environment(name: str, source: str, setting: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise AuthError(
            f'"{setting}" of the source "{source}" must name a variable, as env:MAIL_PASSWORD.',
            remedy="Correct it: `ctxsync config edit`.",
        )
    secret = os.environ.get(name)
    if secret is None:
        raise AuthError(
            f'The {setting} of the source "{source}" is to come from ${name}, which is not set.',
            remedy=f"Set {name} where ctxsync starts, or keep it in the keyring: `{storing(source, setting)}`.",
        )
    return secret


def _from_command(line: str, source: str, setting: str) -> str:
    whose = f'The command for the {setting} of the source "{source}"'
    try:
        words = shlex.split(line)
    except ValueError:
        words = []
    if not words:
        raise AuthError(f"{whose} is not a command line.", remedy="Correct it: `ctxsync config edit`.")
    try:
        # stderr is dropped, not shown: a wrapper run with tracing on would print the secret there.
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError as error:
        raise AuthError(
            f"{whose} cannot be started: {words[0]}: {error.strerror}.", remedy="Correct it: `ctxsync config edit`."
        ) from None
    with process:
        try:
            output = process.communicate(timeout=COMMAND_TIMEOUT)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            if process.stdout:
                process.stdout.close()  # a child of the command may hold the other end: do not wait for it
            raise AuthError(
                f"{whose} ({words[0]}) did not answer in {COMMAND_TIMEOUT:.0f} s.",
                remedy="Run it in a terminal once, for example to unlock what it reads.",
            ) from None
    if process.returncode:
        raise AuthError(
            f"{whose} ({words[0]}) failed with exit code {process.returncode}.",
            remedy="Run it in a terminal to see why.",
        )
    return output.decode("utf-8", "replace").partition("\n")[0].rstrip("\r")


def _remedy(source: str, setting: str) -> str:
    return f'Run `{storing(source, setting)}`, or write {setting} = "env:NAME" or "command:…" in config.toml.'
