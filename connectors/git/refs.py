"""Where a repository's history ends right now: refs, heads of worktrees, the shallow boundary, the mailmap.

Asks git and never reads its files (the list of shallow commits, which git has no command for, excepted), so that any
ref storage works. Knows nothing of cursors or items.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ctxsync.connectors.base import digest
from ctxsync.connectors.git.process import Damaged

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from ctxsync.connectors.git.process import Repository

# Stashes, notes and hosting services' pull requests are not the person's history.
REFS = ("refs/heads", "refs/tags", "refs/remotes")
_BROKEN = re.compile(r"ignoring broken ref (\S+)")
_ID = re.compile(r"[0-9a-f]{40,64}")
_LAST_PART = re.compile(r"[/\\:]")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A repository at one moment.

    Args:
        tips: Ids of the commits that refs and heads name, tags peeled.
        shallow: Ids of the commits whose parents a shallow clone left out.
        mailmap: Id of HEAD's `.mailmap`; empty when there is none.
        broken: What a broken ref is called, and what is wrong with it.
        name: What the repository is called, the same in every clone of it: see `_name`.
    """

    tips: frozenset[str]
    shallow: frozenset[str] = frozenset()
    mailmap: str = ""
    broken: Mapping[str, str] = field(default_factory=dict)
    name: str = ""

    def state(self) -> str:
        """Return what changes when anything here does."""
        return digest([*sorted(self.tips)], [*sorted(self.shallow)], self.mailmap, dict(self.broken))


def snapshot(repository: Repository) -> Snapshot:
    """Look at the repository.

    Raises:
        AuthError: git refuses it.
        Unavailable: it is missing, or no repository.
    """
    shallow, folder = _layout(repository)
    warnings: list[str] = []
    named = _named(repository, warnings)
    ids = sorted(set(named.values()))
    peeled = [f"{id_}^{{commit}}" for id_ in ids]
    try:
        *answers, mailmap = _types(repository, [*peeled, "HEAD:.mailmap"])
    except Damaged:
        # A partial clone may lack the file; git then gives up where it may not fetch.
        answers, mailmap = list(_types(repository, peeled)), ("", "missing")
    commits = {id_: answer[0] for id_, answer in zip(ids, answers, strict=True) if answer[1] == "commit"}
    others = [id_ for id_ in ids if id_ not in commits]
    # A tag may name a tree or a blob; only what cannot be read at all is broken.
    kinds = zip(others, _types(repository, others), strict=True) if others else ()
    damaged = {id_ for id_, (_, kind) in kinds if kind not in {"tree", "blob", "tag"}}
    broken = {name: f"{id_} cannot be read" for name, id_ in named.items() if id_ in damaged}
    broken |= dict.fromkeys(_BROKEN.findall("\n".join(warnings)), "it names no object")
    return Snapshot(
        tips=frozenset(commits.values()),
        shallow=shallow,
        mailmap=mailmap[0] if mailmap[1] == "blob" else "",
        broken=dict(sorted(broken.items())),
        name=_name(repository, folder),
    )


def existing(repository: Repository, commits: Iterable[str]) -> set[str]:
    """Return those of the commit ids that the repository still holds."""
    return {id_ for id_, kind in _types(repository, sorted(commits)) if kind == "commit"}


def submodules(repository: Repository) -> list[str]:
    """Return the paths of initialised submodules, sorted, nested ones included, with `/` between parts."""
    return sorted(_submodules(repository, repository.path.resolve()))


def _submodules(repository: Repository, root: Path) -> Iterator[str]:
    if not (repository.path / ".gitmodules").is_file():
        return
    for entry in repository.output("ls-files", "-s", "-z").split(b"\0"):
        if not entry.startswith(b"160000 "):
            continue
        folder = repository.path / Path(entry.partition(b"\t")[2].decode("utf-8", "surrogateescape"))
        resolved = folder.resolve()
        if (folder / ".git").exists() and resolved.is_relative_to(root):
            path = resolved.relative_to(root).as_posix()
            if path.isprintable():
                yield path
                yield from _submodules(type(repository)(folder, repository.source), root)


def _layout(repository: Repository) -> tuple[frozenset[str], Path]:
    """Return the commits at the shallow boundary, and the folder that all worktrees share."""
    answer = repository.output(
        "rev-parse", "--is-shallow-repository", "--path-format=absolute", "--git-common-dir", "--git-path", "shallow"
    )
    is_shallow, shared, path = answer.decode("utf-8", "surrogateescape").removesuffix("\n").split("\n", 2)
    file = Path(path)
    if is_shallow != "true" or not file.is_file():
        return frozenset(), Path(shared)
    return frozenset(_ID.findall(file.read_text("ascii", "replace"))), Path(shared)


def _name(repository: Repository, shared: Path) -> str:
    """Return the last part of where the repository was cloned from (`origin` before other remotes), else its folder's.

    A commit seen in two clones is one item, so what it says of its repository must not depend on the clone.
    """
    remotes = repository.output("remote", "-v").decode("utf-8", "replace").splitlines()
    urls = [(name != "origin", name, rest.rpartition(" ")[0]) for name, _, rest in (r.partition("\t") for r in remotes)]
    folder = str(shared.parent if shared.name == ".git" else shared)
    for place in (*(url for _, _, url in sorted(urls)), folder):
        name = _LAST_PART.split(place.rstrip("/\\").removesuffix(".git").rstrip("/\\"))[-1]
        name = "".join(sign for sign in name.encode("utf-8", "replace").decode() if sign.isprintable()).strip()
        if name:
            return name
    return repository.source


def _named(repository: Repository, warnings: list[str]) -> dict[str, str]:
    """Return object ids by ref name; the heads of worktrees by `HEAD <n>`."""
    named: dict[str, str] = {}
    refs = repository.output("for-each-ref", "--format=%(objectname) %(refname)", *REFS, warnings=warnings)
    for line in refs.splitlines():
        id_, _, name = line.decode("utf-8", "replace").partition(" ")
        named[name] = id_
    heads = repository.output("worktree", "list", "--porcelain").decode("utf-8", "replace").splitlines()
    for number, head in enumerate(line for line in heads if line.startswith("HEAD ")):
        id_ = head.removeprefix("HEAD ").strip()
        if _ID.fullmatch(id_) and id_.strip("0"):
            named[f"HEAD {number}"] = id_
    return named


def _types(repository: Repository, names: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield id and type of each named object in order; the name itself and `missing` where there is none."""
    answers = repository.output("cat-file", "--batch-check=%(objectname) %(objecttype)", stdin=names)
    for line in answers.decode("utf-8", "replace").splitlines():
        id_, _, kind = line.rpartition(" ")
        yield id_, kind
