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
    def kind(self) -> str:
        """Its type, as Slack's events call it: `channel`, `group`, `mpim` or `im`."""
        for key, kind in (("is_im", "im"), ("is_mpim", "mpim"), ("is_private", "group"), ("is_group", "group")):
            if self.record.get(key) is True:
                return kind
        return "channel"

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
        gaps: What is half allowed, and so hardly meant: by the scope that is missing, what is not read without it.
    """

    readable: dict[str, Conversation] = field(default_factory=dict)
    records: list[Mapping[str, Any]] = field(default_factory=list)
    gaps: dict[str, str] = field(default_factory=dict)


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
    if scopes is None:
        # Nobody says what the token may do: each kind is tried by itself.
        possible = [kind for kind in KINDS if _list(api, found, [kind], wanted, bot=bot)]
    else:
        may = {what: [kind for kind in KINDS if f"{KINDS[kind]}:{what}" in scopes] for what in ("read", "history")}
        possible = [kind for kind in may["read"] if kind in may["history"]]
        for kind, prefix in KINDS.items():
            if (kind in may["read"]) != (kind in may["history"]):
                found.gaps[f"{prefix}:{'history' if kind in may['read'] else 'read'}"] = f"{_CALLED[kind]} are not read"
        if possible:
            _list(api, found, possible, wanted, bot=bot)
    if not possible:
        missing = ", ".join(found.gaps) or "channels:read, channels:history"
        raise MissingScope(
            f"The token of {api.source} can read no conversation: it lacks {missing}.",
            needed=missing,
            remedy=f"Add these scopes to the app under OAuth & Permissions, reinstall it, store the new token, "
            f"then run `ctxsync sync {api.source}`.",
        )
    return found


def _list(api: Api, found: Listing, kinds: list[str], wanted: Callable[[str, str], bool], *, bot: bool) -> bool:
    """Add the conversations of some kinds; say whether the token may list them."""
    try:
        for page in api.pages(
            "conversations.list", "channels", types=",".join(kinds), exclude_archived="false", limit=_PAGE
        ):
            found.records += page
            for conversation in filter(None, map(_conversation, page)):
                if _takes_part(conversation, bot=bot) and wanted(conversation.id, conversation.name):
                    found.readable[conversation.id] = conversation
    except MissingScope:
        return False
    return True


def _conversation(record: Mapping[str, Any]) -> Conversation | None:
    id_ = record.get("id")
    if not isinstance(id_, str) or not id_ or id_.startswith("."):
        return None
    name = record.get("name") or record.get("user") or ""
    return Conversation(id_, str(name)[:200], record.get("is_archived") is True, record)


def _takes_part(conversation: Conversation, *, bot: bool) -> bool:
    # Conversations that are not public are listed only where the token takes part in them.
    return not bot or conversation.kind != "channel" or conversation.record.get("is_member") is not False
