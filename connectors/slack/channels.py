"""Which conversations of a workspace a token can read, and what is missing for others; knows no message."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ctxsync.connectors.slack.api import MissingScope

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ctxsync.connectors.slack.api import Api

KINDS = {"public_channel": "channels", "private_channel": "groups", "mpim": "mpim", "im": "im"}
"""Slack's types of conversation, each with what its scopes begin with: `channels:read`, `channels:history` …"""
_CALLED = {
    "public_channel": "public channels",
    "private_channel": "private channels",
    "mpim": "group messages",
    "im": "direct messages",
}
_PAGE = 200  # records a page; Slack recommends no more
_GRANULAR = frozenset(f"{prefix}:{what}" for prefix in KINDS.values() for what in ("read", "history"))


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation as it is listed now.

    Args:
        id: What it is known by; names change.
        name: Without `#`; the other's user id for direct messages between two.
        archived: It takes no new messages.
        record: Slack's own record.
    """

    id: str
    name: str
    archived: bool = False
    record: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def called(self) -> str:
        """What to call it in a message."""
        return f"#{self.name}" if self.name and not self.id.startswith("D") else self.id


@dataclass(slots=True)
class Listing:
    """What a token can read.

    Args:
        readable: By id.
        records: Slack's records of all that is listed, readable or not.
        gaps: What is half allowed, and so hardly meant: each names the scope that is missing.
        scopes: The scopes that are missing there.
    """

    readable: dict[str, Conversation] = field(default_factory=dict)
    records: list[Mapping[str, Any]] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    scopes: list[str] = field(default_factory=list)


def listing(api: Api, *, bot: bool, wanted: Callable[[str, str], bool]) -> Listing:
    """Return what can be read, archived conversations included.

    Args:
        api: A session whose token has been tested, so that its scopes are known where Slack tells them.
        bot: The token is a bot's: of public channels it reads those that it was invited to, a user all.
        wanted: Says of an id and a name whether the settings ask for that conversation.

    Raises:
        MissingScope: No kind of conversation can be listed and read at all.
        AuthError, RateLimited, Unavailable: As `Api.call`.
    """
    found = Listing()
    scopes = api.scopes if api.scopes is not None and api.scopes & _GRANULAR else None
    possible = False
    last: MissingScope | None = None
    for kind, prefix in KINDS.items():
        reads, lists = (scopes is None or f"{prefix}:{what}" in scopes for what in ("history", "read"))
        if not lists:
            if reads:
                _gap(found, kind, f"{prefix}:read")
            continue
        try:
            for page in api.pages("conversations.list", "channels", types=kind, exclude_archived="false", limit=_PAGE):
                found.records += page
                if reads:
                    for conversation in filter(None, map(_conversation, page)):
                        if _member(conversation.record, kind, bot=bot) and wanted(conversation.id, conversation.name):
                            found.readable[conversation.id] = conversation
        except MissingScope as error:
            last = error
            continue
        possible = possible or reads
        if not reads:
            _gap(found, kind, f"{prefix}:history")
    if not possible:
        if last is not None and not found.gaps:
            raise last
        missing = ", ".join(found.scopes) or "channels:read, channels:history"
        raise MissingScope(
            f"The token of {api.source} can read no conversation: it lacks {missing}.",
            needed=missing,
            remedy=f"Add these scopes to the app under OAuth & Permissions, reinstall it, store the new token, "
            f"then run `ctxsync sync {api.source}`.",
        )
    return found


def _conversation(record: Mapping[str, Any]) -> Conversation | None:
    id_ = record.get("id")
    if not isinstance(id_, str) or not id_ or id_.startswith("."):
        return None
    name = record.get("name") or record.get("user") or ""
    return Conversation(id_, str(name)[:200], record.get("is_archived") is True, record)


def _member(record: Mapping[str, Any], kind: str, *, bot: bool) -> bool:
    # Conversations of the other kinds are listed only where the token takes part in them.
    return kind != "public_channel" or not bot or record.get("is_member") is not False


def _gap(found: Listing, kind: str, scope: str) -> None:
    found.scopes.append(scope)
    found.gaps.append(f"{scope} (without it {_CALLED[kind]} are not read)")
