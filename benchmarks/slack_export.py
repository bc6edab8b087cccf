"""How long a Slack export of 100,000 messages takes, beside reading and parsing its JSON and doing nothing with it.

The export is a folder such as Slack makes: lists of people and channels, and a file a day and channel; messages have
the fields, blocks and profiles that real ones have, and a mix of mentions, links, code, answers, reactions, files and
apps. It is measured to batches (items with all that is structural), into a log, and again when nothing has changed.
Times are of the processor, which a busy machine does not stretch; all of it is done by one thread over cached files.
"""

from __future__ import annotations

import json
import resource
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from benchmarks.report import Row
from ctxsync.config import Config
from ctxsync.connectors.slack_export import SlackExportConnector
from ctxsync.events.store import EventStore
from ctxsync.sync import SourceReport, SyncRequest, options_for, rarely_collected, read_source

if TYPE_CHECKING:
    from collections.abc import Callable

MESSAGES = 100_000
CHANNELS = 10
DAYS = 250
PEOPLE = 50
REPEATS = 3
START = 1_700_006_400
TEXT = "we moved the planting plan to Thursday because the cold frame at the allotment needs another pane of glass"
WORDS = TEXT.split()


def user(number: int) -> str:
    return f"U{number % PEOPLE:08}"


def message(number: int, ts: str, parent: str) -> dict[str, object]:
    """Return a message as an export holds it; the kinds come in a fixed mix."""
    begin = number % len(WORDS)
    text = " ".join((WORDS[begin:] + WORDS[:begin])[: 6 + number % 13])
    inline: list[dict[str, object]] = [{"type": "text", "text": text}]
    kind = number % 20
    if kind in (1, 2, 3):
        text = f"<@{user(number + 1)}> {text}"
        inline.insert(0, {"type": "user", "user_id": user(number + 1)})
    elif kind == 4:
        text = f"{text} <https://example.com/plan/{number}?a=1&amp;b=2|the plan>"
        inline.append({"type": "link", "url": f"https://example.com/plan/{number}?a=1&b=2", "text": "the plan"})
    elif kind == 5:
        text = f"{text} `frame --pane {number}` and *done* &amp; dusted"
        inline.append({"type": "text", "text": f"frame --pane {number}", "style": {"code": True}})
    found: dict[str, object] = {
        "client_msg_id": f"00000000-0000-4000-8000-{number:012}",
        "type": "message",
        "user": user(number),
        "text": text,
        "ts": ts,
        "team": "T0GARDEN1",
        "user_team": "T0GARDEN1",
        "source_team": "T0GARDEN1",
        "user_profile": {
            "avatar_hash": "0123456789ab",
            "image_72": f"https://avatars.example.com/2023-11-15/{number % PEOPLE}_0123456789abcdef_72.png",
            "first_name": "Robin",
            "real_name": f"Robin Vale {number % PEOPLE}",
            "display_name": "robin",
            "team": "T0GARDEN1",
            "name": "robin",
            "is_restricted": False,
            "is_ultra_restricted": False,
        },
        "blocks": [
            {
                "type": "rich_text",
                "block_id": f"b{number:04}",
                "elements": [{"type": "rich_text_section", "elements": inline}],
            }
        ],
    }
    if kind in (6, 7, 8, 9):
        found |= {"thread_ts": parent, "parent_user_id": user(number - 1)}
    elif kind == 10:
        found["reactions"] = [{"name": "thumbsup", "users": [user(number + 2), user(number + 3)], "count": 2}]
    elif kind == 11:
        found["files"] = [
            {"id": f"F{number:08}", "name": f"plan {number}.pdf", "filetype": "pdf", "size": number, "mode": "hosted"}
        ]
    elif kind == 12:
        found |= {"subtype": "bot_message", "bot_id": "B00000001", "username": "Weather"}
        del found["user"], found["user_profile"]
    elif kind == 13:
        found["edited"] = {"user": user(number), "ts": ts}
    return found


