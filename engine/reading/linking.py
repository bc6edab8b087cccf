"""Names in a person's words become entities, by indexed look-ups only; knows no grammar and no relation."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from ctxsync.engine.names import normal
from ctxsync.engine.reading import shapes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ctxsync.engine.reading.reader import Reader

# Names under one two-letter start that a typo is looked for among; past it the graph is too large to guess in.
FUZZY_CANDIDATES = 20_000
FIRST_NAMES = 50
_SHA = re.compile(r"[0-9a-f]{7,64}")
_MESSAGE_ID = re.compile(r"<(?P<id>[^<>]+)>(?:#.*)?\Z")
_APP_LINK = re.compile(
    r"https://slack\.com/app_redirect\?team=(?P<team>\w+)&channel=(?P<channel>\w+)&message_ts=(?P<ts>[\d.]+)\Z"
)
_ISSUE = re.compile(r"#[0-9]{1,9}")

BY_NAME = """
SELECT DISTINCT j.value, n.entity FROM json_each(:grams) AS j CROSS JOIN name AS n ON n.normal = j.value
WHERE n.since <= :p AND (n.until IS NULL OR n.until > :p) ORDER BY j.key, n.entity
"""
# What bears a name without being known by it: messages are called by their words, channels by words with a #.
KINDS_OF = """
SELECT DISTINCT k.entity, k.kind FROM json_each(:ids) AS j JOIN identity_key AS k ON k.entity = j.value
WHERE k.kind IN ('message', 'channel', 'mail', 'message-id') AND k.since <= :p AND (k.until IS NULL OR k.until > :p)
"""
MAILS = """
SELECT DISTINCT m.value FROM identity_key AS k JOIN identity_key AS m ON m.entity = k.entity AND m.kind = 'mail'
WHERE k.value = :value AND k.kind = 'message-id' AND k.since <= :p AND (k.until IS NULL OR k.until > :p)
AND m.since <= :p AND (m.until IS NULL OR m.until > :p) ORDER BY m.value
"""
SUBJECTS = """
SELECT DISTINCT n.entity FROM name AS n JOIN identity_key AS k ON k.entity = n.entity AND k.kind = 'mail'
WHERE n.normal = :gram AND n.since <= :p AND (n.until IS NULL OR n.until > :p)
AND k.since <= :p AND (k.until IS NULL OR k.until > :p) ORDER BY n.entity LIMIT :most
"""
CHANNEL = """
SELECT k.value FROM name AS n JOIN identity_key AS k ON k.entity = n.entity AND k.kind = 'channel'
WHERE n.normal = :gram AND n.name = :name COLLATE NOCASE
AND n.since <= :p AND (n.until IS NULL OR n.until > :p) AND k.since <= :p AND (k.until IS NULL OR k.until > :p)
ORDER BY k.value LIMIT 2
"""
# A name of more words that starts with these: `alice` finds `alice moss`. A space sorts before every letter.
BY_START = """
SELECT DISTINCT n.entity FROM name AS n WHERE n.normal > :gram || ' ' AND n.normal < :gram || '!'
AND n.since <= :p AND (n.until IS NULL OR n.until > :p)
AND NOT EXISTS (SELECT 1 FROM identity_key AS k WHERE k.entity = n.entity AND k.kind IN ('message', 'mail', 'message-id'))
LIMIT :most
"""
NEAR = """
SELECT DISTINCT n.normal FROM name AS n WHERE n.normal >= :start AND n.normal < :stop
AND length(n.normal) BETWEEN :shortest AND :longest
AND n.since <= :p AND (n.until IS NULL OR n.until > :p) LIMIT :most
"""
BY_ID = "SELECT id FROM entity WHERE entity = :text"
BY_KEY = """
SELECT DISTINCT k.entity FROM identity_key AS k WHERE k.value = :value AND (:kind = '' OR k.kind = :kind)
AND k.since <= :p AND (k.until IS NULL OR k.until > :p) ORDER BY k.entity
"""
BY_SHA = """
SELECT DISTINCT k.entity FROM identity_key AS k WHERE k.value >= :value AND k.value < :value || 'g' AND k.kind = 'commit'
AND k.since <= :p AND (k.until IS NULL OR k.until > :p) ORDER BY k.entity LIMIT 5
"""
# `#12` alone: that issue of every repository, for an issue's key is `<repository>#12`.
BY_ISSUE = """
SELECT DISTINCT k.entity FROM identity_key AS r JOIN identity_key AS k ON k.value = r.value || :issue AND k.kind = 'issue'
WHERE r.kind = 'repo' AND k.since <= :p AND (k.until IS NULL OR k.until > :p) ORDER BY k.entity
"""
OWNERS = "SELECT identity FROM source WHERE removed = 0 ORDER BY trust <> 'own', name"


def named(reader: Reader, grams: Iterable[str], position: int) -> dict[str, list[int]]:
    """Return the entities that bear each of these normal names; names nobody bears are left out."""
    found: dict[str, list[int]] = {}
    rows = reader.rows(BY_NAME, {"grams": json.dumps(sorted(set(grams))), "p": position})
    for gram, entity in rows:
        found.setdefault(gram, []).append(entity)
    ids = json.dumps([entity for _, entity in rows])
    quiet = dict(reader.rows(KINDS_OF, {"ids": ids, "p": position}))
    if quiet:
        found = {gram: _telling(entities, quiet) for gram, entities in found.items()}
    return {gram: entities for gram, entities in found.items() if entities}


def _telling(entities: list[int], quiet: Mapping[int, str]) -> list[int]:
    """Return those of the bearers of a name that it stands for; a mail's subject stands for it while nothing else does."""
    return [one for one in entities if one not in quiet] or [
        one for one in entities if quiet[one] not in ("message", "channel")
    ]


