"""What one message, as Slack shows it now, changes: a version, a sighting, quarantine, a thread to read. Calls nothing."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from ctxsync.connectors.base import Change, Observed, Quarantined, Released, Sighted, item_fingerprint
from ctxsync.connectors.slack.ledger import Entry
from ctxsync.connectors.slack.stamps import micros, stamp
from ctxsync.errors import BadItem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ctxsync.connectors.slack.ledger import Ledger
    from ctxsync.connectors.slack.schedule import Plan

_VOLATILE = frozenset(
    ("reply_count", "reply_users", "reply_users_count", "latest_reply", "subscribed", "last_read", "is_starred")
)
_BLOCK_ID = re.compile(r'"block_id": "[^"]*"')
_DIGEST = 12  # hex characters kept of a fingerprint: 48 bits, compared only with the same message's


class Intake:
    """Takes messages into a ledger.

    Args:
        plan: What the pass keeps to.
        ledger: What the cursor knows.
    """

    def __init__(self, plan: Plan, ledger: Ledger) -> None:
        self._plan = plan
        self._ledger = ledger
        self.untimed: set[str] = set()
        """Places of messages that were met and have no time, by which alone it shows when they are gone."""

    def take(self, message: Mapping[str, Any], changes: list[Change], *, thread: str = "", ask: bool = True) -> None:
        """Note one message as it reads now, and what that changes. `thread` is that of a reply read in it."""
        ledger, plan = self._ledger, self._plan
        at = micros(message.get("ts"))
        known = None if at is None else ledger.get(at)
        place = _place(plan, message, at, thread)
        self.untimed.update(() if at is not None else (place,))
        if at is not None and at < plan.since:
            return  # the parent of a thread, older than what is asked for
        if place in ledger.bad and ledger.bad[place] == _raw(message) and not plan.options.retry_quarantined:
            return
        try:
            item = plan.make(message)
            digest = item_fingerprint(item)[:_DIGEST] if item else ""
        except (BadItem, TypeError) as error:  # TypeError: what JSON cannot hold
            raw = ledger.bad[place] = _raw(message)
            id_ = f"{plan.prefix}{message.get('ts')}" if known and known.digest else ""
            changes.append(Quarantined(place, str(error), raw, id_))
            return
        if at is None and item is not None:
            raw = ledger.bad[place] = _raw(message)
            changes.append(Quarantined(place, "The message's `ts` is none that Slack gives.", raw))
        if at is None:
            return
        if ledger.bad.pop(place, None) is not None:
            changes.append(Released(place))
        parent = str(message.get("thread_ts") or "")
        reply = thread or (parent if parent != stamp(at) and micros(parent) is not None else "")
        before = known or Entry("", reply, not thread)
        if item is not None:
            ledger.gone.discard(at)
            if digest != before.digest:
                changes.append(Observed(item, plan.channel.id))
                if not before.digest:
                    changes.append(Sighted(item.id, plan.channel.id))
        elif before.digest:
            # A tombstone, or what the settings leave out now: it goes behind the breaker, with all that is gone.
            ledger.gone.add(at)
            digest = before.digest
        latest, replies = thread_state(message)
        if not reply and ask and (latest, replies) != (before.latest, before.replies):
            ledger.due[stamp(at)] = (latest, replies)
        if digest or replies or known:
            ledger.put(at, Entry(digest, reply, before.listed or not thread, before.latest, before.replies))


def _place(plan: Plan, message: Mapping[str, Any], at: int | None, thread: str) -> str:
    """Return what a message that cannot be read is known by in quarantine."""
    if at is not None:
        return f"{plan.prefix}{stamp(at)}" + (f"@{thread}" if thread else "")
    return f"{plan.prefix}{str(message.get('ts'))[:40]!r}"


def thread_state(message: Mapping[str, Any]) -> tuple[str, int]:
    """Return what a message says of its thread: the latest reply, and how many there are."""
    replies, latest = message.get("reply_count"), message.get("latest_reply")
    if not isinstance(replies, int) or isinstance(replies, bool) or replies <= 0:
        return "", 0
    return str(latest) if micros(latest) is not None else "", replies


def _raw(message: Mapping[str, Any]) -> str:
    """Return the digest of a message as it came, apart from what Slack changes though nobody changed the message."""
    said = {key: value for key, value in message.items() if key not in _VOLATILE}
    text = _BLOCK_ID.sub("", json.dumps(said, sort_keys=True))
    return hashlib.sha256(text.encode()).hexdigest()
