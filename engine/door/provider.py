"""What is asked, of whom, and what comes back; knows nothing of HTTP, of budgets, and of what a text says.

Whether a provider is this machine is decided by its URL alone, never by what a name resolves to.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ctxsync.connectors.base import Json


@dataclass(frozen=True, slots=True)
class Provider:
    """A server with a model.

    Args:
        name: What settings and messages call it: `ollama`, `local`, `cerebras` …
        url: Its base: `http://127.0.0.1:11434`, `https://api.cerebras.ai/v1`.
        model: The model to ask.
        successors: Models to ask in turn once the provider says that one is gone.
        api_key: Returns the key; called when a call first needs it, and never for a call that is not made.
        tier: 2 for this machine's, 3 and 4 for others.
        requests_per_minute: At most so many; 0 for no limit.
        tokens_per_day: At most so many in and out, in a UTC day; 0 for no limit.
        price_in: US dollars for a million tokens that are sent.
        price_out: US dollars for a million tokens that come back.
        timeout: Seconds for a connection, for a pause in an answer, and for the whole answer once it has begun.
    """

    name: str
    url: str
    model: str
    successors: tuple[str, ...] = ()
    api_key: Callable[[], str] | None = None
    tier: int = 3
    requests_per_minute: int = 30
    tokens_per_day: int = 1_000_000
    price_in: float = 0.0
    price_out: float = 0.0
    timeout: float = 60.0

    @property
    def host(self) -> str:
        """The host that the URL names, in lower case; empty for what is no URL, or hides its host behind a user name."""
        parts = _split(self.url)
        return (parts.hostname or "").lower() if parts else ""

    @property
    def secure(self) -> bool:
        """Whether it is spoken to with TLS."""
        parts = _split(self.url)
        return parts is not None and parts.scheme == "https"

    @property
    def local(self) -> bool:
        """Whether it is this machine: a literal of 127.0.0.0/8, `::1`, or `localhost`; no other name, whatever it resolves to."""
        return is_loopback(self.host)

    def at(self, path: str) -> str:
        """Return the URL of a path. A base that has a path is the API's root: `/v1` before the path is then left out."""
        parts = _split(self.url)
        if parts is None or not parts.hostname:
            return ""
        base = parts.path.rstrip("/")
        if base and path.startswith("/v1/"):
            path = path.removeprefix("/v1")
        return f"{parts.scheme}://{parts.netloc}{base}{path}"


@dataclass(frozen=True, slots=True)
class Call:
    """One request.

    Args:
        path: `/v1/chat/completions`, `/api/chat`.
        body: JSON. The door puts the model's name in. Texts stand in `messages[*].content`; strings elsewhere (a
            schema, a grammar) are not searched for names, but a name found in a text is replaced there too.
        episode: For the ledger.
        source: For the ledger.
        cloud_allowed: The source's own `allow_cloud`.
        shipped: The beginning of a content that ships with ctxsync (rules, examples) and holds nobody's data: no names
            are looked for in it, so that it leaves byte for byte. Nothing that came from a source may stand in it.
        people: Names of persons that are already known to stand in the texts, for instance what a lower tier found:
            they get pseudonyms whether or not they are recognised again.
    """

    path: str
    body: Mapping[str, Json]
    episode: str = ""
    source: str = ""
    cloud_allowed: bool = True
    shipped: str = ""
    people: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer.

    Args:
        status: 200 to 299.
        body: Decoded JSON, a mapping; real names stand in it again.
        model: The model that answered, which may be a successor.
        tokens_in: As the provider counted; 0 where it does not say.
        tokens_out: Likewise.
        cost_usd: By the configured prices.
        ms: From sending to the last byte.
        flags: What was kept back, as `secret:KIND`; empty when nothing was.
    """

    status: int
    body: Any
    model: str
    tokens_in: int
    tokens_out: int
    cost_usd: float
    ms: float
    flags: tuple[str, ...] = ()


def is_loopback(host: str) -> bool:
    """Say whether a host, as a URL spells it, is this machine; raises nothing."""
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return address in ipaddress.IPv4Network("127.0.0.0/8")
    return address == ipaddress.IPv6Address("::1")


def _split(url: str) -> SplitResult | None:
    """Return a URL's parts; None for what programs read differently: a user name, a backslash, white space, no HTTP."""
    if not url.isascii() or not url.isprintable() or any(sign in url for sign in "\\@ "):
        return None
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - it raises for what is no port
    except ValueError:
        return None
    return parts if parts.scheme in {"http", "https"} and not (parts.query or parts.fragment) else None
