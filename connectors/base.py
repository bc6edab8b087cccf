"""The connector contract; it knows nothing of the event store, the graph, or any one source.

SOURCE   one configured instance of a connector: a vault, a repository
STREAM   a part of a source with its own cursor: a vault, a repository's refs
ITEM     one thing with a global identity, whatever source shows it: `note:<id>`, `commit:<sha>`
PLACE    where in a source an item is seen: a path in the vault, a stream of the repository
SECTION  a part of an item; one immutable version of it is an EPISODE
CURSOR   what the runner keeps for a stream between reads: a flat mapping of string keys to JSON values. A batch
         carries a patch; a key patched to None is removed

All of these are values: nothing changes one. Those that are made by the million (`Section`, `Item`, `Observed`,
`Sighted`) are not frozen all the same, because making a frozen one takes three times as long.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

import orjson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

UTC_OFFSET = "utc_offset"

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None


@dataclass(frozen=True, slots=True)
class Stream:
    """A part of a source with its own cursor.

    Args:
        source: Name of the configured source.
        name: Name within the source, stable across runs; `.` for a source that has one stream.
    """

    source: str
    name: str = "."


@dataclass(frozen=True, slots=True)
class Person:
    """Someone as the source names them, before any resolution.

    Args:
        name: Display name as given; may be empty.
        keys: Identity keys as `kind:value`, for example `email:robin@example.com` (e-mail in lower case).
    """

    name: str
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """A link out of a section.

    Args:
        target: What it names: a note's name or path as written, or a URL.
        kind: `wikilink`, `embed`, `markdown` (a relative path) or `url`.
        label: The text that stands for it (an alias, a link text); empty when it is the target itself.
        heading: The part behind `#`, without a `^` block reference's caret; empty when there is none.
        start: First character of the link in the section's text.
        end: One past its last character.
    """

    target: str
    kind: str
    label: str = ""
    heading: str = ""
    start: int = 0
    end: int = 0


@dataclass(slots=True)
class Section:
    """One section of an item, as it reads now.

    Args:
        key: Stable name within the item: heading path and ordinal among equal paths.
        text: The section's own text as the source has it (Markdown stays Markdown), LF line ends.
        occurred_at: When it was said, integer milliseconds UTC.
        heading: Heading path from the outermost heading down; empty for what stands above the first heading.
        line: 1-based line of the text's first line in the item; 0 where lines mean nothing. Not content.
        author: Who wrote it; None when the owner of the source did.
        thread: What it belongs to, for scoping first names: a thread id; empty means the item itself.
        links: Links in order.
        tags: Tags without `#`, nested ones with `/`, in order of first use.
        code: Half-open character ranges that are code or otherwise not prose.
        quoted: Half-open character ranges that are others' words.
        attributes: What the source states outright and no field above holds (tasks, trailers, files …). `utc_offset` is
            where its author's clock stood, minutes east of UTC, so that "today" is their day; it is left out where that
            is UTC or not known, and like `occurred_at` it is not content.
    """

    key: str
    text: str
    occurred_at: int
    heading: tuple[str, ...] = ()
    line: int = 0
    author: Person | None = None
    thread: str = ""
    links: tuple[Link, ...] = ()
    tags: tuple[str, ...] = ()
    code: tuple[tuple[int, int], ...] = ()
    quoted: tuple[tuple[int, int], ...] = ()
    attributes: Mapping[str, Json] = field(default_factory=dict)

    def content(self) -> dict[str, Json]:
        """Return what makes this version of the section itself: everything but `line`, `occurred_at` and its zone."""
        attributes = self.attributes if isinstance(self.attributes, dict) else dict(self.attributes)
        if UTC_OFFSET in attributes:
            attributes = {key: value for key, value in attributes.items() if key != UTC_OFFSET}
        return {
            "key": self.key,
            "text": self.text,
            "heading": list(self.heading),
            "author": None if self.author is None else {"name": self.author.name, "keys": list(self.author.keys)},
            "thread": self.thread,
            "links": [[k.target, k.kind, k.label, k.heading, k.start, k.end] for k in self.links],
            "tags": list(self.tags),
            "code": [list(k) for k in self.code],
            "quoted": [list(k) for k in self.quoted],
            "attributes": attributes,
        }


@dataclass(slots=True)
class Item:
    """A version of an item: its sections, complete and in order.

    Args:
        id: Global identity, `kind:value`.
        kind: `note`, `commit`, `mailmap` …
        title: What a person would call it: a note's title, a commit's subject line.
        sections: All of them.
        names: Further names of what a note is about (aliases). The title is a name of it too.
        keys: Identity keys of what a note is about (`email:…` from its properties).
        attributes: Frontmatter and other item-wide statements, JSON-safe.
        flags: What was irregular and tolerated: `frontmatter-unparsed`, `decoded-lossy`, `time-clamped` …
        raw_digest: SHA-256 (hex) of the raw bytes; empty where there are none.
    """

    id: str
    kind: str
    title: str
    sections: tuple[Section, ...]
    names: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    attributes: Mapping[str, Json] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    raw_digest: str = ""


def digest(*parts: Json) -> str:
    """Return 32 hex characters of the BLAKE2b of the canonical JSON of `parts`."""
    data = orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def episode_id(item: str, section: Section) -> str:
    """Return the id of the episode that this version of a section is: same item and content, same episode."""
    return digest(item, section.content())


def item_fingerprint(item: Item, episodes: Sequence[str] | None = None) -> str:
    """Return the fingerprint of a version of an item: equal when nothing a reader would notice differs.

    A shifted line, another occurred_at or its zone is not content; section order is. `episodes` are the sections' ids, where
    they are at hand.
    """
    if episodes is None:
        episodes = [episode_id(item.id, section) for section in item.sections]
    return digest(
        item.id,
        item.kind,
        item.title,
        list(episodes),
        list(item.names),
        list(item.keys),
        dict(item.attributes),
        list(item.flags),
    )


@dataclass(slots=True)
class Observed:
    """A new version of an item at a place. Says nothing of presence: pair it with `Sighted` at first sight."""

    item: Item
    place: str


@dataclass(slots=True)
class Sighted:
    """The item is at the place now.

    `role` says what the place means for the item: `sent` is a folder of what the owner of the source sent. Empty
    means nothing special.
    """

    item: str
    place: str
    role: str = ""


@dataclass(frozen=True, slots=True)
class Unsighted:
    """The item is no longer at the place.

    `reason` says why: `deleted`, `excluded`, `unreachable` …
    """

    item: str
    place: str
    reason: str = "deleted"


@dataclass(frozen=True, slots=True)
class Moved:
    """The item left one place for another, the same thing."""

    item: str
    place: str
    to: str


@dataclass(frozen=True, slots=True)
class Replaced:
    """The item's successor took over (`reason`: amend, rebase); its own sighting goes by `Unsighted`."""

    item: str
    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class Quarantined:
    """What stands at the place could not be read.

    Args:
        place: Where.
        error: Why, for a person.
        raw_digest: SHA-256 (hex) of the raw bytes, empty when they could not be read: tried again when it changes.
        item: Its identity where one is known; its last good version keeps its sighting.
    """

    place: str
    error: str
    raw_digest: str = ""
    item: str = ""


