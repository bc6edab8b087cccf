r"""Gmail over IMAP: All Mail holds each message once, and its labels (X-GM-EXT-1) are further places of it.

Folders that are labels are therefore not read: their messages are those of All Mail. Spam and trash are not in All Mail,
and are folders like others where they are named. Where All Mail itself is not to be read, nothing here applies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ctxsync.connectors.base import Batch, Sighted, Unsighted
from ctxsync.connectors.imap.folders import Choice, Folder, decoded, place_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ctxsync.connectors.base import Change
    from ctxsync.connectors.imap.answers import Listed
    from ctxsync.connectors.imap.reading import Reading

CAPABILITY: Final = "X-GM-EXT-1"
HEADS: Final = "(UID RFC822.SIZE INTERNALDATE X-GM-LABELS)"
WINDOW: Final = 20_000  # UIDs whose changed labels are asked for at once
# Not \Starred and \Important: stars, and what Gmail thinks of a message, are flags that come and go, and no places.
_SYSTEM: Final = {
    "\\inbox": "inbox",
    "\\sent": "sent",
    "\\draft": "drafts",
    "\\drafts": "drafts",
}


@dataclass(frozen=True, slots=True)
class Labels:
    r"""What labels mean here.

    Args:
        folders: The folder that a label is, by the label: a user's label as it is, a system's as `\sent`.
    """

    folders: Mapping[str, Folder]

    def places(self, labels: Iterable[bytes] | None) -> tuple[str, ...]:
        """Return the places that a message's labels are, those that are not to be read left out."""
        found = (self.folders.get(_known(label)) for label in labels or ())
        return tuple(sorted({folder.place for folder in found if folder is not None}))

    def first(self, reading: Reading, uid: int, item: str, labels: Iterable[bytes] | None) -> list[Change]:
        """Return what a message's labels say at first sight."""
        places = self.places(labels)
        reading.ledger.label(reading.place, uid, places)
        return [Sighted(item, place, self._role(place)) for place in places]

    def changed(self, reading: Reading, following: int, modseq: int) -> Iterator[Batch]:
        """Yield what labels were put on and taken off; the message stays in All Mail all along.

        Args:
            reading: All Mail.
            following: UIDs below it are asked for.
            modseq: Only what changed since; 0 asks for all, as after a pass that ended early.
        """
        session = reading.line.session
        changes: list[Change] = []
        since = f"(CHANGEDSINCE {modseq})" if modseq else ""
        for low in range(1, following, WINDOW):
            high = min(following - 1, low + WINDOW - 1)
            session.ask(f"{low}:{high}", "(UID X-GM-LABELS)", since)
            told = {one.uid: one.labels for one in session.answers() if one.labels is not None}
            for uid, item in reading.ledger.known(reading.place, low, high) if told else ():
                if not item or uid not in told:
                    continue
                before, now = set(reading.ledger.labels(reading.place, uid)), self.places(told[uid])
                changes += [Sighted(item, place, self._role(place)) for place in now if place not in before]
                changes += [Unsighted(item, place) for place in sorted(before.difference(now))]
                reading.ledger.label(reading.place, uid, now)
                if len(changes) >= reading.size:
                    yield Batch(tuple(changes), reading.ledger.take())
                    changes = []
        if changes:
            yield Batch(tuple(changes), reading.ledger.take())

    def _role(self, place: str) -> str:
        return next((folder.role for folder in self.folders.values() if folder.place == place), "")


def narrowed(choice: Choice, listing: Iterable[Listed]) -> tuple[Choice, Labels | None]:
    """Return which folders are read when All Mail is one of them, and what the labels of its messages mean."""
    everything = next((folder for folder in choice.folders if folder.everything), None)
    if everything is None:
        return choice, None
    flags = {place_of(one.name, one.delimiter): one.flags for one in listing}
    apart = ("junk", "trash")
    read = [folder for folder in choice.folders if folder is everything or flags[folder.place].intersection(apart)]
    labels: dict[str, Folder] = {}
    for folder in choice.folders:
        if folder in read:
            continue
        labels[folder.place] = folder
        for label, use in _SYSTEM.items():
            if use in flags[folder.place] or (use == "inbox" and folder.place == "INBOX"):
                labels[label] = folder
    return Choice(tuple(read), choice.left), Labels(labels)


def _known(label: bytes) -> str:
    text = decoded(label)
    return text.lower() if text.startswith("\\") else text
