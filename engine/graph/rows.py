"""Rows on their way into graph.db: written behind, many at a time; knows what a table's columns are and nothing else.

Version rows get their rowid here, so that a row can be closed without being looked up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import apsw

# Tables whose row ids are counted here, with the statement that finds the last one.
LAST_ROWID: Final = {
    "item": "SELECT max(id) FROM item",
    "sighting": "SELECT max(rowid) FROM sighting",
    "episode": "SELECT max(id) FROM episode",
    "holding": "SELECT max(rowid) FROM holding",
    "node": "SELECT max(id) FROM node",
    "entity": "SELECT max(id) FROM entity",
    "entity_version": "SELECT max(rowid) FROM entity_version",
    "identity": "SELECT max(rowid) FROM identity",
    "name": "SELECT max(rowid) FROM name",
    "identity_key": "SELECT max(rowid) FROM identity_key",
    "mention": "SELECT max(rowid) FROM mention",
    "evidence": "SELECT max(id) FROM evidence",
    "fact": "SELECT max(id) FROM fact",
    "fact_version": "SELECT max(rowid) FROM fact_version",
    "support": "SELECT max(rowid) FROM support",
}
# In the order in which they run; a row is inserted before it is closed or changed.
STATEMENTS: Final = {
    "moment": "INSERT INTO moment (position, recorded_at) VALUES (?, ?)",
    "item": """INSERT INTO item (id, item, kind, title, attributes, flags, replaced_by) VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, title = excluded.title, attributes = excluded.attributes,
        flags = excluded.flags, replaced_by = excluded.replaced_by""",
    "observed": "INSERT OR REPLACE INTO observed (item, source, position, body) VALUES (?, ?, ?, ?)",
    "observed_gone": "DELETE FROM observed WHERE item = ? AND source = ? AND position = ?",
    "sighting": "INSERT INTO sighting (rowid, item, source, place, since) VALUES (?, ?, ?, ?, ?)",
    "episode": """INSERT INTO episode (id, episode, item, source, kind, section, heading, title, text, occurred_at, author,
        author_node, thread, tags, position, scope, author_keys, counted)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)""",
    "passage": "INSERT INTO passage (rowid, title, heading, text) VALUES (?, ?, ?, ?)",
    "holding": "INSERT INTO holding (rowid, episode, line, since) VALUES (?, ?, ?, ?)",
    "extraction": """INSERT INTO extraction (episode, position, run, tier, occurred_at, wish)
        VALUES (?, ?, ?, ?, ?, ?)""",
    "trial": "INSERT INTO trial (episode, position, run, tier) VALUES (?, ?, ?, ?)",
    "failure": "INSERT OR REPLACE INTO failure (episode, run, attempt, retry_at, reason) VALUES (?, ?, ?, ?, ?)",
    "node": """INSERT INTO node (id, node, refs, rep, anchor) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (id) DO UPDATE SET refs = excluded.refs, rep = excluded.rep, anchor = excluded.anchor""",
    "naming": "INSERT OR REPLACE INTO naming (node, name, type, count, weight) VALUES (?, ?, ?, ?, ?)",
    "naming_gone": "DELETE FROM naming WHERE node = ? AND name = ? AND type = ?",
    "tie": "INSERT OR REPLACE INTO tie (node, other, count) VALUES (?, ?, ?)",
    "tie_gone": "DELETE FROM tie WHERE node = ? AND other = ?",
    "bearer": "INSERT OR REPLACE INTO bearer (normal, node) VALUES (?, ?)",
    "bearer_gone": "DELETE FROM bearer WHERE normal = ? AND node = ?",
    "claim": "INSERT OR REPLACE INTO claim (normal, node, source, count) VALUES (?, ?, ?, ?)",
    "claim_gone": "DELETE FROM claim WHERE normal = ? AND node = ? AND source = ?",
    "first_name": "INSERT OR REPLACE INTO first_name (node, scope, normal, source) VALUES (?, ?, ?, ?)",
    "candidate": "INSERT OR REPLACE INTO candidate (node, first) VALUES (?, ?)",
    "candidate_gone": "DELETE FROM candidate WHERE node = ? AND first = ?",
    "entity": "INSERT INTO entity (id, entity) VALUES (?, ?)",
    "entity_version": "INSERT INTO entity_version (rowid, entity, name, type, since) VALUES (?, ?, ?, ?, ?)",
    "identity": "INSERT INTO identity (rowid, node, entity, since) VALUES (?, ?, ?, ?)",
    "name": "INSERT INTO name (rowid, entity, name, normal, since) VALUES (?, ?, ?, ?, ?)",
    "identity_key": "INSERT INTO identity_key (rowid, entity, kind, value, since) VALUES (?, ?, ?, ?, ?)",
    "mention": "INSERT INTO mention (rowid, episode, node, name, type, start, stop, since) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    "evidence": """INSERT INTO evidence (id, evidence, episode, head, relation, phrase_class, phrase, tail, quote, start,
        stop, confidence, tier, valid_from, valid_to, ends, occurred_at, since_at, trust)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
    "fact": "INSERT INTO fact (id, fact, head, relation, phrase_class, tail) VALUES (?, ?, ?, ?, ?, ?)",
    "fact_version": """INSERT INTO fact_version (rowid, fact, phrase, valid_from, valid_to, confidence, superseded_by,
        reason, since) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)""",
    "support": "INSERT INTO support (rowid, fact, evidence, role, since) VALUES (?, ?, ?, ?, ?)",
    "sighting_until": "UPDATE sighting SET until = ? WHERE rowid = ?",
    "holding_until": "UPDATE holding SET until = ? WHERE rowid = ?",
    "holding_line": "UPDATE holding SET line = ? WHERE rowid = ?",
    "episode_counted": "UPDATE episode SET counted = ? WHERE id = ?",
    "entity_version_until": "UPDATE entity_version SET until = ? WHERE rowid = ?",
    "identity_until": "UPDATE identity SET until = ? WHERE rowid = ?",
    "name_until": "UPDATE name SET until = ? WHERE rowid = ?",
    "identity_key_until": "UPDATE identity_key SET until = ? WHERE rowid = ?",
    "mention_until": "UPDATE mention SET until = ? WHERE rowid = ?",
    "evidence_active": "UPDATE evidence SET active = ?, trust = ?, since_at = ? WHERE id = ?",
    "fact_version_until": "UPDATE fact_version SET until = ? WHERE rowid = ?",
    "support_until": "UPDATE support SET until = ? WHERE rowid = ?",
}
# These share a table and undo one another: what happened last must win.
PAIRS: Final = {f"{name}_gone": name for name in ("naming", "tie", "bearer", "claim", "candidate")}


