"""Rows become the JSON shapes Fact, Entity and Passage with their provenance, a batch at a time; it picks nothing.

Every function takes ids and returns plain dicts (DESIGN "Commands"). Text from sources is returned as it stands.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

from ctxsync.engine.reading.clock import rfc3339

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ctxsync.engine.reading.reader import AsOf, Reader

Shape: TypeAlias = dict[str, Any]

# A person reads a handful of sources for a fact; `why` asks for more.
SUPPORTS = 5
_SHA = 12

VERSIONS = """
SELECT v.rowid, f.id, f.fact, f.head, f.relation, f.phrase_class, f.tail, v.phrase, v.valid_from, v.valid_to,
       v.confidence, v.superseded_by, v.reason, v.since, v.until,
       (SELECT recorded_at FROM moment WHERE position <= v.since ORDER BY position DESC LIMIT 1),
       (SELECT recorded_at FROM moment WHERE position <= v.until ORDER BY position DESC LIMIT 1),
       (SELECT fact FROM fact WHERE id = v.superseded_by)
FROM json_each(:rows) AS j JOIN fact_version AS v ON v.rowid = j.value JOIN fact AS f ON f.id = v.fact
ORDER BY j.key
"""

# j.value is [fact, position]; the strongest and latest statements first.
SUPPORT = """
WITH ranked AS (
    SELECT s.fact AS fact, j.value ->> 1 AS position, s.role AS role, e.id AS evidence,
           row_number() OVER (PARTITION BY j.key, s.role ORDER BY e.confidence DESC, e.occurred_at DESC, e.evidence) AS rank
    FROM json_each(:pairs) AS j
    JOIN support AS s ON s.fact = j.value ->> 0
         AND s.since <= j.value ->> 1 AND (s.until IS NULL OR s.until > j.value ->> 1)
    JOIN evidence AS e ON e.id = s.evidence
)
SELECT r.fact, r.position, r.role, e.episode, e.quote, e.start, e.occurred_at, e.tier, e.phrase, e.confidence
FROM ranked AS r JOIN evidence AS e ON e.id = r.evidence
WHERE r.rank <= :most
ORDER BY r.fact, r.position, r.role DESC, r.rank
"""

# j.value is [episode, position]. A place that is gone is still the best answer to `where did it say so`.
EPISODES = """
SELECT ep.id, j.value ->> 1, ep.episode, ep.source, ep.kind, ep.title, ep.heading, ep.text, ep.occurred_at, ep.author,
       i.item, i.title, i.attributes,
       (SELECT s.place FROM sighting AS s WHERE s.item = ep.item AND s.since <= j.value ->> 1
        ORDER BY (s.until IS NOT NULL AND s.until <= j.value ->> 1), s.source <> ep.source, s.since DESC, s.place LIMIT 1),
       (SELECT h.line FROM holding AS h WHERE h.episode = ep.id AND h.since <= j.value ->> 1
        ORDER BY h.since DESC LIMIT 1),
       ep.section,
       CASE WHEN ep.kind = 'mail' THEN (
            SELECT m.value FROM identity_key AS k JOIN identity_key AS m ON m.entity = k.entity AND m.kind = 'message-id'
            WHERE k.value = substr(i.item, 6) AND k.kind = 'mail' ORDER BY m.value LIMIT 1) END
