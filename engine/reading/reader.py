"""The read side's view of graph.db: a snapshot at one log position; it knows no question and never writes.

A read sees one consistent past state: rows believed at `AsOf.position`, judged at the valid time `AsOf.valid_at`.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, Self

import apsw

from ctxsync.engine.extraction.lexicon import Lexicon
from ctxsync.engine.reading.plan import Language
from ctxsync.engine.schema import Schema, parse, universal
from ctxsync.errors import GraphMissing, GraphStale, StoreLocked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

# Past every position a log will reach: `as it is now`.
LATEST = 2**62

# By the schema's digest: building one takes milliseconds, and a server opens many readers.
_LANGUAGES: dict[str, Language] = {}

_REBUILD = "Run `ctxsync rebuild`."

POSITION_AT = """
SELECT position FROM moment WHERE recorded_at <= :known_at ORDER BY recorded_at DESC, position DESC LIMIT 1
"""
ADOPTED = "SELECT value FROM meta WHERE key = 'schema'"
READABLE = "SELECT value FROM meta WHERE key = 'position'"


class HoldsGraph(Protocol):
    """What a reader needs of an open graph: `ctxsync.engine.graph`'s Graph has it."""

    @property
    def db(self) -> apsw.Connection:
        """The open connection."""
        ...


class Embeds(Protocol):
    """What turns texts into vectors: `ctxsync.engine.embedding.Embedder`."""

    def embed(self, texts: Sequence[str]) -> Any:
        """Return a float32 array of shape (n, 384), rows of length 1."""
        ...


@dataclass(frozen=True, slots=True)
class AsOf:
    """Which state of the graph a read means.

    Args:
        position: Log position: rows believed there count.
        now: Milliseconds UTC that `current` is judged by.
        valid_at: Milliseconds UTC at which facts must hold; None where the caller set no time.
    """

    position: int
    now: int
    valid_at: int | None = None

    @property
    def at(self) -> int:
        """The valid time that decides: the one asked for, else now."""
        return self.now if self.valid_at is None else self.valid_at

    def holds(self, valid_from: int, valid_to: int | None) -> bool:
        """Say whether a span of valid time holds at the time that decides (SPEC: half open)."""
        return valid_from <= self.at and (valid_to is None or valid_to > self.at)


class Reader:
    """Reads one graph. Not safe to share between threads at the same time.

    Args:
        graph: An open graph, or anything with its `db`.
        schema: The schema whose phrases questions are read by; the graph's own where none is given.
    """

    def __init__(self, graph: HoldsGraph, *, schema: Schema | None = None) -> None:
        self.db = graph.db
        self.embedder: Embeds | None = None
        self.loaded_vectors = False
        self._depth = 0
        try:
            self.db.execute(READABLE).fetchone()
        except apsw.Error as error:
            raise GraphStale("The graph cannot be read: it is not one, or it is damaged.", remedy=_REBUILD) from error
        self._schema = schema

    @classmethod
    def open(cls, path: Path, *, schema: Schema | None = None) -> Self:
        """Open the graph at `path` read-only.

        Raises:
            GraphMissing: There is no graph there: not built yet, or being rebuilt.
            GraphStale: What stands there is no graph.
        """
        if not path.exists():
            raise GraphMissing(f"There is no graph at {path} yet.", remedy="Run `ctxsync sync`, or `ctxsync rebuild`.")
        try:
            db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
            db.set_busy_timeout(5000)
        except apsw.Error as error:
            raise GraphStale(f"The graph at {path} cannot be opened: {error}.", remedy=_REBUILD) from error
        return cls(_Opened(db), schema=schema)

    @cached_property
    def schema(self) -> Schema:
        """The schema given, else the one that the graph was built with, else the one that ships."""
        if self._schema is not None:
            return self._schema
        row = self.db.execute(ADOPTED).fetchone()
        shipped = universal()
        return parse(row[0]) if row and row[0] != shipped.toml else shipped

    @cached_property
    def language(self) -> Language:
        """What the phrases of questions mean, built at the first question."""
        if self.schema.digest not in _LANGUAGES:
            _LANGUAGES[self.schema.digest] = Language(Lexicon(self.schema), self.schema)
        return _LANGUAGES[self.schema.digest]

    def as_of(self, *, now: int, valid_at: int | None = None, known_at: int | None = None) -> AsOf:
        """Return the state that these times name; before the first record that is the empty one."""
        position = LATEST
        if known_at is not None:
            row = self.db.execute(POSITION_AT, {"known_at": bounded(known_at)}).fetchone()
            position = row[0] if row else 0
        return AsOf(position, bounded(now), None if valid_at is None else bounded(valid_at))

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Hold one read transaction, so that a writer cannot change the graph between two statements of a read."""
        if self._depth or self.db.in_transaction:
            yield
            return
        self._depth = 1
        try:
            self.db.execute("BEGIN")
            try:
                yield
            finally:
                self._depth = 0
                self.db.execute("COMMIT")
        except apsw.BusyError as error:
            raise StoreLocked("The graph stayed busy.", remedy="Run the command again.") from error
        except apsw.Error as error:  # every statement here is constant: what fails is the file
            raise GraphStale(f"The graph is damaged: {error}.", remedy=_REBUILD) from error

    def rows(self, sql: str, bindings: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Run one constant statement and return its rows."""
        safe = {
            # A lone surrogate cannot be stored, so it cannot be found either.
            name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
            for name, value in bindings.items()
        }
        return list(self.db.execute(sql, safe))

    def close(self) -> None:
        """Close the connection."""
        self.db.close()


@dataclass(frozen=True, slots=True)
class _Opened:
    db: apsw.Connection


def bounded(number: int) -> int:
    """Keep an integer within what SQLite can hold."""
    return max(-(2**62), min(2**62, number))
