"""How long the notes connector takes over a vault: first pass, then a pass in which nothing changed.

The second is compared with `os.walk` and `os.stat` over the same tree in the same process; the cursor's JSON is
decoded within the measured time.
"""

from __future__ import annotations

import gc
import os
import tempfile
import time
from pathlib import Path

import orjson

from benchmarks.report import Row
from ctxsync.connectors.base import Json, Options, Stream
from ctxsync.connectors.notes import NotesConnector

NOTES = 10_000


def make_vault(root: Path, notes: int) -> None:
    for number in range(notes):
        folder = root / f"area {number % 20}" / f"topic {number % 200}"
        folder.mkdir(parents=True, exist_ok=True)
        text = f"---\ntags: [t{number % 7}]\n---\n# Note {number}\n\nSee [[note {number - 1}]].\n\n## Log\n\n- [ ] item {number}\n"
        (folder / f"note {number}.md").write_text(text)
    time.sleep(0.1)  # so that no note is younger than the clock tick of its file system


def one_pass(root: Path, cursor: dict[str, Json]) -> tuple[float, int]:
    begun = time.perf_counter()
    changes = 0
    for batch in NotesConnector("vault", {"path": str(root)}, Options()).read(Stream("vault"), cursor):
        changes += len(batch.changes)
        for key, value in batch.cursor.items():
            if value is None:
                cursor.pop(key, None)
            else:
                cursor[key] = value
    return time.perf_counter() - begun, changes


def plain_walk(root: Path) -> float:
    begun = time.perf_counter()
    for folder, _, files in os.walk(root):
        for name in files:
            os.stat(os.path.join(folder, name))  # noqa: PTH116, PTH118 (the baseline is these very calls)
    return time.perf_counter() - begun


def rows(notes: int = NOTES, repeats: int = 7) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        make_vault(root, notes)
        cursor: dict[str, Json] = {}
        first, _ = one_pass(root, cursor)
        one_pass(root, cursor)
        stored_rows = [orjson.dumps([key, value]) for key, value in cursor.items()]
        seconds, walks = [], []
        for _ in range(repeats):
            gc.collect()
            walks.append(plain_walk(root))
            begun = time.perf_counter()
            stored: dict[str, Json] = dict(map(orjson.loads, stored_rows))
            decode = time.perf_counter() - begun
            again, none = one_pass(root, stored)
            seconds.append(decode + again)
            if none:
                raise SystemExit("a pass over unchanged notes found changes")
    return [
        Row("notes connector alone, 10,000 notes, unchanged; os.walk + os.stat", min(seconds), "s", min(walks)),
        Row("  first pass", first, "s"),
        Row("  cursor", sum(map(len, stored_rows)) / 1e6, "MB"),
    ]
