"""Fetches a model's files from a hub when a person asks for it; no text goes there, and nothing calls this by itself.

The hub speaks as huggingface.co does: a list of files with their digests, and an address for each. Only https, only the
host that the command names (and, for huggingface.co, the hosts it stores files on), no account, no cookies. What a
broken line left is taken up again where it ended; a file whose digest is wrong is fetched anew, never installed.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote, urljoin, urlsplit

from ctxsync import model_store
from ctxsync.engine.extraction.gliner.files import BESIDE, CONFIG, DATA, config_of, graphs, is_inside, sha256_of
from ctxsync.errors import ModelError, UsageError
from ctxsync.home import FOLDER_MODE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import httpx

    from ctxsync.home import Home

HUB = "https://huggingface.co"
REPO = "lmo3/gliner2-large-v1-onnx"
"""The export that the library's own readme names; English, 2 GB in full precision."""
STORES = {"huggingface.co": (".huggingface.co", ".hf.co")}
"""Hosts that a hub may send a download on to, beside itself."""
TIMEOUT = 60.0
"""Seconds without a byte after which a line counts as broken."""
ATTEMPTS = 5
"""How often one file is taken up again after the line broke."""
REDIRECTS = 5
PARTIAL = 206
_SMALL = 1 << 20
"""Bytes: tokenizer settings and the like lie beside the graphs and are fetched with them."""


def pull(
    home: Home,
    progress: model_store.Progress,
    *,
    hub: str = HUB,
    repo: str = REPO,
    revision: str = "main",
    precision: str = "fp32",
) -> tuple[model_store.Kept, bool]:
    """Fetch a GLiNER2 model and install it.

    Args:
        home: Whose model it becomes.
        progress: Told of bytes done and in all.
        hub: Address of the hub, https.
        repo: `owner/name` there.
        revision: A branch, tag or commit.
        precision: `fp32` or another that the model offers.

    Returns:
        As `model_store.add`.

    Raises:
        UsageError: The hub's address, the repository's name or the precision is not one.
        ModelError: The hub cannot be reached or refuses, or what it sends is no model; it says how to go on without it.
        ProviderDown: The proxy that the environment names cannot be used.
    """
    from ctxsync.engine.door.transport import opened

    if urlsplit(hub).scheme != "https" or not urlsplit(hub).hostname or "@" in hub:
        # An account would stand in messages, and in what is kept of where the model came from.
        raise UsageError(f"{hub.rpartition('@')[2]} is no https address.", remedy="Name the hub as https://HOST.")
    if len(repo.split("/")) != 2 or not is_inside(repo):
        raise UsageError(f"{repo} is no repository.", remedy=f"Name it as OWNER/NAME: {REPO}.")
    with opened(urlsplit(hub).hostname or "", timeout=TIMEOUT, headers={"User-Agent": "ctxsync"}) as client:
        source = _Hub(client, hub.rstrip("/"), repo)
        with _explained(source.address, repo):
            listing = _Listing(source.json(f"api/models/{repo}/revision/{quote(revision, safe='')}?blobs=true"))
            if (known := _installed(home, listing, precision)) is not None:
                return known, False
            place = _fetched(source, home, listing, precision, progress)
    origin = f"{source.address}/{repo}"
    kept = model_store.add(
        home, place, lambda *_: None, origin=origin, licence=listing.licence, revision=listing.commit
    )
    shutil.rmtree(place, ignore_errors=True)
    return kept


def _installed(home: Home, listing: _Listing, precision: str) -> model_store.Kept | None:
    """Return what is installed where it is the very same; raises `ModelError`, before gigabytes, where it is another."""
    place = model_store.folder(home) / model_store.GLINER
    known = model_store.manifest(place)
    if known is None or model_store.fault(place) is not None:
        return None
    if known.revision == listing.commit and set(graphs(config_of(place)).get(precision, "-")) <= known.files.keys():
        return known
    raise model_store.another()


