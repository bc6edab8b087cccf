"""Globs as lines of a `.gitignore`: of a source's settings, and of ignore files. Knows no source, and reads no file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pathspec import GitIgnoreSpec

from ctxsync.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ctxsync.connectors.base import Json


def globs(source: str, settings: Mapping[str, Json], key: str) -> GitIgnoreSpec | None:
    """Return what matches the globs of a setting, as lines of a `.gitignore`; None when there are none.

    Args:
        source: The source's name, for messages.
        settings: The source's settings; one glob may stand alone or in a list.
        key: `include` or `exclude`.

    Raises:
        ConfigError: It is no list of texts, or holds a glob that means nothing.
    """
    value = settings.get(key)
    lines = [value] if isinstance(value, str) else value or []
    remedy = "Correct it in config.toml."
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise ConfigError(f"`{key}` of the source {source} must be a list of globs.", remedy=remedy)
    patterns = [str(line) for line in lines if str(line).strip()]
    try:
        return GitIgnoreSpec.from_lines(patterns) if patterns else None
    except ValueError as error:
        raise ConfigError(f"`{key}` of the source {source} holds a bad glob: {error}.", remedy=remedy) from error


def ignore_file(text: str) -> GitIgnoreSpec:
    """Return what matches an ignore file; a line that is no pattern is left out, as git does."""
    lines = []
    for line in text.splitlines():
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            continue
        lines.append(line)
    return GitIgnoreSpec.from_lines(lines)
