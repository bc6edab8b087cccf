"""Sends one request over HTTP and returns one answer of bounded size; knows no provider, no text and no secret.

The only module under the door that imports an HTTP library. It follows no redirect, keeps no cookie, and checks
certificates. To this machine it goes directly; to others through the proxy that HTTPS_PROXY, ALL_PROXY and NO_PROXY name,
which sees an encrypted connection.
"""

from __future__ import annotations

import os
import ssl
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx

from ctxsync.errors import BadReply, ProviderDown, ProviderRefused

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_BYTES = 16 * 1024 * 1024
"""Bytes of an answer, unpacked: a model's longest answer has less than one million."""
CONNECT_TIMEOUT = 10.0
"""Seconds to wait for a connection, however long an answer may take."""
_WHAT = {
    httpx.ConnectTimeout: "cannot be reached in time",
    httpx.PoolTimeout: "cannot be reached in time",
    httpx.ReadTimeout: "does not answer in time",
    httpx.WriteTimeout: "does not take the request in time",
    httpx.ProxyError: "cannot be reached through the proxy",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back.

    Args:
        status: HTTP status.
        headers: Names in lower case.
        content: The body, unpacked.
        ms: From sending to the last byte.
    """

    status: int
    headers: Mapping[str, str]
    content: bytes
    ms: float


class Transport:
    """Keeps connections open between requests; may be used from several threads."""

    def __init__(self) -> None:
        self._clients: dict[bool, httpx.Client] = {}
        self._guard = threading.Lock()

    def request(  # noqa: D417 - the rest is HTTP
        self,
        method: str,
        url: str,
        *,
        host: str,
        local: bool,
        timeout: float,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
    ) -> Answer:
        """Send a request.

        Args:
            host: Where it is meant to go; a URL that leads elsewhere is refused, however it is spelled.
            local: Whether that is this machine.
            timeout: Seconds for each pause, and for the whole answer once it has begun.

        Raises:
            ProviderDown: It cannot be reached, breaks off before it answers, or takes too long.
            BadReply: The answer breaks off, cannot be unpacked, or is longer than `MAX_BYTES`.
            ProviderRefused: The URL leads elsewhere.
        """
        try:
            if httpx.URL(url).host != host:
                raise ProviderRefused(f"{url} is not a URL on {host}.", remedy="Correct it: `ctxsync config edit`.")
            waits = httpx.Timeout(timeout, connect=min(timeout, CONNECT_TIMEOUT))
            begun = time.monotonic()
            client = self._client(host, local=local)
            with client.stream(method, url, headers=headers, content=content, timeout=waits) as response:
                body = _body(response, host, until=time.monotonic() + timeout)
            lowered = {name.lower(): value for name, value in response.headers.items()}
            return Answer(response.status_code, lowered, body, 1000 * (time.monotonic() - begun))
        except httpx.DecodingError:
            raise BadReply(f"The answer of {host} cannot be unpacked.") from None
        except httpx.InvalidURL:
            raise ProviderRefused(f"{url} is not a URL.", remedy="Correct it: `ctxsync config edit`.") from None
        except httpx.TransportError as error:
            what = _WHAT.get(type(error), "cannot be reached, or breaks off")
            raise ProviderDown(f"{host} {what} ({_reason(error)}).") from None

    def close(self) -> None:
        """Close all connections."""
        with self._guard:
            for client in self._clients.values():
                client.close()
            self._clients.clear()

    def _client(self, host: str, *, local: bool) -> httpx.Client:
        with self._guard:
            if local not in self._clients:
                # trust_env is what reads the proxies' variables; nothing of the environment matters on this machine.
                self._clients[local] = opened(
                    host,
                    trust_env=not local,
                    verify=_trusted(),
                    follow_redirects=False,
                    headers={"User-Agent": "ctxsync", "Accept": "application/json"},
                )
            return self._clients[local]


def opened(host: str, **options: Any) -> httpx.Client:
    """Return a client for a host; raises `ProviderDown` where the environment names a proxy that cannot be used."""
    try:
        return httpx.Client(**options)
    except (ImportError, ValueError, httpx.InvalidURL) as error:
        # SOCKS without its library, or what is no proxy; the error is not told, for it may hold a password.
        raise ProviderDown(
            f"{host} cannot be reached: the proxy for it is none that can be used ({type(error).__name__}).",
            remedy="Set HTTPS_PROXY and ALL_PROXY to http://HOST:PORT, or to nothing.",
        ) from None


def _body(response: httpx.Response, host: str, *, until: float) -> bytes:
    parts, size = [], 0
    try:
        for part in response.iter_bytes():
            size += len(part)
            parts.append(part)
            if size > MAX_BYTES:
                raise BadReply(f"The answer of {host} is longer than {MAX_BYTES // 1024 // 1024} MiB.")
            if time.monotonic() > until:
                raise ProviderDown(f"{host} does not come to an end in time.")
    except (httpx.RemoteProtocolError, httpx.ReadError):
        raise BadReply(f"The answer of {host} is cut off.") from None
    return b"".join(parts)


def _trusted() -> ssl.SSLContext:
    """Return who is trusted: what SSL_CERT_FILE or SSL_CERT_DIR name, else the system's authorities and Mozilla's."""
    context = ssl.create_default_context()
    if not (os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR")):
        import certifi

        context.load_verify_locations(certifi.where())
    return context


def _reason(error: httpx.TransportError) -> str:
    """Return a reason in few words; what a library says of a failed connection holds an address at most."""
    words = str(error).partition("\n")[0][:120]
    return words or type(error).__name__
