"""Which extraction run counts, said in the log, and taken back; knows no model and no text."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

from ctxsync.sync import Step, no_progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from ctxsync.app import App

PURPOSE: Final = "rebuild"
"""What the writer lock is taken for."""


def adopt(app: App, run: str, source: str = "", progress: Callable[[Step], None] = no_progress) -> dict[str, Any]:
    """Let a run count wherever it has a result, and bring the graph up to that.

    Args:
        app: The home.
        run: The run; empty takes back what was adopted: then the highest tier counts, as before.
        source: For this source's episodes; for all when empty. What is adopted for a source goes before what is for all.
        progress: Told as the graph is brought up.

    Returns:
        `{"run", "source", "changed": whether it was another before, "position", "facts": current, "state_hash"}`.
    """
    from ctxsync.events.model import ExtractionAdopted
    from ctxsync.events.store import NewEvent
    from ctxsync.upkeep import catch_up_graph

    app.store().close()
    subject = "job:extraction"
    with app.lock(PURPOSE), app.store(write=True) as store:
        before = store.state("ctxsync", subject, f"adopted:{source}") or ""
        if before != run:
            store.append([NewEvent("ctxsync", subject, ExtractionAdopted(run=run, source=source), app.clock())])
        catch_up_graph(app, store, progress)
    with closing(app.graph()) as graph:
        return {
            "run": run,
            "source": source,
            "changed": before != run,
            "position": graph.position,
            "facts": graph.count("facts_current"),
            "state_hash": graph.state_hash(),
        }
