"""What tier 1 can be without: each entry of its lists and of the schema, each rule, each kind of feature.

A removal is a context in which the extractor lacks one thing; `words` tell in which texts it can matter at all.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import ctxsync.engine.extraction as package
from ctxsync.engine.extraction import anchors, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ctxsync.engine.schema import PhraseClass, Schema

PHRASES = ("phrases", "inverse", "ends", "inverse_ends")
NOUNS = ("nouns", "inverse_nouns")
ANCHORS = ("anchors", "inverse_anchors")
# Rules as functions: (module, class or "", name, what it returns when it does nothing).
RULES: tuple[tuple[str, str, str, Any], ...] = (
    ("grammar", "", "_of_verb", ()),
    ("grammar", "", "_copula", ()),
    ("grammar", "", "_replacement", ()),
    ("grammar", "", "_of_noun", ()),
    ("understanding", "", "beside", ()),
    ("understanding", "", "listed", []),
    ("changes", "", "changes", ()),
    ("changes", "", "outlasts", True),
    ("scene", "Scene", "_define", None),
    ("scene", "Scene", "_we", None),
    ("scene", "Scene", "_pronoun", None),
    ("scene", "Scene", "_property", False),
    ("scene", "Scene", "_listed", False),
    ("scene", "Scene", "_changes", None),
    ("scene", "Scene", "_instead", None),
    ("scene", "Scene", "_is_ours", False),
    ("scene", "Scene", "_doubt", 1.0),
    ("choosing", "", "_kind", 1.0),
    ("choosing", "", "_allowed", True),
    ("choosing", "", "_happens", True),
    ("choosing", "", "_done_once", False),
    ("assertion", "", "assertion", (1.0, "", False)),
    ("assertion", "", "told_as_past", False),
    ("telling", "", "modifies", False),
    ("votes", "", "vote_name", None),
    ("votes", "", "vote_label", None),
    ("spelled", "", "paths", ()),
    ("mentions", "", "_named_within", None),
    ("mentions", "", "_weigh_noun", None),
    ("names", "", "with_of", None),
    ("names", "", "behind_role", None),
    ("names", "", "common_head", False),
    ("names", "", "signs", False),
    ("mentions", "", "_with_head", None),
    ("cast", "Cast", "_longer", []),
    ("cast", "Cast", "_generic", None),
)
# Lists that are read from files at first use: (module, function that returns them by word).
FILES = (("learned.known", "_names"), ("learned.word_classes", "_classes"))
# By entry only what says something of the world; classes of words are learned, and one has thousands of common words.
_BY_ENTRY = frozenset({"_names"})
_WORD = re.compile(r"[^\W_]+(?:[-'.+#][^\W_]+)*[+#]*")


@dataclass(frozen=True, slots=True)
class Removal:
    """One thing that may be left out.

    Args:
        group: What kind of thing it is.
        name: It.
        words: In base form; it can matter only in texts that have all of them. None: in any text.
        part: What holds it, so that several can be left out together.
    """

    group: str
    name: str
    words: frozenset[str] | None
    part: tuple[str, ...]


def spoken(text: str) -> frozenset[str]:
    """Return the words of a text, as they stand and in base form, in lower case."""
    found = set()
    for word in _WORD.findall(text.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")):
        for part in {word, word.removesuffix("'s"), *re.split(r"[-'.]", word)} - {""}:
            found |= {part, words.lemma(part)}
    return frozenset(found)


def _heavy(phrase: str) -> list[str]:
    return [
        base for word in _WORD.findall(phrase.lower()) if (base := words.lemma(word)) not in words.LIGHT | words.FILLERS
    ]


def of_schema(schema: Schema) -> Iterator[Removal]:
    """Yield every phrase, noun and anchor of a schema.

    A phrase is found by its verb as well, wherever that stands; an anchor only by all of its words.
    """
    for known in schema.classes.values():
        for key in (*PHRASES, *NOUNS, *ANCHORS):
            for phrase in dict.fromkeys(getattr(known, key)):
                heavy = _heavy(phrase)
                needed = heavy if key in ANCHORS else heavy[:1]
                group = "anchor" if key in ANCHORS else "phrase" if key in PHRASES else "noun"
                yield Removal(
                    group, f"{known.name}: {phrase}", frozenset(needed) if needed else None, (known.name, key, phrase)
                )


def without_phrases(schema: Schema, removed: Iterable[Removal]) -> Schema:
    """Return a schema without some of its entries."""
    gone = {removal.part for removal in removed}
    classes = {name: _reduced(known, gone) for name, known in schema.classes.items()}
    return replace(schema, classes=classes)


def _reduced(known: PhraseClass, gone: set[tuple[str, ...]]) -> PhraseClass:
    kept = {
        key: tuple(phrase for phrase in getattr(known, key) if (known.name, key, phrase) not in gone)
        for key in (*PHRASES, *NOUNS, *ANCHORS)
    }
    return replace(known, **kept)


@cache
def modules() -> tuple[Any, ...]:
    """Return the modules of tier 1 that hold rules, imported."""
    names = [info.name for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    return tuple(importlib.import_module(name) for name in names if not re.search(r"\.(llm|gliner\w*|models)\b", name))


def lists(schema: Schema) -> dict[tuple[str, str], Any]:
    """Return the lists of words in tier 1's modules, by (module, name): sets, and tables by word."""
    kinds = {*schema.classes, *schema.entity_types, *schema.relations}
    found = {}
    for module in modules():
        for name, value in vars(module).items():
            is_list = isinstance(value, frozenset | set | dict) and not name.startswith("__") and len(value) > 0
            if not is_list or any(value is other for other in found.values()):
                continue
            if all(isinstance(entry, str) for entry in value) and not set(value) <= kinds:
                found[module.__name__.removeprefix(f"{package.__name__}."), name] = value
    return found


