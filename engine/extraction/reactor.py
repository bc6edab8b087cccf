"""The extraction reactor: item.observed in, episode.extracted and extraction.failed out; knows no model.

It stands at a cursor in the log, one a run. What it makes of an item's sections and the cursor behind that item are
appended together, so a stop anywhere loses nothing; what a run has extracted it never extracts again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from orjson import loads

from ctxsync.engine.extraction.base import Episode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ctxsync.engine.extraction.base import Extraction, Extracts
    from ctxsync.engine.extraction.chain import ExtractionFailure
    from ctxsync.events.store import EventStore, NewEvent

SOURCE = "ctxsync"


@dataclass(slots=True)
class ReactorReport:
    """What a pass of the reactor did: episodes extracted, tiers that failed, episodes that a run had done before."""

    extracted: int = 0
    failed: int = 0
    known: int = 0
    relations: int = 0


def no_progress(_: int, __: int) -> None:
    """Show nothing."""


def stream_of(chain: Extracts) -> str:
    """Return the cursor stream of a chain's run."""
    return f"extract:{chain.run}"


def extract_pending(
    store: EventStore,
    chain: Extracts,
    *,
    progress: Callable[[int, int], None] = no_progress,
    batch: int = 64,
) -> ReactorReport:
    """Extract every episode observed since this run's cursor.

    Args:
        store: Open for writing.
        chain: What extracts.
        progress: Told (log position reached, head) after each append; what it raises ends the pass there.
        batch: Episodes extracted, and appended, together.
    """
    report = ReactorReport()
    stream = stream_of(chain)
    after = int(str(store.cursor(SOURCE, stream).get("position") or 0))
    head = store.head()[0]
    own = _own(store)
    pending: list[tuple[str, Episode]] = []
    seen: set[str] = set()
    reached = after
    for event in store.read(after, upto=head, types=("item.observed",)):
        for episode in episodes_of(event.payload, source=event.source, own=own.get(event.source, True)):
            if episode.id in seen or _done(store, chain, {event.source, *own}, episode):
                report.known += 1
                continue
            seen.add(episode.id)
            pending.append((event.source, episode))
            if len(pending) >= batch:
                # The item may have more sections: the cursor stays before it.
                _append(store, chain, pending, reached, report)
                pending = []
                seen.clear()
                progress(reached, head)
        reached = event.position
    if reached > after:
        _append(store, chain, pending, head, report)
        progress(head, head)
    elif head > after:  # the last pass's own extractions: they are not looked through again
        _append(store, chain, (), head, report)
    return report


def _own(store: EventStore) -> dict[str, bool]:
    """Return whether each source's words are its owner's, as it is configured now."""
    settings = store.states(SOURCE, "settings", subjects="source:")
    return {subject.removeprefix("source:"): loads(value)["trust"] != "others" for subject, _, value in settings}


def is_own(store: EventStore, source: str) -> bool:
    """Return whether a source's words are its owner's, as it is configured now."""
    value = store.state(SOURCE, f"source:{source}", "settings")
    return value is None or loads(value)["trust"] != "others"


def _done(store: EventStore, chain: Extracts, sources: set[str], episode: Episode) -> bool:
    """Say whether the run has extracted the episode, whichever source brought it: clones share their commits."""
    subject, key = f"episode:{episode.id}", f"run:{chain.run}"
    return any(store.state(source, subject, key) is not None for source in sorted(sources))


def _append(
    store: EventStore, chain: Extracts, pending: Sequence[tuple[str, Episode]], position: int, report: ReactorReport
) -> None:
    """Extract `pending` and append what came out, with the cursor moved to `position`."""
    from ctxsync.engine.extraction.suggesting import suggester

    events: list[NewEvent] = []
    results = chain.extract([episode for _, episode in pending])
    for (source, episode), (extraction, failures) in zip(pending, results, strict=True):
        extraction.suggestions += suggester(chain.schema).suggest(extraction, episode)
        events += _events(source, episode, extraction, failures, chain)
        events += suggested(store, events[-1], episode)
        report.extracted += 1
        report.failed += len(failures)
        report.relations += len(extraction.relations)
    store.checkpoint("extract")
    store.append(events, cursors={(SOURCE, stream_of(chain)): {"position": position}})


