"""What a `[[sources]]` table of each type may say, as typed fields; reads no file and knows no connector.

`ctxsync.config` turns a table into one of these classes by their fields: the field's type, its default and its metadata
are all that there is to say about a key. The metadata are `choices`, `range`, and `form`: `date`, `host`, `url`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

SECRETS = ("password", "oauth_token", "token", "app_token")
"""Settings that hold a spec of a secret (`keyring:`, `env:NAME`, `command:…`), never the secret."""
SLACK_API = "https://slack.com/api/"


def plain(value: Any) -> Any:
    """Return a field's value as JSON and TOML have it."""
    if isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, Path) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceConfig:
    """One `[[sources]]` table.

    Args:
        name: Unique, in lower case.
        type: A key of `TYPES`.
        trust: `own` or `others`: whose words these are; empty until the type's default is put in.
        allow_cloud: May be stricter than `[privacy]`, never looser.
    """

    default_trust: ClassVar[str] = "others"

    name: str
    type: str
    trust: str = field(default="", metadata={"choices": ("own", "others")})
    allow_cloud: bool = True

    @property
    def root(self) -> Path | None:
        """The file or folder that is read; None where the source is on a server."""
        return None

    @property
    def location(self) -> str:
        """Where the source is, for people."""
        return str(self.root)

    @property
    def secrets(self) -> dict[str, str]:
        """The specs of its secrets, by setting."""
        return {key: getattr(self, key) for key in SECRETS if getattr(self, key, "")}

    def settings(self) -> dict[str, Any]:
        """Return the table as the connector gets it: JSON values, paths absolute, texts that say nothing left out."""
        found: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name in ("name", "type") or value is None or value == "":
                continue
            found[each.name] = plain(value)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSource(SourceConfig):
    """A source on this machine.

    Args:
        path: Absolute, `~` expanded; not resolved, so that a link that is re-aimed is followed.
    """

    path: Path

    @property
    def root(self) -> Path | None:
        """The file or folder that is read."""
        return self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class GitSource(FileSource):
    """A repository.

    Args:
        include: Globs of what to read; empty means everything.
        exclude: Globs of what to leave out.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesSource(GitSource):
    """A folder of notes; keys as a repository's."""

    default_trust: ClassVar[str] = "own"


_SINCE: Any = {"form": "date"}
_BODY: Any = {"range": (1_000, 2_000_000_000)}


@dataclass(frozen=True, slots=True, kw_only=True)
class MailboxSource(FileSource):
    """Mail in files: an mbox, a Maildir, or a folder of `.eml` files.

    Args:
        include: Globs of files and folders to read; empty means everything.
        exclude: Globs of what to leave out.
        since: A date, `2024-01-31`: older mail is not read.
        max_body: Bytes of a message that are looked at.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    since: str = field(default="", metadata=_SINCE)
    max_body: int = field(default=25_000_000, metadata=_BODY)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImapSource(SourceConfig):
    """A mail account on a server.

    Args:
        host: The server's name.
        user: The login name, often the whole address.
        port: 0 takes the usual one of `tls`: 993, else 143.
        tls: `tls` from the first byte, `starttls`, or `none`.
        tls_ca: A file of the certificates to trust, for a server that signs its own.
        password: Spec of the password.
        oauth_token: Spec of an OAuth access token, for XOAUTH2 instead of a password.
        folders: Globs of folders; empty means all but spam, trash and the like.
        exclude: Globs of folders to leave out.
        since: A date, `2024-01-31`: older mail is not read.
        max_body: Bytes of a message that are fetched.
    """

    host: str = field(metadata={"form": "host"})
    user: str = field(metadata={"form": "text"})
    port: int = field(default=0, metadata={"range": (0, 65_535)})
    tls: str = field(default="tls", metadata={"choices": ("tls", "starttls", "none")})
    tls_ca: Path | None = None
    password: str = ""
    oauth_token: str = ""
    folders: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    since: str = field(default="", metadata=_SINCE)
    max_body: int = field(default=25_000_000, metadata=_BODY)

    @property
    def location(self) -> str:
        """User and server."""
        return f"{self.user} at {self.host}" if "@" in self.user else f"{self.user}@{self.host}"

    @property
    def secrets(self) -> dict[str, str]:
        """The token where there is one, else the password, which is in the keyring where nothing is said of it."""
        return {"oauth_token": self.oauth_token} if self.oauth_token else {"password": self.password or "keyring:"}

    def settings(self) -> dict[str, Any]:
        """Return the table as the connector gets it, the secret's spec always in it."""
        return super(ImapSource, self).settings() | self.secrets


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackSource(SourceConfig):
    """A Slack workspace, over the API.

    Args:
        token: Spec of a bot or user token.
        app_token: Spec of an app-level token; turns on Socket Mode while `ctxsync watch` runs.
        channels: Globs of names or ids; empty means all that the token can read.
        exclude: Globs of channels to leave out.
        bots: Whether messages of bots and apps are read.
        since: A date, `2024-01-31`: older messages are not read.
        lookback_days: How many days back edits are looked for.
        api_url: Where the API is.
    """

    token: str = "keyring:"  # noqa: S105 - the spec, which says where the token is
    app_token: str = ""
    channels: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    bots: bool = True
    since: str = field(default="", metadata=_SINCE)
    lookback_days: int = field(default=7, metadata={"range": (0, 3_650)})
    api_url: str = field(default=SLACK_API, metadata={"form": "url"})

    @property
    def location(self) -> str:
        """The API's host: which workspace it is, only the token says."""
        return urlsplit(self.api_url).netloc


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackExportSource(FileSource):
    """An export of a Slack workspace: a folder, a zip, or what slackdump wrote.

    Args:
        team: The workspace's id, where the export does not tell it.
        channels: Globs of names or ids; empty means all.
        exclude: Globs of channels to leave out.
        bots: Whether messages of bots and apps are read.
        since: A date, `2024-01-31`: older messages are not read.
    """

    team: str = ""
    channels: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    bots: bool = True
    since: str = field(default="", metadata=_SINCE)


TYPES: dict[str, type[SourceConfig]] = {
    "notes": NotesSource,
    "git": GitSource,
    "imap": ImapSource,
    "mailbox": MailboxSource,
    "slack": SlackSource,
    "slack-export": SlackExportSource,
}
"""The class of each source type."""
