"""How long a pass takes that finds nothing new, as `ctxsync watch` does it: 10,000 notes, the whole of `App.sync`.

That is: lock, open and close the log, settings compared, notes looked at, extraction, graph and vectors found to be up
to date, the result noted. Compared with `os.walk` and `os.stat` over the same tree in the same process.
"""

from __future__ import annotations

import gc
import tempfile
import time
from pathlib import Path

from benchmarks.homes import filled
from benchmarks.notes_scan import NOTES, make_vault, plain_walk
from benchmarks.report import Row
from ctxsync.sync import SyncRequest

REPEATS = 9


def rows(notes: int = NOTES) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder) / "vault"
        make_vault(vault, notes)
        begun = time.perf_counter()
        app = filled(Path(folder) / "home", vault)
        first = time.perf_counter() - begun
        begun = time.perf_counter()
        app.sync(SyncRequest())
        second = time.perf_counter() - begun
        passes, walks = [], []
        for _ in range(REPEATS):
            gc.collect()
            walks.append(plain_walk(vault))
            begun = time.perf_counter()
            report = app.sync(SyncRequest())
            passes.append(time.perf_counter() - begun)
            if report["sources"][0]["unchanged"] != notes or report["extracted"]:
                raise SystemExit(f"a pass over unchanged notes found changes: {report}")
    return [
        Row("sync of 10,000 unchanged notes; os.walk + os.stat", min(passes), "s", min(walks), most=3),
        Row("  the first such pass of a process", second, "s"),
        Row("  first sync, structural tier only", first, "s"),
    ]
