"""One pass over one channel: ranges of history, then the threads that moved, then what is gone.

History is read in ranges of time, newest first. A page of history is whole from its earliest message up to where the
page before it began, so each page is a complete range of its own: what it lists is stored and, in the same batch, the
range shrinks by it. A pass that dies anywhere goes on from there; what it had not stored it reads again.

Ranges are asked for with both bounds: Slack's pages walk back from `latest`, but forward from a lone `oldest`. Which
ranges and threads there are to read, `schedule` says.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ctxsync.connectors.base import (
    Batch,
    Change,
    Observed,
    Quarantined,
    Released,
    Unsighted,
    breaker_trips,
)
from ctxsync.connectors.slack.api import Refused, records
from ctxsync.connectors.slack.intake import Intake, thread_state
from ctxsync.connectors.slack.ledger import Entry, with_thread
from ctxsync.connectors.slack.schedule import bad_at, reconciled, schedule
from ctxsync.connectors.slack.stamps import DAY, micros, stamp
from ctxsync.errors import RateLimited, SourceError, SuspiciousDeletion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ctxsync.connectors.slack.ledger import Ledger
    from ctxsync.connectors.slack.schedule import Plan

_FAR = 365 * DAY  # microseconds after all that is known: the end of an open range, whatever this machine's clock says


class Reading:
    """One pass over one channel.

    Args:
        plan: What to keep to.
        ledger: What the cursor knows; moved as the pass goes.
    """

    def __init__(self, plan: Plan, ledger: Ledger) -> None:
        self._plan = plan
        self._ledger = ledger
        self._intake = Intake(plan, ledger)
        self._now = plan.options.now * 1000
        self._listed: set[int] = set()
        self._whole = False  # this pass alone has read all of history
        self._changed = 0
        self._held_before = ledger.held

    def batches(self) -> Iterator[Batch]:
        """Yield what changed.

        Raises:
            SuspiciousDeletion: Too much is gone; everything else has been yielded.
            RateLimited: Slack asks for a long wait; all that could be read without has been yielded.
            AuthError, Unavailable: As `Api.call`; what was read before has been yielded.
        """
        ledger = self._ledger
        if not schedule(self._plan, ledger):
            yield Batch((), seen=ledger.held, unchanged=ledger.held)
            return
        blocked: list[RateLimited] = []
        try:
            yield from self._work(blocked)
        except SourceError:
            yield from self._keep()
            raise
        if blocked:
            yield from self._keep()
            raise max(blocked, key=lambda error: error.retry_after)
        yield from self._farewell()

    def _work(self, blocked: list[RateLimited]) -> Iterator[Batch]:
        """Read ranges and threads in turn; a limit on one of the two methods leaves the other going."""
        ledger = self._ledger
        pages = threads = True
        while (pages and ledger.ranges) or (threads and ledger.due):
            if pages and ledger.ranges:
                try:
                    yield from self._page()
                except RateLimited as error:
                    pages = False
                    blocked.append(error)
            while threads and ledger.due:
                try:
                    yield from self._thread(max(ledger.due))
                except RateLimited as error:
                    threads = False
                    blocked.append(error)

    def _page(self) -> Iterator[Batch]:
        """Read the next page of the newest range, which shrinks by it once all that it told is stored."""
        ledger, plan = self._ledger, self._plan
        low, to = ledger.ranges[0]
        high = to or max(self._now, ledger.number("high") or 0) + _FAR
        messages, more = self._history(low, high)
        times = {at for message in messages if (at := micros(message.get("ts"))) is not None and low <= at < high}
        if more and not times:
            raise plan.api.endless("conversations.history")
        start = min(times) if more else low
        changes: list[Change] = []
        for message in messages:
            self._intake.take(message, changes)
        self._listed |= times
        for at, entry in ledger.between(start, high):
            if entry.listed and at not in times:
                self._missed(at, entry)
        self._release(changes, lambda ts, thread: not thread and start <= ts < high and ts not in times)
        if times:
            ledger.set("high", max(*times, ledger.number("high") or 0))
        deep = ledger.number("deep")
        ledger.set("deep", None if deep is None else deep + 1)
        if changes:
            yield self._batch(changes)
        yield from self._keep_gone()
        ledger.ranges[0:1] = [(low, start)] if more and start > low else []
        if not ledger.ranges and deep is not None:
            self._whole = ledger.number("began") == plan.options.now
            reconciled(self._plan, ledger, deep + 1)

    def _missed(self, at: int, entry: Entry) -> None:
        """Note that history lists a message no more; of a reply and of a thread's parent, the thread has the last word."""
        ledger = self._ledger
        if entry.thread:
            ledger.put(at, replace(entry, listed=False))
            ledger.due.setdefault(entry.thread, ledger.told(entry.thread))
            return
        if entry.digest:
            ledger.gone.add(at)
        if entry.replies:
            ledger.due.setdefault(stamp(at), (entry.latest, entry.replies))

    def _history(self, low: int, high: int) -> tuple[list[Mapping[str, Any]], bool]:
        """Return the newest messages of a range, and whether there are earlier ones.

        A page may be empty though there are more; then the cursor leads on.
        """
        api, bounds = self._plan.api, {"oldest": stamp(low - 1)} if low else {}
        answers = api.answers(
            "conversations.history",
            channel=self._plan.channel.id,
            latest=stamp(high),
            limit=self._plan.size,
            **bounds,
        )
        for answer in answers:
            more = answer.get("has_more") is True
            messages = records(answer, "messages")
            if messages or not more:
                return messages, more
        return [], False

    def _thread(self, parent: str) -> Iterator[Batch]:
        """Read all replies of a thread; what is known of it and not there any more is gone."""
        ledger, plan = self._ledger, self._plan
        at = micros(parent) or 0
        told = ledger.due[parent]
        seen: set[int] = set()
        try:
            for answer in plan.api.answers(
                "conversations.replies", channel=plan.channel.id, ts=parent, limit=plan.size
            ):
                changes: list[Change] = []
                for message in records(answer, "messages"):
                    reply = micros(message.get("ts"))
                    if reply is not None and reply in seen:
                        continue  # each page repeats the parent
                    seen.update(() if reply is None else (reply,))
                    if reply == at and not told[1]:
                        told = thread_state(message)  # nobody asked history
                    if reply != at:
                        self._intake.take(message, changes, thread=parent)
                    elif at not in self._listed:
                        self._intake.take(message, changes, ask=False)
                if changes:
                    yield self._batch(changes)
        except Refused as error:
            if error.code != "thread_not_found":
                raise
            seen.clear()
        known = ledger.get(at)
        if at in seen or (known and at in self._listed):
            entry = ledger.get(at)
            if entry is not None:
                ledger.put(at, with_thread(entry, *told))
        elif known and seen:
            pass  # an answer without the parent: whether that is there, history says
        elif known and known.digest:
            ledger.put(at, with_thread(known, "", 0))
            ledger.gone.add(at)
        elif known:
            ledger.drop(at)
        for reply in ledger.thread(parent):
            if reply not in seen:
                ledger.gone.add(reply)
        yield from self._keep_gone()
        del ledger.due[parent]
        changes = []
        self._release(changes, lambda ts, thread: thread == parent and ts not in seen)
        yield self._batch(changes)

    def _release(self, changes: list[Change], vanished: Callable[[int, str], bool]) -> None:
        """Take what is not there any more out of quarantine; `vanished` is asked with a time and the thread read."""
        for place in list(self._ledger.bad):
            at, thread = bad_at(place)
            if at is not None and vanished(at, thread):
                del self._ledger.bad[place]
                changes.append(Released(place))

    def _batch(self, changes: list[Change]) -> Batch:
        self._changed += sum(isinstance(change, Observed) for change in changes)
        seen = sum(isinstance(change, Observed | Quarantined) for change in changes)
        return Batch(tuple(changes), self._ledger.patch(), seen=seen)

    def _keep(self) -> Iterator[Batch]:
        """Yield what the cursor is to know of a pass that stops here."""
        if patch := self._ledger.patch():
            yield Batch((), patch)

    def _keep_gone(self) -> Iterator[Batch]:
        """Yield what the cursor is to know of what is gone: it must not be forgotten with the range it was missed in."""
        for patch in self._ledger.gone_patches(self._plan.size):
            yield Batch((), patch)

    def _farewell(self) -> Iterator[Batch]:
        """Let go, behind the breaker, of what is gone; then say that the pass has ended."""
        ledger, plan = self._ledger, self._plan
        gone = sorted(at for at in ledger.gone if (entry := ledger.get(at)) and entry.digest)
        ledger.gone.intersection_update(gone)
        known = max(len(gone), self._held_before if ledger.number("settled") is None else ledger.number("settled") or 0)
        if breaker_trips(len(gone), known, plan.options):
            yield from self._keep()
            raise SuspiciousDeletion(
                f"{len(gone)} of {known} messages of {plan.channel.called} are no longer there.",
                vanished=len(gone),
                known=known,
                remedy=f"If that is right, run `ctxsync sync --allow-deletes {plan.api.source}`.",
            )
        for first in range(0, len(gone), plan.size):
            changes: list[Change] = []
            for at in gone[first : first + plan.size]:
                changes += self._let_go(at)
            yield self._batch(changes)
        ledger.set("settled", ledger.held)
        ledger.set("archived", value=True if plan.channel.archived else None)
        untimed = [place for place in ledger.bad if self._whole and bad_at(place)[0] is None]
        vanished = [place for place in untimed if place not in self._intake.untimed]
        for place in vanished:
            del ledger.bad[place]
        unchanged = max(0, ledger.held - self._changed)
        yield Batch(tuple(map(Released, vanished)), ledger.patch(), seen=unchanged, unchanged=unchanged)

    def _let_go(self, at: int) -> list[Change]:
        ledger, plan = self._ledger, self._plan
        entry = ledger.get(at)
        if entry is not None and entry.replies:
            ledger.put(at, Entry("", entry.thread, entry.listed, entry.latest, entry.replies))
        else:
            ledger.drop(at)
        ledger.gone.discard(at)
        return [Unsighted(f"{plan.prefix}{stamp(at)}", plan.channel.id)]
