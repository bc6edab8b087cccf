"""What an export is made of: its root, its people and channels, and which file holds messages of which channel.

Formats (all may be zipped, except the database, and stand in an enclosing folder):

- Slack's own export, and slackdump's of both types: `channels.json`, `groups.json`, `dms.json`, `mpims.json`,
  `users.json`, and a folder a channel, by its name or id, with a `YYYY-MM-DD.json` a day;
- slackdump's dump: `<channel id>.json`, `<channel id>-<thread>.json`, with the answers inside their parents;
- slackdump's archive of chunks: `<channel id>.json.gz`, `users.json.gz`, `workspace.json.gz`, or one `.jsonl.gz`;
- slackdump's archive as a database: `slackdump.sqlite`.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from ctxsync.connectors.base import digest
from ctxsync.connectors.slack.directory import Directory, text_of
from ctxsync.connectors.slack_export.parts import Part, chunks, database, head, parse
from ctxsync.errors import BadItem, Unavailable

if TYPE_CHECKING:
    from pathlib import Path

    from ctxsync.connectors.slack_export.files import File, Listing

_CHANNEL_LISTS: Final = ("channels.json", "groups.json", "dms.json", "mpims.json")
_DAY: Final = re.compile(r"(\d{4}-\d{2}-\d{2})(?P<copy>.*)\.json")
_DUMP: Final = re.compile(r"([CDGM][A-Z0-9]{4,30})(-\d+\.\d+)?\.json")
_CHUNKS: Final = re.compile(r"([CDGM][A-Z0-9]{4,30})(-\d+\.\d+)?\.json\.gz|.*\.jsonl\.gz")
_TABLES: Final = ("users.json.gz", "channels.json.gz", "workspace.json.gz")
_DATABASES: Final = (".sqlite", ".sqlite3", ".db")
_CHANNEL_INFO: Final = 5  # the type of a chunk that holds a channel's record; others repeat it
_MAX_REFUSED: Final = 100  # they are kept by name: a zip may hold a million of them
_PEEKED: Final = 500  # messages that are asked for their team


@dataclass(slots=True)
class Export:
    """An export as it lies there.

    Args:
        source: The source's name.
        path: What is read.
        parts: The files that hold messages, by channel id, in the order of their names.
        refused: Why others are not read, by path.
        users: Slack's records of people.
        channels: Slack's records of conversations.
        team: The workspace's id by a record of it; empty when there is none.
    """

    source: str
    path: Path
    parts: dict[str, list[Part]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    users: list[Any] = field(default_factory=list)
    channels: list[Any] = field(default_factory=list)
    team: str = ""
    _likely: str = ""
    _directories: dict[str, Directory] = field(default_factory=dict)

    def certain_team(self) -> str:
        """Return the workspace's id by its own record, else most users'; empty when neither is there.

        People of other workspaces, in shared channels, are `is_stranger` or fewer.
        """
        found = (
            text_of(user, "team_id")
            for user in self.users
            if isinstance(user, Mapping) and not user.get("is_stranger") and not user.get("is_bot")
        )
        return self.team or _most(found)

    def likely_team(self) -> str:
        """Return the workspace's id by most messages; else one made of the oldest channel's id, as good as any."""
        if self._likely:
            return self._likely
        first = (message for parts in self.parts.values() for part in parts[:1] for message in _peek(part))
        teams = (text_of(message, "team") for message in islice(first, _PEEKED) if isinstance(message, Mapping))
        self._likely = _most(teams) or f"X{digest(min(self.parts, default=''))[:10].upper()}"
        return self._likely

    def directory(self, team: str) -> Directory:
        """Return the people and channels of the workspace of that id.

        Its name is left out, though some archives tell it: all that show one workspace make one directory item.
        """
        if team not in self._directories:
            self._directories[team] = Directory.of(team, self.users, self.channels)
        return self._directories[team]


def layout(listing: Listing, path: Path, source: str) -> Export:
    """Return what the files make.

    Raises:
        Unavailable: They make no export, several, or one whose lists of people and channels are broken.
    """
    alone = next(iter(listing.files.values())) if listing.archive is None and path.is_file() else None
    root = "" if alone is not None and head(alone)[0] else _root(listing.files, path, source)
    found = Export(source, path, refused=dict(islice(listing.refused.items(), _MAX_REFUSED)))
    inside = {name[len(root) :]: file for name, file in listing.files.items() if name.startswith(root)}
    try:
        _lists(found, inside)
    except BadItem as error:
        raise Unavailable(
            f"{path}: {error.message}", remedy=f"Copy the export again, then run `ctxsync sync {source}`."
        ) from error
    days: defaultdict[str, dict[str, Part]] = defaultdict(dict)
    ids = _ids(found.channels)
    for name, file in inside.items():
        folder, slash, base = name.rpartition("/")
        if slash and "/" not in folder and (day := _DAY.fullmatch(base)):
            _day(found, days[ids.get(folder, folder)], file, ids.get(folder, folder), day)
        elif not slash:
            _top(found, file)
    for channel, by_name in days.items():
        found.parts.setdefault(channel, []).extend(part for _, part in sorted(by_name.items()))
    # A channel's id is the name of a stream: it takes nobody else's.
    found.parts = {channel: parts for channel, parts in sorted(found.parts.items()) if not channel.startswith(".")}
    return found


def _root(files: Iterable[str], path: Path, source: str) -> str:
    """Return the folder that the export is in, as a prefix of its files' paths."""
    candidates: set[str] = set()
    loose_days = False
    for name in files:
        folder, _, base = name.rpartition("/")
        if _DAY.fullmatch(base):
            loose_days = loose_days or not folder
            if folder:
                candidates.add(folder.rpartition("/")[0])
        elif (
            base in (*_CHANNEL_LISTS, "users.json", *_TABLES)
            or _DUMP.fullmatch(base)
            or _CHUNKS.fullmatch(base)
            or base.endswith(_DATABASES)
        ):
            candidates.add(folder)
    roots = sorted(one for one in candidates if not any(_inside(one, other) for other in candidates))
    then = f"then run `ctxsync sync {source}`."
    if len(roots) > 1:
        listed = ", ".join(roots[:3])
        raise Unavailable(
            f"{path} holds {len(roots)} exports: {listed}.", remedy=f"Give each a source of its own, {then}"
        )
    if roots:
        return f"{roots[0]}/" if roots[0] else ""
    if loose_days:
        raise Unavailable(
            f"{path} is one channel of an export.", remedy=f"Name the folder that it is in as `path`, {then}"
        )
    zips = [name for name in files if name.endswith(".zip")]
    hint = f"Name {zips[0]} in it as `path`" if zips else "Correct `path` of the source in config.toml"
    raise Unavailable(f"{path} holds no Slack export.", remedy=f"{hint}, {then}")


