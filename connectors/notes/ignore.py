"""Which paths of a vault are not notes: fixed rules and ignore files; reads nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxsync.connectors.globs import ignore_file

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILES = (".gitignore", ".ctxsyncignore")  # in this order: the later one decides
TEMPORARY = frozenset({".tmp", ".temp", ".swp", ".swo", ".swx", ".part", ".crdownload", ".bak"})
_LOGSEQ_COPIES = frozenset({"logseq/bak", "logseq/version-files"})


def is_temporary(name: str) -> bool:
    """Say whether a file or folder name is never a person's note, wherever it stands in the vault."""
    return name[0] in ".~" or name[-1] in "~#" or name[name.rfind(".") :].lower() in TEMPORARY


def is_copy(path: str) -> bool:
    """Say whether a folder of the vault holds an application's own backup copies."""
    return path in _LOGSEQ_COPIES


@dataclass(frozen=True, slots=True)
class Rules:
    """The ignore files that hold in a folder, innermost first, each with the folder it stands in."""

    specs: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def within(self, folder: str, text: str) -> Rules:
        """Return the rules of a folder (path with `/` at its end, empty for the vault) that has ignore files itself."""
        return Rules(((folder, ignore_file(text)), *self.specs))

    def ignores(self, path: str) -> bool:
        """Say whether a path (a folder's ends in `/`) is ignored: the innermost file with an opinion decides."""
        for folder, spec in self.specs:
            verdict = spec.check_file(path[len(folder) :]).include
            if verdict is not None:
                return verdict
        return False
