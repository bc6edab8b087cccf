"""One pass over one folder's messages: what is new is fetched, what is gone is noted; takes nothing away.

A folder that was read before and whose counters say the same costs one STATUS. Else it is selected with EXAMINE, and:

- its first pass, or one that goes on with an interrupted one, lists all UIDs in windows from the newest down and fetches
  those that the cursor does not know: mail that came meanwhile is therefore first, and nothing is fetched twice;
- a later pass lists what came since UIDNEXT. Only when the number of messages does not add up then, something was
  expunged, and QRESYNC, or else the same listing, says what.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ctxsync.connectors.base import Batch, Observed, Quarantined, Released, Sighted
from ctxsync.connectors.imap.fetching import Chunk, bodies, chunks
from ctxsync.connectors.imap.gmail import HEADS as GMAIL_HEADS
from ctxsync.connectors.imap.ledger import State
from ctxsync.connectors.imap.windows import windows
from ctxsync.connectors.mail.message import mail_item
from ctxsync.errors import BadItem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ctxsync.connectors.base import Change, Item, Options
    from ctxsync.connectors.imap.account import Account
    from ctxsync.connectors.imap.answers import Message
    from ctxsync.connectors.imap.fetching import Line
    from ctxsync.connectors.imap.folders import Folder
    from ctxsync.connectors.imap.gmail import Labels
    from ctxsync.connectors.imap.ledger import Ledger
    from ctxsync.connectors.imap.session import Counters

HEADS = "(UID RFC822.SIZE INTERNALDATE)"
TRIES = 3  # passes in which the server may fail to hand a message over before that is told as a quarantine


@dataclass(slots=True)
class Reading:
    """A folder in one pass.

    Args:
        folder: Which.
        account: Settings.
        options: What the runner asks of this pass.
        line: The connection.
        ledger: The cursor.
        size: Messages a batch at most.
        labels: What its messages' labels mean; None where there are none.
    """

    folder: Folder
    account: Account
    options: Options
    line: Line
    ledger: Ledger
    size: int
    labels: Labels | None = None
    counters: Counters | None = None
    vanished: set[int] = field(default_factory=set)
    unchanged: int = 0
    whole: bool = False
    _formers: set[str] = field(default_factory=set)
    _late: dict[int, int] = field(default_factory=dict)
    _present: int = 0

    @property
    def place(self) -> str:
        """What the folder is called here."""
        return self.folder.place

    def run(self) -> Iterator[Batch]:
        """Yield what is new in the folder. Raises `Refused` when it cannot be opened."""
        place, ledger = self.place, self.ledger
        state = ledger.state(place)
        counters = self.line.session.status(self.folder.name)
        if state is not None and self._rests(state, counters):
            self.unchanged = state.known
            return
        counters = self.line.examine(self.folder)
        before = ledger.generation(place)
        ledger.begin(place, counters.validity or 1)
        if before != ledger.generation(place) or (state is not None and state.since != self._since()):
            state = None
        self.counters, self.vanished, self._present = counters, set(), 0
        self._formers = set(ledger.former(place))
        self._late = ledger.late(place)
        known = ledger.count(place)
        highest = max((uid for uid, _ in ledger.known(place)), default=0) if state is None and self.labels else 0
        yield from self._retried()
        self.whole = state is None
        yield from self._fetched(self._listed(1 if state is None else state.next, self._last()))
        if state is not None and state.exists + self._present != counters.exists:
            yield from self._expunged(state)
        since = state.modseq if state is not None and self.line.session.enabled else 0
        if self.labels is not None and highest:
            yield from self.labels.changed(self, highest + 1, 0)
        elif self.labels is not None and state is not None and since and since != counters.modseq:
            yield from self.labels.changed(self, state.next, since)
        ledger.set_late(place, self._late)
        self.unchanged = max(0, known - len(self.vanished))

    def has_more(self) -> bool:
        """Say whether messages came since this pass selected the folder."""
        now = self.line.session.status(self.folder.name)
        seen = self.counters
        if seen is None:
            state = self.ledger.state(self.place)
            return state is not None and (now.next, now.validity) != (state.next, self.ledger.generation(self.place))
        return (now.next, now.validity) != (seen.next, seen.validity) or (not now.next and now.exists != seen.exists)

    def finish(self) -> None:
        """Note that all of the folder was read, and all that is gone taken away."""
        if self.counters is None:
            return
        known = self.ledger.count(self.place)
        following = self.counters.next or 1 + max((uid for uid, _ in self.ledger.known(self.place)), default=0)
        state = State(following, self.counters.exists, self.counters.modseq, self._since(), known)
        self.ledger.finish(self.place, state)

    def _rests(self, state: State, now: Counters) -> bool:
        ledger, place = self.ledger, self.place
        return (
            now.next > 0
            and (ledger.generation(place), state.next, state.exists) == (now.validity or 1, now.next, now.exists)
            and state.since == self._since()
            and (self.labels is None or state.modseq == now.modseq)
            and not ledger.late(place)
            and not ledger.formers(place)
            and not (self.options.retry_quarantined and ledger.bad(place))
        )

    def _since(self) -> str:
        return self.account.since.isoformat() if self.account.since else ""

    def _last(self) -> int:
        return self.counters.next - 1 if self.counters and self.counters.next else 0

    def _listed(self, low: int, high: int) -> Iterator[int]:
        """Yield the UIDs of a range that are to be fetched, newest first, and note those that are gone."""
        if self.counters is None or (self.counters.next and low > high):
            return
        known_here = dict.fromkeys(uid for uid, _ in self.ledger.known(self.place, low, high)) if high == 0 else None
        for first, last, present in windows(self.line.session.search, low, high, self.counters.exists):
            wanted = present
            if self.account.since and present:
                wanted = self.line.session.search(first, last, self.account.since)
            known = (
                {uid for uid, _ in self.ledger.known(self.place, first, last)}
                if known_here is None
                else set(known_here)
            )
            self._present += len(present)
            self.vanished |= known.difference(present)
            yield from sorted(set(wanted).intersection(present) - known - self._late.keys(), reverse=True)

    def _expunged(self, state: State) -> Iterator[Batch]:
        """Find out what is gone: by QRESYNC where it is offered and explains everything, else by listing all UIDs."""
        session, counters = self.line.session, self.counters
        if counters is None:
            return
        if "QRESYNC" in session.enabled and state.modseq and state.next > 1:
            gone = {
                uid
                for low, high in session.vanished(1, state.next - 1, state.modseq)
                for uid, _ in self.ledger.known(self.place, low, high)
            }
            left = self.ledger.count(self.place) - len(gone | self.vanished) + len(self._late)
            if left == counters.exists and not self.account.since:
                self.vanished |= gone
                return
        if state.next > 1:
            yield from self._fetched(self._listed(1, state.next - 1))

    def _retried(self) -> Iterator[Batch]:
        """Fetch again what the server did not hand over before, and what is in quarantine when the person asks."""
        again = set(self._late)
        if again:
            there = self.line.session.present(again)
            released = [change for uid in sorted(again - there) for change in self._released(uid)]
            self._late = {uid: tries for uid, tries in self._late.items() if uid in there}
            again = there
            if released:
                yield Batch(tuple(released))
        if self.options.retry_quarantined:
            generation = self.ledger.generation(self.place)
            again |= {uid for at, uid in self.ledger.bad(self.place) if at == generation}
        yield from self._fetched(sorted(again, reverse=True))

    def _fetched(self, uids: Iterable[int]) -> Iterator[Batch]:
        heads = HEADS if self.labels is None else GMAIL_HEADS
        wanted = chunks(self.line, uids, heads, most=self.size, max_body=self.account.max_body)
        for chunk, got in bodies(self.line, wanted):
            yield self._batch(chunk, got)

    def _batch(self, chunk: Chunk, got: dict[int, Message]) -> Batch:
        changes: list[Change] = []
        done: set[str] = set()
        for uid, head in chunk.heads.items():
            message = got.get(uid)
            if message is None or message.body is None:
                changes += self._missed(uid)
                continue
            item = self._item(uid, message.body, head, changes)
            if item is None:
                continue
            changes += self._released(uid)
            self._late.pop(uid, None)
            self.ledger.put(self.place, uid, item.id)
            if item.id not in done and item.id not in self._formers:
                changes += (Observed(item, self.place), Sighted(item.id, self.place, self.folder.role))
            done.add(item.id)
            if self.labels is not None and head is not None:
                changes += self.labels.first(self, uid, item.id, head.labels)
        self.ledger.set_late(self.place, self._late)
        return Batch(tuple(changes), self.ledger.take(), seen=len(chunk.heads), unchanged=len(done & self._formers))

    def _item(self, uid: int, raw: bytes, head: Message | None, changes: list[Change]) -> Item | None:
        received = head.received if head else 0
        try:
            return mail_item(raw, received=received, now=self.options.now, max_body=self.account.max_body)
        except BadItem as error:
            why = error.message
        except Exception as error:  # noqa: BLE001 - whatever a message does to the parser, the others go on
            why = f"The message cannot be read ({type(error).__name__})."
        digest = hashlib.sha256(raw).hexdigest()
        held = f"{self.place}#{digest[:16]}"
        self._late.pop(uid, None)
        self.ledger.put(self.place, uid, "")
        self.ledger.set_bad(self.place, self.ledger.generation(self.place), uid, held)
        changes.append(Quarantined(held, why, digest))
        return None

    def _missed(self, uid: int) -> list[Change]:
        """Note that the server did not hand a message over: it is asked for again in each pass, until it is gone."""
        generation = self.ledger.generation(self.place)
        bad = self.ledger.bad_at(self.place, generation, uid)
        if bad and uid not in self._late:
            return []  # unreadable before
        self._late[uid] = min(TRIES, self._late.get(uid, 0) + 1)
        if bad or self._late[uid] < TRIES:
            return []
        held = f"{self.place}#{uid}"
        self.ledger.set_bad(self.place, generation, uid, held)
        return [Quarantined(held, f"The server did not hand over a message of {self.place} in {TRIES} passes.")]

    def _released(self, uid: int) -> list[Change]:
        generation = self.ledger.generation(self.place)
        held = self.ledger.bad_at(self.place, generation, uid)
        if not held:
            return []
        self.ledger.set_bad(self.place, generation, uid, "")
        return [] if self.ledger.is_bad(held) else [Released(held)]
