"""Single messages in files of their own: those of Maildirs, and `.eml`. Part of a pass; knows no mbox.

In a Maildir a message's name without its flags is what it is known by: flags, and the way from `new` to `cur`, are no
content.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from ctxsync.connectors.base import digest
from ctxsync.connectors.mailbox.ledger import EMLS, NOBODY, Message, messages_of
from ctxsync.connectors.mailbox.passing import BATCH_BYTES, Bad, Pass, Removal
from ctxsync.connectors.mailbox.survey import role_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctxsync.connectors.base import Batch, Json
    from ctxsync.connectors.mailbox.survey import Found

_MILLISECOND: Final = 1_000_000  # nanoseconds


class Files:
    """The single messages of a pass."""

    def __init__(self, run: Pass) -> None:
        self.run = run
        self.to_read: list[str] = []
        self.gone: dict[str, list[Any]] = {}
        self.left: dict[str, list[str]] = defaultdict(list)  # by item, keys of files that are gone

    @property
    def has_work(self) -> bool:
        """Whether anything is new, changed or gone."""
        return bool(self.to_read or self.gone or self._ghosts())

    def look(self) -> None:
        """Compare what stands there with what is known."""
        run = self.run
        known = run.ledger.known
        for key, (place, found) in run.survey.files.items():
            entry = cast("list[Any] | None", known.get(f"f/{key}"))
            run.counts[_group(key, place)] += 1
            same = entry is not None and entry[:2] == [found.size, found.mtime_ns]
            if not same or run.anew or (run.options.retry_quarantined and entry is not None and len(entry) > 5):
                self.to_read.append(key)
            else:
                run.seen += 1
                run.unchanged += 1
        for key, value in known.items():
            if key.startswith("f/") and key[2:] not in run.survey.files and not run.is_hidden(key[2:]):
                entry = cast("list[Any]", value)
                self.gone[key[2:]] = entry
                if entry[3]:
                    self.left[entry[3]].append(key[2:])

    def read(self) -> Iterator[Batch]:
        """Yield what is new or changed, then note what is gone."""
        run = self.run
        if self.to_read and run.seen:
            yield run.batch()
        for number, key in enumerate(sorted(self.to_read), 1):
            self._file(key, *run.survey.files[key])
            if number % run.size == 0 or run.volume >= BATCH_BYTES:
                yield run.batch()
        if run.changes or run.seen:
            yield run.batch()
        for key, entry in sorted(self.gone.items()):
            full = f"f/{key}"
            place = str(entry[2])
            bad = (_quarantine_place(key, place),) if len(entry) > 5 else ()
            run.removals.append(Removal(_group(key, place), full, tuple(messages_of(full, entry)), bad))
        for full, value in self._ghosts().items():
            run.removals.append(Removal(full[2:].rsplit("/", 1)[0], full, tuple(messages_of(full, value))))

    def _ghosts(self) -> dict[str, Json]:
        return {key: value for key, value in self.run.ledger.known.items() if key.startswith("z/")}

    def _file(self, key: str, place: str, found: Found) -> None:
        run = self.run
        before = cast("list[Any] | None", run.ledger.known.get(f"f/{key}"))
        run.seen += 1
        try:
            data = _read(found, run.limits.max_body)
        except FileNotFoundError:
            return  # gone since, or renamed with its flags; the next pass tells
        except OSError as error:
            self._bad(key, place, found, Bad("", f"The file cannot be read: {error.strerror or error}."), before)
            return
        run.volume += len(data)
        item = run.parsed(data, found.mtime_ns // _MILLISECOND)
        if isinstance(item, Bad):
            self._bad(key, place, found, item, before)
            return
        message = run.message(item, "", (place,))
        if _bad_of(before) is not None:
            run.release(_quarantine_place(key, place))
        same = before is not None and before[3] == message.item
        if before is not None and before[3] and not same:
            self._leave_behind(key, place, before[3])
        if item is None:
            run.unchanged += 1
        else:
            run.admit(item, message, edited=same, left="" if before else self._moved_from(message, place))
            if same:
                run.ledger.places[place][message.item] -= 1  # it was counted already
        kept = message.item if message.item != NOBODY else ""
        run.ledger.set(f"f/{key}", [found.size, found.mtime_ns, place, kept, message.content])

    def _leave_behind(self, key: str, place: str, item: str) -> None:
        """Note that a file holds another message now: the sighting of the one before waits for the breaker."""
        group = _group(key, place)
        ghost = f"z/{group}/{digest(key, item)}"
        self.run.ledger.set(ghost, [place, item])
        self.run.removals.append(Removal(group, ghost, (Message(item, "", "", (place,)),)))

    def _moved_from(self, message: Message, place: str) -> str:
        """Return the place that a message moved from: its only file there is gone, and it is not here yet."""
        ledger = self.run.ledger
        if role_of(place) or ledger.places[place].get(message.item):
            return ""  # `sent` is said by a sighting
        for key in self.left.get(message.item, ()):
            entry = self.gone.get(key)
            if entry is not None and entry[2] != place and ledger.places[entry[2]].get(message.item) == 1:
                del self.gone[key]
                ledger.set(f"f/{key}", None)
                return str(entry[2])
        return ""

    def _bad(self, key: str, place: str, found: Found, bad: Bad, before: list[Any] | None) -> None:
        """Quarantine a file; what it held before keeps its sighting."""
        item, content = (before[3], before[4]) if before is not None else ("", "")
        self.run.quarantine(_quarantine_place(key, place), bad, _bad_of(before), item)
        self.run.ledger.set(f"f/{key}", [found.size, found.mtime_ns, place, item, content, bad.digest, bad.error])


def _bad_of(entry: list[Any] | None) -> Bad | None:
    return Bad(entry[5], entry[6]) if entry is not None and len(entry) > 5 else None


def _group(key: str, place: str) -> str:
    return EMLS if key == place else place


def _quarantine_place(key: str, place: str) -> str:
    return key if key == place else f"{place}#{key.rsplit('/', 1)[-1]}"


def _read(found: Found, most: int) -> bytes:
    """Read a message; of a longer one than is read, its beginning."""
    with Path(found.raw).open("rb") as file:
        if found.raw.lower().endswith(".emlx"):
            # Apple Mail: the message's length on a line of its own, then the message, then a property list.
            count = file.readline(32).strip()
            return file.read(min(int(count), most + 1)) if count.isdigit() else count + file.read(most + 1)
        return file.read(most + 1)
