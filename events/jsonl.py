"""The log as files that git keeps well: CloudEvents 1.0 JSON Lines, a file a month; knows nothing of what events mean.

A folder holds `log.json` (whose log, and where it ends), `YYYY-MM.jsonl` (events by the month of recording, in UTC) and
`cursors.jsonl` (where the reading of each stream stands). The same log always gives the same bytes. Importing gives the
same events: positions, ids and hashes.

CloudEvents attributes: `id`, `source` (percent-encoded name), `type`, `subject`, `time` (occurred), `data` (payload).
Extensions: `recordedtime`, `position`, `seq`, `version` (of the payload), `fingerprint`, `salt`, `digest`, `prevhash`,
`hash`. An erased event has no `subject`, `data`, `fingerprint` and `salt`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

import orjson

from ctxsync.errors import StoreCorrupt, StoreError, StoreTooNew
from ctxsync.events import cursors
from ctxsync.events.database import transaction, translated
from ctxsync.events.envelope import Record, canonical
from ctxsync.events.replay import records, replay
from ctxsync.events.writing import set_log_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from ctxsync.events.store import EventStore

FORMAT: Final = 1
MANIFEST: Final = "log.json"
CURSORS: Final = "cursors.jsonl"
MONTH_FILE: Final = re.compile(r"\d{4}-\d{2}\.jsonl")
REPORT_EVERY: Final = 5_000
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND: Final = timedelta(milliseconds=1)


def nobody(_: int) -> None:
    """Report to nobody."""


def export_log(store: EventStore, folder: Path, progress: Callable[[int], None] = nobody) -> int:
    """Write the log into a folder, leaving files that are right already; return the number of events.

    Raises:
        StoreError: The folder holds another log's export, or cannot be written.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if (folder / MANIFEST).exists() and _manifest(folder)["log_id"] != store.log_id:
            raise StoreError(f"{folder} holds the export of another log.", remedy="Name another folder.")
        position, hash_ = store.head()
        with translated(store.path):
            kept = _write_months(folder, records(store.db, position), progress)
            streams = b"".join(map(_cursor_line, cursors.at(store.db, position)))
        for path in folder.iterdir():
            if MONTH_FILE.fullmatch(path.name) and path.name not in kept:
                path.unlink()
        _write(folder / CURSORS, [streams])
        manifest = {"format": FORMAT, "log_id": store.log_id, "position": position, "hash": hash_}
        _write(folder / MANIFEST, [orjson.dumps(manifest, option=orjson.OPT_APPEND_NEWLINE)])
    except OSError as error:
        raise StoreError(f"{folder} cannot be written ({error.strerror}).", remedy="Name another folder.") from error
    return position


def import_log(store: EventStore, folder: Path, progress: Callable[[int], None] = nobody) -> int:
    """Append what an export holds and the log does not, all of it or nothing; return how many events that was.

    An empty log becomes the exported one, cursors included. A log that is the exported one, at whatever position,
    goes on from there; cursors come along only when events do.

    Raises:
        StoreError: There is no export, or it is another log's, or the two logs have gone different ways.
        StoreCorrupt: A line is damaged or missing; names file and line. Nothing was imported.
        StoreTooNew: A newer ctxsync wrote it.
    """
    manifest = _manifest(folder)
    with translated(store.path), transaction(store.db):
        start, _ = store.head()
        if start == 0:
            set_log_id(store.db, manifest["log_id"])
        elif store.log_id != manifest["log_id"]:
            raise StoreError(
                f"{folder} is the export of another log, and this log is not empty.",
                remedy="Import into a new home: ctxsync --home NEW import",
            )
        count, unnamed = replay(store.db, _missing(store, start, _lines(folder, progress)), store.versions)
        if unnamed:
            raise StoreCorrupt(
                f"{min(unnamed.items())[1]}: it has no data, and no erasure names it.",
                remedy="Nothing was imported. Restore that file, or export anew.",
            )
        if max(start, manifest["position"]) != start + count:
            raise StoreCorrupt(
                f"{folder} ends at position {start + count}, and {MANIFEST} says {manifest['position']}.",
                remedy="Nothing was imported. Export anew.",
            )
        if store.hash_at(manifest["position"]) != manifest["hash"] and manifest["position"] > 0:
            raise StoreCorrupt(f"{folder / MANIFEST} does not fit the events.", remedy="Export anew.")
        if start == 0 or count:
            _replace_cursors(store, folder)
    store.reload()
    return count


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        manifest = orjson.loads(path.read_bytes())
        if manifest["format"] > FORMAT:
            raise StoreTooNew(
                f"{path} has format {manifest['format']}; this version of ctxsync knows {FORMAT}.",
                remedy="Upgrade ctxsync: pip install --upgrade ctxsync",
            )
        return {"log_id": str(manifest["log_id"]), "position": int(manifest["position"]), "hash": str(manifest["hash"])}
    except OSError as error:
        raise StoreError(f"{folder} holds no export ({error.strerror}: {path.name}).") from error
    except (ValueError, KeyError, TypeError) as error:
        raise StoreCorrupt(f"{path}:1 is damaged ({error}).", remedy="Export anew.") from error