def _fetched(source: _Hub, home: Home, listing: _Listing, precision: str, progress: model_store.Progress) -> Path:
    """Fetch a revision's files into a folder of their own, which stays until they are all there."""
    place = model_store.folder(home) / f".pull-{source.repo.replace('/', '-')}-{listing.commit[:12]}"
    place.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    source.fetch(listing.file(CONFIG), place, lambda _: None)
    files = [listing.file(name) for name in _wanted((place / CONFIG).read_bytes(), listing, precision)]
    total = model_store.whole({file.name: file.size for file in files})
    done = 0
    for file in files:
        source.fetch(file, place, partial(_told, progress, done, total))
        done += file.size
    return place


def by_hand(hub: str = HUB, repo: str = REPO) -> str:
    """Return what to do where the hub cannot be reached."""
    return (
        f"On a machine that reaches it, fetch all files of {hub}/{repo} ({CONFIG}, {', '.join(BESIDE)}, the other JSON "
        "files, and onnx/*.onnx of one precision), bring the folder here, and run `ctxsync models add FOLDER`."
    )


@dataclass(frozen=True, slots=True)
class _File:
    """A file as the hub lists it; `sha1` is git's name of its content, for files that have no SHA-256."""

    name: str
    commit: str
    size: int
    sha256: str
    sha1: str

    def is_at(self, path: Path) -> bool:
        """Say whether the file stands there, whole."""
        if not path.is_file() or path.stat().st_size != self.size:
            return False
        if self.sha256:
            return sha256_of(path) == self.sha256
        content = hashlib.sha1(f"blob {self.size}\0".encode(), usedforsecurity=False)
        content.update(path.read_bytes())
        return content.hexdigest() == self.sha1


class _Listing:
    """What the hub says a revision holds."""

    def __init__(self, data: Any) -> None:
        try:
            self.commit = str(data["sha"])
            self._files = {str(entry["rfilename"]): entry for entry in data["siblings"]}
            card = data.get("cardData") or {}
            self.licence = str(card.get("license") or "") if isinstance(card, dict) else ""
        except (KeyError, TypeError, AttributeError) as error:
            raise ModelError("The hub's list of files cannot be read.", remedy="Check its address.") from error
        if not self.commit.isalnum():
            raise ModelError("The hub names no commit.", remedy="Check its address.")

    def names(self) -> list[str]:
        """Return the files that may be kept, in order."""
        return sorted(name for name in self._files if is_inside(name) and model_store.is_kept(name))

    def file(self, name: str) -> _File:
        """Return a file; raises `ModelError` where it is not listed, or without a digest."""
        entry = self._files.get(name)
        if entry is None or not isinstance(entry.get("size"), int):
            raise ModelError(f"{name} is not among the model's files.", remedy="Name another model with --repo.")
        sha256, sha1 = str((entry.get("lfs") or {}).get("sha256", "")), str(entry.get("blobId") or "")
        if not sha256 and not sha1:
            raise ModelError(f"The hub gives no digest of {name}.", remedy="Fetch the files by hand.")
        return _File(name, self.commit, entry["size"], sha256, sha1)


def _told(progress: model_store.Progress, before: int, total: int, done: int) -> None:
    progress(before + done, total)


def _wanted(content: bytes, listing: _Listing, precision: str) -> list[str]:
    """Return the names to fetch: the graphs of one precision with their tensors, and the small files beside them."""
    try:
        config = json.loads(content)
        offered = graphs(config)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{CONFIG} is not that of a GLiNER2 export.", remedy="Name another with --repo.") from error
    if precision not in offered:
        has = ", ".join(sorted(offered)) or "none"
        raise UsageError(f"The model has no precision {precision}.", remedy=f"It has: {has}.")
    names = listing.names()
    beside = [
        name
        for name in names
        if "/" not in name and ".onnx" not in name and (name in BESIDE or listing.file(name).size <= _SMALL)
    ]
    tensors = [f"{graph}{end}" for graph in offered[precision] for end in DATA]
    return [*beside, *dict.fromkeys(offered[precision]), *(name for name in names if name in tensors)]


