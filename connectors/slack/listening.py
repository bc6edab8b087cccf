"""What a process that listens to a workspace need not ask again: which channels nothing was said of since they were read.

A wake means a pass over all channels, a call each, and an event comes every few seconds in a busy workspace. While a
connection lives, a pass in the same process reads the channels that an event named, with the threads it named, and asks
neither for the list of conversations nor for the users. For the rest, this is only ever a reason to ask less: nothing is known before a connection, after it
was lost, or about kinds of channels of which no event has come yet (the app may not be subscribed to them); and
everything is asked again at intervals (`Pace.safety`), because events can be lost. Nothing of it outlives the watch.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ctxsync.connectors.slack.connector import Session

_ABOUT_MESSAGES: Final = ("message", "reaction_added", "reaction_removed")
_LISTENING: dict[tuple[str, str], Listening] = {}


class Listening:
    """What is known of one source while it is listened to. Called from the watch's threads and from passes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._alive = False
        self._read: set[str] = set()
        self._told: set[str] = set()
        self._named: set[str] = set()
        self._threads: dict[str, set[str]] = {}
        self._session: Session | None = None

    def begun(self) -> None:
        """Note a new connection: what was said before it is unknown."""
        with self._lock:
            self._alive = True
            self._forget()

    def lost(self) -> None:
        """Note that there is no connection any more."""
        with self._lock:
            self._alive = False
            self._told.clear()
            self._forget()

    def doubted(self) -> None:
        """Have everything asked again: events may have been lost."""
        with self._lock:
            self._forget()

    def event(self, event: Mapping[str, object]) -> str:
        """Note an event; return the id of the channel whose messages it is about, empty when it is about others."""
        if event.get("type") not in _ABOUT_MESSAGES:
            with self._lock:
                self._session = None  # people, channels, memberships
            return ""
        item = event.get("item")
        channel = str(event.get("channel") or (item.get("channel") if isinstance(item, Mapping) else "") or "")
        # An edit wraps the message, a deletion the one that was; a reply names its thread.
        about = (event, event.get("message"), event.get("previous_message"))
        threads = {str(each["thread_ts"]) for each in about if isinstance(each, Mapping) and each.get("thread_ts")}
        with self._lock:
            self._told.add(str(event.get("channel_type") or ""))
            self._read.discard(channel)
            self._named.add(channel)
            self._threads.setdefault(channel, set()).update(threads)
        return channel

    def claim(self, channel: str, kind: str) -> bool:
        """Say whether a channel must be read, and note that it is being read.

        Args:
            channel: Its id.
            kind: Its type as events have it: `channel`, `group`, `mpim` or `im`.
        """
        with self._lock:
            if self._alive and kind in self._told and channel in self._read:
                return False
            self._read.add(channel)
            self._named.discard(channel)
            return True

    def named(self) -> set[str]:
        """Return the channels that events named and that were not read since: those to begin with."""
        with self._lock:
            return set(self._named)

    def threads(self, channel: str) -> set[str]:
        """Return, once, the threads of a channel that events named: their parents may be older than any window."""
        with self._lock:
            return self._threads.pop(channel, set())

    def failed(self, channel: str) -> None:
        """Note that a channel was not read to the end."""
        with self._lock:
            self._read.discard(channel)
            self._session = None

    def session(self) -> Session | None:
        """Return the session of the pass before, while what it listed still holds."""
        with self._lock:
            return self._session if self._alive else None

    def keep(self, session: Session) -> None:
        """Keep a session for the passes to come."""
        with self._lock:
            self._session = session if self._alive else None

    def _forget(self) -> None:
        self._read.clear()
        self._threads.clear()
        self._session = None


def listens(source: str, url: str) -> Listening:
    """Begin to listen to a source in this process."""
    return _LISTENING.setdefault((source, url), Listening())


def listening(source: str, url: str) -> Listening | None:
    """Return what this process knows of a source by listening; None when it does not listen."""
    return _LISTENING.get((source, url))


def ended(source: str, url: str) -> None:
    """Stop listening to a source."""
    _LISTENING.pop((source, url), None)
