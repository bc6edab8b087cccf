"""The home's `models/` folder: what is installed there, and how a model comes and goes; opens no network.

A model is copied beside its place, checked, and renamed to it in one step, so that a folder of that name is whole. What
it holds stands in `ctxsync-model.json` within it: names, sizes and SHA-256. Graphs, JSON and text are all that is kept:
none of these runs code when it is opened, as pickled weights do.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import tempfile
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxsync.engine.extraction import gliner
from ctxsync.engine.extraction.gliner.files import DATA, MANIFEST, REMEDY, digest_over, precision_of, sha256_of
from ctxsync.errors import ModelError, StoreFull
from ctxsync.home import FILE_MODE, FOLDER_MODE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ctxsync.home import Home

    Progress = Callable[[int, int], None]
    """Called with bytes done and bytes in all."""

GLINER = "gliner2"
KEPT = (".onnx", ".json", ".txt")
REFUSED = frozenset(
    (
        *(".bin", ".ckpt", ".h5", ".joblib", ".keras", ".msgpack", ".npy", ".npz", ".pickle", ".pkl", ".pt", ".pth"),
        *(".safetensors", ".py", ".pyc", ".dll", ".dylib", ".so"),
    )
)
LARGEST = 16 * 1024**3
"""Bytes that a model may have: several times the largest one known here; an archive that unpacks to more is a trap."""
STALE = {".add-": 24 * 3600, ".pull-": 7 * 24 * 3600}
"""Seconds after which a copy, or a download that could be taken up again, is thrown away when a model is added."""
_STAGED = ".add-"


@dataclass(frozen=True, slots=True)
class Kept:
    """What an installed folder's manifest says.

    Args:
        name: Of the model.
        digest: SHA-256 over its files.
        size: Bytes of them all.
        files: `{"size", "sha256", "mtime"}` by path within the folder; mtime in nanoseconds.
        origin: The path or address it came from.
        licence: As its source names it; empty where it names none.
        revision: The commit at the hub, where it came from one.
    """

    name: str
    digest: str
    size: int
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    origin: str = ""
    licence: str = ""
    revision: str = ""


def folder(home: Home) -> Path:
    """Return where a home's models stand."""
    return home.path / "models"


def installed(home: Home) -> dict[str, Path]:
    """Return the folder of each model that is installed and whole, by name.

    Sizes and times of change are compared with the manifest, and the content only where they differ: this is asked
    before every extraction, and a model has gigabytes.
    """
    place = folder(home) / GLINER
    return {GLINER: place} if place.is_dir() and fault(place) is None else {}