def _events(
    source: str, episode: Episode, extraction: Extraction, failures: Sequence[ExtractionFailure], chain: Extracts
) -> Iterator[NewEvent]:
    from ctxsync.events.model import ExtractionFailed
    from ctxsync.events.store import NewEvent

    for failure in failures:
        failed = ExtractionFailed(
            episode=episode.id,
            item=episode.item,
            run=chain.run,
            tier=failure.tier,
            model=failure.model,
            error=failure.error,
        )
        yield NewEvent(source, f"episode:{episode.id}", failed, episode.occurred_at)
    yield extracted(source, episode, extraction, run=chain.run, schema=chain.schema.digest)


def extracted(source: str, episode: Episode, extraction: Extraction, *, run: str, schema: str) -> NewEvent:
    """Return the event that says what a run made of an episode.

    Args:
        source: Of the event.
        episode: What was read.
        extraction: What came of it.
        run: What names everything that decided the result.
        schema: The digest of the schema that was extracted into.
    """
    from ctxsync.events.model import EpisodeExtracted, ExtractedEntity, ExtractedRelation, Suggestion
    from ctxsync.events.store import NewEvent

    payload = EpisodeExtracted(
        episode=episode.id,
        item=episode.item,
        run=run,
        tier=extraction.tier,
        model=extraction.model,
        prompt_version=extraction.prompt_version,
        schema_version=schema,
        entities=tuple(
            ExtractedEntity(
                id=e.id,
                name=e.name,
                type=e.type,
                keys=e.keys,
                span=e.span,
                attributes=e.attributes,
                confidence=round(e.confidence, 3),
                tier=e.tier,
            )
            for e in extraction.entities
        ),
        relations=tuple(
            ExtractedRelation(
                head=r.head,
                relation=r.relation,
                tail=r.tail,
                phrase=r.phrase,
                phrase_class=r.phrase_class,
                quote=r.quote,
                span=r.span,
                confidence=round(r.confidence, 3),
                valid_from=r.valid_from,
                valid_to=r.valid_to,
                ends=r.ends,
                tier=r.tier,
            )
            for r in extraction.relations
        ),
        invalidates=tuple(extraction.invalidates),
        suggestions=tuple(Suggestion.model_validate(s) for s in extraction.suggestions),
        confidence=round(extraction.confidence, 3),
        gate=tuple(extraction.gate),
        tokens_in=extraction.tokens_in,
        tokens_out=extraction.tokens_out,
        cost_usd=extraction.cost_usd,
        ms=extraction.ms,
    )
    return NewEvent(source, f"episode:{episode.id}", payload, episode.occurred_at)


def suggested(store: EventStore, event: NewEvent, episode: Episode) -> Iterator[NewEvent]:
    """Yield the suggestions of an extraction as events of their own, those that the log does not have of its episode.

    Args:
        store: The log.
        event: The extraction, not stored yet. A trial's suggestions stay in it.
        episode: What was read.
    """
    from ctxsync.engine.extraction.suggesting import context_of
    from ctxsync.events.model import SchemaSuggested
    from ctxsync.events.runs import is_trial
    from ctxsync.events.store import NewEvent

    payload: Any = event.payload
    if is_trial(payload.run):
        return
    fresh = {one.key: one for one in reversed(payload.suggestions)}
    for key, one in sorted(fresh.items()):
        if store.state(event.source, event.subject, key) is None:
            said = SchemaSuggested(suggestion=one, episode=episode.id, context=context_of(episode))
            yield NewEvent(event.source, f"schema:{one.name}", said, episode.occurred_at)


def episodes_of(observed: Mapping[str, Any], *, source: str, own: bool) -> Iterator[Episode]:
    """Yield the episodes of an item.observed payload as extractors see them."""
    for section in observed["sections"]:
        author = section.get("author") or {}
        yield Episode(
            id=section["episode"],
            item=observed["item"],
            kind=observed["kind"],
            title=observed["title"],
            text=section["text"],
            occurred_at=section["occurred_at"],
            source=source,
            place=observed["place"],
            section=section["key"],
            heading=tuple(section.get("heading", ())),
            author_name=author.get("name", ""),
            author_keys=tuple(key for key in author.get("keys", ()) if key),
            thread=section.get("thread", ""),
            links=tuple(section.get("links", ())),
            tags=tuple(section.get("tags", ())),
            code=_spans(section.get("code", ())),
            quoted=_spans(section.get("quoted", ())),
            attributes=section.get("attributes", {}),
            item_names=tuple(observed.get("names", ())),
            item_keys=tuple(observed.get("keys", ())),
            item_attributes=observed.get("attributes", {}),
            own=own and not author,
        )


def _spans(value: Sequence[Sequence[int]]) -> tuple[tuple[int, int], ...]:
    return tuple((span[0], span[1]) for span in value)
