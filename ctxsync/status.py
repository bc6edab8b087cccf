"""What a home holds, in counts; reads two databases and a note of local runs, and writes nothing."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from ctxsync import runs
from ctxsync.errors import GraphError, StoreMissing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ctxsync.app import App
    from ctxsync.engine.graph.store import Graph

PAUSED = "SELECT source, stream, reason FROM paused ORDER BY source, stream"
QUARANTINED = "SELECT source, place, error FROM quarantine ORDER BY source, place"
ITEMS = "SELECT source, count(*) FROM sighting WHERE until IS NULL GROUP BY source"
TIERS = "SELECT tier, count(*) FROM evidence WHERE active > 0 GROUP BY tier ORDER BY tier"


def status(app: App, *, full: bool) -> dict[str, Any]:
    """Return DESIGN's `status` JSON. Raises `StoreMissing` at no point: a home without a log has counts of zero."""
    from ctxsync.backlog import backlog, tally
    from ctxsync.engine.graph.store import translated
    from ctxsync.escalation_notes import totals

    found: dict[str, Any] = {
        "home": str(app.home.path),
        "position": 0,
        "events": 0,
        "episodes": 0,
        "entities": 0,
        "facts": {"current": 0, "all": 0},
        "sources": [],
        "lag": 0,
        "quarantined": [],
        "contradictions": 0,
        "tiers": {},
        "tier_shares": {},
        "mode": app.config.mode,
        "configured_mode": app.config.extraction.mode,
        "backlog": None,
        "tokens": 0,
        "cost_usd": 0.0,
        "daemon": None,
        "jobs": [],
        "state_hash": None,
        "history_hash": None,
        "graph": "missing",
    }
    head, log_id = 0, ""
    try:
        store = app.store()
    except StoreMissing:
        store = None
    if store is not None:
        with closing(store):
            head, log_id = store.head()[0], store.log_id
            found |= {"position": head, "events": store.count(), "lag": head}
            found |= totals(store)
    noted = runs.read(app.home)
    paused: dict[str, list[dict[str, str]]] = {}
    items: dict[str, int] = {}
    try:
        graph = app.graph()
    except GraphError as error:
        found["graph"] = error.message
    else:
        with closing(graph), translated(app.home.graph_path):
            found |= _counts(graph) | {"lag": head - graph.position, "graph": "ready"}
            for source, stream, reason in graph.db.execute(PAUSED):
                remedies = noted["sources"].get(source, {}).get("remedies")
                remedy = remedies.get(stream, "") if isinstance(remedies, dict) else ""
                paused.setdefault(source, []).append({"stream": stream, "reason": reason, "remedy": remedy})
            found["quarantined"] = [
                {"source": source, "place": place, "error": error}
                for source, place, error in graph.db.execute(QUARANTINED)
            ]
            items = dict(graph.db.execute(ITEMS))
            found["tiers"] = {str(tier): count for tier, count in graph.db.execute(TIERS)}
            counted = tally(graph.db)
            found["tier_shares"] = counted.shares()
            if store is not None:
                with closing(app.store()) as store:
                    found["backlog"] = backlog(app, graph.db, store, counted=counted)
            if graph.log_id not in ("", log_id):
                found["graph"] = "The graph belongs to another log."
            if full:
                found |= {"state_hash": graph.state_hash(), "history_hash": graph.history_hash()}
    for source in app.config.sources:
        ran = noted["sources"].get(source.name, {})
        found["sources"].append(
            {
                "name": source.name,
                "type": source.type,
                "location": source.location,
                "trust": source.trust,
                "items": items.get(source.name, 0),
                "last_success": _noted(ran.get("at")),
                "last_tried": _noted(ran.get("tried")),
                "skipped": ran.get("skipped", {}),
                "paused": paused.get(source.name, []),
                "waits_until": _noted(ran.get("until") or None),
                "quarantined": sum(entry["source"] == source.name for entry in found["quarantined"]),
            }
        )
    for name, cron in (("reconcile", app.config.jobs.reconcile),):
        ran = noted["jobs"].get(name, {})
        found["jobs"].append({"name": name, "cron": cron, "last_run": _noted(ran.get("at"))})
    return found


def with_facts(counts: Mapping[str, int]) -> dict[str, Any]:
    """Return a graph's counts in the shape of DESIGN's `status`: `facts` holds `current` and `all`."""
    rest = {name: number for name, number in counts.items() if not name.startswith("facts_")}
    return rest | {"facts": {"current": counts["facts_current"], "all": counts["facts_all"]}}


def _counts(graph: Graph) -> dict[str, Any]:
    counts = with_facts(graph.counts())
    return {name: counts[name] for name in ("episodes", "entities", "facts")}


def rfc3339(milliseconds: int) -> str:
    """Return a time in milliseconds UTC as the JSON shapes have it."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _noted(milliseconds: Any) -> str | None:
    return rfc3339(milliseconds) if isinstance(milliseconds, int) else None
