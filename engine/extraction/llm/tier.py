"""The tier that asks a language model once for each episode; knows no HTTP, no log and no graph.

Providers are asked in turn: the next one only where one is limited or down. What a model answers is read, mended and
checked in code; an answer that cannot be used is asked for once more of a server on this machine, where that costs
nothing, and then fails the episode by name. It is never an empty result.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ctxsync.engine.door.provider import Call
from ctxsync.engine.extraction.base import Identity
from ctxsync.engine.extraction.lexicon import Lexicon
from ctxsync.engine.extraction.llm import context, prompt, servers
from ctxsync.engine.extraction.llm.answer import Meaning
from ctxsync.engine.extraction.llm.repair import parse
from ctxsync.engine.extraction.llm.shape import Limits, shape
from ctxsync.errors import (
    BadReply,
    CtxsyncError,
    ExtractionError,
    ProviderDown,
    ProviderError,
    ProviderLimited,
    ProviderRefused,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ctxsync.engine.door.door import Door
    from ctxsync.engine.door.provider import Provider, Reply
    from ctxsync.engine.extraction.base import Episode, Extraction
    from ctxsync.engine.extraction.llm.context import CurrentFacts
    from ctxsync.engine.extraction.llm.prompt import Prompt
    from ctxsync.engine.extraction.llm.servers import Form
    from ctxsync.engine.schema import Schema

TOKENS = 1536
"""Most tokens of an answer; SPEC expects 200. Of a small context an answer takes no more than an eighth."""

# The first try is the likeliest answer. At temperature 0 another seed changes nothing, so the second one is warmed.
_TRIES = ((7, 0.0), (11, 0.3))
_SHARE = 8
# Raise it with every change that alters what an answer becomes.
_CODE_VERSION = 1


@dataclass(frozen=True, slots=True)
class _Question:
    """What is asked about one episode, of one provider."""

    episode: Episode
    lower: Extraction
    author: tuple[str, tuple[str, ...]]
    prompt: Prompt
    limits: Limits


class LlmTier:
    """An extractor that asks providers.

    Args:
        schema: What to extract into.
        door: What sends.
        providers: In the order to ask them, at least one.
        facts: Gives current facts about names; none when None.
        cloud_allowed: Whether a source's texts may leave the machine; the door decides with it.
        identity: Who "I" is in the owner's own texts.
        strict: Types and relations outside the schema are dropped instead of suggested.
        tokens: Most tokens of an answer.
        context_tokens: What Ollama is told to take, prompt and answer.
        keep_alive: Seconds that Ollama keeps the model loaded; -1 for ever.
    """

    def __init__(
        self,
        schema: Schema,
        door: Door,
        providers: Sequence[Provider],
        *,
        facts: CurrentFacts | None = None,
        cloud_allowed: Callable[[str], bool] = lambda _: True,
        identity: Identity | None = None,
        strict: bool = False,
        tokens: int = TOKENS,
        context_tokens: int = servers.OLLAMA_CONTEXT,
        keep_alive: int = -1,
    ) -> None:
        if not providers:
            raise ValueError("an LLM tier needs a provider")
        self._door, self._providers = door, tuple(providers)
        self._facts, self._cloud_allowed = facts or context.no_facts, cloud_allowed
        self._identity, self._tokens = identity or Identity(), tokens
        self._context, self._keep_alive = context_tokens, keep_alive
        self._rules = prompt.prefix(schema)
        self._schema, self._portable = schema, shape(schema)
        self._meaning = Meaning(schema, Lexicon(schema), strict=strict)
        self._forms: dict[tuple[str, str], Form] = {}
        self._contexts: dict[str, int] = {}
        self.tier = providers[0].tier
        self.prompt_version = hashlib.sha256(self._rules.encode()).hexdigest()[:12]
        # The model names a run, so it tells everything that decides an answer.
        named = ",".join(f"{provider.name}:{provider.model}" for provider in providers)
        self.model = f"{named}/{self.prompt_version}.{_CODE_VERSION}{'s' if strict else ''}"

    def extract(
        self, episodes: Sequence[Episode], lower: Sequence[Extraction]
    ) -> Iterator[Extraction | ExtractionError]:
        """Yield a result, or why there is none, for each episode in order."""
        for episode, below in zip(episodes, lower, strict=True):
            try:
                yield self._extract(episode, below)
            except ExtractionError as error:
                yield error
            except CtxsyncError:  # of the log or the ledger: it says nothing of the episode
                raise
            except Exception as error:  # noqa: BLE001 - an answer or a text nobody foresaw must not stop the others
                yield ExtractionError(f"{type(error).__name__}: {error}")

    def _extract(self, episode: Episode, lower: Extraction) -> Extraction:
        facts = context.numbered(self._facts(context.names_of(lower)))
        limited: ProviderLimited | None = None
        down: ProviderDown | None = None
        for provider in self._providers:
            author = self._author(episode)
            size = self._size(provider)
            limits = Limits.of(min(self._tokens, size // _SHARE))
            built = prompt.build(self._rules, episode, facts, author[0], size - limits.tokens)
            try:
                return self._ask(provider, _Question(episode, lower, author, built, limits))
            except ProviderLimited as error:
                limited = limited or error
            except ProviderDown as error:
                down = error
        # To wait is the better news: it says when to come back.
        failure: ProviderError | None = limited or down
        assert failure is not None
        raise failure

    def _ask(self, provider: Provider, asked: _Question) -> Extraction:
        started = time.perf_counter()
        spent: list[Reply] = []
        about = self._about(asked.episode, asked.lower)
        problem = ""
        for seed, temperature in _TRIES if provider.local else _TRIES[:1]:
            try:
                reply = self._send(provider, about, asked, seed=seed, temperature=temperature)
                spent.append(reply)
                found = self._meaning.read(
                    parse(servers.content(provider, reply.body)),
                    asked.episode,
                    asked.lower,
                    facts=asked.prompt.facts,
                    author=asked.author,
                    tier=provider.tier,
                    model=f"{provider.name}:{reply.model}",
                )
            except BadReply as error:
                problem = error.message
                continue
            found.gate += ["llm:cut-text"] if asked.prompt.cut else []
            found.gate += ["llm:second-try"] if problem else []
            found.gate += [f"door:{flag}" for flag in reply.flags]
            found.prompt_version = self.prompt_version
            found.tokens_in = sum(one.tokens_in for one in spent)
            found.tokens_out = sum(one.tokens_out for one in spent)
            found.cost_usd = sum(one.cost_usd for one in spent)
            found.ms = round((time.perf_counter() - started) * 1000, 2)
            return found
        raise BadReply(
            f"{provider.model} at {provider.name} gave no answer that can be used: {problem}",
            remedy="What lower tiers found is kept; `ctxsync config edit` sets another model.",
        )

    def _send(self, provider: Provider, about: Call, asked: _Question, *, seed: int, temperature: float) -> Reply:
        """Ask in the surest form that the server takes; which one that is is remembered once it has answered."""
        key = provider.url, provider.model
        forms = servers.FORMS[servers.FORMS.index(self._forms.get(key, "schema")) :]
        refused: ProviderRefused | None = None
        for form in forms:
            path, body = servers.request(
                provider,
                asked.prompt.messages,
                shape(self._schema, asked.limits) if provider.local else self._portable,
                form,
                tokens=asked.limits.tokens,
                seed=seed,
                temperature=temperature,
                context=self._context,
                keep_alive=self._keep_alive,
            )
            try:
                reply = self._door.send(provider, replace(about, path=path, body=body))
            except ProviderRefused as error:
                if not servers.refuses_form(error):
                    raise
                refused = refused or error
                continue
            self._forms[key] = form
            return reply
        assert refused is not None
        raise refused

    def _about(self, episode: Episode, lower: Extraction) -> Call:
        """Return what every request about an episode tells the door."""
        people = (entity.name for entity in lower.entities if entity.type == "Person")
        return Call(
            path="",
            body={},
            episode=episode.id,
            source=episode.source,
            cloud_allowed=self._cloud_allowed(episode.source),
            shipped=self._rules,
            people=tuple(dict.fromkeys(name for name in (episode.author_name, *people) if name.strip())),
        )

    def _author(self, episode: Episode) -> tuple[str, tuple[str, ...]]:
        """Return name and identity keys of who wrote the text; an empty name when nobody knows."""
        if episode.kind in ("mail", "slack") and not episode.author_keys:
            return "", ()  # anyone can write any name into a header
        if episode.author_name or episode.author_keys:
            return episode.author_name or episode.author_keys[0].partition(":")[2], episode.author_keys
        if episode.own and self._identity.names:
            return self._identity.names[0], self._identity.keys
        return "", ()

    def _size(self, provider: Provider) -> int:
        """Return the context of a provider, tokens of prompt and answer."""
        if servers.is_ollama(provider):
            return self._context
        if not provider.local:
            return servers.CLOUD_CONTEXT
        return self._contexts.get(provider.url) or self._ask_context(provider)

    def _ask_context(self, provider: Provider) -> int:
        """Return what a local server says of its context, and remember it once it has answered."""
        size = servers.UNKNOWN_CONTEXT
        try:
            size = servers.context_in(self._door.get(servers.root(provider), "/props"))
        except (ProviderRefused, BadReply):
            pass  # it has no such page: another server than llama.cpp's
        except ProviderError:
            return size
        self._contexts[provider.url] = size
        return size
