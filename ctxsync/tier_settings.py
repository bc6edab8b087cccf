"""What the tables of `config.toml` about extraction tiers may say, as typed fields; reads no file and calls no model.

`ctxsync.config` turns tables into these classes by their fields, as it does with sources. Model names, successors, prices
and limits are settings because providers change them; the defaults are what was known when this version was made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from ctxsync.engine.extraction.gate import FEW_ENTITIES, MANY_WORDS, MARKERS, Gate

MODES: Final = ("local-only", "cloud-fallback", "cloud-quality")
_FRACTION: Any = {"range": (0.0, 1.0)}
_COUNT: Any = {"range": (0, 1_000_000_000)}
_PRICE: Any = {"range": (0.0, 10_000.0)}
_SECONDS: Any = {"range": (0.1, 3_600.0)}


@dataclass(frozen=True, slots=True)
class ExtractionConfig:
    """Which tiers may run.

    Args:
        mode: `local-only`; `cloud-fallback`: the cloud for what the local tiers are not sure of; `cloud-quality`: the cloud
            for every episode. Without `privacy.allow_cloud` it is local-only whatever stands here.
        tier1: `builtin`, `gliner2` (its model must be installed), or `auto`: GLiNER2 where it is installed.
        seconds_per_pass: How long one `sync` escalates at most, seconds; 0 turns escalation off. `watch` goes on in idle time.
    """

    mode: str = field(default="local-only", metadata={"choices": MODES})
    tier1: str = field(default="auto", metadata={"choices": ("auto", "builtin", "gliner2")})
    seconds_per_pass: float = field(default=60.0, metadata={"range": (0.0, 86_400.0)})


@dataclass(frozen=True, slots=True)
class GateConfig:
    """When tier 1's result is not enough: see `ctxsync.engine.extraction.gate.Gate`."""

    entities_per_ten_words: float = field(default=Gate().entities_per_ten_words, metadata={"range": (0.0, 10.0)})
    mean_confidence: float = field(default=Gate().mean_confidence, metadata=_FRACTION)
    valid_types: float = field(default=Gate().valid_types, metadata=_FRACTION)
    many_words: int = field(default=MANY_WORDS, metadata=_COUNT)
    few_entities: int = field(default=FEW_ENTITIES, metadata=_COUNT)
    markers: tuple[str, ...] = MARKERS

    def gate(self) -> Gate:
        """Return the gate with these values."""
        return Gate(
            self.entities_per_ten_words,
            self.mean_confidence,
            self.valid_types,
            self.many_words,
            self.few_entities,
            self.markers,
        )


@dataclass(frozen=True, slots=True)
class LocalLlmConfig:
    """Tier 2: a model on this machine.

    Args:
        backend: `ollama`; `openai`: a llama.cpp server, or any that speaks OpenAI's protocol; `auto`: what answers;
            `off`: none.
        url: Where it listens; empty means the backend's usual address on this machine.
        model: Its name; empty lets the free memory choose among what is installed.
        num_ctx: Tokens of context to ask for.
        keep_alive: How long Ollama keeps the model loaded after a call, seconds; -1: for ever.
        timeout: Seconds to wait for one answer.
    """

    backend: str = field(default="auto", metadata={"choices": ("auto", "ollama", "openai", "off")})
    url: str = field(default="", metadata={"form": "url?"})
    model: str = ""
    num_ctx: int = field(default=16_384, metadata={"range": (512, 1_048_576)})
    keep_alive: int = field(default=-1, metadata={"range": (-1, 86_400)})
    timeout: float = field(default=120.0, metadata=_SECONDS)


