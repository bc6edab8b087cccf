"""A block as it is understood: its parse, its mentions and the things at them; states nothing itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ctxsync.engine.extraction.choosing import KNOWN
from ctxsync.engine.extraction.grammar import Candidate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctxsync.engine.extraction.cast import Thing
    from ctxsync.engine.extraction.dates import Stated
    from ctxsync.engine.extraction.mentions import Found, Mention
    from ctxsync.engine.extraction.plain import Block

# A list's item of more tokens than these tells a story rather than a name.
_LONGEST_ITEM = 25


@dataclass(frozen=True, slots=True)
class Reading:
    """A block as it is understood: its parse, its mentions, the thing at each head token, the dates of each verb."""

    block: Block
    doc: Any
    found: Found
    things: dict[int, Thing]
    when: dict[int, list[Stated]]

    def at(self, token: int) -> Thing | None:
        """Return the thing that a token belongs to."""
        if token in self.things:
            return self.things[token]
        mention = self.found.at(token)
        return None if mention is None else self.things.get(mention.head)


def beside(reading: Reading) -> Iterator[Candidate]:
    """Yield what names side by side say: `Acme CEO Priya Raman`, `Acme's CEO Priya Raman`, `Lisbon, Portugal`."""
    doc, found = reading.doc, reading.found
    for index, mention in enumerate(found.all):
        if mention.roles and mention.owner >= 0:
            yield Candidate(mention.head, (f"is {mention.roles[0]} of",), mention.owner, mention.head, 0.95)
        if index == 0:
            continue
        before = found.all[index - 1]
        comma = before.end + 1 == mention.start and doc[before.end].text == ","
        if comma and _is_place(reading, before) and _is_place(reading, mention):
            following = doc[mention.end].lower_ if mention.end < len(doc) else ""
            after = found.all[index + 1] if index + 1 < len(found.all) else None
            listed = following in ("and", "or", "&") or (
                following == "," and after is not None and after.start == mention.end + 1 and _is_place(reading, after)
            )
            if not listed and (index < 2 or found.all[index - 2].end + 1 != before.start):
                yield Candidate(before.head, ("is located in",), mention.head, before.head, 0.9)


def _is_place(reading: Reading, mention: Mention) -> bool:
    thing = reading.things.get(mention.head)
    return mention.kind == "name" and thing is not None and thing.type == "Place"


def by_verb(found: Iterator[Candidate]) -> Iterator[list[Candidate]]:
    """Group candidates of one verb: `moved from A to B` speaks of one relation."""
    group: list[Candidate] = []
    for candidate in found:
        if group and candidate.verb != group[0].verb:
            yield group
            group = []
        group.append(candidate)
    if group:
        yield group


def listed(reading: Reading) -> list[Mention]:
    """Return the names that a list's item is made of: `Kafka and Redis (for events)`; empty where it says more."""
    doc = reading.doc
    names: list[Mention] = []
    at = 0
    for mention in reading.found.all:
        between = doc[at : mention.start]
        if mention.start < at or any(token.lower_ not in (",", "and", "&", "the", "+") for token in between):
            break
        if mention.kind in ("name", "noun") and (mention.strength >= KNOWN or mention.kind == "name"):
            names.append(mention)
        at = mention.end
    rest = doc[at] if at < len(doc) else None
    told = rest is not None and not rest.is_punct and rest.tag_ not in ("IN", "SYM", ":")
    return [] if told or len(doc) > _LONGEST_ITEM else names
