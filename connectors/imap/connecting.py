"""A connection to a mail server that is trusted and bounded, before anyone logs in; knows no command."""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING, Any

from ctxsync.connectors.imap import problems

if TYPE_CHECKING:
    from imapclient import IMAPClient

    from ctxsync.connectors.imap.account import Account

MAX_LINE = 16_000_000  # bytes; imaplib's own limit of one million is reached by 150,000 UIDs on a line
SLACK = 1_000_000  # bytes that a literal may be longer than what was asked for


def connected(account: Account, *, connect: float, read: float) -> IMAPClient:
    """Return a connection on which the server has said its greeting, TLS included where it begins with that.

    Args:
        account: Where to.
        connect: Seconds to wait for it.
        read: Seconds to wait for the next bytes of an answer, later.

    Raises:
        Unavailable: There is no such server, or it cannot be trusted.
    """
    import imapclient

    context = trusting(account) if account.tls == "tls" else None
    try:
        client = imapclient.IMAPClient(
            account.host,
            account.port,
            ssl=account.tls == "tls",
            ssl_context=context,
            timeout=imapclient.SocketTimeout(connect, read),
        )
    except (OSError, imapclient.IMAPClient.Error) as error:
        raise problems.connecting(error, account, connect) from None
    client.normalise_times = False
    # imapclient sends a command's end by itself; without this it waits for the server's delayed acknowledgement.
    client.socket().setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    _bound(client, account)
    return client


def trusting(account: Account) -> ssl.SSLContext:
    """Return what checks a server's certificate and name: by the system's authorities, or those of `tls_ca` alone.

    Raises:
        Unavailable: That file cannot be read, or holds no certificate.
    """
    try:
        context = ssl.create_default_context(cafile=account.tls_ca or None)
    except OSError as error:
        raise problems.trusting(error, account) from None
    if account.tls_ca:
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # a server's own certificate may be named as it is
    return context


def _bound(client: IMAPClient, account: Account) -> None:
    """Cap what one answer may make this process hold, and stop imaplib from spelling every answer out for a log."""
    imap: Any = client._imap  # noqa: SLF001 - imapclient has no other way to imaplib
    imap.debug = 0
    longest = account.max_body + SLACK

    def read(size: int) -> bytes:
        if size > longest:
            raise imap.abort(f"a literal of {size} bytes was announced where {longest} at most were asked for")
        return bytes(imap.file.read(size))

    def readline() -> bytes:
        line = bytes(imap.file.readline(MAX_LINE + 1))
        if len(line) > MAX_LINE:
            raise imap.abort(f"a line is longer than {MAX_LINE} bytes")
        return line

    imap.read, imap.readline = read, readline