def query(db: apsw.Connection, sql: str, bindings: Any = ()) -> list[tuple[Any, ...]]:
    """Return all rows of a statement."""
    return db.execute(sql, bindings).fetchall()


def first(db: apsw.Connection, sql: str, bindings: Any = ()) -> Any:
    """Return the first row of a statement, or None."""
    return db.execute(sql, bindings).fetchone()


class Rows:
    """The rows not yet written, by statement, and the row ids given out.

    Args:
        db: The graph; its transaction is the caller's.
    """

    def __init__(self, db: apsw.Connection) -> None:
        self.db = db
        self.waiting: dict[str, list[tuple[Any, ...]]] = {name: [] for name in STATEMENTS}
        self.keyed: dict[str, dict[tuple[Any, ...], tuple[Any, ...] | None]] = {name: {} for name in PAIRS.values()}
        self.last: dict[str, int] = {table: db.execute(sql).get or 0 for table, sql in LAST_ROWID.items()}

    def add(self, statement: str, *row: Any) -> None:
        """Write a row at the next flush."""
        self.waiting[statement].append(row)

    def insert(self, table: str, *row: Any) -> int:
        """Write a row with a new row id, and return it."""
        rowid = self.last[table] = self.last[table] + 1
        self.waiting[table].append((rowid, *row))
        return rowid

    def put(self, table: str, key: tuple[Any, ...], *rest: Any) -> None:
        """Set the row of a key."""
        self.keyed[table][key] = rest

    def drop(self, table: str, key: tuple[Any, ...]) -> None:
        """Delete the row of a key."""
        self.keyed[table][key] = None

    def flush(self) -> None:
        """Write what waits."""
        waiting = self.waiting
        for table, rows in self.keyed.items():
            if rows:
                waiting[table] += [key + rest for key, rest in rows.items() if rest is not None]
                waiting[f"{table}_gone"] += [key for key, rest in rows.items() if rest is None]
                rows.clear()
        for name, waits in waiting.items():
            if waits:
                self.db.executemany(STATEMENTS[name], waits)
                waits.clear()
