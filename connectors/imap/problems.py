"""What goes wrong with a mail server, as an error for a person with the next step; opens no connection.

`Unavailable` is raised for what may be over by the next pass, `AuthError` for what needs the person. Nothing here holds
a secret: what the server says is shown on one line, cut, and with every spelling of the secret taken out.
"""

from __future__ import annotations

import errno
import re
import socket
import ssl
from typing import TYPE_CHECKING

from ctxsync.connectors.secrets import scrubbed, storing
from ctxsync.errors import AuthError, RateLimited, SourceError, Unavailable

if TYPE_CHECKING:
    from ctxsync.connectors.imap.account import Account

LONGEST = 200  # characters of a server's words that are shown
BUSY_WAIT = 300.0  # seconds: servers that count connections forget them within minutes
_TRY_LATER = re.compile(r"\[(UNAVAILABLE|INUSE|SERVERBUG|CONTACTADMIN)\]", re.IGNORECASE)  # RFC 5530
_BUSY = re.compile(
    r"\[(LIMIT|THROTTLED|OVERQUOTA)\]|too many (simultaneous )?(connections|logins)|exceeded .*limits", re.IGNORECASE
)
_HOSTNAME_MISMATCH, _EXPIRED, _NOT_YET_VALID = (62, 64), 10, 9  # OpenSSL's X509_V_ERR_*: name, IP address
_UNTRUSTED = (18, 19, 20, 21)


_BYTES = re.compile(r"""^b(['"])(.*)\1$""")  # imapclient tells a refusal as Python writes bytes


class Dropped(Unavailable):
    """The connection is gone or no longer makes sense, after it had worked: a new one may do."""


class Refused(SourceError):
    """The server said NO to one command; the connection is fine. `message` is its words."""


