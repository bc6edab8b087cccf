from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.engine.extraction.base import Entity, Extraction, Identity, Relation
from ctxsync.engine.extraction.chain import Chain
from ctxsync.engine.extraction.reactor import extract_pending
from ctxsync.engine.schema import universal
from ctxsync.errors import ExtractionError
from ctxsync.events.model import ItemObserved, SectionBody, SourceConfigured
from ctxsync.events.store import EventStore, NewEvent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ctxsync.engine.extraction.base import Episode

AT = 1_750_000_000_000


class Spy:
    """A tier that names the first word of a text, fails on `bad`, and remembers what it was given."""

    tier = 1

    def __init__(self, model: str = "spy") -> None:
        self.model = model
        self.seen: list[Episode] = []

    def extract(
        self, episodes: Sequence[Episode], lower: Sequence[Extraction]
    ) -> Iterator[Extraction | ExtractionError]:
        for episode in episodes:
            self.seen.append(episode)
            if "bad" in episode.text:
                yield ExtractionError("It is bad.")
                continue
            first, second = (
                Entity("b1", episode.text.split()[0], "Concept", tier=1),
                Entity("b2", "x", "Concept", tier=1),
            )
            stated = Relation("b1", "related_to", "b2", "goes with", "association", tier=1)
            yield Extraction(episode.id, 1, self.model, [first, second], [stated])


class Stop(Exception):
    """Stands for the process being killed."""


def observed(item: str, *texts: str, source: str = "vault", content: str = "a") -> NewEvent:
    sections = tuple(
        SectionBody(episode=f"{item}-{content}-{n}", key=str(n), text=text, occurred_at=AT)
        for n, text in enumerate(texts)
    )
    payload = ItemObserved(
        item=f"note:{item}", kind="note", place=f"{item}.md", title=item, sections=sections, content=content
    )
    return NewEvent(source, f"note:{item}", payload, AT)


def chain(spy: Spy) -> Chain:
    return Chain(universal(), Identity(), [spy])


def extracted(store: EventStore) -> list[Any]:
    return [event.payload for event in store.read(types=("episode.extracted",))]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EventStore]:
    with EventStore.open(tmp_path / "events.db", write=True) as opened:
        yield opened


def test_every_section_is_extracted_once_and_a_second_pass_writes_nothing(store: EventStore) -> None:
    store.append([observed("a", "One.", "Two."), observed("b", "Three.")])
    spy = Spy()
    assert extract_pending(store, chain(spy)).extracted == 3
    assert [payload["episode"] for payload in extracted(store)] == ["a-a-0", "a-a-1", "b-a-0"]
    count = store.count()
    assert extract_pending(store, chain(spy)).extracted == 0
    assert (store.count(), len(spy.seen)) == (count, 3)


def test_an_edit_extracts_only_the_section_that_changed(store: EventStore) -> None:
    store.append([observed("a", "One.", "Two.")])
    spy = Spy()
    extract_pending(store, chain(spy))
    edited = observed("a", "One.", "New.", content="b").payload
    assert isinstance(edited, ItemObserved)
    kept = edited.sections[0].model_copy(update={"episode": "a-a-0"})
    both = edited.model_copy(update={"sections": (kept, edited.sections[1])})
    store.append([NewEvent("vault", "note:a", both, AT)])
    report = extract_pending(store, chain(spy))
    assert (report.extracted, report.known) == (1, 1)


def test_an_episode_that_two_sources_bring_is_extracted_once(store: EventStore) -> None:
    configured = [
        NewEvent("ctxsync", f"source:{n}", SourceConfigured(name=n, kind="notes", location="/", trust="own"), AT)
        for n in ("vault", "copy")
    ]
    store.append([*configured, observed("a", "One."), observed("a", "One.", source="copy")])
    spy = Spy()
    extract_pending(store, chain(spy))
    store.append([observed("b", "Two.")])
    extract_pending(store, chain(spy))
    store.append([observed("b", "Two.", source="copy")])
    extract_pending(store, chain(spy))
    assert [episode.text for episode in spy.seen] == ["One.", "Two."]


def test_another_chain_is_another_run_with_its_own_cursor(store: EventStore) -> None:
    store.append([observed("a", "One.")])
    extract_pending(store, chain(Spy("first")))
    extract_pending(store, chain(Spy("second")))
    assert len({payload["run"] for payload in extracted(store)}) == 2


def test_a_tier_that_fails_keeps_what_lower_tiers_found_and_blocks_no_other(store: EventStore) -> None:
    store.append([observed("a", "bad words"), observed("b", "Fine words.")])
    report = extract_pending(store, chain(Spy()))
    assert (report.extracted, report.failed) == (2, 1)
    failed = [event.payload for event in store.read(types=("extraction.failed",))]
    assert [(payload["episode"], payload["tier"], payload["error"]) for payload in failed] == [
        ("a-a-0", 1, "It is bad.")
    ]
    tiers = {payload["episode"]: payload["tier"] for payload in extracted(store)}
    assert tiers == {"a-a-0": 0, "b-a-0": 1}


@pytest.mark.parametrize("batch", [1, 2, 3, 64])
def test_a_stop_at_any_append_loses_nothing_and_doubles_nothing(tmp_path: Path, batch: int) -> None:
    texts = [f"Words {n}." for n in range(4)]
    for stop in range(1, 8):
        home = tmp_path / f"{batch}-{stop}.db"
        passes = 0

        def kill(name: str, stop: int = stop) -> None:
            nonlocal passes
            passes += name == "extract"
            if name == "extract" and passes == stop:
                raise Stop

        with EventStore.open(home, write=True) as store:
            store.append([observed("a", *texts), observed("b", *texts)])
        with EventStore.open(home, write=True, checkpoint=kill) as store:
            try:
                extract_pending(store, chain(Spy()), batch=batch)
            except Stop:
                extract_pending(store, chain(Spy()), batch=batch)
            episodes = [payload["episode"] for payload in extracted(store)]
            assert sorted(episodes) == sorted(f"{item}-a-{n}" for item in "ab" for n in range(4))


def test_what_others_wrote_is_not_in_the_first_person_of_the_owner(store: EventStore) -> None:
    theirs = SourceConfigured(name="vault", kind="notes", location="/", trust="others")
    store.append([NewEvent("ctxsync", "source:vault", theirs, AT), observed("a", "One.")])
    spy = Spy()
    extract_pending(store, chain(spy))
    assert [episode.own for episode in spy.seen] == [False]
