"""How many episodes wait for which tier, what that would cost and when it ends; reads log, graph and notes, and asks no server.

Every figure is an estimate from what is known: tokens from the bytes of the texts, seconds from what the tier took before.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from ctxsync.escalation_notes import DAY, closed_sources, may_escalate, noted, resting

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import apsw

    from ctxsync.app import App
    from ctxsync.events.store import EventStore

PREFIX_TOKENS: Final = 900
"""Rules, format, examples and current facts before a text (SPEC: about 500 before the facts)."""
ANSWER_TOKENS: Final = 200
BYTES_A_TOKEN: Final = 4.3
"""Of English text, about, in the vocabularies of current models; 1.3 tokens a word."""
EXPECTED_MS: Final = {2: 6_000.0, 3: 2_000.0, 4: 3_000.0}
"""What an episode takes at a tier of which the log has nothing yet (SPEC "Tiers")."""
SAMPLE: Final = 20
EXPECTED_SHARE: Final = 0.3
"""Of episodes that nothing was measured on, how many will ask for a higher tier (SPEC aims at tier 1 keeping 70 %)."""
LAST_AT = "SELECT position FROM extraction WHERE tier BETWEEN ? AND ? ORDER BY position DESC LIMIT ?"
# Of each held episode the highest tier that has read it; the tables' own order is used, because texts make rows long.
READ = """
SELECT tier, wish = 2, count(*) FROM (
    SELECT episode, max(tier * 1000000000000 + position), tier, wish FROM extraction GROUP BY episode) AS x
WHERE EXISTS (
    SELECT 1 FROM episode AS e JOIN holding AS h ON h.episode = e.id AND h.until IS NULL WHERE e.episode = x.episode)
