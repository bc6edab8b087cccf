"""Prompts as plain text files, byte-stable so that a model server can reuse their prefix."""

from __future__ import annotations

from functools import cache
from importlib import resources


@cache
def load(name: str) -> str:
    """Return the text of a prompt of this package, for example `extract`, without its last line end."""
    return resources.files(__name__).joinpath(f"{name}.txt").read_text(encoding="utf-8").removesuffix("\n")
