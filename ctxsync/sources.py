"""Adding and removing sources in `config.toml`, comments and formatting kept; reads nothing of a source but its kind."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ctxsync.config import (
    DEFAULT_TRUST,
    LATER_TYPES,
    NAME_PATTERN,
    RESERVED_NAMES,
    SOURCE_TYPES,
    Config,
    SourceConfig,
    load_config,
    name_rule,
)
from ctxsync.errors import ConfigError, UsageError
from ctxsync.home import expanded, real, write_private

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from ctxsync.home import Home


def add(
    home: Home,
    config: Config,
    kind: str,
    location: str,
    *,
    name: str | None = None,
    trust: str | None = None,
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    former: Mapping[str, str] = MappingProxyType({}),
) -> SourceConfig:
    """Check a new source and write it into config.toml.

    Args:
        home: Where config.toml stands.
        config: Its settings now.
        kind: A source type.
        location: A path; relative ones are of the current directory, `~` is expanded.
        name: What to call it; None derives one from the path.
        trust: `own` or `others`; None takes the type's default (notes own, git others).
        include: Globs of what to read.
        exclude: Globs of what to leave out.
        former: The type of each source that the log ever held, by name: a name never changes its type.

    Returns:
        The source as config.toml now has it.

    Raises:
        UsageError: The type, place or name does not fit; nothing was written.
        ConfigError: config.toml cannot be written.
    """
    if kind not in SOURCE_TYPES:
        if kind in LATER_TYPES:
            raise UsageError(f'Sources of type "{kind}" are not available in this version.', remedy="Use notes or git.")
        raise UsageError(f'There is no source type "{kind}".', remedy=f"Use {' or '.join(SOURCE_TYPES)}.")
    if trust is not None and trust not in ("own", "others"):
        raise UsageError(f'"{trust}" is not a trust.', remedy="Use --trust own or --trust others.")
    other = {used: was for used, was in former.items() if was != kind}
    if name in other:
        raise UsageError(f'"{name}" was a {other[name]} source before.', remedy="Choose another --name.")
    path = expanded(location).absolute()
    _check_place(home, config, kind, path)
    chosen = _choose_name([*(source.name for source in config.sources), *other], name, path)
    source = SourceConfig(chosen, kind, path, tuple(include), tuple(exclude), trust or DEFAULT_TRUST[kind])
    _edit(home, lambda document: _append(document, source, spelled=trust is not None))
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


def is_repository(path: Path) -> bool:
    """Say whether a folder is a Git repository (a work tree's top, a linked worktree's, or a bare one)."""
    return (path / ".git").exists() or all((path / part).exists() for part in ("HEAD", "objects", "refs"))


def _check_place(home: Home, config: Config, kind: str, path: Path) -> None:
    if not path.exists():
        nearest = next(parent for parent in path.parents if parent.exists())
        raise UsageError(f"{path} does not exist; {nearest} does.", remedy="Check the path, then add it again.")
    if not path.is_dir():
        raise UsageError(f"{path} is a file; a {kind} source is a folder.", remedy=f"Add {path.parent} instead.")
    if kind == "git" and not is_repository(path):
        above = next((parent for parent in path.parents if is_repository(parent)), None)
        remedy = f"Run `ctxsync source add git {above}`." if above else f"For notes: `ctxsync source add notes {path}`."
        raise UsageError(f"{path} is not a Git repository.", remedy=remedy)
    if kind == "notes" and is_repository(path) and not _has_notes(path):
        raise UsageError(
            f"{path} is a Git repository without notes (.md, .txt, .org).",
            remedy=f"Run `ctxsync source add git {path}`.",
        )
    place, home_place = real(path), real(home.path)
    if place == home_place or home_place in place.parents:
        raise UsageError(
            f"{path} lies in ctxsync's own home {home.path}; it never reads its own output.",
            remedy="Move the folder elsewhere, or choose another --home.",
        )
    for other in config.sources:
        if other.type == kind and real(other.path) == place:
            raise UsageError(f'{path} is already the source "{other.name}".', remedy="Run `ctxsync sync`.")


def _has_notes(path: Path) -> bool:
    """Say whether some note stands in a folder, without reading a whole tree: three levels, hidden folders left out."""
    pattern = ("*", "*/*", "*/*/*")
    return any(
        found.suffix.lower() in (".md", ".markdown", ".txt", ".org")
        for depth in pattern
        for found in path.glob(depth)
        if not any(part.startswith(".") for part in found.relative_to(path).parts)
    )


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
    table.add("name", source.name)
    table.add("type", source.type)
    table.add("path", str(source.path))
    if source.include:
        table.add("include", list(source.include))
    if source.exclude:
        table.add("exclude", list(source.exclude))
    if spelled:
        table.add("trust", source.trust)
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
