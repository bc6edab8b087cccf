"""What is kept of higher tiers beside their answers: caps, rests, and which tiers there were; asks no server.

The counts of a day stand in the log, beside the answers that they count. Who is left alone until when, and which tiers the
last pass found, stand in `runs.json`, which may be lost.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from ctxsync import runs
from ctxsync.sync import RUNNER

if TYPE_CHECKING:
    import apsw

    from ctxsync.app import App
    from ctxsync.events.model import Payload
    from ctxsync.events.store import EventStore

JOB: Final = "escalation"
"""The name of its cursor in the log, and of its entry among the jobs of `runs.json`."""
DAY: Final = 86_400
SOURCES = "SELECT name FROM source ORDER BY name"


def may_escalate(app: App) -> bool:
    """Say whether the settings, and this process' models, have higher tiers at all; asks no server."""
    config = app.config
    return config.extraction.seconds_per_pass > 0 and app.has_higher()


def noted(app: App) -> dict[str, Any]:
    """Return what was noted of higher tiers when they were last at work; empty where the settings are others now."""
    found = runs.read(app.home)["jobs"].get(JOB, {})
    return found if found.get("settings", "") in ("", settings_of(app)) else {}


def settings_of(app: App) -> str:
    """Return what names the settings that decide which higher tiers there are."""
    from ctxsync.connectors.base import digest

    config = app.config
    tables = (config.mode, config.local_llm, config.cerebras, config.deepinfra, config.openrouter, config.providers)
    return digest(repr(tables), repr(config.schema))[:16]


def resting(app: App) -> list[dict[str, Any]]:
    """Return the tiers that are left alone now: `tier`, `until` (RFC 3339), `why`."""
    from ctxsync.status import rfc3339

    now = app.clock()
    rests = sorted(noted(app).get("rests", {}).items())
    return [
        {"tier": int(tier), "until": rfc3339(rest["until"]), "why": rest["why"]}
        for tier, rest in rests
        if is_resting(rest["until"], now)
    ]


def is_resting(until: int, now: int) -> bool:
    """Say whether a rest lasts (both ms UTC); none is longer than a day: what is, was noted before the clock was set back."""
    return now < until <= now + DAY * 1000


def closed_sources(app: App, db: apsw.Connection, *, cloud: bool) -> set[str]:
    """Return the sources whose texts a tier may not have."""
    if not cloud:
        return set()
    return {name for (name,) in db.execute(SOURCES) if not app.config.cloud_allowed(name)}


def counted(store: EventStore, source: str, payload: Payload, now: int) -> dict[str, Any]:
    """Return the patch of the cursor that counts one reading of a source's episode.

    Args:
        store: The log.
        source: Whose episode it is.
        payload: What is stored of the reading.
        now: ms UTC.
    """
    counts, day = store.cursor(RUNNER, JOB), _day(now)
    key, spent = f"of:{source}", vars(payload)
    patch: dict[str, Any] = {key: int(str(counts.get(key) or 0)) + 1}
    if counts.get("day") != day:
        patch = {**dict.fromkeys(name for name in counts if name.startswith("of:")), "day": day, key: 1}
    tokens = spent.get("tokens_in", 0) + spent.get("tokens_out", 0)
    for name, more in (("tokens", tokens), ("cost_usd", spent.get("cost_usd", 0.0))):
        if more:
            patch[name] = round(float(str(counts.get(name) or 0)) + more, 6)
    return patch


def full_sources(app: App, store: EventStore) -> set[str]:
    """Return the sources that had their share of today."""
    cap = app.config.caps.escalations_per_source
    counts = store.cursor(RUNNER, JOB) if cap else {}
    if counts.get("day") != _day(app.clock()):
        return set()
    return {
        key.removeprefix("of:") for key, count in counts.items() if key.startswith("of:") and int(str(count)) >= cap
    }


def spent_today(app: App) -> float:
    """Return what all calls of this UTC day cost, US dollars."""
    from ctxsync.engine.door.ledger import Ledger

    now = app.clock() / 1000
    ledger = Ledger(app.home.egress_path)
    try:
        return sum(float(call["cost"] or 0.0) for call in ledger.calls(since=now - now % DAY))
    finally:
        ledger.close()


def totals(store: EventStore) -> dict[str, Any]:
    """Return `tokens` and `cost_usd` of all that higher tiers have read, by the configured prices."""
    counts = store.cursor(RUNNER, JOB)
    return {
        "tokens": int(float(str(counts.get("tokens") or 0))),
        "cost_usd": round(float(str(counts.get("cost_usd") or 0.0)), 6),
    }


def _day(now: int) -> str:
    return datetime.fromtimestamp(now / 1000, UTC).date().isoformat()
