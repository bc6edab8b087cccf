"""The log into the graph: in batches, each one transaction that also moves the graph's position. Knows no event's meaning."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol

import apsw

from ctxsync.engine.graph.apply import Projector
from ctxsync.engine.graph.store import META, MOVE, REBUILD, SET_META, Graph, create, translated
from ctxsync.errors import GraphStale, PositionConflict

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from pathlib import Path

    from ctxsync.engine.graph.vectors import ReadsVectors
    from ctxsync.events.store import Event

BATCH: Final = 1000
"""Events applied in one transaction."""
REBUILD_BATCH: Final = 5000
"""The same for a rebuild: what many events touch is written once."""
KEPT: Final = 300_000
"""Objects kept in memory between batches; more are let go, and loaded again when needed."""


INDEXES: Final = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY name"
WANTED: Final = frozenset(
    {"mention_episode", "evidence_episode", "evidence_head", "evidence_tail", "episode_scope", "support_evidence"}
)
"""Indexes that building a graph uses itself: an episode's rows are closed, a node's evidence is moved."""


class ReadsLog(Protocol):
    """What the projection needs of `ctxsync.events.store.EventStore`."""

    log_id: str

    def read(
        self, after: int = 0, *, upto: int | None = None, types: Collection[str] = (), limit: int | None = None
    ) -> Iterator[Event]:
        """Yield events behind a position."""
        ...

    def head(self) -> tuple[int, str]:
        """Return the last position and its hash."""
        ...

    def hash_at(self, position: int) -> str:
        """Return the hash at a position."""
        ...


def no_op(_: str) -> None:
    """Pass a checkpoint."""


def silent(_done: int, _all: int) -> None:
    """Show no progress."""


def _belongs(store: ReadsLog, graph: Graph) -> int:
    """Return the graph's position after checking that it is one of this log's."""
    position = graph.position
    if position == 0 and not graph.log_id:
        return 0
    if graph.log_id != store.log_id:
        raise GraphStale(f"The graph at {graph.path} belongs to another log.", remedy=REBUILD)
    if position and store.hash_at(position) != graph.hash:
        raise GraphStale(f"The graph at {graph.path} is of a log that this one has left.", remedy=REBUILD)
    return position


def catch_up(
    store: ReadsLog,
    graph: Graph,
    *,
    checkpoint: Callable[[str], None] = no_op,
    progress: Callable[[int, int], None] = silent,
    batch: int = BATCH,
    kept: int = KEPT,
    forgot: Callable[[], None] | None = None,
) -> int:
    """Apply what the log has and the graph has not; return how many positions it moved.

    Args:
        store: The log.
        graph: Opened for writing.
        checkpoint: Called with `project` just before each COMMIT; crash tests stop the process there.
        progress: Called with the position reached and the log's last one.
        batch: Events in one transaction; it changes no result.
        kept: Objects kept in memory between batches.
        forgot: Called once, when what is in memory was let go for the first time.

    Raises:
        GraphStale: The graph is not of this log, or something it holds was erased from the log.
        PositionConflict: Another process moved the graph meanwhile.
    """
    start = position = _belongs(store, graph)
    head = store.head()[0]
    projector: Projector | None = None

    def payload_at(wanted: int) -> Mapping[str, Any] | None:
        return next((event.payload for event in store.read(wanted - 1, upto=wanted)), None)

    with _uncollected():
        while position < head:
            upto = min(position + batch, head)
            with translated(graph.path), _transaction(graph.db):
                if graph.db.execute(META, ("position",)).get != position:
                    raise PositionConflict("Another process moved the graph.", remedy="Run the command again.")
                if projector is None:
                    projector = Projector(graph.db, payload_at, complete=position == 0)
                for event in store.read(position, upto=upto):
                    if event.type == "erasure.requested" and min(event.payload["positions"], default=upto) <= start:
                        raise GraphStale("Something that the graph holds was erased from the log.", remedy=REBUILD)
                    projector.apply(event)
                projector.flush()
                graph.db.execute(SET_META, ("log_id", store.log_id))
                graph.db.execute(SET_META, ("hash", store.hash_at(upto)))
                graph.db.execute(MOVE, (upto, position))
                if graph.db.changes() != 1:
                    raise PositionConflict("Another process moved the graph.", remedy="Run the command again.")
                checkpoint("project")
            graph.log_id = store.log_id
            position = upto
            progress(position, head)
            if projector.size > kept:
                projector.forget()
                if forgot is not None:
                    forgot()
                    forgot = None
    return position - start


@contextmanager
def _uncollected() -> Iterator[None]:
    """Keep the garbage collector from walking millions of objects that stay; what is made here has no cycles."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


@contextmanager
def _transaction(db: apsw.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def rebuild(
    store: ReadsLog,
    path: Path,
    *,
    progress: Callable[[int, int], None] = silent,
    cache: ReadsVectors | None = None,
    batch: int = REBUILD_BATCH,
    kept: int = KEPT,
) -> Graph:
    """Build the graph anew beside the one at `path`, put it in its place, and return it opened for writing.

    Readers of the old one keep it until they open it again. A rebuild that is interrupted leaves the old one as it is.

    Args:
        store: The log.
        path: Where the graph stands, or is to stand.
        progress: As in `catch_up`.
        cache: Vectors that were computed before; the passages whose vectors it has can be searched at once.
        batch: As in `catch_up`.
        kept: As in `catch_up`.
    """
    from ctxsync.engine.graph import vectors

    fresh = path.with_name(f"{path.name}.rebuild")
    for name in _files(fresh):
        name.unlink(missing_ok=True)
    with translated(fresh):
        db = apsw.Connection(str(fresh))
        fresh.chmod(0o600)
        try:
            # Nothing is lost if the machine stops here: the file counts only once it is complete and renamed.
            db.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -131072").fetchall()
            create(db)
            later = _Indexes(db)
            catch_up(store, Graph(fresh, db), progress=progress, batch=batch, kept=kept, forgot=later.build)
            later.build()
            if cache is not None:
                vectors.insert_cached(db, cache)
            db.execute("PRAGMA optimize")
        except BaseException:
            db.close()
            fresh.unlink()  # half a graph only fills the disk that may be what stopped it
            raise
        db.close()
    vectors.sync_file(fresh)
    for name in _files(path)[1:]:
        name.unlink(missing_ok=True)
    fresh.replace(path)
    return Graph.open(path, write=True)


class _Indexes:
    """The indexes that a graph with everything in memory does not need: dropped, and built when they are wanted."""

    def __init__(self, db: apsw.Connection) -> None:
        self.db = db
        self.sql = [sql for name, sql in db.execute(INDEXES) if name not in WANTED]
        for name, _ in db.execute(INDEXES).fetchall():
            if name not in WANTED:
                db.execute(f"DROP INDEX {name}")

    def build(self) -> None:
        """Build them; a second time does nothing."""
        for sql in self.sql:
            self.db.execute(sql)
        self.sql = []


def _files(path: Path) -> tuple[Path, ...]:
    return path, *(path.with_name(path.name + tail) for tail in ("-wal", "-shm", "-journal"))
