"""Reads what a provider answered: tokens, errors, and whether a model is gone; knows no HTTP library and no ledger."""

from __future__ import annotations

import json
import re
import unicodedata
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from ctxsync.connectors.secrets import without_secrets
from ctxsync.errors import BadReply, ProviderDown, ProviderError, ProviderLimited, ProviderRefused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ctxsync.engine.door.provider import Provider
    from ctxsync.engine.door.transport import Answer

DEFAULT_WAIT = 60.0
"""Seconds to wait after a 429 that does not say how long: limits are most often counted by the minute."""
MOST_TOKENS = 1_000_000_000
"""A count above this, a thousand times any model's context, is not believed."""
_GONE = re.compile(
    r"model[_ ]not[_ ]found|deprecat|decommission|model[^.\"]{0,60}(?:does not exist|not exist|no longer|not found|retired|removed)",
    re.IGNORECASE,
)
# Characters of a provider's own words that a message repeats.
_MESSAGE = 160
_EDIT = "`ctxsync config edit`."


class ModelGoneError(ProviderRefused):
    """The provider does not have the model any more; its successor is asked."""


def decoded(provider: Provider, answer: Answer) -> Any:
    """Return the JSON of an answer.

    Raises:
        BadReply: It is not JSON, is empty, or is no object.
    """
    text = answer.content.strip()
    if not text:
        raise BadReply(f"{provider.name} answers with nothing.")
    if text[:1] == b"<":
        raise BadReply(f"{provider.name} answers with a web page.", remedy=f"Check its url: {_EDIT}")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        raise BadReply(f"The answer of {provider.name} is not JSON, or is cut off.") from None
    if not isinstance(body, dict):
        raise BadReply(f"The answer of {provider.name} is not an object.")
    return body


def checked(provider: Provider, answer: Answer, *, now: float) -> Any:
    """Return the JSON of an answer that succeeded.

    Raises:
        ModelGoneError: 404, or another refusal that says so.
        ProviderLimited: 429, or 503 that says how long to wait.
        ProviderDown: 408, 5xx.
        ProviderRefused: Any other status that is no success; a redirect is never followed.
        BadReply: See `decoded`.
    """
    status = answer.status
    if 200 <= status < 300:
        body = decoded(provider, answer)
        error = body.get("error")
        if not error:
            return body
        # Some pass on another server's error with a status of success.
        code = error.get("code") if isinstance(error, dict) else None
        status = code if isinstance(code, int) and 400 <= code < 600 else 502
    raise refusal(provider, status, answer, now=now)


def refusal(provider: Provider, status: int, answer: Answer, *, now: float) -> ProviderError:
    """Return the error that a status stands for."""
    name, said = provider.name, _said(answer.content)
    wait = retry_after(answer.headers, now=now)
    if status == 429:
        return ProviderLimited(f"{name} asks to wait (429{said}).", retry_after=wait or DEFAULT_WAIT)
    if status == 503 and wait:
        return ProviderLimited(f"{name} asks to wait (503{said}).", retry_after=wait)
    if status >= 500 or status in {408, 425}:
        return ProviderDown(f"{name} fails ({status}{said}).")
    if status == 404 or (status in {400, 410, 422} and _GONE.search(answer.content.decode("utf-8", "replace"))):
        return ModelGoneError(
            f"{name} does not know the model, or the path ({status}{said}).", remedy=f"Check them: {_EDIT}"
        )
    if 300 <= status < 400:
        return ProviderRefused(
            f"{name} sends elsewhere ({status}), which is not followed.", remedy=f"Check its url: {_EDIT}"
        )
    if status in {401, 403}:
        return ProviderRefused(
            f"{name} refuses the key ({status}{said}).", remedy=f"Check api_key of [{name}]: {_EDIT}"
        )
    if status == 402:
        return ProviderRefused(f"{name} wants to be paid first ({status}{said}).", remedy="Add credit there.")
    return ProviderRefused(f"{name} refuses the request ({status}{said}).")


def retry_after(headers: Mapping[str, str], *, now: float) -> float:
    """Return the seconds that Retry-After asks for, given as seconds or as a date; 0.0 where there is none."""
    value = headers.get("retry-after", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - now
        except (ValueError, TypeError, OverflowError):
            return 0.0
    return max(seconds, 0.0) if seconds < float("inf") else 0.0


def tokens(body: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the tokens in and out that an answer of an OpenAI-compatible server, or of Ollama, counts; None if it does not."""
    usage = body.get("usage")
    pairs = [("prompt_tokens", "completion_tokens", usage), ("prompt_eval_count", "eval_count", body)]
    for one, other, holder in pairs:
        if isinstance(holder, dict) and (isinstance(holder.get(one), int) or isinstance(holder.get(other), int)):
            counts = [holder.get(name) for name in (one, other)]
            into, out = (count if isinstance(count, int) and count >= 0 else 0 for count in counts)
            return (into, out) if max(into, out) <= MOST_TOKENS else None
    return None


def _said(content: bytes) -> str:
    """Return what an error's body says, short and without secrets, after a colon; empty where it says nothing plain."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    error = body.get("error", body) if isinstance(body, dict) else None
    words = error.get("message") if isinstance(error, dict) else error
    if not isinstance(words, str) or not words.strip():
        return ""
    # It goes into the log and onto terminals: without control characters, and what is no character at all.
    plain = "".join(sign if unicodedata.category(sign)[0] != "C" else " " for sign in words[: 4 * _MESSAGE])
    return ": " + without_secrets(" ".join(plain.split()))[:_MESSAGE].rstrip(".")
