"""Progress of a pass: a bar per source and phase on a terminal, nothing elsewhere; always on stderr."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ctxsync.cli.inert import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ctxsync.sync import Step

_WORDS = {
    "read": "Reading",
    "extract": "Extracting",
    "project": "Updating the graph",
    "embed": "Indexing for search",
    "escalate": "Asking higher tiers",
    "try": "Trying a model",
    "verify": "Checking the log",
    "rebuild": "Rebuilding the graph",
}


@contextmanager
def shown_progress() -> Iterator[Callable[[Step], None]]:
    """Give a function that shows each step; bars vanish at the end, so that stdout alone holds the result."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from ctxsync.cli.output import progress_console

    tasks: dict[str, Any] = {}
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=progress_console(), transient=True) as bars:

        def step(what: Step) -> None:
            label = f"{_WORDS.get(what.phase, what.phase)} {one_line(what.source)}".strip()
            if label not in tasks:
                tasks[label] = bars.add_task(label, total=what.total)
            bars.update(tasks[label], completed=what.done, total=what.total)

        yield step
