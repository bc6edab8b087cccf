"""Every form in which an export comes gives the items that the API would give."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.connectors.base import Observed, Options, Sighted, Stream, item_fingerprint
from ctxsync.connectors.slack.directory import Directory
from ctxsync.connectors.slack.message import message_item
from ctxsync.connectors.slack_export import SlackExportConnector
from ctxsync.errors import Unavailable
from tests.connectors.slack_export.conftest import CHANNELS, NOW, USERS, Source, message, official

if TYPE_CHECKING:
    from pathlib import Path

PARENT = message("2023-11-15", 2, text="Who has the key?", reply_count=2)
PARENT["thread_ts"] = PARENT["ts"]
ANSWER = message("2023-11-16", 5, user="U2ROSA", text="I, <@U1ROBIN>", thread_ts=PARENT["ts"], parent_user_id="U1ROBIN")
BROADCAST = message("2023-11-16", 6, text="Found!", thread_ts=PARENT["ts"], subtype="thread_broadcast")
PLAIN = message("2023-11-15", 1)
JOIN = message("2023-11-15", 0, subtype="channel_join", text="<@U1ROBIN> has joined the channel")
EXPORT = official(
    garden={"2023-11-15": [JOIN, PLAIN, PARENT], "2023-11-16": [ANSWER, BROADCAST, BROADCAST]},
    shed={"2023-11-16": [ANSWER]},
)
GARDEN = [PLAIN, PARENT, ANSWER, BROADCAST]


def by_the_api(messages: list[dict[str, Any]], channel: str, directory: Directory) -> set[str]:
    """Return fingerprints of what conversations.history and conversations.replies would make."""
    found = [message_item(one, team="T1", channel=channel, directory=directory) for one in messages]
    return {item_fingerprint(item) for item in found if item}


DIRECTORY = Directory.of("T1", USERS, CHANNELS)
EXPECTED = by_the_api(GARDEN, "C1GARDEN", DIRECTORY) | by_the_api([ANSWER], "C2SHED", DIRECTORY)


@pytest.mark.parametrize("under", ["", "my export/", "a/b/"])
@pytest.mark.parametrize("kind", ["folder", "zip"])
def test_slacks_own_export_is_found_as_folder_and_zip_in_enclosing_folders_too(
    source: Source, kind: str, under: str
) -> None:
    getattr(source, kind)({**EXPORT, "integration_logs.json": [], "__MACOSX/garden/2023-11-15.json": b"junk"}, under)
    changes = source.read()
    items = [change.item for change in changes if isinstance(change, Observed)]
    assert {item_fingerprint(item) for item in items if item.kind == "slack"} == EXPECTED
    assert len(items) == 1 + len(EXPECTED)
    assert {change.place for change in changes if isinstance(change, Sighted)} == {".directory", "C1GARDEN", "C2SHED"}


def test_the_directory_is_observed_first_and_again_only_when_it_says_something_else(source: Source) -> None:
    source.folder(EXPORT)
    first = source.read()[0]
    assert isinstance(first, Observed)
    assert first.item.id == "slack-directory:T1"
    people: Any = first.item.attributes["people"]
    assert [person["name"] for person in people] == ["Robin Vale", "Rosa Quint", "Guest Example"]
    source.put("users.json", [*USERS, {"id": "U4NEW", "team_id": "T1", "name": "new"}])
    (change,) = source.read()
    assert isinstance(change, Observed)
    assert source.read() == []


def test_direct_messages_are_found_by_their_ids(source: Source) -> None:
    files = official(D1ROSA={"2023-11-15": [PLAIN]}, **{"mpdm-robin--rosa-1": {"2023-11-15": [PLAIN]}})
    files["dms.json"] = [{"id": "D1ROSA", "members": ["U1ROBIN", "U2ROSA"]}]
    files["mpims.json"] = [{"id": "G1ALL", "name": "mpdm-robin--rosa-1", "members": []}]
    source.zip(files)
    assert {item.id.split("/")[1] for item in source.items()} == {"D1ROSA", "G1ALL"}


def test_a_renamed_channel_is_the_same_channel(source: Source) -> None:
    source.folder(EXPORT)
    source.read()
    renamed = {name.replace("garden/", "allotment/"): value for name, value in EXPORT.items()}
    renamed["channels.json"] = [{**CHANNELS[0], "name": "allotment", "is_archived": True}, CHANNELS[1]]
    source.folder(renamed)
    assert source.says() == []


@pytest.mark.parametrize("extra", ["garden/attachments/F1-plan.json", "__uploads/F1/2023-11-15.json"])
def test_slackdumps_exports_keep_files_beside_the_messages(source: Source, extra: str) -> None:
    """Both of its types, `standard` and `mattermost`."""
    source.zip({**EXPORT, extra: b"no list"})
    assert {item_fingerprint(item) for item in source.items()} == EXPECTED


def test_slackdumps_dump_has_the_answers_inside_their_parents(source: Source) -> None:
    messages = [JOIN, PLAIN, {**PARENT, "slackdump_thread_replies": [ANSWER, BROADCAST]}, BROADCAST]
    dump = {"channel_id": "C1GARDEN", "name": "garden", "messages": messages}
    thread = {"channel_id": "C2SHED", "thread_ts": PARENT["ts"], "messages": [ANSWER]}
    source.folder({"C1GARDEN.json": dump, f"C2SHED-{PARENT['ts']}.json": thread, "users.json": USERS})
    assert {item_fingerprint(item) for item in source.items()} == EXPECTED
    assert source.says() == []


def test_a_single_dump_is_a_source_too_and_names_come_from_its_messages(source: Source, tmp_path: Path) -> None:
    source.path = tmp_path / "garden.json"
    said = {**PLAIN, "user_profile": {"real_name": "Robin V."}}
    source.path.write_text(json.dumps({"channel_id": "C1GARDEN", "name": "garden", "messages": [said]}))
    (item,) = source.items()
    assert item.id == f"slack:T1/C1GARDEN/{PLAIN['ts']}"
    assert item.sections[0].author
    assert item.sections[0].author.name == "Robin V."


def chunk_lines(*chunks: dict[str, Any]) -> bytes:
    return gzip.compress("".join(json.dumps(chunk) + "\n" for chunk in chunks).encode())


CHUNKS = (
    {"t": 7, "ts": 1, "id": "C1GARDEN", "n": 1, "cu": ["U1ROBIN"]},
    {"t": 5, "ts": 1, "id": "C1GARDEN", "ci": CHANNELS[0]},
    {"t": 0, "ts": 1, "id": "C1GARDEN", "n": 4, "l": True, "m": [BROADCAST, PARENT, PLAIN, JOIN]},
    {"t": 1, "ts": 1, "id": "C1GARDEN", "r": PARENT["ts"], "p": PARENT, "m": [ANSWER, BROADCAST], "l": True},
)
SHED = ({"t": 5, "id": "C2SHED", "ci": CHANNELS[1]}, {"t": 0, "id": "C2SHED", "m": [ANSWER]})
PEOPLE = {"t": 3, "ts": 1, "n": 3, "u": USERS}
WORKSPACE = {"t": 6, "ts": 1, "w": {"team_id": "T1", "team": "The Allotment", "user_id": "U1ROBIN"}}


def test_slackdumps_archive_of_chunks(source: Source) -> None:
    source.folder(
        {
            "C1GARDEN.json.gz": chunk_lines(*CHUNKS),
            "C2SHED.json.gz": chunk_lines(*SHED),
            "users.json.gz": chunk_lines(PEOPLE),
            "workspace.json.gz": chunk_lines(WORKSPACE),
        }
    )
    changes = source.read()
    items = [change.item for change in changes if isinstance(change, Observed)]
    assert items[0].id == "slack-directory:T1"
    assert {item_fingerprint(item) for item in items[1:]} == EXPECTED
    assert source.says() == []


def test_one_file_of_all_chunks(source: Source, tmp_path: Path) -> None:
    source.path = tmp_path / "chunks.jsonl.gz"
    source.path.write_bytes(chunk_lines(WORKSPACE, PEOPLE, *CHUNKS, *SHED))
    assert {item_fingerprint(item) for item in source.items()} == EXPECTED


def database(path: Path, rows: list[tuple[str, int, dict[str, Any]]]) -> None:
    """Write what slackdump's migrations make, as far as messages, people and channels go."""
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript(
            """
            CREATE TABLE MESSAGE (ID INTEGER NOT NULL, CHUNK_ID INTEGER NOT NULL, CHANNEL_ID TEXT NOT NULL,
                TS TEXT NOT NULL, IDX INTEGER NOT NULL, DATA BLOB NOT NULL, PRIMARY KEY (ID, CHUNK_ID));
            CREATE TABLE CHANNEL (ID TEXT, CHUNK_ID INTEGER, NAME TEXT, IDX INTEGER, DATA BLOB);
            CREATE TABLE S_USER (ID TEXT, CHUNK_ID INTEGER, IDX INTEGER, USERNAME TEXT, DATA BLOB);
            CREATE TABLE WORKSPACE (ID INTEGER PRIMARY KEY, TEAM TEXT, TEAM_ID TEXT);
            INSERT INTO WORKSPACE (TEAM, TEAM_ID) VALUES ('The Allotment', 'T1');
            """
        )
        for number, user in enumerate(USERS):
            db.execute("INSERT INTO S_USER VALUES (?, 1, ?, '', ?)", (user["id"], number, json.dumps(user)))
        for number, channel in enumerate(CHANNELS):
            db.execute("INSERT INTO CHANNEL VALUES (?, 1, '', ?, ?)", (channel["id"], number, json.dumps(channel)))
        for channel_id, chunk, one in rows:
            at = int(one["ts"].replace(".", "")) + (channel_id == "C2SHED")
            db.execute(
                "INSERT INTO MESSAGE VALUES (?, ?, ?, ?, 0, ?)",
                (at, chunk, channel_id, one["ts"], json.dumps(one).encode()),
            )


