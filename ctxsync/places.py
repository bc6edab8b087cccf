"""Whether what a person names can be a source of a type; looks at files from outside and changes nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxsync.errors import UsageError
from ctxsync.home import expanded, real

if TYPE_CHECKING:
    from ctxsync.config import Config
    from ctxsync.home import Home

_TOKEN = re.compile(r"xox[a-z]?[-.]|xapp-", re.IGNORECASE)


def locate(home: Home, config: Config, kind: str, location: str, table: dict[str, Any]) -> Path:
    """Put where a source is into its table; return a path whose last part can name it."""
    if kind == "imap":
        return _account(config, location, table)
    if kind == "slack":
        if _TOKEN.match(location):
            raise UsageError(
                "A token does not belong on a command line, where others can read it; nothing was written.",
                remedy="Run `ctxsync source add slack`, then `ctxsync source secret slack`, which asks for it.",
            )
        workspace = re.sub(r"^https?://", "", location.lower()).split("/")[0].removesuffix(".slack.com")
        return Path("/") / (workspace or "slack")
    if not location:
        raise UsageError(f"A {kind} source needs a path.", remedy=f"Run `ctxsync source add {kind} PATH`.")
    path = expanded(location).absolute()
    _check_place(home, config, kind, path)
    table["path"] = str(path)
    return path.with_suffix("") if path.suffix.lower() in (".mbox", ".mbx", ".zip") else path


def _account(config: Config, location: str, table: dict[str, Any]) -> Path:
    """Put user and host into an imap source's table: `user@host`, where the user may be an address itself."""
    if "host" in table:
        user, host = location, table["host"]
    else:
        user, _, host = location.rpartition("@")
    if not user or not host:
        raise UsageError(
            "An imap source is named as user@host.",
            remedy="As `ctxsync source add imap robin@mail.example.com`, or, where an address logs in, "
            "`ctxsync source add imap robin@example.com --host mail.example.com`.",
        )
    if ":" in user or "/" in host:
        raise UsageError(
            "Neither a password nor an address with :// belongs there; nothing was written.",
            remedy="Write user@host (and --port); `ctxsync source secret NAME` asks for the password afterwards.",
        )
    table |= {"user": user, "host": host}
    if authority := table.get("tls_ca"):
        try:
            Path(authority).read_bytes()
        except OSError as error:
            raise UsageError(
                f"{authority}, of tls_ca, cannot be read: {error.strerror}.",
                remedy="Check the path, then add it again.",
            ) from None
    for other in config.sources:
        if (getattr(other, "user", ""), getattr(other, "host", "")) == (user, host):
            raise UsageError(f'{user} at {host} is already the source "{other.name}".', remedy="Run `ctxsync sync`.")
    return Path("/") / re.sub(r"^(imaps?|mail|mx)\.", "", host.lower())


def is_repository(path: Path) -> bool:
    """Say whether a folder is a Git repository (a work tree's top, a linked worktree's, or a bare one)."""
    return (path / ".git").exists() or all((path / part).exists() for part in ("HEAD", "objects", "refs"))


def _check_place(home: Home, config: Config, kind: str, path: Path) -> None:
    if not path.exists():
        nearest = next(parent for parent in path.parents if parent.exists())
        raise UsageError(f"{path} does not exist; {nearest} does.", remedy="Check the path, then add it again.")
    if kind in ("mailbox", "slack-export"):
        _check_archive(kind, path)
    elif not path.is_dir():
        fits = "mailbox" if path.suffix.lower() in (".mbox", ".mbx", ".eml") else "slack-export"
        known = path.suffix.lower() in (".mbox", ".mbx", ".eml", ".zip")
        remedy = f"Run `ctxsync source add {fits} {path}`." if known else f"Add {path.parent} instead."
        raise UsageError(f"{path} is a file; a {kind} source is a folder.", remedy=remedy)
    if kind == "git" and not is_repository(path):
        above = next((parent for parent in path.parents if is_repository(parent)), None)
        remedy = f"Run `ctxsync source add git {above}`." if above else f"For notes: `ctxsync source add notes {path}`."
        raise UsageError(f"{path} is not a Git repository.", remedy=remedy)
    if kind == "notes" and is_repository(path) and not _has_notes(path):
        raise UsageError(
            f"{path} is a Git repository without notes (.md, .txt, .org).",
            remedy=f"Run `ctxsync source add git {path}`.",
        )
    place, home_place = real(path), real(home.path)
    if place == home_place or home_place in place.parents:
        raise UsageError(
            f"{path} lies in ctxsync's own home {home.path}; it never reads its own output.",
            remedy="Move the folder elsewhere, or choose another --home.",
        )
    for other in config.sources:
        if other.type == kind and other.root is not None and real(other.root) == place:
            raise UsageError(f'{path} is already the source "{other.name}".', remedy="Run `ctxsync sync`.")


def _check_archive(kind: str, path: Path) -> None:
    """Check that a file can be what it is added as; what is in a folder, the connector tells."""
    if path.is_dir():
        return
    try:
        with path.open("rb") as file:
            head = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", remedy="Check its permissions.") from error
    zipped = head.startswith(b"PK")
    if kind == "slack-export" and not head.startswith((b"PK", b"SQLite format 3", b"\x1f\x8b", b"{", b"[")):
        raise UsageError(
            f"{path} is no Slack export.", remedy="Name the zip that Slack made, its folder, or what slackdump wrote."
        )
    if kind == "mailbox" and zipped:
        raise UsageError(f"{path} is a zip file.", remedy="Unpack it, then add the .mbox file or folder in it.")
    if kind == "mailbox" and head and not (head.startswith(b"From ") or path.suffix.lower() == ".eml"):
        raise UsageError(
            f'{path} is no mbox: an mbox begins with a line "From …".',
            remedy="Name an mbox file, a Maildir, or a folder of .eml files.",
        )


def _has_notes(path: Path) -> bool:
    """Say whether some note stands in a folder, without reading a whole tree: three levels, hidden folders left out."""
    pattern = ("*", "*/*", "*/*/*")
    return any(
        found.suffix.lower() in (".md", ".markdown", ".txt", ".org")
        for depth in pattern
        for found in path.glob(depth)
        if not any(part.startswith(".") for part in found.relative_to(path).parts)
    )
