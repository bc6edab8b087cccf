"""Answer what somebody said with their own words: passages by author, topic, time and place; decides no reading."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctxsync.engine.reading import linking
from ctxsync.engine.reading.clock import rfc3339
from ctxsync.engine.reading.narrowing import Only
from ctxsync.engine.reading.searching import by_time, passages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxsync.engine.reading.reader import AsOf, Reader
    from ctxsync.engine.reading.saying import Said
    from ctxsync.engine.reading.shapes import Shape

_WORD = re.compile(r"\w+")


def told(reader: Reader, said: Said, as_of: AsOf, *, source: str | None, limit: int, vectors: bool) -> Shape:
    """Return the passages of what somebody said; who said it, where that is asked for, is under `values`.

    A first name that finds nothing is read once more as that of everyone whose first name it is.
    """
    speaker, question = said.speaker, said.question
    sources = [source] if source else question.sources
    found: list[Shape] = []
    if speaker is None:
        found = _nearest(reader, said, as_of, _only(reader, said, as_of, sources, None), limit, vectors=vectors)
    elif speaker.entities:
        wider = linking.widened(reader, speaker.gram, speaker.entities, as_of.position)
        for entities in (speaker.entities, wider):
            found = found or _nearest(
                reader, said, as_of, _only(reader, said, as_of, sources, entities), limit, vectors=vectors
            )
    unknown = next((mark for mark in (speaker, said.reader) if mark is not None and not mark.entities), None)
    nothing = "Nothing here says that." if unknown is None else f"Nothing here is called {unknown.text!r}."
    filters = {
        "person": speaker.text if speaker is not None else None,
        "to": said.reader.text if said.reader is not None else None,
        "kind": list(said.kinds) or None,
        "time_after": rfc3339(question.window.after),
        "time_before": rfc3339(question.window.before),
        "channel": question.channel.removeprefix("slack:").rstrip("/") or None,
        "folder": question.folder or None,
    }
    shown = plan(sources)
    shown["filters"] |= {key: value for key, value in filters.items() if value is not None}
    shown["asked"] = "said"
    authors = dict.fromkeys(passage["author"] for passage in found if passage["author"] and said.authors)
    return {
        "plan": shown,
        "answers": [],
        "passages": found,
        "values": list(authors),
        "note": "" if found else nothing,
    }


def _only(reader: Reader, said: Said, as_of: AsOf, sources: Sequence[str], entities: list[int] | None) -> Only:
    question = said.question
    return Only(
        sources,
        said.kinds,
        entities,
        None
        if said.reader is None
        else linking.widened(reader, said.reader.gram, said.reader.entities, as_of.position),
        owner=entities is not None and not {*entities}.isdisjoint(linking.owner(reader, as_of.position)),
        after=question.window.after,
        until=question.window.before,
        thread=question.channel,
        folder=question.folder,
    )


def _in_own_words(text: str, topic: str) -> bool:
    """Say whether a word of the topic stands outside of lines that quote another; words are compared by their beginnings."""
    own = " ".join(line for line in text.split("\n") if not line.lstrip().startswith(">")).casefold()
    words = [word.casefold() for word in _WORD.findall(topic)]
    telling = [word for word in words if len(word) > 2] or words
    said = _WORD.findall(own)
    return any(one.startswith(word[: max(3, len(word) - 2)]) for word in telling for one in said)


def _nearest(reader: Reader, said: Said, as_of: AsOf, only: Only, limit: int, *, vectors: bool) -> list[Shape]:
    if said.topic:
        found = passages(reader, said.topic, as_of, limit=limit, vectors=vectors, only=only)
        own = [
            shape
            for shape in found
            if said.speaker is None or _in_own_words(f"{shape['title']}\n{shape['text']}", said.topic)
        ]
        return own or found
    return by_time(reader, as_of, limit=limit, only=only, first=said.question.window.mode == "first")


def plan(sources: Sequence[str]) -> Shape:
    """Return how an answer by passages is planned, as `ask` shows it."""
    return {
        "op": "search",
        "head": None,
        "relation": None,
        "direction": None,
        "tail": None,
        "filters": {"source": list(sources)} if sources else {},
        "route": "passages",
        "asked": "passages",
    }
