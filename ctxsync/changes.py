"""Changes of a connector as events of the log: a pure translation; knows no store and no source.

Importing this costs pydantic: only what appends imports it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from ctxsync.connectors import base
from ctxsync.connectors.base import Observed, Quarantined, Released, Sighted, episode_id, item_fingerprint
from ctxsync.events import model
from ctxsync.events.store import NewEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ctxsync.connectors.base import Change, Item, Section


def to_events(
    source: str, changes: Sequence[Change], now: int, is_quarantined: Callable[[str], bool] = lambda _: False
) -> Iterator[NewEvent]:
    """Yield the events of a batch's changes, in order.

    An item that cannot be put into an event (not JSON, not text) is quarantined under its id, and released when it
    can; no other item suffers.

    Args:
        source: The source's name.
        changes: As the connector gave them.
        now: When they were found, milliseconds UTC.
        is_quarantined: Says whether the log holds a place of this source in quarantine.
    """
    unreadable: set[str] = set()
    still_bad = {change.place for change in changes if isinstance(change, Quarantined)}
    for change in changes:
        if isinstance(change, Sighted) and change.item in unreadable:
            continue
        try:
            event = _to_event(source, change, now)
        except orjson.JSONEncodeError as error:
            if not isinstance(change, Observed):
                raise
            item = change.item
            unreadable.add(item.id)
            yield _to_event(source, Quarantined(item.id, _why(change.place, error), item.raw_digest, item.id), now)
            continue
        if isinstance(change, Observed) and change.item.id not in still_bad and is_quarantined(change.item.id):
            yield _to_event(source, Released(change.item.id), now)
        yield event


def _why(place: str, error: Exception) -> str:
    """Say on one line why an item has no place in an event; surrogates, a likely cause, are made visible."""
    text = f"{place}: {type(error).__name__}: {error}".encode("utf-8", "backslashreplace").decode()
    return " ".join(text.split())[:300]


def _to_event(source: str, change: Change, now: int) -> NewEvent:
    # The two that come by the million stand before the patterns, which take longer to match.
    if isinstance(change, Sighted):
        seen = model.ItemSighted.unchecked(item=change.item, place=change.place, role=change.role)
        return NewEvent(source, change.item, seen, now)
    if isinstance(change, Observed):
        item = change.item
        said = max([section.occurred_at for section in item.sections]) if item.sections else now
        return NewEvent(source, item.id, observed(item, change.place), said)
    match change:
        case base.Unsighted(item_id, place, reason):
            return NewEvent(source, item_id, model.ItemUnsighted(item=item_id, place=place, reason=reason), now)
        case base.Moved(item_id, place, to):
            return NewEvent(source, item_id, model.ItemMoved(item=item_id, place=place, to=to), now)
        case base.Replaced(item_id, by, reason):
            return NewEvent(source, item_id, model.ItemReplaced(item=item_id, by=by, reason=reason), now)
        case base.Quarantined(place, error, raw_digest, item_id):
            held = model.ItemQuarantined(place=place, error=error, raw_digest=raw_digest, item=item_id)
            return NewEvent(source, f"place:{place}", held, now)
        case base.Released(place):
            return NewEvent(source, f"place:{place}", model.ItemReleased(place=place), now)


def observed(item: Item, place: str) -> model.ItemObserved:
    """Return the `item.observed` payload of a version of an item.

    It is built without pydantic's checks, which took a third of a first sync: the fingerprint refuses what is not JSON
    or not text, the sections' own classes give the shape, and a test compares the two ways.

    Raises:
        TypeError: Something in it is not JSON, or not text.
    """
    episodes = [episode_id(item.id, section) for section in item.sections]
    return model.ItemObserved.unchecked(
        item=item.id,
        kind=item.kind,
        place=place,
        title=item.title,
        sections=tuple(map(_section_body, episodes, item.sections)),
        names=item.names,
        keys=item.keys,
        attributes=item.attributes,
        flags=item.flags,
        raw_digest=item.raw_digest,
        content=item_fingerprint(item, episodes),
    )


def _section_body(episode: str, section: Section) -> dict[str, object]:
    return {
        "episode": episode,
        "key": section.key,
        "text": section.text,
        "occurred_at": section.occurred_at,
        "heading": section.heading,
        "line": section.line,
        "author": {"name": section.author.name, "keys": section.author.keys} if section.author else None,
        "thread": section.thread,
        "links": [
            {
                "target": link.target,
                "kind": link.kind,
                "label": link.label,
                "heading": link.heading,
                "start": link.start,
                "end": link.end,
            }
            for link in section.links
        ],
        "tags": section.tags,
        "code": section.code,
        "quoted": section.quoted,
        "attributes": section.attributes,
    }