def _inside(folder: str, other: str) -> bool:
    return folder != other and (not other or folder.startswith(f"{other}/"))


def _lists(found: Export, inside: Mapping[str, File]) -> None:
    """Read who and what there is; raises `BadItem` where a list is broken."""
    for name in _CHANNEL_LISTS:
        if name in inside:
            found.channels += _records(parse(inside[name]), inside[name])
    for name in ("users.json", "org_users.json"):
        if name in inside:
            found.users += _records(parse(inside[name]), inside[name])
    for name in _TABLES:
        for chunk in chunks(inside[name]) if name in inside else ():
            _chunk(found, chunk)


def _records(value: object, file: File) -> list[object]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadItem(f"{file.path} holds no list.")
    return value


def _chunk(found: Export, chunk: Mapping[str, Any]) -> None:
    for key, records in (("u", found.users), ("ch", found.channels)):
        if isinstance(values := chunk.get(key), list):
            records.extend(values)
    if channel := chunk.get("ci"):
        found.channels.append(channel)
    if isinstance(workspace := chunk.get("w"), Mapping):
        found.team = text_of(workspace, "team_id") or found.team


def _ids(channels: Iterable[object]) -> dict[str, str]:
    """Return channel ids by what their folders may be called: the name, or the id itself."""
    found: dict[str, str] = {}
    for record in channels:
        if isinstance(record, Mapping) and (channel := text_of(record, "id")):
            found[channel] = channel
            if name := text_of(record, "name"):
                found.setdefault(name, channel)
    return found


