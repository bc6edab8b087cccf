"""What adopting a run would change: the graph as it is against a copy in which the run counts; stores nothing.

The copy is a projection like any other: the very event that would adopt the run is applied to it, behind the log's last.
So what is shown is what would be, also where facts end or merge through others.
"""

from __future__ import annotations

import tempfile
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import apsw

from ctxsync.engine.graph import nodes, projection
from ctxsync.engine.graph.store import Graph, translated
from ctxsync.events.envelope import Event

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ctxsync.app import App
    from ctxsync.events.store import EventStore

BANDS: Final = ((0.8, "sure"), (0.5, "fair"), (0.0, "weak"))
"""Of confidences: from 0.8 on about four in five facts are right (the measure of calibration)."""
FACTS = """
SELECT f.fact, h.name, h.type, f.relation, f.phrase_class, t.name, t.type, v.phrase, v.valid_from, v.valid_to, v.confidence
FROM fact_version AS v JOIN fact AS f ON f.id = v.fact
JOIN entity_version AS h ON h.entity = f.head AND h.until IS NULL
JOIN entity_version AS t ON t.entity = f.tail AND t.until IS NULL
WHERE v.until IS NULL ORDER BY f.fact, v.valid_from
"""
SAID = """
SELECT e.quote, p.episode, p.source, p.title FROM fact AS f JOIN support AS s ON s.fact = f.id AND s.until IS NULL
JOIN evidence AS e ON e.id = s.evidence JOIN episode AS p ON p.id = e.episode
WHERE f.fact = ? ORDER BY e.quote = '', e.tier DESC, e.confidence DESC, p.episode LIMIT 1
"""


class Version(NamedTuple):
    """A fact as one version has it; times in ms UTC."""

    fact: str
    head: str
    head_type: str
    relation: str
    phrase_class: str
    tail: str
    tail_type: str
    phrase: str
    valid_from: int
    valid_to: int | None
    confidence: float

    @property
    def reads(self) -> tuple[str, ...]:
        """What it says to a reader: entities may be other ones, and be called the same."""
        return nodes.normal(self.head), self.relation, self.phrase_class, nodes.normal(self.tail)

    @property
    def band(self) -> str:
        """How sure it is, in words."""
        return next(word for least, word in BANDS if self.confidence >= least)


@dataclass(frozen=True, slots=True)
class Held:
    """What a graph believes of a fact: its last version, and whether it holds now."""

    last: Version
    current: bool
    dates: tuple[tuple[int, int | None], ...]


class _Supposed:
    """A log with one more event behind its last."""

    def __init__(self, store: EventStore, event: Event) -> None:
        self._store, self._event = store, event
        self.log_id = store.log_id

    def read(
        self, after: int = 0, *, upto: int | None = None, types: Collection[str] = (), limit: int | None = None
    ) -> Iterator[Event]:
        """Yield events behind a position."""
        last = self._event.position
        if after < last - 1:
            end = last - 1 if upto is None else min(upto, last - 1)
            yield from self._store.read(after, upto=end, types=types, limit=limit)
        if after < last and (upto is None or upto >= last):
            yield self._event

    def head(self) -> tuple[int, str]:
        """Return the position of the added event."""
        return self._event.position, "supposed"

    def hash_at(self, position: int) -> str:
        """Return the hash at a position."""
        return "supposed" if position == self._event.position else self._store.hash_at(position)


def diff(app: App, run: str, source: str = "") -> dict[str, Any]:
    """Return what would be gained, lost and changed of current facts if a run were adopted; the graph must be up to date.

    Args:
        app: The home.
        run: The run; empty: what was adopted is taken back.
        source: For this source's episodes; for all when empty.

    Returns:
        `{"run", "source", "counts": {"gained", "lost", "changed", "same"}, "gained": [Fact], "lost": [Fact], "changed":
        [{"before": Fact, "after": Fact, "what": ["dates", "confidence", "ended", "holds again"]}]}`. A Fact is `{"id",
        "head", "head_type", "relation", "phrase_class", "phrase", "tail", "tail_type", "valid_from", "valid_to",
        "confidence", "quote", "episode", "source", "title"}`.
    """
    now = app.clock()
    with (
        closing(app.store()) as store,
        closing(app.graph()) as graph,
        translated(graph.path),
        _adopted(app, store, graph, run, source) as supposed,
    ):
        before, after = _held(graph, now), _held(supposed, now)
        return {"run": run, "source": source, **_compared(graph, before, supposed, after)}