def test_slackdumps_database_shows_each_message_as_it_was_archived_last(source: Source) -> None:
    rows = [("C1GARDEN", 2, one) for one in [JOIN, *GARDEN]] + [("C2SHED", 2, ANSWER)]
    database(source.path / "slackdump.sqlite", [("C1GARDEN", 1, {**PLAIN, "text": "as it was"}), *rows])
    assert {item_fingerprint(item) for item in source.items()} == EXPECTED
    assert source.says() == []
    assert sorted(path.name for path in source.path.iterdir()) == ["slackdump.sqlite"]
    newer = message("2023-11-17", 1)
    database(
        source.path / "slackdump.sqlite", [*rows, ("C1GARDEN", 3, newer), ("C1GARDEN", 3, {**PLAIN, "text": "Mended"})]
    )
    assert source.says() == ["observed Mended", f"observed {newer['text']}", f"sighted {newer['ts']}"]


def test_a_database_that_is_none_or_still_written_says_so(source: Source) -> None:
    source.folder({"slackdump.sqlite": b"SQLite format 3\0 and no more"})
    with pytest.raises(Unavailable, match=r"no database of slackdump.*ctxsync sync work"):
        source.read()
    database(source.path / "slackdump.sqlite", [])
    (source.path / "slackdump.sqlite-wal").write_bytes(b"more")
    with pytest.raises(Unavailable, match="still writing"):
        source.read()