@dataclass(frozen=True, slots=True)
class CerebrasConfig:
    """Tier 3: Cerebras' free tier; used when it has a key and the cloud is allowed.

    Args:
        api_key: Spec of the key: `keyring:`, `env:NAME`, `command:…`; empty: not used.
        model: The model's name there.
        successors: What to ask when the provider has retired the model, in order.
        url: Where its API is.
        requests_per_minute: At most so many; 0: no limit.
        tokens_per_day: At most so many, kept across restarts; 0: no limit.
        price_in: US dollars a million tokens read.
        price_out: US dollars a million tokens written.
        timeout: Seconds to wait for one answer.
    """

    api_key: str = ""
    model: str = "qwen-3-32b"
    successors: tuple[str, ...] = ("gpt-oss-120b",)
    url: str = field(default="https://api.cerebras.ai/v1", metadata={"form": "url"})
    requests_per_minute: int = field(default=30, metadata=_COUNT)
    tokens_per_day: int = field(default=1_000_000, metadata=_COUNT)
    price_in: float = field(default=0.0, metadata=_PRICE)
    price_out: float = field(default=0.0, metadata=_PRICE)
    timeout: float = field(default=60.0, metadata=_SECONDS)


@dataclass(frozen=True, slots=True)
class DeepInfraConfig:
    """Tier 4: DeepInfra; keys as `CerebrasConfig`."""

    api_key: str = ""
    model: str = "google/gemma-4-26b-a4b-it"
    successors: tuple[str, ...] = ()
    url: str = field(default="https://api.deepinfra.com/v1/openai", metadata={"form": "url"})
    requests_per_minute: int = field(default=30, metadata=_COUNT)
    tokens_per_day: int = field(default=1_000_000, metadata=_COUNT)
    price_in: float = field(default=0.07, metadata=_PRICE)
    price_out: float = field(default=0.34, metadata=_PRICE)
    timeout: float = field(default=60.0, metadata=_SECONDS)


@dataclass(frozen=True, slots=True)
class OpenRouterConfig:
    """Tier 4: OpenRouter; keys as `CerebrasConfig`."""

    api_key: str = ""
    model: str = "nousresearch/hermes-4-70b"
    successors: tuple[str, ...] = ()
    url: str = field(default="https://openrouter.ai/api/v1", metadata={"form": "url"})
    requests_per_minute: int = field(default=30, metadata=_COUNT)
    tokens_per_day: int = field(default=1_000_000, metadata=_COUNT)
    price_in: float = field(default=0.13, metadata=_PRICE)
    price_out: float = field(default=0.40, metadata=_PRICE)
    timeout: float = field(default=60.0, metadata=_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderConfig:
    """One `[[providers]]` table: any server that speaks OpenAI's protocol; keys as `CerebrasConfig`.

    Args:
        name: Unique among the providers.
        tier: 2, 3 or 4: where it stands in the chain. One on this machine is asked though the cloud is not allowed.
        api_key: May be empty where none is asked for.
    """

    name: str = field(metadata={"form": "text"})
    url: str = field(metadata={"form": "url"})
    model: str = field(metadata={"form": "text"})
    tier: int = field(default=4, metadata={"range": (2, 4)})
    api_key: str = ""
    successors: tuple[str, ...] = ()
    requests_per_minute: int = field(default=30, metadata=_COUNT)
    tokens_per_day: int = field(default=1_000_000, metadata=_COUNT)
    price_in: float = field(default=0.0, metadata=_PRICE)
    price_out: float = field(default=0.0, metadata=_PRICE)
    timeout: float = field(default=60.0, metadata=_SECONDS)


AnyProvider = CerebrasConfig | DeepInfraConfig | OpenRouterConfig | ProviderConfig


@dataclass(frozen=True, slots=True)
class CapsConfig:
    """How much escalation may cost, a day in UTC.

    Args:
        escalations_per_source: Episodes of one source that higher tiers may read; 0: no limit.
        usd_per_day: US dollars that all providers together may cost, by the configured prices; 0: no limit.
    """

    escalations_per_source: int = field(default=2_000, metadata=_COUNT)
    usd_per_day: float = field(default=1.0, metadata={"range": (0.0, 1_000_000.0)})
