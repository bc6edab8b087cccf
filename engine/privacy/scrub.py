"""Gives personal data pseudonyms before a text leaves, and puts it back into the answer; knows no network.

The words of a name get a word each: `Rosa Amsel` is `Velvaran Tarketel`, and `Rosa` alone is `Velvaran`, so that a model
sees the same person as we do, and an answer that says half a name is understood. A name that was found anywhere in a call
is replaced everywhere in it. What is put back is what was given out in the same call, and nothing else.
"""

from __future__ import annotations

import json
import re
import threading
from functools import cached_property
from typing import TYPE_CHECKING

from ctxsync.engine.extraction.gazetteer import GIVEN_NAMES
from ctxsync.engine.extraction.words import word_set
from ctxsync.engine.privacy.analysis import ALSO_WORDS, Analyzer, Found
from ctxsync.engine.privacy.coining import word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

# Between letters of a name: what no letter or digit is. An underscore separates, as in `rosa_amsel`.
_NOT_AFTER, _NOT_BEFORE = r"(?<![^\W_])", r"(?![^\W_])"
_WORDS = re.compile(r"[^\s\-.,;:()\[\]{}\"\u201c\u201d\u201e\u00ab\u00bb<>@/\\|_+%=*#&!?~`]+")
_MARK = re.compile(r"\[SECRET_\d+\]")
# Scripts that put no spaces between words: no boundary tells where a name ends.
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
_RUN = re.compile(r"[^\W_]+")
# What stands in and beside names, and is none.
_NO_NAMES = word_set(
    """mr mrs ms miss dr prof professor sir lady lord herr frau mme van von der den del da di du la le bin ibn al el the of and
    or in on at to for from with by an is was my our your his her their this that hi hey hello dear thanks best regards"""
)
# Characters of a number or an id below which it is one only where no letter or digit stands beside it.
_SHORT = 7
# A form for each kind of which the n-th is distinct from all others in the first six digits: none is a part of another.
_FORMS: dict[str, Callable[[int, str], str]] = {
    "phone": lambda n, _: f"+999 {n:06d}",
    "iban": lambda n, _: f"XX00 ACCT {n:06d}",
    "card": lambda n, _: f"4000 0000 00{n:06d}",
    "ip": lambda n, _: f"2001:db8::{n // 10000:04d}:{n % 10000:04d}",
    "slack": lambda n, value: f"{value[:1]}0PSEUDO{n:06d}",
    "id": lambda n, _: f"ID-{n:06d}",
}


class Scrubber:
    """Knows which pseudonym stands for what, for as long as the process lives; never written down.

    Args:
        names: The owner's names.
        emails: The owner's addresses.
        slack: The owner's Slack accounts, `team:user`.
        analyze: Finds personal data; Presidio's analyzer, if not given.
    """

    def __init__(
        self,
        *,
        names: Sequence[str] = (),
        emails: Sequence[str] = (),
        slack: Sequence[str] = (),
        analyze: Callable[[str], list[Found]] | None = None,
    ) -> None:
        self._own = [(name, "person") for name in names]
        self._own += [(address, "email") for address in emails]
        self._own += [(part, "slack") for account in slack for part in account.split(":") if len(part) > 1]
        self._analyze = analyze or Analyzer()
        self._guard = threading.RLock()
        self._words: dict[str, str] = {}
        self._values: dict[tuple[str, str], str] = {}
        self._count = 0

    def pseudonyms(self, texts: Sequence[str], *, people: Iterable[str] = (), also: Sequence[str] = ()) -> Pseudonyms:
        """Look for personal data in the texts of one call, and return what replaces it and puts it back.

        Args:
            texts: What is looked through.
            people: Names that are known to be persons'.
            also: Other strings of the call; no pseudonym is one that occurs there.

        Raises:
            DoorClosed: It cannot be looked for: what does it is not installed.
        """
        with self._guard:
            values = [(value, kind, True) for value, kind in self._own]
            values += [(name, "person", True) for name in people]
            for text in texts:
                values += [
                    (text[one.start : one.end], "person" if one.kind == "name" else one.kind, one.kind == "name")
                    for one in self._found(text)
                ]
            return Pseudonyms(self, values, "\n".join([*texts, *also]).casefold())

    def _found(self, text: str) -> list[Found]:
        marks = [mark.span() for mark in _MARK.finditer(text)]
        return [
            one for one in self._analyze(text) if not any(one.start < end and start < one.end for start, end in marks)
        ]

    def coined(self, folded: str, taken: Callable[[str], bool]) -> str:
        """Return the word that stands for a word of a name (in folded case): the same as ever, unless it is taken."""
        with self._guard:
            known = self._words.get(folded)
            while known is None or taken(known):
                known = word(self._count)
                self._count += 1
            self._words[folded] = known
            return known

    def formed(self, value: str, kind: str, taken: Callable[[str], bool]) -> str:
        """Return what stands for a number or an id, likewise."""
        with self._guard:
            known = self._values.get((value, kind))
            while known is None or taken(known):
                known = _FORMS[kind](self._count, value)
                self._count += 1
            self._values[value, kind] = known
            return known