def of_lists(schema: Schema) -> Iterator[Removal]:
    """Yield every entry of every list of words, then those of the files."""
    for (module, name), value in lists(schema).items():
        for entry in sorted(value):
            yield Removal("list entry", f"{name}: {entry}", _needed(entry), (module, name, entry))
    for module, name in FILES:
        for entry in _file(module, name) if name in _BY_ENTRY else ():
            yield Removal("list entry", f"{module}: {entry}", _needed(entry), (module, name, entry))


def _needed(entry: str) -> frozenset[str] | None:
    parts = [words.lemma(word) for word in _WORD.findall(entry.lower())]
    # Tags of the parser and the like, in capitals, are in no text and matter in any.
    return frozenset(parts) if parts and not entry.isupper() else None


def whole_lists(schema: Schema) -> Iterator[Removal]:
    """Yield every list as a whole."""
    for module, name in [*lists(schema), *(key for key in FILES if _file(*key))]:
        yield Removal("whole list", f"{module}.{name}", None, (module, name))


def _file(module: str, name: str) -> Mapping[str, Any]:
    try:
        read = getattr(importlib.import_module(f"{package.__name__}.{module}"), name)
    except (ImportError, AttributeError):
        return {}
    found: Mapping[str, Any] = read()
    return found


@contextmanager
def without_entries(schema: Schema, removed: Sequence[Removal]) -> Iterator[None]:
    """Leave out entries of lists, or whole lists, for the time of a context."""
    gone: dict[tuple[str, str], set[str] | None] = {}
    for removal in removed:
        module, name, *entry = removal.part
        at = gone.setdefault((module, name), set())
        if not entry or at is None:
            gone[module, name] = None
        else:
            at.add(entry[0])
    known = lists(schema)
    swaps: list[tuple[Any, Any]] = []
    for key, entries in gone.items():
        value = known[key] if key in known else _file(*key)
        if isinstance(value, dict):
            less: Any = {k: v for k, v in value.items() if entries is not None and k not in entries}
        else:
            less = type(value)(entry for entry in value if entries is not None and entry not in entries)
        if key in known:
            swaps.append((value, less))
        else:
            read = getattr(importlib.import_module(f"{package.__name__}.{key[0]}"), key[1])
            swaps.append((read, lambda less=less: less))
    with swapped(swaps):
        yield


@contextmanager
def swapped(swaps: Sequence[tuple[Any, Any]]) -> Iterator[None]:
    """Put other values in the place of some, wherever a module of tier 1 has a name for one."""
    before: list[tuple[Any, str, Any]] = []
    for module in modules():
        for name, value in list(vars(module).items()):
            other = next((new for old, new in swaps if value is old), None)
            if other is not None:
                before.append((module, name, value))
                setattr(module, name, other)
    _forget()
    try:
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)
        _forget()


def _forget() -> None:
    """Empty what functions remember of lists."""
    for function in (words.lemma, anchors.is_participle):
        if hasattr(function, "cache_clear"):
            function.cache_clear()


def of_rules() -> Iterator[Removal]:
    """Yield every rule that is a function of its own."""
    for module, owner, name, _ in RULES:
        place = sys.modules.get(f"{package.__name__}.{module}") or importlib.import_module(
            f"{package.__name__}.{module}"
        )
        if hasattr(getattr(place, owner) if owner else place, name):
            yield Removal("rule", f"{module}.{name}", None, (module, owner, name))


@contextmanager
def without_rule(removal: Removal) -> Iterator[None]:
    """Have a rule do nothing for the time of a context."""
    module, owner, name = removal.part
    nothing = next(rule[3] for rule in RULES if rule[:3] == removal.part)
    place = importlib.import_module(f"{package.__name__}.{module}")

    def silent(*_: Any, **__: Any) -> Any:
        return iter(()) if nothing == () else nothing

    if not owner:
        with swapped([(getattr(place, name), silent)]):
            yield
        return
    holder = getattr(place, owner)
    before = vars(holder)[name]
    setattr(holder, name, staticmethod(silent) if isinstance(before, staticmethod) else silent)
    try:
        yield
    finally:
        setattr(holder, name, before)
