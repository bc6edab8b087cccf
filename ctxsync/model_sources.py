"""Reads a model's files from a folder or an archive, each checked before a byte is copied; knows no home.

Nothing leaves the target folder: names with `..`, absolute ones, and links that lead out are refused, and so are
devices, code and pickled weights. Readmes and the like are left out.
"""

from __future__ import annotations

import re
import tarfile
import zipfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

from ctxsync import model_store
from ctxsync.engine.extraction.gliner.files import CONFIG, MANIFEST, REMEDY, is_inside
from ctxsync.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Opener = Callable[[], IO[bytes]]

_CHUNK = 1 << 20
_CARD = 1 << 14
_LICENCE = re.compile(r"^license:\s*['\"]?([\w.+-]{1,40})", re.MULTILINE)


def copy(path: Path, target: Path, progress: model_store.Progress) -> str:
    """Copy a model's files into an empty folder; return the licence that its readme names, empty where it names none.

    Args:
        path: A folder, or a .zip, .tar or .tar.gz file; one folder around everything is stripped.
        target: Where to.
        progress: Told of bytes done and in all.

    Raises:
        ModelError: There is nothing such, or something in it is refused.
        OSError: A file cannot be read or written.
    """
    with ExitStack() as stack:
        try:
            listed = _listed(path, stack)
            files = _inner(listed)
            total = model_store.whole({name: size for name, (size, _) in files.items()})
            done = 0
            for name, (size, opener) in sorted(files.items()):
                with opener() as source:
                    model_store.write(
                        target / name, _counted(source, name, size, partial(_told, progress, done, total))
                    )
                done += size
            progress(total, total)
            return _licence(listed)
        except (zipfile.BadZipFile, tarfile.TarError, EOFError, NotImplementedError, RuntimeError) as error:
            raise ModelError(f"{path} is a damaged archive: {error}.", remedy="Fetch it again.") from error


def _listed(path: Path, stack: ExitStack) -> dict[str, tuple[int, Opener]]:
    """Return size and opener of each file, by its name with slashes."""
    if path.is_dir():
        return dict(_in_folder(path))
    if not path.is_file():
        raise ModelError(f"There is no {path}.", remedy="Name the folder or archive of a model.")
    if zipfile.is_zipfile(path):
        return dict(_in_zip(stack.enter_context(zipfile.ZipFile(path))))
    if tarfile.is_tarfile(path):
        return dict(_in_tar(stack.enter_context(tarfile.open(path))))
    raise ModelError(f"{path} is neither a folder nor a .zip or .tar file.", remedy=REMEDY)


def _in_folder(root: Path) -> Iterator[tuple[str, tuple[int, Opener]]]:
    real = root.resolve()
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_symlink() and not path.resolve().is_relative_to(real):
            raise ModelError(
                f"{name} is a link that leads out of {root}.", remedy="Copy it with `cp -rL`, then add that."
            )
        if path.is_dir():
            continue
        if not path.is_file():
            raise ModelError(f"{name} is no plain file.", remedy=REMEDY)
        yield name, (path.stat().st_size, partial(_plain, path))


def _in_zip(archive: zipfile.ZipFile) -> Iterator[tuple[str, tuple[int, Opener]]]:
    for info in archive.infolist():
        if info.is_dir():
            continue
        kind = info.external_attr >> 28  # the file type of Unix, where the archive has one
        if kind not in (0, 0o10):
            raise ModelError(f"{info.filename} is no plain file.", remedy=REMEDY)
        yield info.filename, (info.file_size, partial(archive.open, info))


def _in_tar(archive: tarfile.TarFile) -> Iterator[tuple[str, tuple[int, Opener]]]:
    for member in archive:
        if member.isdir():
            continue
        if not member.isreg():
            raise ModelError(f"{member.name} is no plain file.", remedy=REMEDY)
        yield member.name.removeprefix("./"), (member.size, partial(_opened, archive, member))


def _plain(path: Path) -> IO[bytes]:
    return path.open("rb")


def _opened(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    opened = archive.extractfile(member)
    if opened is None:
        raise ModelError(f"{member.name} is no plain file.", remedy=REMEDY)
    return opened


def _inner(found: dict[str, tuple[int, Opener]]) -> dict[str, tuple[int, Opener]]:
    """Return the files that are kept, by their names within the model's folder."""
    for name in found:
        if not is_inside(name):
            raise ModelError(f"{name!r} would lie outside the model's folder.", remedy=REMEDY)
        if model_store.is_refused(name):
            raise ModelError(f"{name} is code, or weights that can run code when opened.", remedy=REMEDY)
    tops = [Path(name).parent for name in found if Path(name).name == CONFIG]
    if len(tops) != 1 or len(tops[0].parts) > 1:
        raise ModelError(f"No {CONFIG} is there, so it is no model that is known here.", remedy=REMEDY)
    top = f"{tops[0].as_posix()}/" if tops[0].parts else ""
    inner = {name.removeprefix(top): file for name, file in found.items() if name.startswith(top)}
    return {name: file for name, file in inner.items() if model_store.is_kept(name) and name != MANIFEST}


def _licence(listed: dict[str, tuple[int, Opener]]) -> str:
    """Return `license:` of a model card: the lines between `---` that its readme begins with."""
    for name, (_, opener) in sorted(listed.items(), key=lambda entry: len(entry[0])):
        if Path(name).name == "README.md":
            with opener() as source:
                head, _, rest = source.read(_CARD).decode("utf-8", "replace").partition("---")
            found = None if head.strip() else _LICENCE.search(rest.partition("\n---")[0])
            return found[1] if found else ""
    return ""


def _told(progress: model_store.Progress, before: int, total: int, done: int) -> None:
    progress(before + done, total)


def _counted(source: IO[bytes], name: str, size: int, told: Callable[[int], None]) -> Iterator[bytes]:
    """Yield a file's bytes, and no more of them than were announced."""
    done = 0
    while chunk := source.read(_CHUNK):
        done += len(chunk)
        if done > size:
            break
        told(done)
        yield chunk
    if done != size:
        raise ModelError(f"{name} has not the size that was announced.", remedy="Fetch it again.")