def _write_months(folder: Path, rows: Iterable[Record], progress: Callable[[int], None]) -> set[str]:
    """Write a file a month: recorded_at never falls, so a month's events stand together."""
    names: set[str] = set()
    month = ""
    lines: list[bytes] = []
    for record in rows:
        line = to_line(record)
        if (found := _rfc3339(record.recorded_at)[:7]) != month:
            if lines:
                _write(folder / f"{month}.jsonl", lines)
            month, lines = found, []
            names.add(f"{month}.jsonl")
        lines.append(line)
        if record.position % REPORT_EVERY == 0:
            progress(record.position)
    if lines:
        _write(folder / f"{month}.jsonl", lines)
    return names


def _write(path: Path, chunks: list[bytes]) -> None:
    data = b"".join(chunks)
    if path.exists() and path.read_bytes() == data:
        return
    fresh = path.with_name(f"{path.name}.new")
    fresh.touch(mode=0o600)
    fresh.write_bytes(data)
    fresh.replace(path)


def _cursor_line(row: tuple[str, str, str, str, int]) -> bytes:
    source, stream, key, value, position = row
    line = {
        "source": source,
        "stream": stream,
        "key": key,
        "value": orjson.Fragment(value),
        "position": position,
    }
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)


def to_line(record: Record) -> bytes:
    """Return a row as a line: a CloudEvent in JSON, attributes in a fixed order, ended by LF."""
    line: dict[str, Any] = {
        "specversion": "1.0",
        "id": record.event_id,
        "source": quote(record.source, safe=""),
        "type": record.type,
        "time": _rfc3339(record.occurred_at),
        "recordedtime": _rfc3339(record.recorded_at),
        "position": record.position,
        "seq": record.seq,
        "version": record.version,
        "digest": record.digest.hex(),
        "prevhash": record.prev_hash.hex(),
        "hash": record.hash.hex(),
    }
    if record.payload is not None and record.salt is not None:
        line |= {
            "salt": record.salt.hex(),
            "fingerprint": record.fingerprint,
            "subject": record.subject,
            "datacontenttype": "application/json",
            "data": orjson.Fragment(record.payload),
        }
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)


def from_line(line: bytes) -> Record:
    """Return the row of a line.

    Raises:
        ValueError, KeyError, TypeError: The line is none.
    """
    event = orjson.loads(line)
    if event["specversion"] != "1.0":
        raise ValueError(f"CloudEvents version {event['specversion']}")
    erased = "data" not in event
    return Record(
        position=int(event["position"]),
        event_id=str(event["id"]),
        source=unquote(event["source"], errors="strict"),
        subject=None if erased else str(event["subject"]),
        seq=int(event["seq"]),
        type=str(event["type"]),
        version=int(event["version"]),
        occurred_at=_ms(event["time"]),
        recorded_at=_ms(event["recordedtime"]),
        fingerprint=None if erased else str(event["fingerprint"]),
        payload=None if erased else canonical(event["data"]),
        salt=None if erased else bytes.fromhex(event["salt"]),
        digest=bytes.fromhex(event["digest"]),
        prev_hash=bytes.fromhex(event["prevhash"]),
        hash=bytes.fromhex(event["hash"]),
    )


def _lines(folder: Path, progress: Callable[[int], None]) -> Iterator[tuple[str, Record]]:
    for path in sorted(folder.iterdir()):
        if not MONTH_FILE.fullmatch(path.name):
            continue
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                where = f"{path}:{number}"
                try:
                    record = from_line(line)
                except (ValueError, KeyError, TypeError, OverflowError) as error:
                    raise StoreCorrupt(
                        f"{where} is damaged ({type(error).__name__}: {error}).",
                        remedy="Nothing was imported. Restore that file, or export anew.",
                    ) from error
                if record.position % REPORT_EVERY == 0:
                    progress(record.position)
                yield where, record


def _missing(store: EventStore, start: int, lines: Iterable[tuple[str, Record]]) -> Iterator[tuple[str, Record]]:
    """Pass on what lies behind the log's end; what lies before must be the same."""
    for where, record in lines:
        if record.position > start:
            yield where, record
        elif store.hash_at(record.position) != record.hash.hex():
            raise StoreError(
                f"{where}: the log holds another event at position {record.position}: they have gone different ways.",
                remedy="Import into a new home: ctxsync --home NEW import",
            )


def _replace_cursors(store: EventStore, folder: Path) -> None:
    """Make the cursors those of the export."""
    path = folder / CURSORS
    head, _ = store.head()
    gone = {row[:3] for row in cursors.at(store.db, head)}
    for number, line in enumerate(path.read_bytes().splitlines() if path.exists() else [], start=1):
        try:
            row = orjson.loads(line)
            source, stream, key = str(row["source"]), str(row["stream"]), str(row["key"])
            value, position = row["value"], int(row["position"])
        except (ValueError, KeyError, TypeError) as error:
            raise StoreCorrupt(f"{path}:{number} is damaged ({error}).", remedy="Export anew.") from error
        cursors.patch(store.db, source, stream, {key: value}, position)
        gone.discard((source, stream, key))
    for source, stream, key in sorted(gone):
        cursors.patch(store.db, source, stream, {key: None}, head)


def _rfc3339(ms: int) -> str:
    return (EPOCH + ms * MILLISECOND).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def _ms(text: str) -> int:
    return (datetime.fromisoformat(text) - EPOCH) // MILLISECOND
