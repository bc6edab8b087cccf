"""Lists of names that the world knows: cities, countries, states, first names, surnames; evidence for a type, no more."""

from __future__ import annotations

import unicodedata
from functools import cache, lru_cache
from importlib import resources

FILE = "known_names.txt"


@cache
def _names() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    kind = ""
    text = resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("["):
            kind = line[1:-1]
        elif not line.startswith("#"):
            found[line] = (*found.get(line, ()), kind)
    return found


def _folded(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name) if not name.isascii() else name
    return "".join(char for char in plain if not unicodedata.combining(char)).lower().strip(" .").replace(" .", ".")


@lru_cache(maxsize=8192)
def kinds_of(name: str) -> tuple[str, ...]:
    """Return the kinds of known names that a name is one of: `city`, `country`, `state`, `first`, `last`."""
    return _names().get(_folded(name), ())
