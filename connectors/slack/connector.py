"""A Slack workspace as a source: the directory is one stream, each readable conversation another, known by its id.

Everything that concerns one channel's messages is in `reading`; here a token is opened, what it can read is listed,
and each stream gets its pass. Building the connector reads nothing and loads no library.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ctxsync.connectors import secrets
from ctxsync.connectors.base import Batch, Item, Json, Observed, Options, Sighted, Stream, item_fingerprint
from ctxsync.connectors.slack.api import API_URL, Api, MissingScope, Refused, Timing
from ctxsync.connectors.slack.channels import Conversation, Listing, listing
from ctxsync.connectors.slack.choice import Choice
from ctxsync.connectors.slack.directory import STREAM, Directory
from ctxsync.connectors.slack.ledger import Ledger
from ctxsync.connectors.slack.listening import listening
from ctxsync.connectors.slack.reading import Reading
from ctxsync.connectors.slack.schedule import DAY_MS, Plan
from ctxsync.connectors.slack.stamps import DAY, micros, since
from ctxsync.errors import AuthError, ConfigError, SourceError, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from ctxsync.connectors.slack.live import Pace

BATCH = 200
"""Messages a page and a batch: what Slack recommends at most."""
LOOKBACK_DAYS = 7


@dataclass(slots=True)
class Session:
    """A token that was tested, and what it can read. `users` are Slack's records, None until they are asked for."""

    api: Api
    team: str
    found: Listing
    directory: Directory | None = None
    missing: dict[str, str] = field(default_factory=dict)


