"""Calls of Slack's Web API that succeed or raise one of our errors; knows no channel, message or cursor.

slack-sdk's `WebClient` sends and reads; its own retries are off, because they wait without being asked and never for
a 429. A message names the error code and what to do, never the token, and never the server's whole answer.
"""

from __future__ import annotations

import logging
import math
import re
import time
from dataclasses import dataclass
from http.client import HTTPException
from typing import TYPE_CHECKING, Any

from ctxsync.connectors.secrets import storing
from ctxsync.connectors.slack.budget import Budget, shared
from ctxsync.errors import AuthError, RateLimited, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from urllib.request import Request

    from slack_sdk import WebClient

API_URL = "https://slack.com/api/"
LONGEST_WAIT = 60.0
"""Seconds that are waited out for a rate limit; a longer `Retry-After` ends the pass of what needs that method."""
REFUSALS = 8
"""How often one call may be refused with a 429 before the pass leaves it."""
TRIES = 4
"""How often a call is tried against a server that fails (5xx, no connection)."""
BACKOFF = 1.0
"""Seconds before the second try; doubled before each further one."""
TIMEOUT = 30
"""Seconds for one answer."""
_DEFAULT_RETRY = 30.0  # seconds, for a 429 that does not say (or not in numbers) how long
_AUTH = {
    "invalid_auth": "Slack does not know the token",
    "not_authed": "Slack saw no token",
    "token_revoked": "the token was revoked",
    "token_expired": "the token has expired",
    "account_inactive": "the token belongs to a user who left, or to a removed app",
    "not_allowed_token_type": "Slack does not allow this kind of token here",
    "access_denied": "Slack refuses access",
    "org_login_required": "the workspace moved to an organisation",
    "ekm_access_denied": "an administrator has suspended access",
    "team_access_not_granted": "the token is for an organisation that has not granted this workspace",
}
_CODE = re.compile(r"[a-z0-9_]{1,80}")  # anything else comes from something between us and Slack
_FAILING = {"internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_added_to_org"}


