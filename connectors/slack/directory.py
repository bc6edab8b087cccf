"""Who and what a workspace's ids mean: people, bots and channels; knows neither the API nor any file.

The API's `users.list` and `conversations.list` and an export's `users.json` and `channels.json` hold the same records,
so both make the same `Directory`, and of it the workspace's one directory item.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from ctxsync.connectors.base import Item, Json, Person

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

STREAM = ".directory"  # the stream and the place of the directory item
SLACKBOT = "USLACKBOT"
_MINUTE = timedelta(minutes=1)
_LATEST = 253_000_000_000_000  # milliseconds; in the year 9987, and no zone ends the calendar that Python knows
_NAME_LENGTH = 200  # characters; Slack itself allows 80


@dataclass(frozen=True, slots=True)
class Member:
    """Someone or something with a user id.

    Args:
        id: `U…` or `W…` (`B…` for an app that has only a bot id).
        name: What others read: the real name, else the display name, else the handle, else the id.
        names: All names known, the first is `name`.
        email: In lower case; empty when the workspace does not show it.
        bot: An app, a workflow or Slackbot: never a person.
        zone: The time zone of the profile (`Europe/Lisbon`); empty when it has none.
    """

    id: str
    name: str
    names: tuple[str, ...] = ()
    email: str = ""
    bot: bool = False
    zone: str = ""


@dataclass(frozen=True, slots=True)
class Channel:
    """A conversation: a channel, a group, or direct messages.

    Args:
        id: `C…`, `G…` or `D…`: what it is known by; names change.
        name: Without `#`; empty for direct messages between two.
        topic: As set; empty when none is.
    """

    id: str
    name: str
    topic: str = ""


class Directory:
    """A workspace's people and channels, with what each is called in a text.

    Args:
        team: The workspace's id, `T…`: the `<team>` of every id and key.
        members: Its users.
        channels: Its conversations.
        title: What the workspace calls itself; empty when that is not known.
    """

    def __init__(
        self, team: str, members: Iterable[Member] = (), channels: Iterable[Channel] = (), *, title: str = ""
    ) -> None:
        self.team = team
        self.title = title
        self.members = {member.id: member for member in members}
        self.channels = {channel.id: channel for channel in channels}
        self._authors: dict[str, tuple[Person, bool] | None] = {}

    @classmethod
    def of(
        cls, team: str, users: Iterable[object] = (), channels: Iterable[object] = (), *, title: str = ""
    ) -> Directory:
        """Return the directory that Slack's own records make; records that are none are left out."""
        return cls(
            team,
            filter(None, map(member_of, users)),
            filter(None, map(channel_of, channels)),
            title=title,
        )

    def person(self, user: str, *, fallback: str = "", bot: bool = False) -> Person:
        """Return whom a user id means, as an author or a mention.

        Args:
            user: A user or bot id.
            fallback: What to call them when the directory does not know the id; without it the id stays.
            bot: Something besides the directory says that it is no person.
        """
        member = self.members.get(user)
        if member is None:
            return Person(fallback or user, (self.key(user, bot=bot),))
        if bot and not member.bot:
            return Person(member.name, (self.key(user, bot=True),))
        known = self.author(user)
        return known[0] if known else Person(member.name, (self.key(user, bot=bot),))

    def author(self, user: str) -> tuple[Person, bool] | None:
        """Return whom a user id means and whether that is a bot; None when the directory does not know it."""
        found = self._authors.get(user)
        if found is None and (member := self.members.get(user)) is not None:
            bot = member.bot or user == SLACKBOT
            found = self._authors[user] = (Person(member.name, (self.key(user, bot=bot),)), bot)
        return found

    def utc_offset(self, user: str, said: int) -> int:
        """Return where a person's clock stood, minutes east of UTC; 0 where that is not known.

        By the zone of the profile, and not by its `tz_offset`, which is today's and not that of summer or winter then.

        Args:
            user: Whose.
            said: When, milliseconds UTC.
        """
        member = self.members.get(user)
        zone = _zone(member.zone) if member is not None and not member.bot and member.zone else None
        if zone is None or said >= _LATEST:
            return 0
        east = datetime.fromtimestamp(said // 1000, zone).utcoffset()
        return east // _MINUTE if east else 0

    def key(self, user: str, *, bot: bool = False) -> str:
        """Return the identity key of an id. A bot's says that it is a thing."""
        if bot or user == SLACKBOT or user.startswith("B"):
            return f"address:slack:{self.team}:{user}"
        return f"slack:{self.team}:{user}"

    def channel_name(self, channel: str, fallback: str = "") -> str:
        """Return a channel's name without `#`: the directory's, else the fallback, else its id."""
        known = self.channels.get(channel)
        return (known.name if known else "") or fallback or channel

    def item(self) -> Item:
        """Return the workspace's directory item, the same whatever the order of the records.

        Direct messages between two have no name, and are not in it.
        """
        people: list[Json] = [
            {
                "key": self.key(member.id, bot=member.bot),
                "name": member.name,
                "names": list(member.names),
                "email": member.email,
                "bot": member.bot,
            }
            for _, member in sorted(self.members.items())
        ]
        channels: list[Json] = [
            {"id": channel.id, "name": channel.name, "topic": channel.topic}
            for _, channel in sorted(self.channels.items())
            if channel.name
        ]
        return Item(
            id=f"slack-directory:{self.team}",
            kind="directory",
            title=self.title or self.team,
            sections=(),
            attributes={"team": self.team, "people": people, "channels": channels},
        )


def member_of(record: object) -> Member | None:
    """Return a user of Slack's record of one (`users.list`, `users.json`); None when it is none."""
    if not isinstance(record, dict) or not (user := text_of(record, "id")):
        return None
    profile = record.get("profile")
    profile = profile if isinstance(profile, dict) else {}
    found = (
        text_of(profile, "real_name"),
        text_of(record, "real_name"),
        text_of(profile, "display_name"),
        text_of(record, "name"),
    )
    names = tuple(dict.fromkeys(filter(None, found)))
    bot = bool(record.get("is_bot")) or bool(record.get("is_workflow_bot")) or user == SLACKBOT
    email = text_of(profile, "email").lower()
    return Member(user, names[0] if names else user, names, email, bot, text_of(record, "tz"))


@lru_cache(maxsize=1024)
def _zone(name: str) -> ZoneInfo | None:
    """Return a zone by its name; None where this machine does not know it."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # no such zone, no name of one, a folder of them
        return None


def channel_of(record: object) -> Channel | None:
    """Return a channel of Slack's record of one (`conversations.list`, `channels.json` …); None when it is none."""
    if not isinstance(record, dict) or not (channel := text_of(record, "id")):
        return None
    topic = record.get("topic")
    return Channel(channel, text_of(record, "name"), text_of(topic, "value", 1000) if isinstance(topic, dict) else "")


def text_of(record: Mapping[str, object], key: str, length: int = _NAME_LENGTH) -> str:
    """Return a text of a record on one line, at most so many characters; empty when there is none."""
    value = record.get(key)
    if not isinstance(value, str):
        return ""
    return readable(" ".join(value[: 4 * length].split()))[:length]


def readable(text: str) -> str:
    """Return a text that can be stored: lone surrogates, which JSON can hold, become replacement characters."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
