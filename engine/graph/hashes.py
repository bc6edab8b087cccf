"""Digests of what a graph says: `state` of what holds now, `history` of every version row with its log positions.

Both name things by their public ids and sort by content, so that row ids, vectors and the order of rows play no part.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import orjson

if TYPE_CHECKING:
    import apsw

STATE = (
    """SELECT 'entity', e.entity, v.name, v.type FROM entity_version AS v JOIN entity AS e ON e.id = v.entity
       WHERE v.until IS NULL ORDER BY e.entity""",
    """SELECT 'name', e.entity, n.name, n.normal FROM name AS n JOIN entity AS e ON e.id = n.entity
       WHERE n.until IS NULL ORDER BY e.entity, n.name""",
    """SELECT 'key', e.entity, k.kind, k.value FROM identity_key AS k JOIN entity AS e ON e.id = k.entity
       WHERE k.until IS NULL ORDER BY e.entity, k.kind, k.value""",
    """SELECT 'identity', n.node, e.entity FROM identity AS i JOIN node AS n ON n.id = i.node
       JOIN entity AS e ON e.id = i.entity WHERE i.until IS NULL ORDER BY n.node""",
    """SELECT 'held', e.episode, h.line, i.item, i.title, e.occurred_at FROM holding AS h JOIN episode AS e
       ON e.id = h.episode JOIN item AS i ON i.id = e.item WHERE h.until IS NULL ORDER BY e.episode""",
    """SELECT 'sighting', i.item, s.source, s.place FROM sighting AS s JOIN item AS i ON i.id = s.item
       WHERE s.until IS NULL ORDER BY i.item, s.source, s.place""",
    """SELECT 'mention', e.episode, n.node, m.name, m.type, m.start, m.stop FROM mention AS m
       JOIN episode AS e ON e.id = m.episode JOIN node AS n ON n.id = m.node
       WHERE m.until IS NULL ORDER BY e.episode, n.node, m.name, m.type, m.start, m.stop""",
    """SELECT 'fact', f.fact, h.entity, f.relation, f.phrase_class, t.entity, v.phrase, v.valid_from, v.valid_to,
       v.confidence, s.fact, v.reason FROM fact_version AS v JOIN fact AS f ON f.id = v.fact
       JOIN entity AS h ON h.id = f.head JOIN entity AS t ON t.id = f.tail LEFT JOIN fact AS s ON s.id = v.superseded_by
       WHERE v.until IS NULL ORDER BY f.fact, v.valid_from, v.valid_to, v.phrase, v.confidence, s.fact, v.reason""",
    """SELECT 'support', f.fact, e.evidence, s.role, e.trust, e.since_at FROM support AS s JOIN fact AS f ON f.id = s.fact
       JOIN evidence AS e ON e.id = s.evidence WHERE s.until IS NULL ORDER BY f.fact, e.evidence, s.role""",
    "SELECT 'source', name, kind, location, trust, removed, identity FROM source ORDER BY name",
    "SELECT 'paused', source, stream, reason FROM paused ORDER BY source, stream",
    "SELECT 'quarantine', source, place, error FROM quarantine ORDER BY source, place",
)
HISTORY = (
    """SELECT 'entity', e.entity, v.name, v.type, v.since, v.until FROM entity_version AS v
       JOIN entity AS e ON e.id = v.entity ORDER BY e.entity, v.since, v.until, v.name, v.type""",
    """SELECT 'name', e.entity, n.name, n.normal, n.since, n.until FROM name AS n JOIN entity AS e ON e.id = n.entity
       ORDER BY e.entity, n.name, n.since, n.until""",
    """SELECT 'key', e.entity, k.kind, k.value, k.since, k.until FROM identity_key AS k
       JOIN entity AS e ON e.id = k.entity ORDER BY e.entity, k.kind, k.value, k.since, k.until""",
    """SELECT 'identity', n.node, e.entity, i.since, i.until FROM identity AS i JOIN node AS n ON n.id = i.node
       JOIN entity AS e ON e.id = i.entity ORDER BY n.node, i.since, i.until""",
    """SELECT 'held', e.episode, h.line, h.since, h.until FROM holding AS h JOIN episode AS e ON e.id = h.episode
       ORDER BY e.episode, h.since, h.until""",
    """SELECT 'sighting', i.item, s.source, s.place, s.since, s.until FROM sighting AS s JOIN item AS i ON i.id = s.item
       ORDER BY i.item, s.source, s.place, s.since, s.until""",
    """SELECT 'mention', e.episode, n.node, m.name, m.type, m.start, m.stop, m.since, m.until FROM mention AS m
       JOIN episode AS e ON e.id = m.episode JOIN node AS n ON n.id = m.node
       ORDER BY e.episode, n.node, m.name, m.type, m.start, m.stop, m.since, m.until""",
    """SELECT 'fact', f.fact, h.entity, f.relation, f.phrase_class, t.entity, v.phrase, v.valid_from, v.valid_to,
       v.confidence, s.fact, v.reason, v.since, v.until FROM fact_version AS v JOIN fact AS f ON f.id = v.fact
       JOIN entity AS h ON h.id = f.head JOIN entity AS t ON t.id = f.tail LEFT JOIN fact AS s ON s.id = v.superseded_by
       ORDER BY f.fact, v.since, v.until, v.valid_from, v.valid_to, v.phrase, v.confidence, s.fact, v.reason""",
    """SELECT 'support', f.fact, e.evidence, s.role, s.since, s.until FROM support AS s JOIN fact AS f ON f.id = s.fact
       JOIN evidence AS e ON e.id = s.evidence ORDER BY f.fact, e.evidence, s.role, s.since, s.until""",
    """SELECT 'item', item, kind, title, attributes, flags, replaced_by FROM item
       WHERE kind <> '' OR replaced_by IS NOT NULL ORDER BY item""",
    "SELECT 'episode', episode, source, section, occurred_at, position FROM episode ORDER BY episode",
    "SELECT 'moment', position, recorded_at FROM moment ORDER BY position",
    "SELECT 'source', name, kind, location, trust, removed, identity FROM source ORDER BY name",
    "SELECT 'paused', source, stream, reason, since FROM paused ORDER BY source, stream",
    "SELECT 'quarantine', source, place, error, since FROM quarantine ORDER BY source, place",
)


def digest_rows(db: apsw.Connection, queries: tuple[str, ...]) -> str:
    """Return 64 hex characters of the BLAKE2b of all rows of the queries, one JSON line each."""
    total = hashlib.blake2b(digest_size=32)
    for sql in queries:
        for row in db.execute(sql):
            total.update(orjson.dumps(row))
            total.update(b"\n")
    return total.hexdigest()