@dataclass(frozen=True, slots=True)
class Released:
    """What was quarantined at the place is readable again, or gone."""

    place: str


Change: TypeAlias = Observed | Sighted | Unsighted | Moved | Replaced | Quarantined | Released


@dataclass(frozen=True, slots=True)
class Batch:
    """Changes and the cursor patch that covers them, stored together or not at all.

    Args:
        changes: In the order in which they happened or were found.
        cursor: Only the keys that changed; None removes a key.
        seen: How many items this batch looked at.
        unchanged: How many of them had not changed.
        skipped: What the source holds and no parser knows, counted by kind (`.pdf`: 3).
    """

    changes: tuple[Change, ...]
    cursor: Mapping[str, Json] = field(default_factory=dict)
    seen: int = 0
    unchanged: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Options:
    """What the runner asks of one read.

    Args:
        allow_deletes: The person let a suspicious deletion through for this read.
        retry_quarantined: Try quarantined items again though their bytes did not change.
        max_delete_ratio: Share of a stream's items (0 to 1) that may vanish in one pass.
        min_deletes: The breaker never trips under this many vanished items (DESIGN: 20).
        now: Milliseconds UTC, for clamping and defaults; one value for a whole sync.
    """

    allow_deletes: bool = False
    retry_quarantined: bool = False
    max_delete_ratio: float = 0.2
    min_deletes: int = 20
    now: int = 0


class Connector(Protocol):
    """One configured source. Stateless between reads: the runner keeps the cursor.

    Connectors are built as `Type(name, settings, options)`, where settings is the source's table of config.toml.
    A read that has to stop for the breaker first yields everything else (additions and changes go on), then raises
    `SuspiciousDeletion`; it records no deletion. A read never holds more than a bounded batch in memory.
    """

    name: str

    def discover(self) -> Iterable[Stream]:
        """List the source's streams; raises `Unavailable` or `AuthError`."""
        ...

    def read(self, stream: Stream, cursor: Mapping[str, Json] | None) -> Iterator[Batch]:
        """Yield what changed since `cursor`, oldest first where order means something."""
        ...


class Watches(Protocol):
    """Optional: the connector can tell that something changed. A lost wake only delays."""

    def watch(self, wake: Callable[[Stream], None]) -> AbstractContextManager[None]:
        """Call `wake` (from any thread) when a stream may have changed, until the context is left."""
        ...


class Checks(Protocol):
    """Optional: the connector can say more of what is missing than its first read tells. For `ctxsync doctor --online`."""

    def check(self) -> None:
        """Log in with every secret and look at nothing else; raise what a person should know, else return."""
        ...


def breaker_trips(vanished: int, known: int, options: Options) -> bool:
    """Say whether so many deletions in one pass are suspicious.

    DESIGN: more than `max_delete_ratio` of the stream and at least `min_deletes` items. A stream of two or more items
    that is suddenly empty trips as well: an unmounted disk looks just like that.
    """
    if options.allow_deletes or vanished == 0:
        return False
    return (vanished == known and known > 1) or (
        vanished >= options.min_deletes and vanished / known > options.max_delete_ratio
    )
