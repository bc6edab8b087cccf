"""How an entity is shown: its name, its type, its names and keys as rows. Knows no rules of identity and no facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxsync.engine.graph import nodes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ctxsync.engine.graph.memory import Memory
    from ctxsync.engine.graph.records import Entity, Naming

# The type of a naming that says nothing of it: titles, aliases, mailmap names.
UNTYPED = ""
FALLBACK = "Concept"
# A title that somebody chose counts as so many mentions.
TITLE_WEIGHT = 3


def weight(type_: str, *, stated: bool) -> int:
    """Return what one mention's type weighs in the vote: a stated one most, the fallback least."""
    if type_ == UNTYPED:
        return 0
    if type_ == FALLBACK:
        return 1
    return 30 if stated else 10


def show(names: Mapping[tuple[str, str, str], tuple[int, int]], *, person: bool) -> Naming:
    """Return the name and type that an entity is shown by, from counts and weights by (name, type, kind of node).

    The type with the most weight wins. Of the names (first names only where there is nothing else; of a person with a
    key, full ones before others) the most frequent, counting spellings together; then the longest; then the first in
    the alphabet. Of its spellings a title's, else the most frequent one.
    """
    if len(names) == 1:
        ((name, type_, _),) = names
        return name, type_ or FALLBACK
    types: dict[str, int] = {}
    spelled: dict[str, int] = {}
    plain: dict[str, int] = {}
    titles: set[str] = set()
    only_first = all(kind == nodes.FIRST for _, _, kind in names)
    for (name, type_, kind), (count, type_weight) in names.items():
        if type_ != UNTYPED:
            types[type_] = types.get(type_, 0) + type_weight
        elif kind == nodes.NOTE:
            titles.add(name)
        if kind == nodes.FIRST and not only_first:
            continue
        votes = count
        if type_ == UNTYPED:
            votes = 0 if kind in nodes.REFERRED_TO else count * TITLE_WEIGHT
        spelled[name] = spelled.get(name, 0) + votes
        normal = nodes.normal(name)
        plain[normal] = plain.get(normal, 0) + votes
    type_ = min(types, key=lambda t: (-types[t], t)) if types else FALLBACK
    best = min(plain, key=lambda p: (person and not nodes.is_full(p), -plain[p], -len(p), p))
    spellings = [name for name in spelled if nodes.normal(name) == best]
    return min(spellings, key=lambda n: (n not in titles, -spelled[n], n)), type_


def settle(memory: Memory, entity: Entity, position: int, wanted_name: str = "", wanted_type: str = "") -> None:
    """Write what changed of how an entity is shown; `wanted_…` is what a person decided."""
    rows = memory.rows
    names = {name for name, _, _ in entity.names}
    if wanted_name and names:
        names.add(wanted_name)
    for name in sorted(entity.name_rows.keys() - names):
        rows.add("name_until", position, entity.name_rows.pop(name))
    for name in sorted(names - entity.name_rows.keys()):
        entity.name_rows[name] = rows.insert("name", entity.id, name, nodes.normal(name), position)
    for id_ in sorted(entity.touched):
        text = memory.node_at(id_).text
        held, row = id_ in entity.nodes, entity.key_rows.get(id_)
        if row is not None and not held:
            rows.add("identity_key_until", position, entity.key_rows.pop(id_))
        elif row is None and held and nodes.is_key(text):
            kind, _, value = text.partition(":")
            entity.key_rows[id_] = rows.insert("identity_key", entity.id, kind, value, position)
    entity.touched.clear()
    person = any(nodes.is_person_kind(kind) for _, _, kind in entity.names)
    shown = show(entity.names, person=person) if entity.names else None
    if shown is not None:
        shown = (wanted_name or shown[0], wanted_type or shown[1])
    if shown != entity.shown:
        if entity.shown is not None:
            rows.add("entity_version_until", position, entity.shown_row)
        if shown is not None:
            entity.shown_row = rows.insert("entity_version", entity.id, *shown, position)
        entity.shown = shown
