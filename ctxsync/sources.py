"""Adding and removing sources in `config.toml`, comments and formatting kept; reads nothing of a source but its kind."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ctxsync.config import SECRET_FORMS, SOURCE_TYPES, Config, load_config, one_source
from ctxsync.errors import ConfigError, UsageError
from ctxsync.forms import NAME_PATTERN, RESERVED_NAMES, name_rule
from ctxsync.home import write_private
from ctxsync.places import locate
from ctxsync.source_settings import SECRETS, TYPES, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from pathlib import Path

    from ctxsync.home import Home
    from ctxsync.source_settings import SourceConfig


def add(
    home: Home,
    config: Config,
    kind: str,
    location: str,
    *,
    name: str | None = None,
    former: Mapping[str, str] = MappingProxyType({}),
    **options: Any,
) -> SourceConfig:
    """Check a new source and write it into config.toml.

    Args:
        home: Where config.toml stands.
        config: Its settings now.
        kind: A source type.
        location: A path (relative ones are of the current directory, `~` is expanded); `user@host` for imap; for slack what
            the workspace is called here, or nothing.
        name: What to call it; None derives one from the location.
        former: The type of each source that the log ever held, by name: a name never changes its type.
        **options: Further keys of its table; None, and what is empty, is left out.

    Returns:
        The source as config.toml now has it.

    Raises:
        UsageError: The type, place, name or an option does not fit; nothing was written.
        ConfigError: config.toml cannot be written.
    """
    if kind not in TYPES:
        near = get_close_matches(kind.lower().replace("_", "-"), SOURCE_TYPES, 1, 0.5)
        remedy = f"Did you mean {near[0]}?" if near else f"Use {', '.join(SOURCE_TYPES[:-1])} or {SOURCE_TYPES[-1]}."
        raise UsageError(f'There is no source type "{kind}".', remedy=remedy)
    other = {used: was for used, was in former.items() if was != kind}
    if name in other:
        raise UsageError(f'"{name}" was a {other[name]} source before.', remedy="Choose another --name.")
    table = {key: plain(value) for key, value in options.items() if value not in (None, "", (), [])}
    if any(key in table and not str(table[key]).startswith(SECRET_FORMS) for key in SECRETS):
        raise UsageError(
            "A secret does not belong on a command line, where others can read it; nothing was written.",
            remedy="Leave it out; `ctxsync source secret NAME` asks for it. Or say where it is: env:NAME, command:….",
        )
    label = locate(home, config, kind, location, table)
    table["name"] = _choose_name([*(source.name for source in config.sources), *other], name, label)
    try:
        source = one_source({"type": kind, **table})
    except ConfigError as error:
        raise UsageError(error.message, remedy="Run `ctxsync source add --help`.") from None
    _edit(home, lambda document: _append(document, source, spelled="trust" in table))
    return source


def remove_from_file(home: Home, name: str) -> None:
    """Take a source's table out of config.toml; raises `ConfigError` when it cannot be written."""

    def drop(document: Any) -> None:
        tables = document.get("sources", [])
        for index, table in enumerate(tables):
            if table.get("name") == name:
                del tables[index]
                break
        if not tables:
            document.pop("sources", None)

    _edit(home, drop)


