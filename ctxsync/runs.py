"""When each source and job last ran here (`runs.json`); local, erasable, and nothing the projection may know."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ctxsync.home import write_private

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ctxsync.home import Home


def read(home: Home) -> dict[str, dict[str, dict[str, Any]]]:
    """Return `{"sources": {name: {"at", "ok", "seconds", "skipped"}}, "jobs": {name: {"at", "ok"}}}`.

    Times are milliseconds UTC. A missing or damaged file is empty: nothing depends on it.
    """
    try:
        data = json.loads(home.runs_path.read_bytes())
    except (OSError, ValueError):
        data = {}
    found: dict[str, dict[str, dict[str, Any]]] = {"sources": {}, "jobs": {}}
    if isinstance(data, dict):
        for kind, known in found.items():
            entries = data.get(kind)
            if isinstance(entries, dict):
                known.update({name: entry for name, entry in entries.items() if isinstance(entry, dict)})
    return found


def record(home: Home, kind: str, entries: Mapping[str, Mapping[str, Any]]) -> None:
    """Merge what just ran into the file; a home that cannot be written loses only this note.

    Args:
        home: Where.
        kind: `sources` or `jobs`.
        entries: Values by name; keys of an entry that are not given keep their old value.
    """
    found = read(home)
    for name, entry in entries.items():
        found[kind][name] = {**found[kind].get(name, {}), **entry}
    try:
        write_private(home.runs_path, json.dumps(found, indent=1, sort_keys=True) + "\n")
    except OSError:  # a full disk must not turn a finished pass into a failed one
        return
