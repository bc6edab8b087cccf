"""A sync of mail and Slack that is killed at any moment and run again ends as one that was never disturbed."""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.connectors.imap.dovecot import DOVECOT, NEEDS, PASSWORD, served
from tests.connectors.imap.world import SECRET
from tests.connectors.mailbox.worlds import deep, message
from tests.connectors.slack.exporting import export
from tests.connectors.slack.server import BOT_TOKEN, Server, Workspace
from tests.connectors.slack.world import TOKEN
from tests.whole.killing import POINTS, die_and_resume, logical, run
from tests.whole.pipeline import MEMORY

if TYPE_CHECKING:
    from collections.abc import Iterator

RANDOM_MOMENTS = 5
QUARANTINED = (3,)
SOURCES = """
[[sources]]
name = "box"
type = "mailbox"
path = "{place}/box"

[[sources]]
name = "old-chat"
type = "slack-export"
path = "{place}/export"

[[sources]]
name = "chat"
type = "slack"
token = "{token}"
api_url = "{api}"
"""
ACCOUNT = """
[[sources]]
name = "net"
type = "imap"
host = "127.0.0.1"
port = {port}
tls = "none"
user = "{user}"
password = "env:{secret}"
"""

Undisturbed = tuple[dict[str, object], dict[str, int]]


def said(number: int) -> str:
    """Return a statement; the dice fall alike each time."""
    dice = random.Random(number)
    verb = dice.choice(("works at", "left", "attended"))
    word = "since" if verb == "works at" else "in"
    person, company = dice.choice(("Ada Brook", "Ben Carver")), dice.choice(("Northwind", "Southgate", "Westbury"))
    return f"{person} {verb} {company} {word} {dice.randint(2019, 2025)}."


def letters(first: int, last: int) -> list[bytes]:
    return [message(number, body=said(number)) for number in range(first, last)]


def fill_the_mailbox(folder: Path) -> None:
    """Write an mbox of more than a batch, one of sent mail, and a Maildir that repeats some of it."""
    head = b"From rosa@example.com Mon Mar  3 10:00:00 2025\n"
    for name, found in (("Inbox", [*letters(0, 230), deep(200)]), ("Sent", letters(225, 240))):
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.mbox").write_bytes(b"".join(head + raw + b"\n" for raw in found))
    for part in ("cur", "new", "tmp"):
        (folder / "Kept" / part).mkdir(parents=True)
    for number, raw in enumerate(letters(215, 250)):
        (folder / "Kept" / "cur" / f"{number}.example:2,S").write_bytes(raw)
    for path in folder.rglob("*"):
        os.utime(path, (1_750_000_000, 1_750_000_000))


def talk(workspace: Workspace) -> None:
    for room in ("C01", "C02"):
        workspace.room(room, f"room-{room.lower()}")
        for number in range(12):
            ts = workspace.post(room, said(number))
            if number % 4 == 0:
                workspace.post(room, said(number + 1), thread_ts=ts, user="U02")


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder with what is on disk, a workspace that answers, and an account where Dovecot is installed."""
    place = Path(tempfile.mkdtemp(prefix="killed-", dir=MEMORY))
    workspace = Workspace()
    talk(workspace)
    fill_the_mailbox(place / "box")
    export(workspace, place / "export")
    workspace.edit("C01", min(workspace.rooms["C01"].messages), "Ada Brook left Westbury in 2024.")
    with pytest.MonkeyPatch.context() as patch, Server(workspace) as server:
        patch.setenv(TOKEN.removeprefix("env:"), BOT_TOKEN)
        patch.setenv(SECRET, PASSWORD)
        sources = SOURCES.format(place=place, token=TOKEN, api=server.url)
        if DOVECOT is not None:
            mail = served()
            user = mail.user()
            with mail.client(user) as client:
                client.create_folder("Sent")
                for raw in [*letters(120, 330), deep(200)]:
                    client.append("INBOX", raw)
                for raw in letters(320, 335):
                    client.append("Sent", raw)
            sources += ACCOUNT.format(port=mail.port, user=user, secret=SECRET)
        (place / "config.toml").write_text(sources, encoding="utf-8")
        yield place
    shutil.rmtree(place)


def home_in(place: Path, name: str) -> Path:
    home = place / name
    home.mkdir(mode=0o700)
    shutil.copy(place / "config.toml", home)
    (home / "config.toml").chmod(0o600)
    return home


@pytest.fixture(scope="module")
def undisturbed(place: Path) -> Undisturbed:
    """What a sync leaves that nothing disturbs, and how often it passes each moment."""
    home = home_in(place, "undisturbed")
    assert run(("count", str(place / "passed.json")), home, check=False).returncode == 3  # two messages in quarantine
    return logical(home), json.loads((place / "passed.json").read_text(encoding="utf-8"))


def test_what_is_read_undisturbed_is_all_there_is(undisturbed: Undisturbed) -> None:
    events = [json.loads(event) for event in undisturbed[0]["events"]]  # type: ignore[attr-defined]
    seen = {(subject, source) for source, subject, type_, _ in events if type_ == "item.sighted"}
    by_source = {name: sum(source == name for _, source in seen) for name in ("box", "chat", "old-chat")}
    assert by_source == {"box": 250, "chat": 31, "old-chat": 31}
    observed = [subject for _, subject, type_, _ in events if type_ == "item.observed"]
    mail = {subject for subject in observed if subject.startswith("mail:")}
    assert len(mail) == sum(subject in mail for subject in observed) >= 250
    if DOVECOT is None:
        pytest.skip(f"The rest was read without an account. {NEEDS}")
    assert sum(source == "net" for _, source in seen) == 215
    assert len(mail) == 335


@pytest.mark.parametrize("point", POINTS)
def test_a_sync_killed_at_a_commit_point_and_run_again_ends_as_if_undisturbed(
    place: Path, undisturbed: Undisturbed, point: str
) -> None:
    expected, passed = undisturbed
    last = passed[point]
    counts = sorted({1, last // 3, 2 * last // 3, last} - {0}) if point == "cursor" else sorted({last // 2, last} - {0})
    for count in counts:
        home = home_in(place, f"{point}-{count}")
        die_and_resume(home, ("point", point, str(count)), QUARANTINED)
        assert logical(home) == expected, f"killed at {point} {count} of {last}"
        shutil.rmtree(home)


@pytest.mark.parametrize("moment", range(RANDOM_MOMENTS))
def test_a_sync_killed_at_a_random_moment_of_writing_loses_and_doubles_nothing(
    place: Path, undisturbed: Undisturbed, moment: int
) -> None:
    expected, passed = undisturbed
    number = random.Random(29 + moment).randint(1, passed["statement"])
    home = home_in(place, f"statement-{moment}")
    die_and_resume(home, ("statement", str(number)), QUARANTINED)
    assert logical(home) == expected, f"killed before statement {number}"
    shutil.rmtree(home)
