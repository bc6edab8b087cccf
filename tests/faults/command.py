"""Runs the real `ctxsync` command with models without weights: what goes wrong around it is on trial, not the language.

usage: command.py ARGUMENT…

CTXSYNC_TEST_VECTORS=1 gives it vectors (made of letters), so that the cache and the search by meaning take part.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import ctxsync.models
from ctxsync.engine.embedding import MODEL
from tests.whole.support import PlainModels

if TYPE_CHECKING:
    from collections.abc import Sequence


class LetterEmbedder:
    """Unit vectors that count letters."""

    model = MODEL
    dimensions = 384

    def embed(self, texts: Sequence[str]) -> Any:
        """Return float32 of shape (len(texts), 384)."""
        import numpy as np

        rows = np.ones((len(texts), self.dimensions), dtype=np.float32)
        for number, text in enumerate(texts):
            for sign in text:
                rows[number, ord(sign) % self.dimensions] += 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class VectorModels(PlainModels):
    """As `PlainModels`, with vectors and the home's own cache."""

    def __init__(self, config: Any, home: Any) -> None:
        super().__init__()
        self._local = LOCAL(config, home)

    def embedder(self) -> Any:
        """Return the embedder."""
        return LetterEmbedder()

    def cache(self) -> Any:
        """Return the cache of the home, as the command opens it."""
        return self._local.cache()


LOCAL = ctxsync.models.LocalModels


def main() -> None:
    """Run the command on the arguments given."""
    with_vectors = os.environ.get("CTXSYNC_TEST_VECTORS") == "1"
    models = VectorModels if with_vectors else lambda *_: PlainModels()
    ctxsync.models.LocalModels = models  # type: ignore[assignment, misc]  # a seam by name: this is the real command otherwise
    sys.argv = ["ctxsync", *sys.argv[1:]]
    from ctxsync.cli import main as command

    command()


if __name__ == "__main__":
    main()