def _day(found: Export, days: dict[str, Part], file: File, channel: str, day: re.Match[str]) -> None:
    if day["copy"]:
        found.refused[file.path] = f"It looks like a second copy of {day[1]}, whose own file is {day[1]}.json."
    elif (before := days.get(day[1])) is not None:
        if before.stamp != file.stamp:
            found.refused[file.path] = f"{before.file.path} is the same day of the same channel, and is the one read."
    else:
        days[day[1]] = Part(day[1], "day", file, channel, file.stamp)


def _top(found: Export, file: File) -> None:
    """Take up a file that stands at the root."""
    name = file.name
    if name in (*_CHANNEL_LISTS, *_TABLES, "users.json", "org_users.json"):
        return
    if name.endswith(_DATABASES):
        _database(found, file)
    elif _CHUNKS.fullmatch(name):
        _channel_chunks(found, file)
    elif name.endswith(".json"):
        named = _DUMP.fullmatch(name)
        channel, title = head(file)
        channel = channel or (named[1] if named else "")
        if channel:
            found.parts.setdefault(channel, []).append(Part(name, "dump", file, channel, file.stamp))
            if title and channel not in _ids(found.channels):
                found.channels.append({"id": channel, "name": title})


def _channel_chunks(found: Export, file: File) -> None:
    named = _CHUNKS.fullmatch(file.name)
    channels = dict.fromkeys([named[1]] if named and named[1] else [])
    try:
        # One that holds everything is looked through; a channel's says in its first lines what it is called.
        for chunk in chunks(file, 4 if channels else 0):
            _chunk(
                found, {key: value for key, value in chunk.items() if key != "ci" or chunk.get("t") == _CHANNEL_INFO}
            )
            if (channel := text_of(chunk, "id")) and not (named and named[1]):
                channels.setdefault(channel)
    except BadItem:
        pass  # the channel is read, and quarantined, like any other
    for channel in channels:
        found.parts.setdefault(channel, []).append(Part(file.name, "chunks", file, channel, file.stamp))


def _database(found: Export, file: File) -> None:
    again = f"run `ctxsync sync {found.source}`."
    if file.disk is None:
        found.refused[file.path] = f"A database in a zip cannot be read. Unpack it, name it as `path`, then {again}"
        return
    log = file.disk.with_name(f"{file.name}-wal")
    if log.exists() and log.stat().st_size:
        raise Unavailable(f"slackdump is still writing to {file.disk}.", remedy=f"When it is done, {again}")
    try:
        with database(file.disk) as db:
            for (data,) in db.execute("SELECT DATA FROM S_USER ORDER BY CHUNK_ID, IDX"):
                found.users.append(_json(data))
            for (data,) in db.execute("SELECT DATA FROM CHANNEL ORDER BY CHUNK_ID, IDX"):
                found.channels.append(_json(data))
            for (team,) in db.execute("SELECT TEAM_ID FROM WORKSPACE ORDER BY ID"):
                found.team = str(team)
            query = "SELECT CHANNEL_ID, COUNT(*), MAX(CHUNK_ID) FROM MESSAGE GROUP BY CHANNEL_ID ORDER BY CHANNEL_ID"
            for channel, count, last in db.execute(query):
                part = Part("slackdump.sqlite", "rows", file, str(channel), f"{count}:{last}")
                found.parts.setdefault(str(channel), []).append(part)
    except sqlite3.Error as error:
        raise Unavailable(
            f"{file.disk} is no database of slackdump, or not whole: {error}.", remedy=f"Copy it again, then {again}"
        ) from error


def _json(data: object) -> object:
    import orjson

    try:
        return orjson.loads(data)  # type: ignore[arg-type]  # what a column holds; anything else is refused there
    except orjson.JSONDecodeError:
        return None


def _peek(part: Part) -> Iterable[object]:
    try:
        yield from part.messages()
    except BadItem:
        return


def _most(values: Iterable[str]) -> str:
    counted = Counter(filter(None, values))
    return min(counted, key=lambda value: (-counted[value], value), default="")
