"""Words by likeness of meaning, so that what was learned of `joined` and `Vermont` says something of `enrolled` and `Ohio`.

Classes of words have stood in for vectors in linear models since Brown et al. 1992; Turian et al. 2010 compare both.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

FILE = "word_classes.txt"
Classes = tuple[str, str, str]
UNKNOWN: Classes = ("-", "-", "-")


@cache
def _classes() -> dict[str, Classes]:
    found: dict[str, Classes] = {}
    for line in resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            word, coarse, middle, fine = line.split()
            found[word] = (coarse, middle, fine)
    return found


def classes_of(word: str) -> Classes:
    """Return the classes of a lower-case word: coarse, middle, fine; `UNKNOWN` for one that is in no list."""
    return _classes().get(word, UNKNOWN)
