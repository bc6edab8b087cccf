"""Tier 1 with GLiNER2 on onnxruntime, from a model folder on this machine; knows no home, no settings and no network.

Loading is late: importing this package imports neither the library nor onnxruntime, and a tier opens its model at the
first text.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from ctxsync.engine.extraction.gliner.files import digest_of, precision_of

if TYPE_CHECKING:
    from pathlib import Path

    from ctxsync.engine.extraction.base import Identity
    from ctxsync.engine.extraction.gliner.tier import Gliner
    from ctxsync.engine.schema import Schema

__all__ = ["INSTALL", "LIBRARY", "check", "digest_of", "is_available", "load"]

LIBRARY = "gliner2_onnx"
INSTALL = "Run `pip install 'ctxsync[gliner]'`."


def is_available() -> bool:
    """Say whether the library that runs the model is installed; imports nothing."""
    return find_spec(LIBRARY) is not None


def load(path: Path, schema: Schema, identity: Identity) -> Gliner:
    """Return the tier of a model folder. The model itself is opened at the first text.

    Args:
        path: The folder: the layout of `gliner2-onnx`, `gliner2_config.json` and what it names.
        schema: What to extract into.
        identity: Who "I" is.

    Raises:
        ModelError: The library is not installed, or the folder does not hold such a model.
    """
    from ctxsync.engine.extraction.gliner.tier import Gliner
    from ctxsync.errors import ModelError

    if not is_available():
        raise ModelError("The GLiNER2 model needs a library that is not installed.", remedy=INSTALL)
    precision_of(path)
    return Gliner(path, schema, identity, checksum=digest_of(path))


def check(path: Path) -> None:
    """Open a model folder and read one sentence with it: what is found does not matter, that it runs does.

    Raises:
        ModelError: It cannot be opened or does not run; or the library is not installed.
    """
    from ctxsync.engine.extraction.gliner.runtime import Names
    from ctxsync.engine.schema import universal
    from ctxsync.errors import ModelError

    if not is_available():
        raise ModelError("The GLiNER2 model needs a library that is not installed.", remedy=INSTALL)
    Names(path, universal().entity_types).find("Nadia Okoro works at Fennel Labs in Lisbon.")