class MissingScope(AuthError):
    """The token lacks a scope.

    Args:
        message: What happened.
        needed: The scopes of which one is needed, as Slack lists them.
    """

    def __init__(self, message: str, *, needed: str, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.needed = needed


class Refused(Unavailable):
    """Slack answered one call with an error that concerns only what was asked for.

    Args:
        message: What happened.
        code: Slack's error code: `channel_not_found`, `thread_not_found` …
    """

    def __init__(self, message: str, *, code: str, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.code = code


@dataclass(frozen=True, slots=True)
class Timing:
    """What waits, so that tests need not: `clock` is monotonic seconds, `sleep` waits for some."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


class Api:
    """The methods of one workspace, as one token may call them.

    Args:
        source: The source's name, for messages.
        token: A bot's or a user's token.
        url: Where the methods are, with a slash at the end.
        timing: Clock and sleep; None for the real ones, with what this process has already asked counted.
    """

    def __init__(self, source: str, token: str, url: str = API_URL, timing: Timing | None = None) -> None:
        self.source = source
        self.url = url
        self._timing = timing or Timing()
        self._budget = Budget(timing.clock) if timing else shared(url, token)
        self._client = web_client(token, url)
        self.scopes: frozenset[str] | None = None
        """The scopes that the server last said the token has; None before a first answer, or where it says nothing."""

    def call(self, method: str, **arguments: str | int) -> Mapping[str, Any]:
        """Call a method and return its answer.

        Raises:
            AuthError: The token is refused; `MissingScope` names the scope that is missing.
            RateLimited: Slack asks for a wait that is too long for a pass.
            Unavailable: The server cannot be reached or keeps failing; `Refused` for an error of this call alone.
        """
        from slack_sdk.errors import SlackApiError, SlackClientError

        refused = failed = 0
        while True:
            self._wait(method)
            self._budget.spend(method)
            try:
                answer = self._client.api_call(method, params=arguments)
            except SlackApiError as error:
                status, headers = error.response.status_code, error.response.headers
                data = error.response.data if isinstance(error.response.data, dict) else {}
                code = str(data.get("error") or "")
                if status == 429 or code in ("ratelimited", "rate_limited"):
                    refused += 1
                    self._budget.refused(method, _retry_after(headers))
                    if refused >= REFUSALS:
                        raise self._limited(method, self._budget.wait(method)) from None
                    continue
                if status < 500 and code not in _FAILING and _CODE.fullmatch(code):
                    raise self._refusal(method, code, data) from None
                why = f"HTTP {status}" if status != 200 else code if code in _FAILING else "an answer that is none"
            except (OSError, HTTPException, SlackClientError, ValueError, RecursionError) as error:
                why = str(getattr(error, "reason", "") or error or type(error).__name__)
            else:
                self._note_scopes(answer.headers)
                return answer.data if isinstance(answer.data, dict) else {}
            failed += 1
            if failed >= TRIES:
                raise Unavailable(
                    f"Slack's API at {self.url} cannot be used ({method}): {' '.join(why.split())[:200]}.",
                    remedy=f"Check the connection, then run `ctxsync sync {self.source}`.",
                ) from None
            self._timing.sleep(BACKOFF * 2 ** (failed - 1))

    def answers(self, method: str, **arguments: str | int) -> Iterator[Mapping[str, Any]]:
        """Yield the answers of a method that goes on by cursor.

        Raises:
            Unavailable: The pages do not end: a cursor comes again, or none comes though there is more.
            AuthError, RateLimited: As `call`.
        """
        seen: set[str] = set()
        more: dict[str, str | int] = {}
        while True:
            answer = self.call(method, **arguments, **more)
            yield answer
            cursor = next_cursor(answer)
            if not cursor and answer.get("has_more") is not True:
                return
            if not cursor or cursor in seen:
                raise self.endless(method)
            seen.add(cursor)
            more = {"cursor": cursor}

    def pages(self, method: str, key: str, **arguments: str | int) -> Iterator[list[Mapping[str, Any]]]:
        """Yield the records of each page of a method that goes on by cursor; raises as `answers`."""
        for answer in self.answers(method, **arguments):
            yield records(answer, key)

    def endless(self, method: str) -> Unavailable:
        """Return the error for pages that go round in circles."""
        return Unavailable(
            f"Slack's pages of {method} do not end; what came so far is kept.",
            remedy=f"Run `ctxsync sync {self.source}` later.",
        )

    def _wait(self, method: str) -> None:
        seconds = self._budget.wait(method)
        if seconds > LONGEST_WAIT:
            raise self._limited(method, seconds)
        if seconds > 0:
            self._timing.sleep(seconds)

    def _limited(self, method: str, seconds: float) -> RateLimited:
        return RateLimited(
            f"Slack asks to wait {math.ceil(seconds)} s before the next {method}; what came so far is kept.",
            retry_after=seconds,
            remedy=f"Run `ctxsync sync {self.source}` after that; it goes on where it stopped.",
        )

    def _refusal(self, method: str, code: str, data: Mapping[str, Any]) -> AuthError | Refused:
        if code == "missing_scope":
            needed = str(data.get("needed") or "a scope that Slack does not name")[:200]
            has = str(data.get("provided") or "none")[:500]
            return MissingScope(
                f"The token of {self.source} lacks the scope {needed}, which {method} needs (it has: {has}).",
                needed=needed,
                remedy=f"Add {needed} to the app under OAuth & Permissions, reinstall it, and store the new token "
                f"(for the keyring: `{storing(self.source, 'token')}`); then run `ctxsync sync {self.source}`.",
            )
        if code in _AUTH:
            return AuthError(
                f"Slack refused the token of {self.source}: {_AUTH[code]} ({code}).",
                remedy=f"Store a bot's (xoxb-…) or a user's token (xoxp-…) that works (for the keyring: "
                f"`{storing(self.source, 'token')}`); then run `ctxsync sync {self.source}`.",
            )
        return Refused(
            f"Slack's API at {self.url} refused {method}: {code}.",
            code=code,
            remedy=f"Run `ctxsync sync {self.source}` later.",
        )

    def _note_scopes(self, headers: Mapping[str, Any]) -> None:
        for name, value in headers.items():
            if name.lower() == "x-oauth-scopes":
                self.scopes = frozenset(part.strip() for part in str(value).split(",") if part.strip())


def web_client(token: str, url: str) -> WebClient:
    """Return slack-sdk's client without its retries, without its log, which could show what was sent, and without redirects.

    A redirect would be followed with the token, to whatever host it names, and without TLS: none of Slack's methods has one.
    """
    from urllib.request import HTTPRedirectHandler, HTTPSHandler, ProxyHandler, build_opener

    from slack_sdk import WebClient

    class Nowhere(HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            """Follow no redirect: it is an answer like any other that is no success."""

    class Client(WebClient):
        def _perform_urllib_http_request_internal(self, url: str, req: Request) -> dict[str, Any]:  # noqa: ARG002
            proxies = [ProxyHandler({"http": self.proxy, "https": self.proxy})] if self.proxy else []
            opener = build_opener(Nowhere, HTTPSHandler(context=self.ssl), *proxies)
            with opener.open(req, timeout=self.timeout) as answer:
                text = answer.read().decode(answer.headers.get_content_charset() or "utf-8")
                return {"status": answer.status, "headers": answer.headers, "body": text}

    return Client(token=token, base_url=url, timeout=TIMEOUT, retry_handlers=[], logger=silent_logger())


def silent_logger() -> logging.Logger:
    """Return the logger that slack-sdk gets: it tells nobody."""
    logger = logging.getLogger("ctxsync.connectors.slack.sdk")
    logger.propagate = False
    logger.setLevel(logging.CRITICAL + 1)
    return logger


def records(answer: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """Return the records under a key of an answer; what is no record is left out."""
    found = answer.get(key)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def next_cursor(answer: Mapping[str, Any]) -> str:
    """Return an answer's cursor for the next page; empty when there is none."""
    metadata = answer.get("response_metadata")
    return str(metadata.get("next_cursor") or "") if isinstance(metadata, dict) else ""


def _retry_after(headers: Mapping[str, Any]) -> float:
    for name, value in headers.items():
        if name.lower() == "retry-after":
            try:
                seconds = float(str(value[0] if isinstance(value, list) else value))
            except ValueError:
                return _DEFAULT_RETRY
            return min(max(seconds, 0.0), 86_400.0) if math.isfinite(seconds) else _DEFAULT_RETRY
    return _DEFAULT_RETRY
