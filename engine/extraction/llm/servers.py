"""How servers are asked: the bodies of Ollama's API and of OpenAI's, and where their answers stand; sends nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from ctxsync.errors import BadReply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxsync.connectors.base import Json
    from ctxsync.engine.door.provider import Provider
    from ctxsync.errors import ProviderRefused

Form = Literal["schema", "object", "plain"]
FORMS: tuple[Form, ...] = ("schema", "object", "plain")
"""How an answer's form is asked for, the surest first: a JSON Schema, any JSON object, or in words only."""

OLLAMA_CONTEXT = 16_384
"""`num_ctx` (SPEC, "Tiers"): Ollama's own default cuts prompts without a word."""

CLOUD_CONTEXT = 32_768
"""What every cloud model of the default chains takes at least."""

UNKNOWN_CONTEXT = 8_192
"""For a local server that does not say: the least that current models are started with."""


# The door's messages put the status in brackets.
_STATUS = re.compile(r"\((\d{3})\b")


def is_ollama(provider: Provider) -> bool:
    """Say whether a provider speaks Ollama's own API: it is called so, and its URL is not that of its OpenAI one."""
    return provider.name.startswith("ollama") and not provider.url.rstrip("/").endswith("/v1")


def refuses_form(error: ProviderRefused) -> bool:
    """Say whether a refusal may be of the form of answer that was asked for, rather than of key, model or path."""
    status = _STATUS.search(error.message)
    return status is not None and status[1] in ("400", "422")


def root(provider: Provider) -> Provider:
    """Return a provider at its server's root, where pages outside of the API lie."""
    parts = urlsplit(provider.url)
    return replace(provider, url=f"{parts.scheme}://{parts.netloc}")


def request(
    provider: Provider,
    messages: Sequence[dict[str, Json]],
    shape: dict[str, Json],
    form: Form,
    *,
    tokens: int,
    seed: int,
    temperature: float,
    context: int = OLLAMA_CONTEXT,
    keep_alive: int = -1,
) -> tuple[str, dict[str, Json]]:
    """Return path and body of a request; the model's name is put in by the door.

    Args:
        provider: Whom to ask.
        messages: System and user message.
        shape: JSON Schema of the answer.
        form: How the form of the answer is asked for.
        tokens: Most tokens of the answer.
        seed: For local servers: the same one gives the same answer.
        temperature: 0 for the likeliest answer.
        context: For Ollama: tokens of prompt and answer.
        keep_alive: For Ollama: seconds that it keeps the model loaded; -1 for ever.
    """
    said: list[Json] = list(messages)
    if is_ollama(provider):
        body: dict[str, Json] = {
            "messages": said,
            "stream": False,
            "keep_alive": keep_alive,
            "think": False,
            "options": {"num_ctx": context, "num_predict": tokens, "seed": seed, "temperature": temperature},
        }
        if form != "plain":
            body["format"] = shape if form == "schema" else "json"
        return "/api/chat", body
    body = {"messages": said, "max_tokens": tokens, "temperature": temperature, "stream": False}
    if provider.local:
        # Fields of llama.cpp's server; other local ones ignore them.
        body |= {"cache_prompt": True, "seed": seed, "chat_template_kwargs": {"enable_thinking": False}}
    if form == "schema":
        named: dict[str, Json] = {"name": "extraction", "strict": True, "schema": shape}
        body["response_format"] = {"type": "json_schema", "json_schema": named}
    elif form == "object":
        body["response_format"] = {"type": "json_object"}
    return "/v1/chat/completions", body


def content(provider: Provider, body: Any) -> str:
    """Return the words of an answer; raises `BadReply` where there are none in the place for them."""
    try:
        message = body["message"] if is_ollama(provider) else body["choices"][0]["message"]
        words = message["content"]
    except (KeyError, IndexError, TypeError) as error:
        raise BadReply("The answer has no message.") from error
    if words is None or words == "":
        raise BadReply("The answer is empty.")
    if isinstance(words, list):
        words = "".join(str(part.get("text", "")) for part in words if isinstance(part, dict))
    if not isinstance(words, str):
        raise BadReply("The answer's message is no text.")
    return words


def context_in(props: Any) -> int:
    """Return the context of one slot from llama.cpp's `/props`; `UNKNOWN_CONTEXT` where it does not say."""
    try:
        size = props["default_generation_settings"]["n_ctx"]
    except (KeyError, TypeError):
        return UNKNOWN_CONTEXT
    return size if isinstance(size, int) and size > 0 else UNKNOWN_CONTEXT
