"""The one way for text to leave this machine; knows providers, settings and the ledger, and nothing of what a text means.

To this machine's own servers everything goes as it is, and nothing is written down. To any other: only if the settings and
the source allow it, over TLS, without secrets, with pseudonyms, within budgets, and with a row in the ledger that is on the
disk before the first byte leaves.
"""

from __future__ import annotations

import hashlib
import json
import time
from typing import TYPE_CHECKING, Any

from ctxsync.connectors.secrets import resolved_spellings
from ctxsync.engine.door import answers
from ctxsync.engine.door.ledger import Intent, Ledger, Outcome
from ctxsync.engine.door.provider import Call, Provider, Reply
from ctxsync.engine.door.redaction import Redacted, encoded, redacted
from ctxsync.errors import (
    BadReply,
    CtxsyncError,
    DoorClosed,
    ProviderDown,
    ProviderError,
    ProviderLimited,
    ProviderRefused,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Self

    from ctxsync.engine.door.transport import Answer, Transport
    from ctxsync.engine.privacy.scrub import Scrubber

DEFAULT_OUT = 1_024
"""Tokens that an answer is taken to have at most, where the request does not say."""
_STATUS = {ProviderLimited: "limited", ProviderDown: "down", BadReply: "bad"}
_CHANGE = "`ctxsync config edit`"


class Door:
    """Sends texts to models; one for a process. It may be used from several threads.

    Args:
        allow_cloud: `[privacy] allow_cloud`: whether anything may go to another machine at all.
        scrub: `[privacy] pii_scrubbing`: whether personal data gets pseudonyms there. Secrets never leave.
        ledger: Where calls to other machines are written down.
        scrubber: Returns what finds personal data; called for the first call that needs it. A plain one if not given.
        clock: Returns seconds since 1970.
        transport: Sends; one of the door's own if not given.
    """

    def __init__(
        self,
        *,
        allow_cloud: bool,
        scrub: bool,
        ledger: Ledger,
        scrubber: Callable[[], Scrubber] | None = None,
        clock: Callable[[], float] = time.time,
        transport: Transport | None = None,
    ) -> None:
        self._allow_cloud = allow_cloud
        self._scrub = scrub
        self._ledger = ledger
        self._make_scrubber = scrubber
        self._scrubber: Scrubber | None = None
        self._clock = clock
        self._transport = transport
        self._gone: set[tuple[str, str]] = set()
        self._keys: dict[tuple[str, str], str] = {}

    def send(self, provider: Provider, call: Call) -> Reply:
        """Return the answer to a call.

        Raises:
            DoorClosed: The settings do not let this text leave, or what must be taken out of it cannot be found.
            ProviderLimited: A rate limit of the provider, or our own budget; nothing may be sent before `retry_after`.
            ProviderDown: It cannot be reached, does not answer in time, fails, or is left alone because it failed.
            ProviderRefused: It refuses the key or the request, or has none of the models.
            BadReply: The answer is not JSON, is empty, is cut off, or is too long.
            StoreError: The ledger cannot be written; nothing was sent.
        """
        self.check(provider, call)
        key = self._key(provider)
        if provider.local:
            prepared = Redacted(dict(call.body), (), None)
        else:
            known = resolved_spellings() | ({key} if key else set())
            prepared = redacted(call, known=known, scrubber=self._the_scrubber() if self._scrub else None)
        refused: ProviderError | None = None
        for model in self._models(provider):
            try:
                if provider.local:
                    return self._ask(provider, call, prepared, model, key)
                return self._ask_and_note(provider, call, prepared, model, key)
            except answers.ModelGoneError as error:
                self._gone.add((provider.url, model))
                refused = error
        raise refused or ProviderRefused(
            f"{provider.name} has none of the models {', '.join((provider.model, *provider.successors))} any more.",
            remedy=f"Name another under [{provider.name}]: {_CHANGE}.",
        )

    def get(self, provider: Provider, path: str) -> Any:
        """Return what a server on this machine answers to a GET, as decoded JSON: its models, its health.

        Raises:
            DoorClosed: It is not on this machine.
            ProviderError: As `send`.
        """
        if not provider.local:
            raise DoorClosed(f"{provider.name} ({provider.host}) is not on this machine; only calls go there.")
        answer = self._exchange("GET", provider, path, key=self._key(provider), content=None)
        if not 200 <= answer.status < 300:
            raise answers.refusal(provider, answer.status, answer, now=self._clock())
        try:
            return json.loads(answer.content)
        except (ValueError, RecursionError):
            raise BadReply(f"The answer of {provider.name} is not JSON.") from None

    def check(self, provider: Provider, call: Call | None = None) -> None:
        """Raise `DoorClosed` where the settings do not let a call leave; nothing is resolved and nothing is sent."""
        if provider.local:
            return
        where = f"{provider.name} ({provider.host or 'no host'})"
        if not self._allow_cloud:
            raise DoorClosed(
                f"Nothing is sent to {where}: text stays on this machine.",
                remedy=f"If it may leave, set allow_cloud = true under [privacy]: {_CHANGE}.",
            )
        if call is not None and not call.cloud_allowed:
            raise DoorClosed(
                f'Nothing is sent to {where}: the source "{call.source}" keeps its text on this machine.',
                remedy=f"If it may leave, set allow_cloud = true of that source: {_CHANGE}.",
            )
        if not (provider.host and provider.secure):
            raise DoorClosed(
                f"Nothing is sent to {where}: its url is not one of https.",
                remedy=f'Set url = "https://…" under [{provider.name}]: {_CHANGE}.',
            )

    def close(self) -> None:
        """Close connections and the ledger; the next call opens them again."""
        if self._transport is not None:
            self._transport.close()
        self._ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _models(self, provider: Provider) -> Iterator[str]:
        for model in dict.fromkeys((provider.model, *provider.successors)):
            if (provider.url, model) not in self._gone:
                yield model

    def _ask_and_note(self, provider: Provider, call: Call, prepared: Redacted, model: str, key: str) -> Reply:
        """Ask, with a row in the ledger before and its outcome after."""
        known = resolved_spellings() | ({key} if key else set())
        content = encoded({**prepared.body, "model": model}, known=known)
        into, out = _input_tokens(content), _output_tokens(prepared.body)
        intent = Intent(
            model=model,
            episode=call.episode,
            source=call.source,
            digest=hashlib.sha256(content).hexdigest(),
            bytes=len(content),
            tokens=into + out,
            cost=_cost(provider, into, out),
            flags=prepared.flags,
        )
        number = self._ledger.begin(provider, intent, now=self._clock())
        begun = time.monotonic()
        http = None
        try:
            answer = self._exchange("POST", provider, call.path, key=key, content=content)
            http = answer.status
            reply = self._reply(provider, prepared, model, content, answer)
        except ProviderError as error:
            # What was given up on may have been read, and be paid for.
            read = into if isinstance(error, BadReply | ProviderDown) else 0
            self._ledger.finish(
                number,
                provider,
                Outcome(
                    _STATUS.get(type(error), "refused"),
                    http=http,
                    tokens_in=read,
                    cost=_cost(provider, read, 0),
                    ms=1000 * (time.monotonic() - begun),
                    retry_after=error.retry_after if isinstance(error, ProviderLimited) else 0.0,
                ),
                now=self._clock(),
            )
            raise
        outcome = Outcome("ok", http, reply.tokens_in, reply.tokens_out, reply.cost_usd, reply.ms)
        self._ledger.finish(number, provider, outcome, now=self._clock())
        return reply

    def _ask(self, provider: Provider, call: Call, prepared: Redacted, model: str, key: str) -> Reply:
        content = encoded({**prepared.body, "model": model}, known=())
        answer = self._exchange("POST", provider, call.path, key=key, content=content)
        return self._reply(provider, prepared, model, content, answer)

    def _reply(self, provider: Provider, prepared: Redacted, model: str, content: bytes, answer: Answer) -> Reply:
        body = answers.checked(provider, answer, now=self._clock())
        counted = answers.tokens(body)
        into, out = counted or ((0, 0) if provider.local else (_input_tokens(content), len(answer.content) // 4))
        return Reply(
            status=answer.status,
            body=prepared.restored(body),
            model=model,
            tokens_in=into,
            tokens_out=out,
            cost_usd=_cost(provider, into, out),
            ms=answer.ms,
            flags=prepared.flags,
        )

    def _exchange(self, method: str, provider: Provider, path: str, *, key: str, content: bytes | None) -> Answer:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        if content is not None:
            headers["Content-Type"] = "application/json"
        if self._transport is None:
            from ctxsync.engine.door.transport import Transport

            self._transport = Transport()
        return self._transport.request(
            method,
            provider.at(path),
            host=provider.host,
            local=provider.local,
            timeout=provider.timeout,
            headers=headers,
            content=content,
        )

    def _key(self, provider: Provider) -> str:
        """Return the key, resolved once; empty where none is configured."""
        if provider.api_key is None:
            return ""
        # By the address as well: two tables of one name must not get each other's.
        holder = provider.name, provider.url
        if holder not in self._keys:
            try:
                key = provider.api_key().strip()
            except ProviderError:
                raise
            except CtxsyncError as error:
                raise ProviderRefused(error.message, remedy=error.remedy) from None
            if not (key.isascii() and key.isprintable()) or " " in key:
                raise ProviderRefused(f"The api_key of [{provider.name}] is not a key: it has spaces or other signs.")
            self._keys[holder] = key
        return self._keys[holder]

    def _the_scrubber(self) -> Scrubber:
        if self._scrubber is None:
            from ctxsync.engine.privacy.scrub import Scrubber

            self._scrubber = self._make_scrubber() if self._make_scrubber else Scrubber()
        return self._scrubber


def _cost(provider: Provider, into: int, out: int) -> float:
    return (into * provider.price_in + out * provider.price_out) / 1_000_000


def _input_tokens(content: bytes) -> int:
    """Return an estimate of the tokens of a body: English has about four bytes a token, and JSON fewer."""
    return len(content) // 4 + 1


def _output_tokens(body: dict[str, Any]) -> int:
    options = body.get("options")
    asked = [body.get("max_tokens"), body.get("max_completion_tokens")]
    asked.append(options.get("num_predict") if isinstance(options, dict) else None)
    return next((number for number in asked if isinstance(number, int) and number > 0), DEFAULT_OUT)
