"""What notes, mailmaps and directories say of identities: names, ties and claims. Knows no row, and joins nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ctxsync.connectors.people import address_key
from ctxsync.engine.graph import nodes
from ctxsync.engine.graph.entities import UNTYPED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ctxsync.engine.graph.records import Item
    from ctxsync.engine.graph.versions import Belief

MAILMAP: Final = "mailmap"
DIRECTORY: Final = "directory"
WITHOUT_SECTIONS: Final = frozenset({MAILMAP, DIRECTORY})
"""Kinds of item that say all they say in their attributes: no section of them is ever held."""

MAX_NAME: Final = 200
"""Characters: what is longer is no name."""


def about(item: Item, belief: Belief) -> frozenset[tuple[str, ...]]:
    """Return what an item's believed versions say of identities.

    (`call`, node, name, type), (`tie`, node, node), (`claim`, normal name, node, source).
    """
    said: set[tuple[str, ...]] = set()
    if item.kind != nodes.NOTE and item.kind not in WITHOUT_SECTIONS:
        return frozenset()
    for source, shown in belief.versions:
        if item.kind == nodes.NOTE:
            for name in (shown.title, *shown.names):
                plain = nodes.normal(name)
                if plain:
                    said.add(("call", item.text, " ".join(name.split()), UNTYPED))
                    said.add(("claim", plain, item.text, source))
            said.update(("tie", item.text, key) for key in shown.keys if nodes.is_own_key(key) and key != item.text)
        for entry in shown.entries:
            said |= _listed(entry) if item.kind == DIRECTORY else _mapped(entry)
    return frozenset(said)


def _mapped(entry: Mapping[str, Any]) -> set[tuple[str, ...]]:
    new, old = (address_key(str(entry.get(k) or "")) for k in ("email", "old_email"))
    name = _line(entry.get("name"))
    said: set[tuple[str, ...]] = set()
    if nodes.is_own_key(new) and name:
        said.add(("call", new, name, UNTYPED))
    if nodes.is_own_key(new) and nodes.is_own_key(old) and new != old:
        said.add(("tie", new, old))
    return said


def _listed(entry: Mapping[str, Any]) -> set[tuple[str, ...]]:
    """Return what a line of a workspace's directory says: what a member or a channel is called, whose address it is.

    A member's address comes from the workspace, where it was confirmed, so it is a tie; a bot's ties nobody.
    """
    key, channel = str(entry.get("key") or ""), str(entry.get("channel") or "")
    name = _line(entry.get("name"))
    said: set[tuple[str, ...]] = set()
    if channel:
        if name:
            said.add(("call", f"channel:{channel}", f"#{name}", "Artifact"))
        return said
    if not nodes.is_key(key):
        return said
    bot = bool(entry.get("bot")) or nodes.kind_of(key) == "address"
    others = entry.get("names")
    for called in (name, *map(_line, others if isinstance(others, list) else ())):
        if called:
            said.add(("call", key, called, "Artifact" if bot else "Person"))
    email = address_key(str(entry.get("email") or ""))
    if not bot and nodes.is_own_key(email):
        said.add(("tie", key, email))
    return said


def _line(value: object) -> str:
    return " ".join(value.split())[:MAX_NAME] if isinstance(value, str) else ""


def entries(kind: str, attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the lines of a mailmap, or of a directory: its people, and its channels by `<team>/<id>`."""
    if kind == MAILMAP:
        return list(attributes.get("entries") or ())
    if kind != DIRECTORY:
        return []
    team = attributes.get("team")
    channels = [{"channel": f"{team}/{k.get('id')}", "name": k.get("name")} for k in attributes.get("channels") or ()]
    return [*(attributes.get("people") or ()), *channels]