def channel(reader: Reader, name: str, position: int) -> str:
    """Return `<team>/<id>` of the one channel that is called so (`#general`); empty where none or several are."""
    found = reader.rows(CHANNEL, {"gram": normal(name), "name": name, "p": position})
    return str(found[0][0]) if len(found) == 1 else ""


def items_at(reader: Reader, locator: str, position: int) -> list[str]:
    """Return the items that a locator of mail or Slack leads to: a Message-ID, a link as `shapes.locator` gives it, an id."""
    link = _APP_LINK.match(locator)
    if link is not None:
        return [f"slack:{link['team']}/{link['channel']}/{link['ts']}"]
    if locator.startswith(("mail:", "slack:")):
        return [locator]
    message = _MESSAGE_ID.match(locator)
    if message is None:
        return []
    return [f"mail:{row[0]}" for row in reader.rows(MAILS, {"value": message["id"], "p": position})]


def starting(reader: Reader, gram: str, position: int) -> list[int]:
    """Return the people whose name starts with this first name, and, where there is just one, the thing that does."""
    if not gram:
        return []
    rows = reader.rows(BY_START, {"gram": gram, "p": position, "most": FIRST_NAMES + 1})
    if not rows or len(rows) > FIRST_NAMES:
        return []
    told = shapes.entities(reader, (row[0] for row in rows), position)
    people = sorted(row for row, shape in told.items() if shape["type"] == "Person")
    return people or (sorted(told) if len(told) == 1 else [])


def widened(reader: Reader, gram: str, entities: list[int], position: int) -> list[int]:
    """Return the bearers of a name, the mails whose subject it is, and of a first name everyone whose first name it is."""
    if not entities:
        return entities
    wider = {*entities, *(row[0] for row in reader.rows(SUBJECTS, {"gram": gram, "p": position, "most": FIRST_NAMES}))}
    return sorted(wider if " " in gram else {*wider, *starting(reader, gram, position)})


def kinded(reader: Reader, gram: str, nouns: Iterable[str], position: int) -> list[int]:
    """Return who bears the name with one of these nouns before it: `heron` is `project heron`."""
    found = named(reader, (f"{noun} {gram}" for noun in nouns), position) if gram else {}
    return sorted({entity for entities in found.values() for entity in entities})


