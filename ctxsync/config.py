"""`config.toml` as values; knows the keys and their types, and nothing of what connectors and models do with them.

Importing this costs the standard library alone. Every refusal is a `ConfigError` that names the key, the nearest valid
one, and the line where it stands; a value is never repeated in a message, because it may be a secret.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ctxsync.config_reading import PROVIDERS, SECRET_FORMS, SOURCE_TYPES, Reading
from ctxsync.errors import ConfigError
from ctxsync.forms import RESERVED_NAMES
from ctxsync.tier_settings import (
    MODES,
    CapsConfig,
    CerebrasConfig,
    DeepInfraConfig,
    ExtractionConfig,
    GateConfig,
    LocalLlmConfig,
    OpenRouterConfig,
    ProviderConfig,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ctxsync.home import Home
    from ctxsync.source_settings import SourceConfig

__all__ = ["PROVIDERS", "SECRET_FORMS", "SOURCE_TYPES", "Config", "load_config", "one_source", "parse"]


@dataclass(frozen=True, slots=True)
class IdentityConfig:
    """Who "I" am.

    Args:
        names: Names I go by.
        emails: My addresses; compared in lower case.
        slack: My Slack ids as `team:user`.
    """

    names: tuple[str, ...] = ()
    emails: tuple[str, ...] = ()
    slack: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """My identity keys, as `kind:value`."""
        mails = (f"email:{address.strip().lower()}" for address in self.emails)
        return (*mails, *(f"slack:{account}" for account in self.slack))


@dataclass(frozen=True, slots=True)
class PrivacyConfig:
    """`allow_cloud` closes the one door to the network; `pii_scrubbing` is what goes through it."""

    allow_cloud: bool = False
    pii_scrubbing: bool = True


@dataclass(frozen=True, slots=True)
class SyncConfig:
    """`max_delete_ratio` (0 to 1) and `min_deletes`: more than both vanishing in one pass is suspicious."""

    max_delete_ratio: float = field(default=0.2, metadata={"range": (0.0, 1.0)})
    min_deletes: int = field(default=20, metadata={"range": (1, 1_000_000)})


@dataclass(frozen=True, slots=True)
class SchemaConfig:
    """When a suggested type is promoted (SPEC "Universal schema")."""

    mode: str = field(default="open", metadata={"choices": ("open", "strict")})
    k: int = field(default=5, metadata={"range": (1, 1_000_000)})
    m: int = field(default=3, metadata={"range": (1, 1_000_000)})
    min_confidence: float = field(default=0.7, metadata={"range": (0.0, 1.0)})
    max_similarity: float = field(default=0.85, metadata={"range": (0.0, 1.0)})


@dataclass(frozen=True, slots=True)
class JobsConfig:
    """A cron line a job, in local time; an empty one turns the job off. `reconcile` reads every source again."""

    reconcile: str = field(default="*/15 * * * *", metadata={"cron": True})


@dataclass(frozen=True, slots=True)
class RetentionConfig:
    """How long the text of retracted items is kept. This version keeps it."""

    retracted: str = field(default="forever", metadata={"choices": ("forever",), "later": ("a number of days",)})


@dataclass(frozen=True, slots=True)
class Config:
    """All of `config.toml`; a missing file is all defaults and no sources."""

    identity: IdentityConfig = field(default_factory=IdentityConfig)
    sources: tuple[SourceConfig, ...] = ()
    extraction: ExtractionConfig = field(default_factory=ExtractionConfig)
    gate: GateConfig = field(default_factory=GateConfig)
    local_llm: LocalLlmConfig = field(default_factory=LocalLlmConfig)
    cerebras: CerebrasConfig = field(default_factory=CerebrasConfig)
    deepinfra: DeepInfraConfig = field(default_factory=DeepInfraConfig)
    openrouter: OpenRouterConfig = field(default_factory=OpenRouterConfig)
    providers: tuple[ProviderConfig, ...] = ()
    caps: CapsConfig = field(default_factory=CapsConfig)
    privacy: PrivacyConfig = field(default_factory=PrivacyConfig)
    sync: SyncConfig = field(default_factory=SyncConfig)
    schema: SchemaConfig = field(default_factory=SchemaConfig)
    jobs: JobsConfig = field(default_factory=JobsConfig)
    retention: RetentionConfig = field(default_factory=RetentionConfig)

    def source(self, name: str) -> SourceConfig | None:
        """Return the source of that name, if it is configured."""
        return next((source for source in self.sources if source.name == name), None)

    @property
    def mode(self) -> str:
        """The mode in force: `privacy.allow_cloud = false` makes every other one `local-only`."""
        return self.extraction.mode if self.privacy.allow_cloud else MODES[0]

    def cloud_allowed(self, source: str) -> bool:
        """Say whether texts of a source may leave this machine; those of `ctxsync log` follow `[privacy]` alone."""
        found = self.source(source)
        return self.privacy.allow_cloud and (found.allow_cloud if found else source in RESERVED_NAMES)


_TABLES: dict[str, type] = {
    "identity": IdentityConfig,
    "extraction": ExtractionConfig,
    "gate": GateConfig,
    "local_llm": LocalLlmConfig,
    "cerebras": CerebrasConfig,
    "deepinfra": DeepInfraConfig,
    "openrouter": OpenRouterConfig,
    "caps": CapsConfig,
    "privacy": PrivacyConfig,
    "sync": SyncConfig,
    "schema": SchemaConfig,
    "jobs": JobsConfig,
    "retention": RetentionConfig,
}
_LISTS = ("sources", "providers")


def load_config(home: Home) -> Config:
    """Read the settings of a home.

    Raises:
        ConfigError: The file cannot be read or says something that means nothing.
    """
    path = home.config_path
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if path.is_symlink():
            raise ConfigError(f"{path} is a link to nothing.", remedy="Correct the link, or remove it.") from None
        return Config()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.", remedy="Run `ctxsync doctor`.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text.", remedy="Save it as UTF-8.") from error
    return parse(text, str(path))


def parse(text: str, origin: str = "config.toml") -> Config:
    """Read settings from TOML text.

    Args:
        text: The TOML.
        origin: What messages call it.

    Raises:
        ConfigError: As `load_config`.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{origin} is not valid TOML: {error}.", remedy="Correct that line.") from error
    except RecursionError as error:
        raise ConfigError(f"{origin} is nested too deeply.", remedy="Correct it there.") from error
    reading = Reading(text, origin)
    reading.refuse_secrets(data)
    for key in data:
        if key not in _TABLES and key not in _LISTS:
            reading.refuse(f'there is no table or key "{key}"', (key,), valid=(*_TABLES, *_LISTS), wrong=key)
    tables = {name: reading.table(cls, data.get(name, {}), (name,)) for name, cls in _TABLES.items()}
    return Config(
        sources=reading.sources(data.get("sources", [])),
        providers=reading.providers(data.get("providers", [])),
        **tables,
    )


def one_source(table: Mapping[str, Any]) -> SourceConfig:
    """Return the source of a table that does not stand in a file yet; raises `ConfigError`."""
    reading = Reading("", "")
    reading.refuse_secrets({"sources": [table]})
    return reading.sources([table])[0]


def as_mapping(source: SourceConfig) -> Mapping[str, Any]:
    """Return a source as `source list --json` shows it."""
    return {"name": source.name, "type": source.type, "location": source.location, **source.settings()}
