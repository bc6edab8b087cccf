"""What follows the reading of sources: extract, project, embed; and rebuilding and checking. Knows no source.

Each step asks cheaply whether it has anything to do.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxsync.engine.graph.store import translated
from ctxsync.errors import GraphError, GraphStale, StoreCorrupt
from ctxsync.sync import Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ctxsync.app import App
    from ctxsync.engine.embedding import Embedder, VectorCache
    from ctxsync.engine.graph.store import Graph
    from ctxsync.events.store import EventStore, Verified

_LOG = logging.getLogger(__name__)

NEW_FACTS = """
SELECT count(DISTINCT fact) FROM fact_version AS v WHERE since > ?1 AND until IS NULL
AND NOT EXISTS (SELECT 1 FROM fact_version AS o WHERE o.fact = v.fact AND o.since <= ?1)
"""
EMBEDDED = "SELECT value FROM meta WHERE key = 'embedded'"
SET_EMBEDDED = "INSERT OR REPLACE INTO meta (key, value) VALUES ('embedded', ?)"


def bring_up(
    app: App, store: EventStore, progress: Callable[[Step], None], done: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Extract what waits, project it, and make its vectors; models are built only when something waits.

    Args:
        app: The home and its models.
        store: Open for writing.
        progress: What it raises ends the pass there.
        done: Told what was done as it is done, so that an interrupted pass can say so.

    Returns:
        `done`: `extracted`, `failed` (episodes), `facts` (current in the graph), `new_facts` (of them, first believed
        in this pass), `embedded` (episodes).
    """
    from ctxsync.engine.extraction.reactor import extract_pending

    done = {} if done is None else done
    done["new_facts"] = catch_up_graph(app, store, progress)  # extraction takes long: texts are found meanwhile
    with _vectors_beside(app):
        extraction = extract_pending(store, app.models.chain(), progress=_counting(progress, "extract"))
    done |= {"extracted": extraction.extracted, "failed": extraction.failed}
    done["new_facts"] += catch_up_graph(app, store, progress)
    with closing(app.graph()) as graph:
        done["facts"] = graph.count("facts_current")
    done["embedded"] = embed(app, progress)
    return done


@contextmanager
def _vectors_beside(app: App) -> Iterator[None]:
    """Meanwhile compute on a second thread the vectors that the graph lacks, into the cache.

    The model runs outside the interpreter's lock, so this costs the extraction next to nothing. What it does not get done,
    and what it fails at, is left to `embed`.
    """
    embedder = app.models.embedder()
    if embedder is None or (os.cpu_count() or 1) < 2:
        yield
        return
    stop = threading.Event()
    beside = threading.Thread(target=_compute_ahead, args=(app, embedder, stop), name="vectors", daemon=True)
    beside.start()
    try:
        yield
    finally:
        # Before the graph is written again: a connection to a file that is built anew must be closed by then.
        stop.set()
        beside.join()


def _compute_ahead(app: App, embedder: Embedder, stop: threading.Event) -> None:
    from ctxsync.engine.graph.vectors import MODEL, compute_ahead

    try:
        with closing(app.graph()) as graph:
            at = graph.db.execute(EMBEDDED).get, graph.db.execute(MODEL).get
            if at == (graph.position, embedder.model):
                return
            cache = app.models.cache()
            if cache is not None:
                with closing(cache):
                    compute_ahead(graph, cache, embedder, stopped=stop.is_set)
    except Exception as error:  # noqa: BLE001  # `embed` meets it again, where it can be told
        _LOG.debug("Vectors beside the extraction: %s", error)


def warm(app: App) -> None:
    """Load the models now, by giving them a word to chew on, so that the first text does not wait for them."""
    from ctxsync.engine.extraction.base import Episode

    word = Episode(id="", item="", kind="text", title="", text="Hello.", occurred_at=0)
    for _ in app.models.chain().extract([word]):
        continue
    if embedder := app.models.embedder():
        embedder.embed([word.text])


def catch_up_graph(app: App, store: EventStore, progress: Callable[[Step], None]) -> int:
    """Bring the graph up to the log; one that is damaged, of another log or of another layout is built anew.

    Returns:
        How many facts are believed that were not before.
    """
    from ctxsync.app import checkpoint
    from ctxsync.engine.graph import projection

    tell = _counting(progress, "project")
    try:
        with closing(app.graph(write=True)) as graph:
            before = graph.position
            projection.catch_up(store, graph, checkpoint=checkpoint, progress=tell)
            return _new_facts(graph, before)
    except GraphStale:
        # The stale file is closed by now: a connection to it that closed later would take the new file's journal along.
        with (
            _cache(app) as cache,
            closing(projection.rebuild(store, app.home.graph_path, progress=tell, cache=cache)) as graph,
        ):
            return _new_facts(graph, 0)