def store_secret(config: Config, name: str, setting: str, ask: Callable[[str], str]) -> dict[str, Any]:
    """Ask for a source's secret and put it into the keyring.

    Args:
        config: The settings.
        name: The source.
        setting: Which secret; empty takes the one that the source logs in with.
        ask: Given what is asked for, returns it.

    Raises:
        UsageError: No such source, it has no such secret, or config.toml says that the secret is elsewhere.
        AuthError: There is no keyring.
    """
    source = config.source(name)
    if source is None:
        near = get_close_matches(name, [each.name for each in config.sources], 1, 0.5)
        remedy = f"Did you mean {near[0]}?" if near else "Run `ctxsync source list`."
        raise UsageError(f'There is no source "{name}".', remedy=remedy)
    if not source.secrets:
        raise UsageError(
            f'"{name}" is a {source.type} source: it needs no secret.', remedy="Run `ctxsync source list`."
        )
    known = [key for key in SECRETS if key in {item.name for item in fields(source)}]
    setting = setting or next(iter(source.secrets))
    if setting not in known:
        raise UsageError(
            f'Sources of type {source.type} have no secret "{setting}".', remedy=f"Use {' or '.join(known)}."
        )
    spec = source.secrets.get(setting, "")
    if not spec.startswith("keyring:"):
        where = f"looks for it elsewhere ({spec.partition(':')[0]}:)" if spec else "does not look for it"
        raise UsageError(
            f"config.toml {where}, so it would not be found; nothing was stored.",
            remedy=f'Write {setting} = "keyring:" under "{name}" first: `ctxsync config edit`.',
        )
    from ctxsync.connectors.secrets import store, stored

    replaced = stored(source=name, setting=setting, spec=spec)  # before anything is typed: is there a keyring at all?
    store(ask(f"{setting} of {name}"), source=name, setting=setting, spec=spec)
    return {"name": name, "setting": setting, "replaced": replaced}


def forget_secrets(source: SourceConfig) -> list[str]:
    """Take from the keyring what ctxsync stored for a source that is gone; return which settings."""
    stored = [setting for setting, spec in source.secrets.items() if spec.strip() == "keyring:"]
    if not stored:
        return []
    from ctxsync.connectors.secrets import forget

    return [setting for setting in stored if forget(source=source.name, setting=setting)]


def derive_name(path: Path, taken: Iterable[str]) -> str:
    """Return a source name for a path: its last part in lower case, numbered when taken.

    Args:
        path: Absolute; a bare repository's `.git` ending is dropped.
        taken: Names in use.
    """
    stem = path.name.removesuffix(".git") or path.parent.name
    base = re.sub(r"[^a-z0-9._-]+", "-", stem.lower()).strip("-._")[:50] or "source"
    used = {*taken, *RESERVED_NAMES}
    name, number = base, 2
    while name in used:
        name, number = f"{base}-{number}", number + 1
    return name


def _choose_name(taken: Collection[str], name: str | None, path: Path) -> str:
    if name is None:
        return derive_name(path, taken)
    if not NAME_PATTERN.fullmatch(name) or name in RESERVED_NAMES:
        raise UsageError(f'"{name}" cannot name a source.', remedy=f"For a name, {name_rule()}.")
    if name in taken:
        raise UsageError(f'There is already a source "{name}".', remedy="Choose another --name.")
    return name


def _append(document: Any, source: SourceConfig, *, spelled: bool) -> None:
    import tomlkit

    table = tomlkit.table()
    if document.get("sources"):
        document["sources"][-1].add(tomlkit.nl())
    for item in fields(source):
        value = getattr(source, item.name)
        if item.name == "trust" and not spelled:
            continue
        if item.default is MISSING or value != item.default:
            table.add(item.name, plain(value))
    for setting, spec in source.secrets.items():
        if setting not in table:
            table.add(setting, spec)  # a default that a person looks for: where is my password?
    if "sources" in document:
        document["sources"].append(table)
    else:
        tables = tomlkit.aot()
        tables.append(table)
        document.add("sources", tables)


def _edit(home: Home, change: Any) -> None:
    """Change config.toml in one step; what is written is read back first, so a bad edit never replaces a good file."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    from ctxsync.config import parse

    path = home.config_path
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        document = tomlkit.parse(text)
        change(document)
        new = tomlkit.dumps(document)
        parse(new, str(path))
        write_private(path, new)
    except (OSError, TOMLKitError) as error:
        raise ConfigError(f"{path} cannot be changed: {error}.", remedy="Run `ctxsync doctor`.") from error
    load_config(home)