def misspelt(reader: Reader, gram: str, position: int) -> list[str]:
    """Return the normal names that differ from this one by a slip of the keyboard, nearest first.

    One edit (a letter more, less, other, or two swapped) in four to seven letters, two in eight and more; the first
    two letters are taken as typed, else the first and third.
    """
    if len(gram) < 4:
        return []
    allowed = 1 if len(gram) < 8 else 2
    near: dict[str, int] = {}
    from rapidfuzz.distance import OSA

    for start in dict.fromkeys((gram[:2], gram[0] + gram[2], gram[1] + gram[0])):
        bindings = {
            "start": start,
            "stop": start[:-1] + chr(ord(start[-1]) + 1) if start[-1] != chr(0x10FFFF) else start + chr(0x10FFFF),
            "shortest": len(gram) - allowed,
            "longest": len(gram) + allowed,
            "p": position,
            "most": FUZZY_CANDIDATES,
        }
        for (name,) in reader.rows(NEAR, bindings):
            distance = OSA.distance(gram, name, score_cutoff=allowed)
            if 0 < distance <= allowed:
                near[name] = distance
        if near:
            break
    best = min(near.values(), default=0)
    return sorted(name for name, distance in near.items() if distance == best)


def keyed(reader: Reader, text: str, position: int) -> list[int]:
    """Return the entities with this identity key: an e-mail address, a path, a commit's SHA or its start, `#12`, `kind:value`."""
    kind, colon, value = text.partition(":")
    found = reader.rows(BY_KEY, {"kind": "", "value": text, "p": position})
    if not found and text != text.lower():
        found = reader.rows(BY_KEY, {"kind": "", "value": text.lower(), "p": position})
    if not found and colon and kind.isalpha():
        found = reader.rows(BY_KEY, {"kind": kind.lower(), "value": value, "p": position})
    if not found and _SHA.fullmatch(text.lower()):
        found = reader.rows(BY_SHA, {"value": text.lower(), "p": position})
    if not found and _ISSUE.fullmatch(text):
        found = reader.rows(BY_ISSUE, {"issue": text, "p": position})
    return [row[0] for row in found]


def owner(reader: Reader, position: int) -> list[int]:
    """Return the entities that are the person of `[identity]`: who `I` and `my` mean."""
    keys: list[str] = []
    names: list[str] = []
    for (stored,) in reader.rows(OWNERS, {}):
        for value in _strings(json.loads(stored) if stored else []):
            (keys if ":" in value or "@" in value else names).append(value)
    found = {entity for key in dict.fromkeys(keys) for entity in keyed(reader, key, position)}
    if not found:
        exact = named(reader, (normal(name) for name in names), position)
        found = {entity for entities in exact.values() for entity in entities}
    return sorted(found)


def resolve(reader: Reader, text: str, position: int) -> list[int]:
    """Return the entities that a person means by an id, an identity key or a name; several when the name is shared.

    In this order, the first that finds any: id, key, exact name, channel (also without its #, which a shell takes for the
    start of a comment), first name or start, misspelling.
    """
    text = text.strip()
    found = [row[0] for row in reader.rows(BY_ID, {"text": text})] or keyed(reader, text, position)
    if not found and text.startswith("#"):
        found = _channels(reader, text, position)
    gram = normal(text)
    if not found and gram in ("me", "i", "myself"):
        found = owner(reader, position)
    found = (
        found
        or named(reader, [gram], position).get(gram, [])
        or _channels(reader, f"#{text}", position)
        or starting(reader, gram, position)
    )
    if not found:
        near = named(reader, misspelt(reader, gram, position), position)
        found = sorted({entity for entities in near.values() for entity in entities})
    return found


def _channels(reader: Reader, name: str, position: int) -> list[int]:
    named_so = channel(reader, name, position)
    return keyed(reader, f"channel:{named_so}", position) if named_so else []


def _strings(value: object) -> Sequence[str]:
    """Return every string in a JSON value, in order."""
    if isinstance(value, str):
        return [value]
    parts: Iterable[object] = ()
    if isinstance(value, dict):
        mapping: Mapping[str, object] = value
        parts = mapping.values()
    elif isinstance(value, list):
        parts = value
    return [text for part in parts for text in _strings(part)]