class Pseudonyms:
    """What stands for what in one call.

    Args:
        scrubber: Gives the pseudonyms.
        values: What was found, of what kind, and whether it is known for certain.
        present: All that the call says, in folded case.
    """

    def __init__(self, scrubber: Scrubber, values: Iterable[tuple[str, str, bool]], present: str) -> None:
        self._scrubber = scrubber
        self._present = present
        self._given: dict[str, str] = {}
        self._back: dict[str, str] = {}
        self._bases: dict[str, str] = {}
        self._bounded: set[str] = set()  # the pseudonyms that are put back only as whole words
        self._folded: set[str] = set()  # the pseudonyms given out, in folded case
        self._whole: dict[str, str] = {}  # addresses, numbers and ids, by kind
        self._parts: set[str] = set()  # words of names, as they were found
        self._small: set[str] = set()  # those, in folded case, that are names in small letters too
        names: set[tuple[str, ...]] = set()
        for value, kind, sure in values:
            if kind != "person":
                if value.strip():
                    self._whole[value.strip()] = kind
                continue
            parts = [part for part in _name_words(value) if sure or not part[:1].islower()]
            self._parts.update(parts)
            self._small.update(
                part.casefold()
                for part in parts
                if (sure or part.casefold() in GIVEN_NAMES) and part.casefold() not in ALSO_WORDS
            )
            if len(parts) > 1:
                names.add(tuple(parts))
        self._pattern = self._compiled(names)

    @property
    def given(self) -> dict[str, str]:
        """What was replaced so far, with what stands for it."""
        return dict(self._given)

    def scrub(self, text: str) -> str:
        """Return a text with pseudonyms for all that was found in the call."""
        return self._pattern.sub(self._replaced, text) if self._pattern else text

    def restore(self, text: str, *, in_json: bool = False) -> str:
        """Return an answer with what the pseudonyms stand for.

        Args:
            text: What a model wrote.
            in_json: It is JSON that cannot be read as such: what is put in is escaped, and an escaped line end is an end.
        """
        if not self._back:
            return text
        longest = sorted(self._back, key=len, reverse=True)
        bounded = [one for one in longest if one in self._bounded]
        parts = [re.escape(one) for one in longest if one not in self._bounded]
        start = rf"(?:{_NOT_AFTER}|(?<=\\[bfnrt]))" if in_json else _NOT_AFTER
        parts += [rf"{start}{re.escape(one)}{_NOT_BEFORE}" for one in bounded]
        folded = {one.casefold(): one for one in reversed(longest)}

        def value(found: re.Match[str]) -> str:
            given = folded.get(found[0].casefold(), "")
            real = self._back.get(found[0]) or (_cased(self._back[given], found[0]) if given else found[0])
            return json.dumps(real, ensure_ascii=False)[1:-1] if in_json else real

        return re.sub("|".join(parts), value, text, flags=re.IGNORECASE)

    def _compiled(self, names: set[tuple[str, ...]]) -> re.Pattern[str] | None:
        """Return what finds all of it: numbers and ids as they are, whole names however they are joined, their words."""

        def bounded(option: str, *, really: bool = True) -> str:
            return f"{_NOT_AFTER}{option}{_NOT_BEFORE}" if really else option

        def any_of(options: Iterable[str]) -> str:
            return "|".join(sorted(options, key=len, reverse=True))

        words = {part.casefold(): re.escape(part) for part in sorted(self._parts)}
        groups = {
            "whole": any_of(bounded(re.escape(value), really=len(value) < _SHORT) for value in self._whole),
            # `Rosa Amsel` is also `rosa amsel`, `rosa.amsel` and `RosaAmsel`.
            "joined": any_of(r"[\s._\-]{0,2}".join(map(re.escape, parts)) for parts in names),
            "unspaced": any_of(part for part in words.values() if _UNSPACED.search(part)),
            "alone": any_of(part for part in words.values() if not _UNSPACED.search(part)),
        }
        for name in ("joined", "alone"):
            groups[name] = groups[name] and bounded(f"(?i:{groups[name]})")
        options = [f"(?P<{name}>{option})" for name, option in groups.items() if option]
        return re.compile("|".join(options)) if options else None

    def _replaced(self, found: re.Match[str]) -> str:
        text = found[0]
        if found.lastgroup == "whole":
            kind = self._whole[text]
            return self._address(text) if kind == "email" else self._number(text, kind)
        if found.lastgroup == "joined":
            return self._joined(text)
        # A word alone: in small letters only if it is a name in small letters too.
        is_name = text in self._parts or not text.islower() or text.casefold() in self._small
        return self._word(text) if is_name else text

    @cached_property
    def _pieces(self) -> re.Pattern[str]:
        parts = sorted(self._parts, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, parts)), re.IGNORECASE)

    def _word(self, word: str) -> str:
        """Return what stands for a word of a name, in small letters or in capitals as the word is."""
        pseudonym = _cased(self._base(word.casefold()), word)
        if self._back.get(pseudonym, word) != word:
            # Another spelling of the name has it already, as `McDonald` and `Mcdonald`.
            pseudonym = _cased(self._base(f"={word}"), word)
        if not _UNSPACED.search(word):
            self._bounded.add(pseudonym)
        return self._keep(word, pseudonym)

    def _base(self, key: str) -> str:
        if key not in self._bases:
            self._bases[key] = self._scrubber.coined(key, self._is_taken)
            self._folded.add(self._bases[key].casefold())
        return self._bases[key]

    def _joined(self, name: str) -> str:
        """Return what stands for a whole name, however its words are joined."""
        pseudonym = self._pieces.sub(lambda part: self._word(part[0]), name)
        # Also `VelvaranTarketel` is put back as one: no boundary tells where its first word ends.
        self._bounded.add(pseudonym)
        return self._keep(name, pseudonym)

    def _address(self, address: str) -> str:
        """Return what stands for an address: its words stand for the words of the name, so that both stay one person's."""
        local, _, domain = address.rpartition("@")
        local = _RUN.sub(lambda run: self._word(run[0]), local)
        place = self._keep(domain, f"{self._base(f'@{domain}').lower()}.example")
        return self._keep(address, f"{local}@{place}")

    def _number(self, value: str, kind: str) -> str:
        """Return what stands for a number or an id."""
        if value not in self._given:
            self._keep(value, self._scrubber.formed(value, kind, self._is_taken))
        return self._given[value]

    def _keep(self, value: str, pseudonym: str) -> str:
        self._given[value], self._back[pseudonym] = pseudonym, value
        self._folded.add(pseudonym.casefold())
        return pseudonym

    def _is_taken(self, pseudonym: str) -> bool:
        return pseudonym.casefold() in self._folded or pseudonym.casefold() in self._present


def _name_words(name: str) -> list[str]:
    """Return the words of a name that tell who it is: no initials, titles and particles."""
    words = (word.strip("'\u2019_\u00b7").removesuffix("'s").removesuffix("\u2019s") for word in _WORDS.findall(name))
    return [
        word
        for word in words
        if (len(word) > 1 or _UNSPACED.search(word)) and not word.isdigit() and word.casefold() not in _NO_NAMES
    ]


def _cased(word: str, like: str) -> str:
    """Return a word in small letters or in capitals, if the other is."""
    if like.islower():
        return word.lower()
    return word.upper() if like.isupper() and len(like) > 1 else word
