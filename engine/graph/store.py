"""`graph.db` as a file: opened, checked, counted, digested. Knows no event."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, Self

import apsw

from ctxsync.engine.graph import hashes
from ctxsync.errors import GraphMissing, GraphStale, StoreFull, StoreLocked, StoreTooNew

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

from contextlib import contextmanager

LAYOUT: Final = 5
REBUILD: Final = "Run `ctxsync rebuild`."
SPACE: Final = "Free some space, then run the command again."

META = "SELECT value FROM meta WHERE key = ?"
SET_META = "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)"
MOVE = "UPDATE meta SET value = ? WHERE key = 'position' AND value = ?"
TABLES = "SELECT count(*) FROM sqlite_master"
COUNTS: Final = {
    "episodes": "SELECT count(DISTINCT episode) FROM holding WHERE until IS NULL",
    "entities": "SELECT count(*) FROM entity_version WHERE until IS NULL",
    "facts_current": """SELECT count(DISTINCT fact) FROM fact_version
        WHERE until IS NULL AND (valid_to IS NULL OR valid_to > unixepoch() * 1000)""",
    "facts_all": "SELECT count(DISTINCT fact) FROM fact_version WHERE until IS NULL",
    "mentions": "SELECT count(*) FROM mention WHERE until IS NULL",
    "support": "SELECT count(*) FROM support WHERE until IS NULL",
    "quarantined": "SELECT count(*) FROM quarantine",
    "paused": "SELECT count(*) FROM paused",
}


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn what SQLite says of a graph file into our errors; a graph can always be rebuilt."""
    try:
        yield
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise GraphStale(f"The graph at {path} is damaged: {error}.", remedy=REBUILD) from error
    except apsw.BusyError as error:
        raise StoreLocked(f"The graph at {path} stayed busy.", remedy="Run the command again.") from error
    except apsw.FullError as error:
        raise StoreFull(f"The disk that holds {path} is full.", remedy=SPACE) from error
    except (apsw.IOError, apsw.CantOpenError) as error:
        if getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE:
            raise StoreFull(f"The disk that holds {path} is full.", remedy=SPACE) from error
        raise GraphStale(f"The graph at {path} cannot be used: {error}.", remedy=REBUILD) from error


@dataclass(slots=True)
class Graph:
    """An open graph.

    Args:
        path: Its file.
        db: Its connection.
        log_id: The log that it projects; empty before the first event.
    """

    path: Path
    db: apsw.Connection
    log_id: str = ""

    @classmethod
    def open(cls, path: Path, *, write: bool = False) -> Self:
        """Open the graph at `path`; `write=True` creates it when it does not exist.

        Raises:
            GraphMissing: There is none, and it is only to be read.
            GraphStale: It is damaged, no graph, or of an older layout.
            StoreTooNew: A newer ctxsync wrote it.
        """
        if not write and not path.exists():
            raise GraphMissing(f"There is no graph at {path} yet.", remedy="Run `ctxsync sync`, or `ctxsync rebuild`.")
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE if write else apsw.SQLITE_OPEN_READONLY
        with translated(path):
            db = apsw.Connection(str(path), flags=flags)
        graph = cls(path, db)
        try:
            with translated(path):
                graph._prepare(write=write)
        except BaseException:
            db.close()
            raise
        return graph

    def _prepare(self, *, write: bool) -> None:
        self.db.set_busy_timeout(5000)
        if write:
            if not self.path.stat().st_size:
                self.path.chmod(0o600)
            self.db.execute("PRAGMA journal_mode = WAL").fetchall()
            self.db.execute("PRAGMA synchronous = NORMAL")
            if not self.db.execute(TABLES).get:
                create(self.db)
        try:
            layout = self.db.execute(META, ("layout",)).get
        except apsw.SQLError as error:
            raise GraphStale(f"What stands at {self.path} is no graph: {error}.", remedy=REBUILD) from error
        if layout != LAYOUT:
            if isinstance(layout, int) and layout > LAYOUT:
                raise StoreTooNew(
                    f"The graph at {self.path} was written by a newer ctxsync.",
                    remedy="Run `pip install --upgrade ctxsync`, or `ctxsync rebuild` to go on with this one.",
                )
            raise GraphStale(f"The graph at {self.path} has another layout.", remedy=REBUILD)
        self.log_id = self.db.execute(META, ("log_id",)).get

    @property
    def position(self) -> int:
        """The last log position that was applied."""
        with translated(self.path):
            found: int = self.db.execute(META, ("position",)).get
            return found

    @property
    def hash(self) -> str:
        """The log's hash at that position."""
        with translated(self.path):
            found: str = self.db.execute(META, ("hash",)).get
            return found

    def check(self) -> None:
        """Check the file's structure, which reads all of it; raises `GraphStale` where it is damaged."""
        with translated(self.path):
            fault = self.db.execute("PRAGMA quick_check(1)").get
        if fault != "ok":
            raise GraphStale(f"The graph at {self.path} is damaged: {fault}.", remedy=REBUILD)

    def state_hash(self) -> str:
        """Return the digest of what holds now; it does not depend on the order in which independent items came."""
        with translated(self.path):
            return hashes.digest_rows(self.db, hashes.STATE)

    def history_hash(self) -> str:
        """Return the digest of all that was ever believed, with the log positions."""
        with translated(self.path):
            return hashes.digest_rows(self.db, hashes.HISTORY)

    def count(self, name: str) -> int:
        """Return one of the counts; each looks through a table."""
        with translated(self.path):
            found: int = self.db.execute(COUNTS[name]).get
            return found

    def counts(self) -> dict[str, int]:
        """Return how many episodes are held, entities and facts there are, and what is quarantined or paused."""
        return {name: self.count(name) for name in COUNTS}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Closing twice is fine."""
        self.db.close()


def create(db: apsw.Connection) -> None:
    """Make the tables of an empty graph."""
    sql = resources.files("ctxsync.schemas").joinpath("graph.sql").read_text(encoding="utf-8")
    with db:
        db.execute(sql)
        rows: list[tuple[str, Any]] = [("layout", LAYOUT), ("log_id", ""), ("position", 0), ("hash", "")]
        db.executemany(SET_META, rows)
