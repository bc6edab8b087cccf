"""Which paths of a vault are not notes: fixed rules, include and exclude globs, ignore files; reads nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pathspec import GitIgnoreSpec

from ctxsync.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

IGNORE_FILES = (".gitignore", ".ctxsyncignore")  # in this order: the later one decides
TEMPORARY = frozenset({".tmp", ".temp", ".swp", ".swo", ".swx", ".part", ".crdownload", ".bak"})
_LOGSEQ_COPIES = frozenset({"logseq/bak", "logseq/version-files"})


def is_temporary(name: str) -> bool:
    """Say whether a file or folder name is never a person's note, wherever it stands in the vault."""
    return name[0] in ".~" or name[-1] in "~#" or name[name.rfind(".") :].lower() in TEMPORARY


def is_copy(path: str) -> bool:
    """Say whether a folder of the vault holds an application's own backup copies."""
    return path in _LOGSEQ_COPIES


def compile_globs(lines: Iterable[str], key: str) -> GitIgnoreSpec | None:
    """Compile globs of config.toml; None when there are none. Raises `ConfigError` on a bad one."""
    patterns = [line for line in lines if line.strip()]
    if not patterns:
        return None
    try:
        return GitIgnoreSpec.from_lines(patterns)
    except ValueError as error:
        raise ConfigError(f"`{key}` holds a glob that means nothing: {error}.", remedy="Edit config.toml.") from error


@dataclass(frozen=True, slots=True)
class Rules:
    """The ignore files that hold in a folder, innermost first, each with the folder it stands in."""

    specs: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def within(self, folder: str, text: str) -> Rules:
        """Return the rules of a folder (path with `/` at its end, empty for the vault) that has ignore files itself.

        A line that is no pattern is left out, as git does.
        """
        lines = []
        for line in text.splitlines():
            try:
                GitIgnoreSpec.from_lines([line])
            except ValueError:
                continue
            lines.append(line)
        return Rules(((folder, GitIgnoreSpec.from_lines(lines)), *self.specs))

    def ignores(self, path: str) -> bool:
        """Say whether a path (a folder's ends in `/`) is ignored: the innermost file with an opinion decides."""
        for folder, spec in self.specs:
            verdict = spec.check_file(path[len(folder) :]).include
            if verdict is not None:
                return verdict
        return False