def manifest(place: Path) -> Kept | None:
    """Return what an installed folder should hold; None where its manifest cannot be read."""
    try:
        return Kept(**json.loads((place / MANIFEST).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def fault(place: Path, *, thorough: bool = False) -> str | None:
    """Return what is wrong with an installed folder, for a person; None when it is whole.

    Args:
        place: The folder.
        thorough: Read every file, also those that look untouched.
    """
    kept = manifest(place)
    if kept is None:
        return f"{MANIFEST} is missing or unreadable"
    for name, told in sorted(kept.files.items()):
        path = place / name
        try:
            seen = path.lstat()
            same = stat.S_ISREG(seen.st_mode) and seen.st_size == told["size"]
            if same and (thorough or seen.st_mtime_ns != told["mtime"]):
                same = sha256_of(path) == told["sha256"]
        except OSError as error:
            return f"{name}: {(error.strerror or 'cannot be read').lower()}"
        if not same:
            return f"{name} has changed"
    try:
        precision_of(place)
    except ModelError as error:
        return error.message.rstrip(".")
    return None


def add(
    home: Home, path: Path, progress: Progress, *, origin: str = "", licence: str = "", revision: str = ""
) -> tuple[Kept, bool]:
    """Install a model from a folder or an archive (.zip, .tar, .tar.gz).

    Args:
        home: Whose model it becomes.
        path: The folder or archive; it is only read.
        progress: Told of the bytes copied.
        origin: Where it came from, if not from `path`.
        licence: As its source names it; else what its readme says.
        revision: The commit at the hub.

    Returns:
        What is installed, and whether this call has put it there: False when the very same is installed already.

    Raises:
        ModelError: It is no model that is known here, holds something that must not be in one, does not run, or
            another one is installed.
        StoreFull: The disk is full.
    """
    from ctxsync import model_sources

    place = folder(home) / GLINER
    with _translated(folder(home)):
        folder(home).mkdir(mode=FOLDER_MODE, exist_ok=True)
        _sweep(folder(home))
        with _staging(folder(home)) as staged:
            named = model_sources.copy(path, staged, progress)
            precision_of(staged)
            kept = _described(staged, origin or str(path.absolute()), licence or named, revision)
            known = manifest(place)
            is_whole = known is not None and fault(place, thorough=True) is None
            if known is not None and is_whole and known.digest == kept.digest:
                return known, False
            is_there = place.exists()
            if is_there and (known is None or is_whole):
                # What is damaged is replaced; another model, or what somebody put there by hand, is not.
                raise another()
            if gliner.is_available():
                gliner.check(staged)
            (staged / MANIFEST).write_text(json.dumps(asdict(kept), indent=1), encoding="utf-8")
            (staged / MANIFEST).chmod(FILE_MODE)
            if is_there:
                _discard(place)  # a damaged one: this takes its place
            try:
                staged.rename(place)
            except OSError as error:
                if place.exists():  # another process was quicker
                    raise another() from error
                raise
    return kept, True


def remove(home: Home) -> None:
    """Take the model out. It is gone for readers at once; deleting its files may take a moment.

    Raises:
        ModelError: None is installed.
    """
    place = folder(home) / GLINER
    if not place.exists():
        raise ModelError(f"No {GLINER} model is installed.", remedy="Run `ctxsync models list`.")
    with _translated(place):
        _discard(place)


def another() -> ModelError:
    """Return the error for a model that would take the place of one that is whole."""
    return ModelError(f"Another {GLINER} model is installed.", remedy=f"Run `ctxsync models remove {GLINER}`.")


def is_kept(name: str) -> bool:
    """Say whether a file belongs into a model folder: a graph, its tensors, JSON or text."""
    return name.endswith(KEPT) or any(name.endswith(f".onnx{end}") for end in DATA)


def is_refused(name: str) -> bool:
    """Say whether a file must not be in a model: code, and weights in forms that can carry code or are not used."""
    return Path(name).suffix.lower() in REFUSED


def _described(staged: Path, origin: str, licence: str, revision: str) -> Kept:
    files: dict[str, dict[str, Any]] = {}
    for path in sorted(staged.rglob("*")):
        if path.is_file():
            seen = path.stat()
            sha256 = sha256_of(path)
            files[path.relative_to(staged).as_posix()] = {
                "size": seen.st_size,
                "sha256": sha256,
                "mtime": seen.st_mtime_ns,
            }
    digest = digest_over({name: told["sha256"] for name, told in files.items()})
    return Kept(GLINER, digest, sum(told["size"] for told in files.values()), files, origin, licence, revision)


@contextmanager
def _staging(parent: Path) -> Iterator[Path]:
    """Give an empty folder beside the model's place; what is left of it at the end is deleted."""
    place = Path(tempfile.mkdtemp(dir=parent, prefix=_STAGED))
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _discard(place: Path) -> None:
    gone = Path(tempfile.mkdtemp(dir=place.parent, prefix=_STAGED))
    place.rename(gone / place.name)
    shutil.rmtree(gone, ignore_errors=True)


def _sweep(parent: Path) -> None:
    """Delete what processes left long ago: copies when they were killed, downloads that nobody went on with."""
    for kind, age in STALE.items():
        for left in parent.glob(f"{kind}*"):
            if time.time() - left.stat().st_mtime > age:
                shutil.rmtree(left, ignore_errors=True)


@contextmanager
def _translated(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreFull(f"No space is left for {place}.", remedy="Free some space, then run it again.") from error
        said = error.strerror or str(error)
        raise ModelError(f"{error.filename or place}: {said}.", remedy="Check the permissions of that path.") from error


def write(target: Path, chunks: Iterator[bytes]) -> None:
    """Write a file of a model, closed to others, and flush it to the disk."""
    target.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    with os.fdopen(handle, "wb") as file:
        for chunk in chunks:
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())


def whole(sizes: Mapping[str, int]) -> int:
    """Return the bytes of all files of a model; raises `ModelError` where they are more than any model has."""
    total = sum(sizes.values())
    if total > LARGEST:
        raise ModelError(f"It has {total // 1024**3:,} GiB: no model is that large.", remedy=REMEDY)
    return total