class _Hub:
    """One repository at a hub."""

    def __init__(self, client: httpx.Client, address: str, repo: str) -> None:
        self.address = address
        self.repo = repo
        self._client = client

    def json(self, path: str) -> Any:
        """Return what the hub says at a path."""
        with self._got(f"{self.address}/{path}", {}) as response:
            try:
                return json.loads(response.read())
            except ValueError as error:
                raise ModelError(
                    f"{self.address} does not answer as a hub does.", remedy="Check its address."
                ) from error

    def fetch(self, file: _File, place: Path, progress: Callable[[int], None]) -> None:
        """Fetch a file into a folder, or what is missing of it there, and check it."""
        import httpx

        target = place / file.name
        if file.is_at(target):
            progress(file.size)
            return
        target.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        part = target.with_name(f"{target.name}.part")
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._more(file, part, progress)
            except httpx.TransportError:
                if attempt == ATTEMPTS:
                    raise
                continue
            if part.stat().st_size < file.size:
                continue  # the line ended early without saying so
            if file.is_at(part):
                part.replace(target)
                return
            part.unlink()  # spoilt on the way
        raise ModelError(f"{file.name} does not arrive whole.", remedy="Run the command again later.")

    def _more(self, file: _File, part: Path, progress: Callable[[int], None]) -> None:
        have = part.stat().st_size if part.exists() else 0
        if have >= file.size:
            have = 0
        headers = {"Range": f"bytes={have}-"} if have else {}
        with self._got(f"{self.address}/{self.repo}/resolve/{file.commit}/{quote(file.name)}", headers) as response:
            if response.status_code != PARTIAL:
                have = 0
            with part.open("ab" if have else "wb") as out:
                for chunk in response.iter_raw():
                    have += len(chunk)
                    if have > file.size:
                        raise ModelError(f"{file.name} is larger than was announced.", remedy="Try again later.")
                    out.write(chunk)
                    progress(have)

    @contextmanager
    def _got(self, url: str, headers: dict[str, str]) -> Iterator[httpx.Response]:
        """Give the response of an address, redirects followed to allowed hosts alone."""
        home = urlsplit(self.address).hostname or ""
        for _ in range(REDIRECTS):
            parts = urlsplit(url)
            host = parts.hostname or ""
            if parts.scheme != "https" or not (host == home or host.endswith(STORES.get(home, ()))):
                said = f"The hub sends to {parts.scheme}://{host}, where this command may not go."
                raise ModelError(said, remedy=by_hand(self.address, self.repo))
            # As it is on the disk of the hub: digests and places to go on from are those of the bytes themselves.
            with self._client.stream("GET", url, headers={"Accept-Encoding": "identity", **headers}) as response:
                if response.is_redirect:
                    url = urljoin(url, response.headers.get("location", ""))
                    continue
                response.raise_for_status()
                yield response
                return
        raise ModelError(f"{self.address} sends round in a circle.", remedy=by_hand(self.address, self.repo))


@contextmanager
def _explained(hub: str, repo: str) -> Iterator[None]:
    """Raise what goes wrong on the line as ours, with the way round."""
    import httpx

    def fail(said: str, error: Exception) -> NoReturn:
        raise ModelError(
            f"{hub} {said}. What has arrived is kept for the next try.", remedy=by_hand(hub, repo)
        ) from error

    try:
        yield
    except httpx.HTTPStatusError as error:
        fail(f"answered {error.response.status_code} for {repo}", error)
    except httpx.TransportError as error:
        fail(f"cannot be reached ({type(error).__name__})", error)
    except httpx.HTTPError as error:
        fail(f"failed ({type(error).__name__})", error)