def said(text: object, *secrets: str) -> str:
    """Return a server's words on one line, cut, without secrets and control characters."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    words = " ".join(scrubbed(text, *secrets).split())
    words = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in words)
    return words if len(words) <= LONGEST else words[:LONGEST] + "…"


def connecting(error: Exception, account: Account, seconds: float) -> SourceError:
    """Return why no connection could be made."""
    at, again = account.address, f"then run `ctxsync sync {account.source}`."
    if isinstance(error, ssl.SSLCertVerificationError):
        return _certificate(error, account)
    if isinstance(error, ssl.SSLError):
        other = "starttls" if account.tls == "tls" else "tls"
        return Unavailable(
            f"The server {at} does not speak TLS as asked: {said(error.reason or error)}.",
            remedy=f'Check `port`, or use tls = "{other}" for the source {account.source} in config.toml, {again}',
        )
    if isinstance(error, socket.gaierror):
        return Unavailable(
            f"The server {account.host} is not known.",
            remedy=f"Check the network and `host` of the source {account.source} in config.toml, {again}",
        )
    if isinstance(error, ConnectionRefusedError):
        return Unavailable(
            f"The server {at} refuses connections.",
            remedy=f"Check `host` and `port` of the source {account.source} in config.toml, {again}",
        )
    if isinstance(error, TimeoutError):
        return Unavailable(
            f"The server {at} did not answer within {seconds:.0f} seconds.",
            remedy=f"Check the network, and `host`, `port` and `tls` of the source {account.source}, {again}",
        )
    if isinstance(error, OSError) and error.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH):
        return Unavailable(
            f"There is no way to the server {at}: {error.strerror}.", remedy=f"Check the network, {again}"
        )
    return Unavailable(
        f"The server {at} cannot be used: {said(error) or type(error).__name__}.", remedy=_retry(account)
    )


def trusting(error: OSError, account: Account) -> Unavailable:
    """Return why the file of certificates is of no use."""
    why = "it holds none" if isinstance(error, ssl.SSLError) else error.strerror
    return Unavailable(
        f"The certificates in {account.tls_ca} cannot be read: {why}.",
        remedy=f"Correct `tls_ca` of the source {account.source} in config.toml, "
        f"then run `ctxsync sync {account.source}`.",
    )


def _certificate(error: ssl.SSLCertVerificationError, account: Account) -> SourceError:
    again = f"then run `ctxsync sync {account.source}`."
    own = f"name the file of its certificate in `tls_ca` of the source {account.source}, {again}"
    if error.verify_code in _HOSTNAME_MISMATCH:
        return Unavailable(
            f"The certificate of {account.address} is for another name than {account.host}.",
            remedy=f"Set `host` of the source {account.source} to the name that the certificate has, {again}",
        )
    if error.verify_code in (_EXPIRED, _NOT_YET_VALID):
        return Unavailable(
            f"The certificate of {account.address} is not valid at this time.",
            remedy=f"Check this machine's clock, and ask whoever runs the server to renew it, {again}",
        )
    if error.verify_code in _UNTRUSTED:
        why = "by none of the certificates in `tls_ca`" if account.tls_ca else "by no authority this machine trusts"
        return Unavailable(
            f"The certificate of {account.address} is signed {why}.", remedy=f"If the server is yours, {own}"
        )
    return Unavailable(
        f"The certificate of {account.address} is refused: {said(error.verify_message)}.",
        remedy=f"If the server is yours, {own}",
    )


def logging_in(words: str, account: Account, *, tokens: bool = True) -> SourceError:
    """Return why the server let nobody in.

    Args:
        words: Its own, already safe to show.
        account: Who.
        tokens: Whether it says that it takes access tokens.
    """
    words = _BYTES.sub(r"\2", words)
    where = f"{account.address} as {account.user}"
    if _BUSY.search(words):
        return RateLimited(
            f"The server {account.address} lets no more connections in for now: {words}",
            retry_after=BUSY_WAIT,
            remedy="Close other mail programs, or wait: the next pass tries again.",
        )
    if _TRY_LATER.search(words):
        return Unavailable(f"The server {account.address} cannot log anyone in now: {words}", remedy=_retry(account))
    if account.oauth_token and not tokens:
        return AuthError(
            f"The server {account.address} takes no access tokens (XOAUTH2): {words}",
            remedy=f"Use `password` instead of `oauth_token` for the source {account.source} in config.toml, "
            f"then run `ctxsync sync {account.source}`.",
        )
    if account.oauth_token:
        return AuthError(
            f"The login at {where} was refused: the access token has expired or was revoked ({words}).",
            remedy="Get a new token and store it where `oauth_token` says, or use `command:` with a program that "
            f"renews it; then run `ctxsync sync {account.source}`.",
        )
    return AuthError(
        f"The login at {where} was refused: wrong user or password ({words}).",
        remedy="Store the right password where `password` says (for the keyring: "
        f"`{storing(account.source, 'password')}`; providers with two factors want an app password), then run "
        f"`ctxsync sync {account.source}`.",
    )


def talking(error: Exception, account: Account, secret: str, seconds: float) -> SourceError:
    """Return what ended a connection that had worked."""
    at, words = account.address, said(error, secret)
    if isinstance(error, TimeoutError) or "timed out" in words:
        return Dropped(f"The server {at} fell silent for {seconds:.0f} seconds.", remedy=_retry(account))
    if isinstance(error, ConnectionError) or "EOF" in words or "socket error" in words:
        return Dropped(f"The server {at} closed the connection in the middle of an answer.", remedy=_retry(account))
    if isinstance(error, OSError):
        return Dropped(f"The connection to {at} broke: {words}.", remedy=_retry(account))
    return Dropped(f"The server {at} gives answers that are not IMAP: {words}.", remedy=_retry(account))


def goodbye(words: str, account: Account) -> Dropped:
    """Return that the server hung up with BYE and why, in its own words."""
    return Dropped(f"The server {account.address} hung up: {words}", remedy=_retry(account))


def _retry(account: Account) -> str:
    return f"Nothing is lost: run `ctxsync sync {account.source}` later."