def test_going_from_one_form_to_another_says_nothing_new(source: Source) -> None:
    source.folder(EXPORT)
    before = {item_fingerprint(item) for item in source.items()}
    dump = {
        "channel_id": "C1GARDEN",
        "name": "garden",
        "messages": [PLAIN, {**PARENT, "slackdump_thread_replies": [ANSWER]}],
    }
    source.folder({"C1GARDEN.json": dump, "users.json": USERS, "channels.json": CHANNELS})
    changes = source.read()
    assert {item_fingerprint(change.item) for change in changes if isinstance(change, Observed)} < before
    assert {type(change) for change in changes} == {Observed, Sighted}


def test_the_workspaces_id_is_what_is_configured_else_recorded_else_likely(source: Source) -> None:
    def team() -> str:
        return source.items()[0].id.split("/")[0]

    foreign = [{**PLAIN, "team": "T2"}, {**PARENT, "team": "T5"}, {**ANSWER, "team": "T5"}]
    source.folder(official(garden={"2023-11-15": foreign}))
    strangers = [{"id": f"U9{number}", "team_id": "T2", "is_stranger": True} for number in range(9)]
    source.put("users.json", [*USERS, *strangers])
    assert team() == "slack:T1"  # most of its own users'
    source.cursors.clear()
    source.folder({"garden/2023-11-15.json": foreign})
    assert team() == "slack:T5"  # most messages'
    source.cursors.clear()
    bare = [{key: value for key, value in one.items() if key != "team"} for one in GARDEN]
    source.folder({"C1GARDEN/2023-11-15.json": bare})
    guessed = team()
    assert guessed.startswith("slack:X")
    source.put("A0EARLIER/2023-11-15.json", bare)
    # The guess stays for what has ids by it.
    assert {item.id.split("/")[1] for item in source.items()} == {"A0EARLIER"}
    assert source.says() == []
    source.settings["team"] = "T1"
    says = source.says()
    assert says.count("observed Message 1 of 2023-11-15") == 2
    assert [one for one in says if one.endswith(" renamed")]
    assert source.says() == []


def test_a_guessed_workspace_stays_though_its_first_pass_was_cut_short(source: Source) -> None:
    bare = [
        {key: value for key, value in message("2023-11-15", number).items() if key != "team"} for number in range(5)
    ]
    source.folder({"C1GARDEN/2023-11-15.json": bare})
    connector = SlackExportConnector("work", {"path": str(source.path)}, Options(now=NOW), batch=2)
    first = next(iter(connector.read(Stream("work", "C1GARDEN"), None)))
    source.cursors["C1GARDEN"] = dict(first.cursor)
    (before,) = {change.item.id.split("/")[0] for change in first.changes if isinstance(change, Observed)}
    source.put("A0EARLIER/2023-11-15.json", bare)
    assert {item.id.split("/")[0] for item in source.items() if "/C1GARDEN/" in item.id} == {before}