FROM json_each(:pairs) AS j JOIN episode AS ep ON ep.id = j.value ->> 0 JOIN item AS i ON i.id = ep.item
"""

ENTITIES = """
SELECT e.id, e.entity, v.name, v.type
FROM json_each(:ids) AS j JOIN entity AS e ON e.id = j.value
JOIN entity_version AS v ON v.rowid = (
    SELECT w.rowid FROM entity_version AS w WHERE w.entity = e.id
    ORDER BY (w.since > :p), (w.until IS NOT NULL AND w.until <= :p), w.since DESC LIMIT 1
)
"""
NAMES = """
SELECT n.entity, n.name FROM json_each(:ids) AS j JOIN name AS n ON n.entity = j.value
WHERE n.since <= :p AND (n.until IS NULL OR n.until > :p) ORDER BY n.entity, n.name
"""
KEYS = """
SELECT k.entity, k.kind, k.value FROM json_each(:ids) AS j JOIN identity_key AS k ON k.entity = j.value
WHERE k.since <= :p AND (k.until IS NULL OR k.until > :p) ORDER BY k.entity, k.kind, k.value
"""


def entities(reader: Reader, ids: Iterable[int], position: int) -> dict[int, Shape]:
    """Return Entity shapes by row id, as believed at `position` (or, of one that is gone, as last believed)."""
    bindings = {"ids": json.dumps(sorted(set(ids))), "p": position}
    found: dict[int, Shape] = {
        row: {"id": public, "name": name, "type": kind, "names": [], "keys": {}}
        for row, public, name, kind in reader.rows(ENTITIES, bindings)
    }
    for row, name in reader.rows(NAMES, bindings):
        if row in found and name not in found[row]["names"]:
            found[row]["names"].append(name)
    for row, kind, value in reader.rows(KEYS, bindings):
        if row in found:
            found[row]["keys"].setdefault(kind, []).append(value)
    for shape in found.values():
        if shape["name"] not in shape["names"]:
            shape["names"].insert(0, shape["name"])
    return found


def facts(reader: Reader, versions: Sequence[int], as_of: AsOf, *, supports: int = SUPPORTS) -> list[Shape]:
    """Return Fact shapes of these rows of `fact_version`, in the order given.

    Extra keys: `phrase_class`, `current`, `superseded_by` (a fact's id), `reason` (why it ended), `ended_by` (what
    states its end, as `support`). What supports a version is what did when it was last believed by `as_of`.
    """
    rows = reader.rows(VERSIONS, {"rows": json.dumps(list(versions))})
    believed = {row[0]: _last_believed(row[14], as_of.position) for row in rows}
    ends = entities(reader, (end for row in rows for end in (row[3], row[6])), as_of.position)
    backing = _support(reader, [(row[1], believed[row[0]]) for row in rows], supports)
    shapes = []
    for row in rows:
        version, fact, public, head, relation, phrase_class, tail, phrase, valid_from, valid_to = row[:10]
        confidence, _, reason, _, until, recorded_at, retracted_at, superseded_by = row[10:]
        retracted = until is not None and until <= as_of.position
        support = backing.get((fact, believed[version]), {})
        shapes.append(
            {
                "id": public,
                "head": ends[head],
                "relation": relation,
                "phrase": phrase,
                "tail": ends[tail],
                "valid_from": rfc3339(valid_from),
                "valid_to": rfc3339(valid_to),
                "recorded_at": rfc3339(recorded_at),
                "retracted_at": rfc3339(retracted_at) if retracted else None,
                "confidence": confidence,
                "support": support.get("states", []),
                "phrase_class": phrase_class,
                "current": not retracted and as_of.holds(valid_from, valid_to),
                "superseded_by": superseded_by,
                "reason": reason,
                "ended_by": support.get("ends", []),
            }
        )
    return shapes


def _last_believed(until: int | None, position: int) -> int:
    return position if until is None or until > position else until - 1


def _support(
    reader: Reader, pairs: Sequence[tuple[int, int]], most: int
) -> dict[tuple[int, int], dict[str, list[Shape]]]:
    wanted = sorted(set(pairs))
    rows = reader.rows(SUPPORT, {"pairs": json.dumps(wanted), "most": most})
    told = episodes(reader, {(row[3], row[1]) for row in rows if row[3] is not None})
    found: dict[tuple[int, int], dict[str, list[Shape]]] = {}
    for fact, position, role, episode, quote, start, occurred_at, tier, phrase, confidence in rows:
        where = told.get((episode, position))
        shape: Shape = {
            "episode": where["episode"] if where else None,
            "source": where["source"] if where else "ctxsync",
            "locator": locator(where, start, quote) if where else "stated by a person",
            "quote": quote,
            "occurred_at": rfc3339(occurred_at),
            "tier": tier,
            "subject": where["subject"] if where else "",
            "title": where["title"] if where else "",
            "author": where["author"] if where else "",
            "phrase": phrase,
            "confidence": confidence,
        }
        found.setdefault((fact, position), {}).setdefault(role, []).append(shape)
    return found


def episodes(reader: Reader, pairs: Iterable[tuple[int, int]]) -> dict[tuple[int, int], Shape]:
    """Return what is known of episodes by (row id, position): the fields of a Passage and those a locator needs."""
    rows = reader.rows(EPISODES, {"pairs": json.dumps(sorted(set(pairs)))})
    return {
        (row[0], row[1]): {
            "episode": row[2],
            "source": row[3],
            "kind": row[4],
            "title": row[5] or row[11],
            "heading": _path(row[6]),
            "text": row[7],
            "occurred_at": row[8],
            "author": row[9],
            "subject": row[10],
            "attributes": row[12],
            "place": row[13],
            "line": row[14] or 0,
            "section": row[15],
            "message_id": row[16] or "",
        }
        for row in rows
    }


def passage(told: Shape, *, score: float, lanes: dict[str, float]) -> Shape:
    """Return the Passage shape of an episode; extra keys: `heading` (the path of headings) and `kind`."""
    return {
        "episode": told["episode"],
        "source": told["source"],
        "subject": told["subject"],
        "locator": locator(told),
        "title": told["title"],
        "text": told["text"],
        "occurred_at": rfc3339(told["occurred_at"]),
        "author": told["author"],
        "score": score,
        "lanes": lanes,
        "heading": told["heading"],
        "kind": told["kind"],
    }


def locator(told: Shape, start: int | None = None, quote: str = "") -> str:
    """Return where a person finds the words.

    `path:line` in the source, `repository@sha` of a commit, `<message-id>` of a mail (with the section behind `#` where it
    is an attached message), a link that opens a Slack message.
    """
    kind, _, value = told["subject"].partition(":")
    if kind == "commit":
        return f"{_repository(told)}@{value[:_SHA]}"
    if kind == "mail" and told["message_id"]:
        section = told["section"]
        return f"<{told['message_id']}>" + (f"#{section}" if section not in ("", "body") else "")
    if kind == "slack" and value.count("/") == 2:
        # Slack: linking to a message of a workspace whose own address is not known.
        team, channel, ts = value.split("/")
        return f"https://slack.com/app_redirect?team={team}&channel={channel}&message_ts={ts}"
    place = told["place"] or told["title"] or told["subject"]
    if not told["line"]:
        return str(place)
    if start is None:
        start = max(told["text"].find(quote), 0) if quote else 0
    return f"{place}:{told['line'] + told['text'].count(chr(10), 0, start)}"


def _repository(told: Shape) -> str:
    try:
        attributes = json.loads(told["attributes"])
    except ValueError:
        attributes = {}
    named = attributes.get("repository") if isinstance(attributes, dict) else None
    return str(named or told["source"])


def _path(stored: str) -> list[str]:
    """Read a heading path however it is stored: a JSON list, or text."""
    try:
        value = json.loads(stored)
    except ValueError:
        return [stored] if stored else []
    return [str(part) for part in value] if isinstance(value, list) else [stored]
