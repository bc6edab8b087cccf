"""Reads tables of `config.toml` into dataclasses; each refusal names the key, the nearest valid one, and the line.

A value is never repeated in a message, because it may be a secret.
"""

from __future__ import annotations

import re
from dataclasses import MISSING, dataclass, fields, replace
from datetime import date
from typing import TYPE_CHECKING, Any

from ctxsync.errors import ConfigError
from ctxsync.forms import NAME_PATTERN, RESERVED_NAMES, ill_formed, is_cron, line_of, name_rule
from ctxsync.home import expanded
from ctxsync.source_settings import TYPES, SourceConfig
from ctxsync.tier_settings import ProviderConfig

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

SOURCE_TYPES = tuple(TYPES)
_SECRET_KEYS = re.compile(r"(^|_)(password|passwd|secret|token|api_key|apikey|credentials?)$", re.IGNORECASE)
PROVIDERS = ("ollama", "local", "cerebras", "deepinfra", "openrouter")
"""The providers that have a table of their own."""
SECRET_FORMS = ("keyring:", "env:", "command:")
_URL_WITH_PASSWORD = re.compile(r"://[^/@\s:]*:[^/@\s]+@")


@dataclass(frozen=True, slots=True)
class Reading:
    """One read of one file: turns tables into dataclasses and refusals into messages with lines."""

    text: str
    origin: str

    def refuse(
        self,
        problem: str,
        path: tuple[str | int, ...],
        *,
        valid: Collection[str] = (),
        wrong: str = "",
        remedy: str = "Correct it there.",
    ) -> None:
        """Raise `ConfigError` for what stands at a path of keys; `valid` are those it may have been meant for."""
        line = line_of(self.text, path)
        hint = ""
        if valid:
            from difflib import get_close_matches

            near = get_close_matches(wrong.lower(), valid, 1, 0.5)
            hint = f'; did you mean "{near[0]}"?' if near else f"; valid: {', '.join(sorted(valid))}"
        where = f"{self.origin}, line {line}" if line else self.origin
        raise ConfigError(f"{where}: {problem}{hint or '.'}".removeprefix(": "), remedy=remedy)

    def refuse_secrets(self, value: Any, path: tuple[str | int, ...] = ()) -> None:
        """Refuse every secret that stands in the clear in a table or below it."""
        if isinstance(value, dict):
            for key, child in value.items():
                if _SECRET_KEYS.search(key) and not _is_spec(child):
                    self.refuse(
                        f'"{key}" holds a secret in the clear; write keyring:, env:NAME or command:… instead',
                        (*path, key),
                        remedy=_storing(value, key, path),
                    )
                self.refuse_secrets(child, (*path, key))
        elif isinstance(value, list):
            for index, child in enumerate(value):
                self.refuse_secrets(child, (*path, index))
        elif isinstance(value, str) and _URL_WITH_PASSWORD.search(value):
            self.refuse(f'"{path[-1]}" holds a password in the clear inside an address', path, remedy="Take it out.")

    def table(self, cls: type, data: Any, path: tuple[str | int, ...], label: str = "") -> Any:
        """Return a table as a value of a class, by its fields: their types, defaults and metadata."""
        label = label or f"[{path[0]}]"
        if not isinstance(data, dict):
            self.refuse(f'"{path[0]}" must be a table', path)
        known = {item.name: item for item in fields(cls)}
        for key in data:
            if key not in known:
                others = [kind for kind, other in TYPES.items() if key in {item.name for item in fields(other)}]
                if issubclass(cls, SourceConfig) and others:
                    belongs = f'"{key}" in {label} is of sources of type {" and ".join(others)}, not {data["type"]}'
                    self.refuse(belongs, (*path, key))
                self.refuse(f'unknown key "{key}" in {label}', (*path, key), valid=tuple(known), wrong=key)
        values = {key: self._value(known[key], value, (*path, key), label) for key, value in data.items()}
        for name, item in known.items():
            if name not in values and item.default is MISSING and item.default_factory is MISSING:
                self.refuse(f'{label} lacks "{name}"', path)
        return cls(**values)

    def _value(self, item: Any, value: Any, path: tuple[str | int, ...], label: str) -> Any:
        kind = item.type
        name = f'"{item.name}" in {label}'
        if kind == "tuple[str, ...]":
            if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
                self.refuse(f'{name} must be a list of texts, as {item.name} = ["…"]', path)
            return tuple(value)
        if kind == "bool" and not isinstance(value, bool):
            self.refuse(f"{name} must be true or false", path)
        if kind == "int" and (isinstance(value, bool) or not isinstance(value, int)):
            self.refuse(f"{name} must be a whole number", path)
        if kind == "float" and (isinstance(value, bool) or not isinstance(value, int | float)):
            self.refuse(f"{name} must be a number", path)
        if "later" in item.metadata and value not in item.metadata["choices"]:
            later = " and ".join(item.metadata["later"])
            only = ", ".join(item.metadata["choices"])
            self.refuse(f'{name} can only be "{only}" in this version ({later} come later)', path)
        if item.metadata.get("form") == "date" and type(value) is date:
            value = value.isoformat()  # TOML has dates of its own
        if kind in ("str", "Path", "Path | None") and not isinstance(value, str):
            self.refuse(f"{name} must be a text", path)
        if "choices" in item.metadata and value not in item.metadata["choices"]:
            self.refuse(f"{name} must be one of: {', '.join(item.metadata['choices'])}", path)
        if "range" in item.metadata and not item.metadata["range"][0] <= value <= item.metadata["range"][1]:
            self.refuse(f"{name} must be from {item.metadata['range'][0]} to {item.metadata['range'][1]}", path)
        if item.metadata.get("cron") and value and not is_cron(value):
            self.refuse(f'{name} must be a cron line of five fields, as "*/15 * * * *"', path)
        if ill := ill_formed(item.metadata.get("form", ""), value):
            self.refuse(f"{name} must be {ill}", path)
        if kind.startswith("Path"):
            place = expanded(value)
            if not place.is_absolute() or "\0" in value:
                self.refuse(f"{name} must be absolute or begin with ~", path)
            return place
        return float(value) if kind == "float" else value

    def _entries(self, data: Any, name: str) -> list[dict[str, Any]]:
        if not isinstance(data, list) or not all(isinstance(entry, dict) for entry in data):
            self.refuse(f"{name} are tables, each under a [[{name}]] line", (name,))
        found: list[dict[str, Any]] = data
        return found

    def providers(self, data: Any) -> tuple[ProviderConfig, ...]:
        """Return the `[[providers]]`."""
        found: list[ProviderConfig] = []
        for index, entry in enumerate(self._entries(data, "providers")):
            label = f'[[providers]] "{entry["name"]}"' if isinstance(entry.get("name"), str) else "[[providers]]"
            provider: ProviderConfig = self.table(ProviderConfig, entry, ("providers", index), label)
            if provider.name in (*PROVIDERS, *(other.name for other in found)):
                self.refuse(f'two providers are named "{provider.name}"', ("providers", index, "name"))
            found.append(provider)
        return tuple(found)

    def sources(self, data: Any) -> tuple[SourceConfig, ...]:
        """Return the `[[sources]]`."""
        self._entries(data, "sources")
        found: list[SourceConfig] = []
        for index, entry in enumerate(data):
            path = ("sources", index)
            label = f'[[sources]] "{entry["name"]}"' if isinstance(entry.get("name"), str) else "[[sources]]"
            kind = entry.get("type")
            if kind is None:
                self.refuse(f'{label} lacks "type"', path)
            if not isinstance(kind, str) or kind not in TYPES:
                self.refuse("unknown source type", (*path, "type"), valid=SOURCE_TYPES, wrong=str(kind))
            source: SourceConfig = self.table(TYPES[str(kind)], entry, path, label)
            if not NAME_PATTERN.fullmatch(source.name) or source.name in RESERVED_NAMES:
                self.refuse(f'"{source.name}" cannot name a source: {name_rule()}', (*path, "name"))
            if any(other.name == source.name for other in found):
                self.refuse(f'two sources are named "{source.name}"', (*path, "name"))
            if entry.keys() >= {"password", "oauth_token"}:
                self.refuse(f'{label} has both "password" and "oauth_token"; one logs in', (*path, "oauth_token"))
            found.append(replace(source, trust=source.trust or source.default_trust))
        return tuple(found)


def _is_spec(value: Any) -> bool:
    return isinstance(value, str) and (not value or value.startswith(SECRET_FORMS))


def _storing(table: Mapping[str, Any], key: str, path: tuple[str | int, ...]) -> str:
    """Return how to store the secret of a table that has it in the clear."""
    name = table.get("name")
    if path[:1] == ("providers",) or (path and path[0] in PROVIDERS):
        whose = name if path[0] == "providers" else path[0]
        return (
            f'Write {key} = "keyring:" there and run `keyring set ctxsync {whose}/{key}`, which asks for it, or use '
            "env:NAME. Change the secret if others could read the file."
        )
    if path[:1] != ("sources",) or not isinstance(name, str) or not NAME_PATTERN.fullmatch(name):
        return "Take it out of the file."
    return (
        f'Write {key} = "keyring:" there and run `ctxsync source secret {name} {key}`, which asks for it. '
        "Change the secret if others could read the file."
    )
