"""Which episodes a search may look at: by source, kind, author, time and place; knows no words and ranks nothing."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

# On the episode `ep`, with the bindings of `Only`. A source counts that showed it first, or that shows it too. What has
# no author was written by the owner of its source.
CONDITIONS = """
  AND (:any_source OR ep.source IN (SELECT value FROM json_each(:sources)) OR EXISTS (
        SELECT 1 FROM sighting AS o WHERE o.item = ep.item AND o.source IN (SELECT value FROM json_each(:sources))
        AND o.since <= :p AND (o.until IS NULL OR o.until > :p)))
  AND (:any_kind OR ep.kind IN (SELECT value FROM json_each(:kinds)))
  AND (:after IS NULL OR ep.occurred_at >= :after)
  AND (:until IS NULL OR ep.occurred_at < :until)
  AND (:any_author OR ep.author_node IN (
        SELECT y.node FROM identity AS y WHERE y.entity IN (SELECT value FROM json_each(:authors))
        AND y.since <= :p AND (y.until IS NULL OR y.until > :p))
    OR (:owner AND ep.author_node IS NULL AND ep.author = ''
        AND ep.source IN (SELECT name FROM source WHERE trust = 'own')))
  AND (:any_reader OR EXISTS (
        SELECT 1 FROM evidence AS v JOIN identity AS y ON y.node = v.head
        WHERE v.episode = ep.id AND v.tier = 0 AND v.phrase IN ('received', 'is mentioned in')
        AND y.entity IN (SELECT value FROM json_each(:readers)) AND y.since <= :p AND (y.until IS NULL OR y.until > :p)))
  AND (:thread = '' OR substr(ep.thread, 1, length(:thread)) = :thread)
  AND (:folder <> 'inbox' OR EXISTS (
        SELECT 1 FROM sighting AS g WHERE g.item = ep.item AND g.since <= :p AND (g.until IS NULL OR g.until > :p)
        AND (lower(g.place) = 'inbox' OR lower(g.place) LIKE '%/inbox')))
  AND (:folder <> 'sent' OR EXISTS (
        SELECT 1 FROM item AS o JOIN sent AS t ON t.item = o.item
        JOIN sighting AS g ON g.item = o.id AND g.source = t.source AND g.place = t.place
        WHERE o.id = ep.item AND g.since <= :p AND (g.until IS NULL OR g.until > :p)))
"""


@dataclass(frozen=True, slots=True)
class Only:
    """Limits on episodes; what is empty or None is no limit.

    Args:
        sources: Names of sources.
        kinds: Kinds of item: `mail`, `slack` …
        authors: Entities of whom the author is one; None for anybody.
        readers: Entities one of whom it was written to, or who are mentioned; None for anybody.
        owner: What has no author counts as well where its source is one's own.
        after: Milliseconds UTC, inclusive.
        until: Milliseconds UTC, exclusive.
        thread: What the thread's id starts with.
        folder: `inbox` or `sent`.
    """

    sources: Sequence[str] = ()
    kinds: Sequence[str] = ()
    authors: Sequence[int] | None = None
    readers: Sequence[int] | None = None
    owner: bool = False
    after: int | None = None
    until: int | None = None
    thread: str = ""
    folder: str = ""

    def bindings(self) -> dict[str, Any]:
        """Return the values for `CONDITIONS`."""
        return {
            "any_source": not self.sources,
            "sources": json.dumps(list(self.sources)),
            "any_kind": not self.kinds,
            "kinds": json.dumps(list(self.kinds)),
            "any_author": self.authors is None,
            "authors": json.dumps(list(self.authors or ())),
            "any_reader": self.readers is None,
            "readers": json.dumps(list(self.readers or ())),
            "owner": self.owner,
            "after": self.after,
            "until": self.until,
            "thread": self.thread,
            "folder": self.folder,
        }


ANYTHING = Only()
