"""A source's settings as one checked value; resolves no secret and opens no connection."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING

from ctxsync.connectors.since import since
from ctxsync.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from ctxsync.connectors.base import Json

PORTS = {"tls": 993, "starttls": 143, "none": 143}
MAX_BODY = 25_000_000


@dataclass(frozen=True, slots=True)
class Account:
    """Where the mail is and how to get in.

    Args:
        source: The source's name.
        host: Name or address of the server.
        port: Its port.
        tls: `tls` from the first byte, `starttls`, or `none` (loopback only).
        tls_ca: File of the certificates that are trusted instead of the system's; empty for the system's.
        user: Login name.
        password: Spec of the password.
        oauth_token: Spec of an access token; used instead of a password where it is given.
        folders: Patterns of the folders to read; empty means all but spam, trash and the like.
        exclude: Patterns of folders to leave out.
        since: Mail received before this day is not read.
        max_body: Bytes of a message that are fetched.
    """

    source: str
    host: str
    port: int
    tls: str
    tls_ca: str
    user: str
    password: str
    oauth_token: str
    folders: tuple[str, ...]
    exclude: tuple[str, ...]
    since: date | None
    max_body: int

    @property
    def address(self) -> str:
        """The server for people."""
        return f"{self.host}:{self.port}"


def account(source: str, settings: Mapping[str, Json]) -> Account:
    """Return a source's table of config.toml, checked.

    Raises:
        ConfigError: Something is missing or means nothing; `tls = "none"` for a host that is not this machine.
    """
    remedy = f"Correct the source {source} in config.toml."

    def text(key: str, default: str = "") -> str:
        value = settings.get(key)
        if value is None:
            return default
        if not isinstance(value, str):
            raise ConfigError(f"`{key}` of the source {source} must be a text.", remedy=remedy)
        return value

    def texts(key: str) -> tuple[str, ...]:
        value = settings.get(key)
        lines = [value] if isinstance(value, str) else value or []
        if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
            raise ConfigError(f"`{key}` of the source {source} must be a list of folder names.", remedy=remedy)
        return tuple(str(line) for line in lines if str(line).strip())

    def number(key: str, default: int) -> int:
        value = settings.get(key)
        if value is None:
            return default
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise ConfigError(f"`{key}` of the source {source} must be a number.", remedy=remedy)
        return value

    host, user = text("host").strip(), text("user").strip()
    if not host or not user:
        missing = "host" if not host else "user"
        raise ConfigError(f"The source {source} has no `{missing}`.", remedy=f"Give `{missing} = …` in config.toml.")
    if re.search(r"[\x00-\x20\x7f]", host) or re.search(r"[\x00-\x1f\x7f]", user):
        raise ConfigError(f"`host` or `user` of the source {source} holds a control character.", remedy=remedy)
    tls = text("tls", "tls")
    if tls not in PORTS:
        raise ConfigError(f'`tls` of the source {source} is "{tls}"; it is tls, starttls or none.', remedy=remedy)
    if tls == "none" and not _is_loopback(host):
        raise ConfigError(
            f'The source {source} would send its password to {host} in the clear (`tls = "none"`).',
            remedy='Use tls = "tls" or "starttls"; for a certificate of your own, name it in `tls_ca`.',
        )
    first = since(source, text("since"))
    return Account(
        source,
        host,
        number("port", 0) or PORTS[tls],
        tls,
        text("tls_ca"),
        user,
        text("password", "keyring:"),
        text("oauth_token"),
        texts("folders"),
        texts("exclude"),
        first.date() if first else None,
        number("max_body", 0) or MAX_BODY,
    )


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