class SlackConnector:
    """One configured workspace.

    Args:
        name: The source's name.
        settings: `token` and `app_token` (where the secrets are), `channels`, `exclude` (globs of names or ids), `bots`
            (False leaves out what apps say), `since` (`2024-01-31`), `lookback_days`, `api_url`.
        options: What the runner asks of this read.
        batch: Messages a page and a batch at most.
        timing: Clock and sleep; None for the real ones.
        pace: How the watch waits; None for the usual.

    Raises:
        ConfigError: A setting means nothing; the message names it.
    """

    def __init__(
        self,
        name: str,
        settings: Mapping[str, Json],
        options: Options,
        *,
        batch: int = BATCH,
        timing: Timing | None = None,
        pace: Pace | None = None,
    ) -> None:
        self.name = name
        self.degraded = ""
        """Why the watch asks now and then instead of being told; empty when it is told."""
        self._options = options
        self._batch = batch
        self._timing = timing
        self._pace = pace
        self._url = _api_url(name, settings.get("api_url"))
        self._choice = Choice(name, settings)
        self._since = since(name, settings.get("since"))
        days = settings.get("lookback_days")
        self._lookback = int((days if isinstance(days, int | float) else LOOKBACK_DAYS) * DAY)
        self._bots = settings.get("bots") is not False
        self._token = str(settings.get("token") or "")
        self._app_token = str(settings.get("app_token") or "")
        if not self._token:
            raise ConfigError(
                f"The source {name} has no token.",
                remedy='Write token = "keyring:" in config.toml '
                f"and run `{secrets.storing(name, 'token')}`, or use env: or command:.",
            )
        self._session: Session | None = None

    def discover(self) -> Iterator[Stream]:
        """Yield the directory, then each readable conversation, archived ones included; its id is its name.

        Raises:
            AuthError: The token is refused, or lacks the scopes to read anything.
            RateLimited, Unavailable: As `Api.call`.
        """
        self._session = None
        session = self._open()
        yield Stream(self.name, STREAM)
        channels = sorted(session.found.readable)
        # Each pass begins with another channel: where Slack's limits end passes early, all get their turn.
        first = self._options.now // 60_000 % max(1, len(channels))
        live = listening(self.name, self._url)
        named = live.named() if live else set()
        for channel in sorted(channels[first:] + channels[:first], key=lambda channel: channel not in named):
            yield Stream(self.name, channel)

    def read(self, stream: Stream, cursor: Mapping[str, Json] | None) -> Iterator[Batch]:
        """Yield what changed since the cursor.

        Raises:
            SuspiciousDeletion: Too much is gone; everything else has been yielded.
            AuthError: The token is refused, or lacks a scope, which the message names.
            RateLimited: Slack asks for a long wait; what could be read without has been yielded.
            Unavailable: Slack cannot be reached, or the conversation cannot be read; others can.
        """
        session = self._open()
        if stream.name == STREAM:
            yield from self._read_directory(session, cursor or {})
            return
        channel = session.found.readable.get(stream.name) or Conversation(stream.name, "")
        ledger, live, options = Ledger(cursor or {}), listening(self.name, self._url), self._options
        asked = options.allow_deletes or options.retry_quarantined or not ledger.complete
        if live and not live.claim(channel.id, channel.kind) and not asked:
            yield Batch((), seen=ledger.held, unchanged=ledger.held)
            return
        for thread in live.threads(channel.id) if live else ():
            if (at := micros(thread)) is not None and ledger.get(at):
                ledger.due.setdefault(thread, ("", 0))
        done = False
        try:
            yield from Reading(self._plan(session, channel), ledger).batches()
            done = True
        except Refused as error:
            if error.code not in ("channel_not_found", "not_in_channel"):
                raise
            why = "the app is no member of it" if error.code == "not_in_channel" else "the token cannot see it"
            raise Unavailable(
                f"{channel.called} cannot be read: {why} ({error.code}).",
                remedy=f"Invite the app there (/invite), or add it to `exclude` of {self.name} in config.toml.",
            ) from None
        finally:
            if live and not done:
                live.failed(channel.id)

    def check(self) -> None:
        """Try both tokens.

        Raises:
            AuthError: One is refused, or lacks scopes, which the message names.
            RateLimited, Unavailable: As `Api.call`.
        """
        session = self._open()
        self._directory(session)
        if session.missing:
            raise _incomplete(self.name, session.missing)
        if self._app_token:
            token = secrets.resolve(self._app_token, source=self.name, setting="app_token")
            try:
                Api(self.name, token, self._url, self._timing).call("apps.connections.open")
            except (AuthError, Refused):
                raise AuthError(
                    f"Slack refuses the app_token of {self.name}; without it messages are only asked for at intervals.",
                    remedy="Make an app-level token (xapp-…) with connections:write under Basic Information and store it "
                    f"(for the keyring: `{secrets.storing(self.name, 'app_token')}`).",
                ) from None

    def watch(self, wake: Callable[[Stream], None]) -> AbstractContextManager[None]:
        """Call `wake` when something may have changed: by Socket Mode with an `app_token`, else at intervals.

        Raises:
            AuthError: There is no such secret.
        """
        from ctxsync.connectors.slack.live import Live, Pace, watching

        token = secrets.resolve(self._app_token, source=self.name, setting="app_token") if self._app_token else ""

        def degrade(why: str) -> None:
            self.degraded = why

        return watching(Live(self.name, token, self._url, wake, degrade, self._pace or Pace()))

    def _open(self) -> Session:
        """Return the session; the first time, test the token and list what it can read.

        While this process listens to the workspace, that of the pass before serves until something changes.
        """
        live = listening(self.name, self._url)
        if self._session is None and live:
            self._session = live.session()
        if self._session is None:
            token = secrets.resolve(self._token, source=self.name, setting="token")
            api = Api(self.name, token, self._url, self._timing)
            who = api.call("auth.test")
            team = who.get("team_id")
            if not isinstance(team, str) or not team:
                raise AuthError(
                    f"Slack does not say which workspace the token of {self.name} is for.",
                    remedy="Store a bot's (xoxb-…) or a user's (xoxp-…) token of one workspace.",
                )
            found = listing(api, bot=bool(who.get("bot_id")), wanted=self._choice.takes)
            self._session = Session(api, team, found, missing=dict(found.gaps))
            if live:
                live.keep(self._session)
        return self._session

    def _plan(self, session: Session, channel: Conversation) -> Plan:
        from ctxsync.connectors.slack.message import message_item

        directory, bots = self._directory(session), self._bots

        def make(message: Mapping[str, Any]) -> Item | None:
            item = message_item(
                message,
                team=session.team,
                channel=channel.id,
                directory=directory,
                # A message may come while a pass runs: it is no message from the future.
                now=self._options.now + DAY_MS if self._options.now else 0,
            )
            automated = item is not None and item.sections[0].attributes.get("automated")
            return None if automated and not bots else item

        return Plan(
            session.api,
            channel,
            make,
            f"slack:{session.team}/{channel.id}/",
            self._options,
            self._lookback,
            self._since,
            self._batch,
        )

    def _directory(self, session: Session) -> Directory:
        """Return who and what the workspace's ids mean; without users:read, what the channels tell."""
        if session.directory is None:
            users: list[Mapping[str, Any]] = []
            try:
                for page in session.api.pages("users.list", "members", limit=200):
                    users += page
            except MissingScope as error:
                session.missing[error.needed] = "people are known by their ids only"
            # Without the workspace's name, which an export does not tell: both give the same item.
            session.directory = Directory.of(session.team, users, session.found.records)
        return session.directory

    def _read_directory(self, session: Session, cursor: Mapping[str, Json]) -> Iterator[Batch]:
        item = self._directory(session).item()
        digest = item_fingerprint(item)
        if cursor.get("digest") == digest:
            yield Batch((), seen=1, unchanged=1)
        else:
            changes = (Observed(item, STREAM), Sighted(item.id, STREAM))
            yield Batch(changes if not cursor else changes[:1], {"digest": digest}, seen=1)
        if session.missing:
            raise _incomplete(self.name, session.missing)


def _incomplete(name: str, missing: Mapping[str, str]) -> SourceError:
    lacks = "; ".join(f"{scope} (without it {what})" for scope, what in missing.items())
    return MissingScope(
        f"The token of {name} lacks {lacks}. Everything else is read.",
        needed=", ".join(missing),
        remedy="Add the scopes to the app under OAuth & Permissions, reinstall it and store the new token (for the "
        f"keyring: `{secrets.storing(name, 'token')}`); then run `ctxsync sync {name}`.",
    )


def _api_url(name: str, value: Json) -> str:
    """Return where the methods are, with a slash at the end. Only this machine is spoken to without TLS."""
    url = str(value or API_URL)
    parts = urlsplit(url)
    local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if parts.scheme == "https" or (parts.scheme == "http" and local):
        return url if url.endswith("/") else url + "/"
    raise ConfigError(
        f'"api_url" of the source {name} must begin with https://.', remedy=f'The usual one is "{API_URL}".'
    )