def _new_facts(graph: Graph, before: int) -> int:
    with translated(graph.path):
        return graph.db.execute(NEW_FACTS, (before,)).get if graph.position != before else 0


@contextmanager
def _cache(app: App) -> Iterator[VectorCache | None]:
    """Give the vector cache where there are vectors already, so that a rebuild takes them in."""
    cache = app.models.cache() if app.home.cache_path.exists() else None
    try:
        yield cache
    finally:
        if cache is not None:
            cache.close()


def embed(app: App, progress: Callable[[Step], None]) -> int:
    """Make the vectors that held passages lack; return how many. The graph notes up to where that was done.

    Where the graph has vectors of another model, all of them are made anew.
    """
    from ctxsync.engine.graph.vectors import MODEL, embed_pending

    embedder = app.models.embedder()
    if embedder is None:
        return 0
    with closing(app.graph(write=True)) as graph, translated(graph.path):
        position = graph.position
        known = graph.db.execute(MODEL).get
        if graph.db.execute(EMBEDDED).get == position and known == embedder.model:
            return 0
        cache = app.models.cache()
        if cache is None:
            return 0
        with closing(cache):
            if known != embedder.model:
                cache.forget_others()
            count = embed_pending(graph, cache, embedder, progress=_counting(progress, "embed"))
        graph.db.execute(SET_EMBEDDED, (position,))
        return count


def rebuild(app: App, progress: Callable[[Step], None]) -> dict[str, Any]:
    """Build the graph anew; the caller holds the writer lock. See `App.rebuild`."""
    from ctxsync.engine.graph import projection
    from ctxsync.status import with_facts

    started = time.monotonic()
    with closing(app.store()) as store, _cache(app) as cache:
        graph = projection.rebuild(store, app.home.graph_path, progress=_counting(progress, "rebuild"), cache=cache)
    with closing(graph):
        counts, state, history = graph.counts(), graph.state_hash(), graph.history_hash()
        position = graph.position
    embedded = embed(app, progress)
    return {
        "position": position,
        "counts": with_facts(counts),
        "state_hash": state,
        "history_hash": history,
        "embedded": embedded,
        "seconds": round(time.monotonic() - started, 3),
    }


def verify(app: App, progress: Callable[[Step], None], *, deep: bool) -> dict[str, Any]:
    """Check the log, and the graph against it. See `App.verify`."""
    import tempfile

    from ctxsync.engine.graph import projection

    with closing(app.store()) as store:
        verified = check_chain(store, _counting(progress, "verify"))
        report: dict[str, Any] = {"events": store.count(), "position": store.head()[0], "hash": store.head()[1]}
        report["erased"] = verified.erased
        try:
            graph = app.graph()
        except GraphError as error:
            return report | {"graph": error.message}
        with closing(graph):
            report["graph_position"] = graph.position
            agrees = graph.log_id == store.log_id
            if deep and agrees:
                graph.check()
                report |= {"state_hash": graph.state_hash(), "history_hash": graph.history_hash()}
                with tempfile.TemporaryDirectory(dir=app.home.path, prefix=".verify-") as folder:
                    anew = projection.rebuild(store, Path(folder) / "graph.db", progress=_counting(progress, "rebuild"))
                    with closing(anew):
                        report["rebuilt"] = anew.state_hash()
                        agrees = (report["state_hash"], graph.position) == (report["rebuilt"], anew.position)
            report["graph"] = "agrees" if agrees else "differs"
    return report


def check_chain(store: EventStore, progress: Callable[[int], None] | None = None) -> Verified:
    """Check the log's hash chain; raises `StoreCorrupt` where it is not in order."""
    from ctxsync.events.database import DAMAGED_REMEDY

    verified = store.verify(progress)
    if not verified.ok:
        raise StoreCorrupt(
            f"The log is damaged at position {verified.broken}: {verified.problem}.",
            remedy=DAMAGED_REMEDY,
        )
    return verified


def _counting(progress: Callable[[Step], None], phase: str) -> Callable[..., None]:
    """Return a callback of (done, total) that tells of one phase."""

    def tell(done: int, total: int | None = None) -> None:
        progress(Step(phase, done, total))

    return tell
