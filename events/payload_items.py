"""Payloads of what connectors and the runner say: items, where they are seen, and their sources."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from ctxsync.events.payload import Payload, Span, Strict


class Author(Strict):
    """Someone as a source names them."""

    name: str
    keys: tuple[str, ...] = ()


class LinkOut(Strict):
    """A link out of a section: see `ctxsync.connectors.base.Link`."""

    target: str
    kind: str
    label: str = ""
    heading: str = ""
    start: int = 0
    end: int = 0


class SectionBody(Strict):
    """One section of an observed item: see `ctxsync.connectors.base.Section`."""

    episode: str
    key: str
    text: str
    occurred_at: int
    heading: tuple[str, ...] = ()
    line: int = 0
    author: Author | None = None
    thread: str = ""
    links: tuple[LinkOut, ...] = ()
    tags: tuple[str, ...] = ()
    code: tuple[Span, ...] = ()
    quoted: tuple[Span, ...] = ()
    attributes: dict[str, JsonValue] = Field(default_factory=dict)


class ItemObserved(Payload):
    """A new version of an item: its sections, complete and in order."""

    type = "item.observed"
    item: str
    kind: str
    place: str
    title: str
    sections: tuple[SectionBody, ...]
    names: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    attributes: dict[str, JsonValue] = Field(default_factory=dict)
    flags: tuple[str, ...] = ()
    raw_digest: str = ""
    content: str

    def state(self) -> dict[str, str]:
        """Set the item's content at this source."""
        return {"content": self.content}

    def fingerprint(self) -> str:
        """Return the content's fingerprint."""
        return self.content


class ItemSighted(Payload):
    """The item is at the place now; `role`: see `ctxsync.connectors.base.Sighted`."""

    type = "item.sighted"
    before = "absent"
    item: str
    place: str
    role: str = ""

    def state(self) -> dict[str, str]:
        """Mark the place as holding the item, and in what role."""
        return {f"place:{self.place}": self.role or "present"}


class ItemUnsighted(Payload):
    """The item is no longer at the place."""

    type = "item.unsighted"
    before = "absent"
    item: str
    place: str
    reason: str = "deleted"

    def state(self) -> dict[str, str]:
        """Mark the place as not holding the item."""
        return {f"place:{self.place}": "absent"}


class ItemMoved(Payload):
    """The item left one place for another."""

    type = "item.moved"
    before = "absent"
    item: str
    place: str
    to: str

    def state(self) -> dict[str, str]:
        """Mark one place empty and the other one taken."""
        return {f"place:{self.place}": "absent", f"place:{self.to}": "present"}


class ItemReplaced(Payload):
    """A successor took over: an amended or rebased commit, a re-sent message."""

    type = "item.replaced"
    item: str
    by: str
    reason: str

    def state(self) -> dict[str, str]:
        """Name the successor."""
        return {"replaced": self.by}


class ItemQuarantined(Payload):
    """What stands at the place could not be read; subject `place:<place>`."""

    type = "item.quarantined"
    before = ""
    place: str
    error: str
    raw_digest: str = ""
    item: str = ""

    def state(self) -> dict[str, str]:
        """Hold the place in quarantine for these bytes and this reason."""
        return {"quarantine": f"{self.raw_digest} {self.error}"}


class ItemReleased(Payload):
    """The place is out of quarantine; subject `place:<place>`."""

    type = "item.released"
    before = ""
    place: str

    def state(self) -> dict[str, str]:
        """Free the place."""
        return {"quarantine": ""}


class SourceConfigured(Payload):
    """What the projection must know of a source that is not content; subject `source:<name>`."""

    type = "source.configured"
    name: str
    kind: str
    location: str
    trust: Literal["own", "others"]
    removed: bool = False
    identity_names: tuple[str, ...] = ()
    identity_keys: tuple[str, ...] = ()

    def state(self) -> dict[str, str]:
        """Set the source's settings."""
        return {"settings": self.model_dump_json()}


class SourcePaused(Payload):
    """Deletions of a stream wait for a person, or the source cannot be reached; subject `source:<name>`."""

    type = "source.paused"
    before = ""
    name: str
    stream: str
    reason: str
    vanished: int = 0
    known: int = 0

    def state(self) -> dict[str, str]:
        """Set the stream's pause and why."""
        return {f"paused:{self.stream}": self.reason}


class SourceResumed(Payload):
    """The stream goes on; subject `source:<name>`."""

    type = "source.resumed"
    before = ""
    name: str
    stream: str

    def state(self) -> dict[str, str]:
        """Clear the stream's pause."""
        return {f"paused:{self.stream}": ""}