GROUP BY 1, 2 ORDER BY 1, 2
"""


@dataclass(frozen=True, slots=True)
class Tally:
    """How many held episodes each tier has, by the highest that has read them, and how many of those ask for a higher one."""

    tiers: Mapping[int, int]
    asking: int

    def shares(self) -> dict[str, dict[str, Any]]:
        """Return number and share of the episodes of each tier."""
        whole = sum(self.tiers.values())
        return {str(tier): {"episodes": count, "share": round(count / whole, 3)} for tier, count in self.tiers.items()}

    @property
    def share(self) -> float | None:
        """The share of episodes that asked for a higher tier; None where there are none."""
        whole = sum(self.tiers.values())
        higher = sum(count for tier, count in self.tiers.items() if tier > 1)
        return round((self.asking + higher) / whole, 3) if whole else None


def tally(db: apsw.Connection) -> Tally:
    """Return how many episodes each tier has."""
    tiers: Counter[int] = Counter()
    asking = 0
    for tier, asks, count in db.execute(READ):
        tiers[tier] += count
        asking += count if asks else 0
    return Tally(tiers, asking)


def backlog(
    app: App,
    db: apsw.Connection,
    store: EventStore,
    *,
    steps: Sequence[Mapping[str, Any]] | None = None,
    counted: Tally | None = None,
) -> Any:
    """Return what waits for higher tiers.

    Args:
        app: The home.
        db: Its graph.
        store: Its log.
        steps: The tiers that there are now, as they are noted; None takes what the last pass noted.
        counted: How many episodes each tier has; counted here when None.

    Returns:
        `{"mode", "configured_mode", "asking", "known", "tiers": [{"tier", "model", "waiting", "tokens", "cost_usd",
        "seconds", "ends", "sources": {name: waiting}}], "rests": [{"tier", "until", "why"}], "local", "share"}`. `asking`
        counts held episodes whose result asks for a higher tier, `share` is that of those that asked; `known` is false
        where the settings changed since the last pass; `local` says why there is no local model.
    """
    counted = counted or tally(db)
    note = noted(app)
    known = note.get("steps") if steps is None else steps
    config = app.config
    found: dict[str, Any] = {
        "mode": config.mode,
        "configured_mode": config.extraction.mode,
        "asking": counted.asking,
        "known": known is not None,
        "tiers": [],
        "rests": resting(app),
        "local": note.get("local", ""),
        "share": counted.share,
    }
    if may_escalate(app):
        found["tiers"] = [_tier(app, db, store, step) for step in known or ()]
    return found


def _tier(app: App, db: apsw.Connection, store: EventStore, step: Mapping[str, Any]) -> dict[str, Any]:
    from ctxsync.engine.extraction.escalation import Place, sums
    from ctxsync.status import rfc3339

    place = Place(step["run"], step["lowest"], step["highest"], step["every"], tuple(step["below"]))
    now = app.clock()
    by_source = sums(db, place, closed_sources(app, db, cloud=step["cloud"]), now=now)
    waiting = sum(number for number, _ in by_source.values())
    tokens_in = sum(number * PREFIX_TOKENS + size / BYTES_A_TOKEN for number, size in by_source.values())
    tokens_out = waiting * ANSWER_TOKENS
    prices, per_minute, per_day = _limits(app, step)
    cost = (tokens_in * prices[0] + tokens_out * prices[1]) / 1_000_000
    caps = app.config.caps
    days = [number / caps.escalations_per_source for number, _ in by_source.values() if caps.escalations_per_source]
    days += [(tokens_in + tokens_out) / per_day] if per_day else []
    days += [cost / caps.usd_per_day] if caps.usd_per_day else []
    work = waiting * measured_ms(db, store, place.lowest, place.highest) / 1000
    paced = waiting * 60 / per_minute if per_minute else 0.0
    # What is within the first day's caps is done today; what is left waits for midnights.
    held_up = max((int(-(-more // 1)) - 1 for more in days), default=0) * DAY
    seconds = max(work, paced, held_up)
    return {
        "tier": place.lowest,
        "model": step["model"],
        "waiting": waiting,
        "tokens": round(tokens_in + tokens_out),
        "cost_usd": round(cost, 4),
        "seconds": round(seconds, 1),
        "ends": rfc3339(now + int(seconds * 1000)) if waiting else None,
        "sources": {source: number for source, (number, _) in by_source.items()},
    }


def _limits(app: App, step: Mapping[str, Any]) -> tuple[tuple[float, float], int, int]:
    """Return prices, requests a minute and tokens a day of the provider that a step asks first."""
    if not step["cloud"]:
        return (0.0, 0.0), 0, 0
    from ctxsync.tiers import remote

    first = next((one for one in remote(app.config) if one.tier == step["lowest"] and not one.local), None)
    if first is None:
        return (0.0, 0.0), 0, 0
    return (first.price_in, first.price_out), first.requests_per_minute, first.tokens_per_day


def measured_ms(db: apsw.Connection, store: EventStore, lowest: int, highest: int) -> float:
    """Return the median of what the last extractions of a tier took, ms; what is expected where there are none."""
    positions = [row[0] for row in db.execute(LAST_AT, (lowest, highest, SAMPLE))]
    took = [
        float(event.payload.get("ms") or 0.0)
        for position in positions
        for event in store.read(position - 1, upto=position)
    ]
    return median(took) if took else EXPECTED_MS.get(lowest, EXPECTED_MS[2])


def planned(app: App) -> list[dict[str, Any]] | None:
    """Return the tiers that there are now, which asks local servers what they have; None where none are asked for."""
    if not may_escalate(app):
        return None
    steps, _ = app.higher()
    return [{**asdict(step.place), "cloud": step.cloud, "model": step.tier.model} for step in steps]


def of(app: App, *, ask: bool, sections: int = 0) -> Any:
    """Return the backlog of a home; None where it has no log or graph yet and nothing is to come.

    Args:
        app: The home.
        ask: Ask local servers what they have, instead of taking what the last pass noted.
        sections: So many more would be read now: `new` and `expected` (of them, how many will ask for a higher tier) say.
    """
    found = _of(app, ask=ask)
    if found is None and not sections:
        return None
    empty = {"mode": app.config.mode, "configured_mode": app.config.extraction.mode, "asking": 0, "known": False}
    found = found or {**empty, "tiers": [], "rests": [], "local": "", "share": None}
    share = found["share"] if found["share"] is not None else EXPECTED_SHARE
    return found | {"new": sections, "expected": round(sections * share)}


def _of(app: App, *, ask: bool) -> Any:
    from ctxsync.engine.graph.store import translated
    from ctxsync.errors import GraphError, StoreError

    try:
        with closing(app.store()) as store, closing(app.graph()) as graph, translated(graph.path):
            return backlog(app, graph.db, store, steps=planned(app) if ask else None)
    except (GraphError, StoreError):
        return None