@contextmanager
def _adopted(app: App, store: EventStore, graph: Graph, run: str, source: str) -> Iterator[Graph]:
    """Give a copy of the graph in which a run is adopted."""
    at = graph.position + 1
    payload = {"run": run, "source": source}
    event = Event(at, "supposed", "ctxsync", "job:extraction", 0, "extraction.adopted", 1, 0, app.clock(), payload, "")
    with tempfile.TemporaryDirectory(dir=app.home.path, prefix=".diff-") as folder:
        path = Path(folder) / "graph.db"
        with closing(apsw.Connection(str(path))) as copy, copy.backup("main", graph.db, "main") as backup:
            while not backup.done:
                backup.step(10_000)
        path.chmod(0o600)
        with closing(Graph.open(path, write=True)) as supposed:
            supposed.db.execute("PRAGMA synchronous = OFF")
            projection.catch_up(_Supposed(store, event), supposed)
            yield supposed


def _held(graph: Graph, now: int) -> dict[str, Held]:
    found: dict[str, list[Version]] = {}
    for row in graph.db.execute(FACTS):
        version = Version(*row)
        found.setdefault(version.fact, []).append(version)
    return {fact: _one(versions, now) for fact, versions in found.items()}


def _one(versions: list[Version], now: int) -> Held:
    holding = [version for version in versions if version.valid_to is None or version.valid_to > now]
    dates = tuple((version.valid_from, version.valid_to) for version in versions)
    return Held((holding or versions)[-1], bool(holding), dates)


def _compared(old: Graph, before: dict[str, Held], new: Graph, after: dict[str, Held]) -> dict[str, Any]:
    pairs, gone, come = _paired(before, after)
    gained, lost, changed, same = [], [], [], 0
    for was, is_now in pairs:
        what = _changes(was, is_now)
        if what:
            changed.append((was, is_now, what))
        else:
            same += was.current and is_now.current
    gained = [held for held in come if held.current]
    lost = [held for held in gone if held.current]
    return {
        "counts": {"gained": len(gained), "lost": len(lost), "changed": len(changed), "same": same},
        "gained": [_fact(new, held) for held in _sorted(gained)],
        "lost": [_fact(old, held) for held in _sorted(lost)],
        "changed": [
            {"before": _fact(old, was), "after": _fact(new, is_now), "what": what}
            for was, is_now, what in sorted(changed, key=lambda one: _order(one[0]))
        ],
    }


def _paired(before: dict[str, Held], after: dict[str, Held]) -> tuple[list[tuple[Held, Held]], list[Held], list[Held]]:
    """Return the facts that both graphs have, by id, then by what they say; and what only one has."""
    pairs = [(held, after[fact]) for fact, held in before.items() if fact in after]
    gone = [held for fact, held in before.items() if fact not in after]
    unmatched: dict[tuple[str, ...], list[Held]] = {}
    for fact, held in after.items():
        if fact not in before:
            unmatched.setdefault(held.last.reads, []).append(held)
    left = []
    for held in gone:
        like = unmatched.get(held.last.reads)
        if like:
            pairs.append((held, like.pop()))
        else:
            left.append(held)
    return pairs, left, [held for many in unmatched.values() for held in many]


def _changes(was: Held, is_now: Held) -> list[str]:
    if not was.current and not is_now.current:
        return []
    if was.current != is_now.current:
        return ["ended" if was.current else "holds again"]
    what = ["dates"] if was.dates != is_now.dates else []
    return what + (["confidence"] if was.last.band != is_now.last.band else [])


def _order(held: Held) -> tuple[float, str, str]:
    return -held.last.confidence, held.last.head, held.last.fact


def _sorted(facts: list[Held]) -> list[Held]:
    return sorted(facts, key=_order)


def _fact(graph: Graph, held: Held) -> dict[str, Any]:
    from ctxsync.status import rfc3339

    last = held.last
    quote, episode, source, title = graph.db.execute(SAID, (last.fact,)).fetchone() or ("", "", "", "")
    return {
        "id": last.fact,
        "head": last.head,
        "head_type": last.head_type,
        "relation": last.relation,
        "phrase_class": last.phrase_class,
        "phrase": last.phrase,
        "tail": last.tail,
        "tail_type": last.tail_type,
        "valid_from": rfc3339(last.valid_from),
        "valid_to": None if last.valid_to is None else rfc3339(last.valid_to),
        "confidence": last.confidence,
        "quote": quote,
        "episode": episode,
        "source": source,
        "title": title,
    }