def make_export(root: Path, messages: int) -> None:
    people = [
        {
            "id": user(number),
            "team_id": "T0GARDEN1",
            "name": f"robin{number}",
            "profile": {"real_name": f"Robin Vale {number}", "email": f"robin{number}@example.com"},
        }
        for number in range(PEOPLE)
    ]
    channels = [{"id": f"C{number:08}", "name": f"bed-{number}"} for number in range(CHANNELS)]
    (root / "users.json").write_bytes(orjson.dumps(people))
    (root / "channels.json").write_bytes(orjson.dumps(channels))
    a_day = messages // (CHANNELS * DAYS)
    number = 0
    for channel in range(CHANNELS):
        folder = root / f"bed-{channel}"
        folder.mkdir()
        for day in range(DAYS):
            midnight = START + 86_400 * day
            name = time.strftime("%Y-%m-%d", time.gmtime(midnight))
            stamps = [f"{midnight + 60 * at}.{number + at:06}" for at in range(a_day)]
            held = [message(number + at, stamps[at], stamps[at - at % 10]) for at in range(a_day)]
            number += a_day
            (folder / f"{name}.json").write_bytes(orjson.dumps(held, option=orjson.OPT_INDENT_2))


def only_parsed(root: Path, parse: Callable[[bytes], list[object]] = orjson.loads) -> int:
    """Parse every file and do nothing with it; return how many messages there are. The connector parses with orjson."""
    return sum(len(parse(path.read_bytes())) for path in sorted(root.glob("*/*.json")))


def to_batches(root: Path) -> int:
    connector = SlackExportConnector(
        "export", {"path": str(root)}, options_for(Config(), "export", SyncRequest(), now())
    )
    return sum(batch.seen for stream in connector.discover() for batch in connector.read(stream, None))


def into(store: EventStore, root: Path) -> SourceReport:
    at = now()
    report = SourceReport("export")
    connector = SlackExportConnector("export", {"path": str(root)}, options_for(Config(), "export", SyncRequest(), at))
    read_source(store, connector, at, report)
    if report.problems:
        raise SystemExit(str(report.problems))
    return report


def now() -> int:
    return time.time_ns() // 1_000_000


def timed(action: Callable[[], object]) -> float:
    begun = time.process_time()
    with rarely_collected():  # as a pass does
        action()
    return time.process_time() - begun


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def rows(messages: int = MESSAGES) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "export"
        root.mkdir()
        make_export(root, messages)
        seen = only_parsed(root)
        before = peak()
        parsing, plainly, batching, logging = [], [], [], []
        for turn in range(REPEATS):  # interleaved, so that a busy moment falls on all alike
            parsing.append(timed(lambda: only_parsed(root)))
            plainly.append(timed(lambda: only_parsed(root, json.loads)))
            batching.append(timed(lambda: to_batches(root)))
            with EventStore.open(Path(folder) / f"{turn}.db", write=True) as store:
                logging.append(timed(lambda: into(store, root)))
        with EventStore.open(Path(folder) / "0.db", write=True) as store:
            again = timed(lambda: into(store, root))
    parsed, plain, batched, logged = map(statistics.median, (parsing, plainly, batching, logging))
    return [
        Row("Slack export to batches, structural; its JSON parsed by Python's json", batched, "s", plain, most=4),
        Row("  the same; its JSON parsed by orjson, which is what reads it here", batched, "s", parsed),
        Row("  the same into the log; its JSON parsed by orjson", logged, "s", parsed),
        Row("  the same into the log; its JSON parsed by Python's json", logged, "s", plain),
        Row("  messages into the log", seen / logged, "/s"),
        Row("  unchanged pass", again, "s"),
        Row("peak memory after three such; before", peak(), "MB", before),
    ]


if __name__ == "__main__":
    from benchmarks.report import table

    print(table(rows()))
