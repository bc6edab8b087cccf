"""The main job on sample data: sync notes, commits, mail and Slack, ask, edit the prose, sync, ask again.

Everything runs through the same App as the commands; this module only stages the sample and prints.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxsync.app import App
from ctxsync.cli import render
from ctxsync.cli.facts import entity_head
from ctxsync.cli.inert import inert_document
from ctxsync.cli.output import line
from ctxsync.cli.progress import shown_progress
from ctxsync.errors import UsageError
from ctxsync.sync import SyncRequest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable

    from ctxsync.cli.output import Out

QUESTIONS = (
    "Where does Nadia Okoro work?",
    "Where does the orders service store its data?",
    "Who leads Project Heron?",
    "What caused the March outage?",
    "What does the Tide API depend on?",
    "Where does Jonas Ferreira live?",
    "Where did Nadia Okoro work in June 2026?",
    "What did Priya Raman commit?",
)
TOGETHER = (
    "Who uses the Tide API?",
    "Who led the Graymouth trial before Owen Pell?",
)
"""Questions that no single source answers: what is known comes from a mail and from a Slack message."""
PERSON = "Sam Whitlock"
CONFIG = """\
[identity]
names = ["Robin Vale"]
emails = ["robin@example.com"]
slack = ["T0HARBOR1:U0ROBIN01"]
"""
_DATA = (".md", ".mbox", ".json")
# The sample's files carry their story's dates, not the date on which they were installed.
WRITTEN = datetime(2026, 8, 10, 9, 0, tzinfo=UTC)
EDITED = datetime(2026, 11, 24, 18, 0, tzinfo=UTC)


def run(home: Path | None, out: Out) -> int:
    """Run the demo.

    Args:
        home: Where to make the demo's home; None makes one in a temporary folder. It is kept, to be looked at.
        out: Where to print.

    Returns:
        0 when every question was answered by facts, and by facts of two sources where it takes two; else 1.

    Raises:
        UsageError: The home is in use already.
    """
    place = home or Path(tempfile.mkdtemp(prefix="ctxsync-demo-")) / "home"
    if place.exists() and any(place.iterdir()):
        raise UsageError(f"{place} is not empty.", remedy="Run `ctxsync demo` without --home, or name a new folder.")
    desk = stage(place)
    app = App.open(str(place))
    app.add_source("notes", str(desk / "vault"), name="vault")
    app.add_source("git", str(desk / "tides"), name="tides", trust="own")
    app.add_source("mailbox", str(desk / "mail"), name="mail")
    app.add_source("slack-export", str(desk / "slack"), name="slack")

    notes = count_notes(desk / "vault")
    line(out, f"A vault of {notes} notes, a small repository, a mailbox and a Slack export, at {place.parent}")
    _sync(app, out)
    first = _ask_all(app, out, {})

    line(out)
    line(out, ("Some answers take two sources: ", "bold"), "a mail tells one half, a Slack message the other.")
    joined = sum(_ask_together(app, out, question) for question in TOGETHER)
    line(out)
    line(out, ("One person in four sources: ", "bold"), "joined by address and Slack account, not by name.")
    _show_person(app, out)

    line(out)
    line(
        out,
        ("Now five notes are edited: ", "bold"),
        "somebody changes jobs, a database is moved, a project is renamed.",
    )
    copy(sample("edits"), desk / "vault", EDITED)
    _sync(app, out)
    second = _ask_all(app, out, first)

    answered = sum(bool(answers) for answers in second.values())
    changed = sum(first[question] != second[question] for question in QUESTIONS)
    line(out)
    asked = f"{answered + joined} of {len(QUESTIONS) + len(TOGETHER)} questions answered by facts"
    line(out, (f"{asked}, {joined} from two sources together, {changed} changed by the edits.", "bold"))
    line(out, "Ask your own: ", (f'ctxsync --home {place} ask "What is Project Heron called now?"', "cyan"))
    line(out, "Your own notes: ", ("ctxsync init && ctxsync source add notes ~/notes && ctxsync sync", "cyan"))
    line(out, "Your mail and Slack: ", ("ctxsync source add --help", "cyan"))
    return 0 if (answered, joined) == (len(QUESTIONS), len(TOGETHER)) else 1


def stage(place: Path) -> Path:
    """Lay out the demo: the home at `place`; beside it `vault`, `tides`, `mail` and `slack`; return their folder."""
    from ctxsync.home import write_private
    from ctxsync.sample.repository import build

    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(place / "config.toml", CONFIG)
    desk = place.parent
    for part in ("vault", "tides", "mail", "slack"):
        if (desk / part).exists():
            raise UsageError(f"{desk / part} is there already.", remedy="Name a new folder for --home.")
    for part in ("vault", "mail", "slack"):
        copy(sample(part), desk / part, WRITTEN)
    build(desk / "tides")
    return desk


def sample(part: str) -> Traversable:
    """Return a part of the installed sample: `vault`, `edits` of it, `mail` or `slack`."""
    return resources.files("ctxsync.sample").joinpath(part)


def copy(part: Traversable, to: Path, when: datetime) -> None:
    """Copy a part of the sample into a folder, as if saved then; files that are there are replaced whole."""
    for path, file in _files(part):
        target = to / path
        target.parent.mkdir(parents=True, exist_ok=True)
        aside = target.with_name(target.name + ".tmp")
        with file.open("rb") as source, aside.open("wb") as copied:
            shutil.copyfileobj(source, copied)
        os.utime(aside, (when.timestamp(), when.timestamp()))
        aside.replace(target)


def count_notes(vault: Path) -> int:
    """Return how many notes a folder holds."""
    return sum(1 for _ in vault.rglob("*.md"))


def _files(folder: Traversable, under: str = "") -> Iterator[tuple[str, Traversable]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _files(entry, f"{under}{entry.name}/")
        elif entry.name.endswith(_DATA):
            yield f"{under}{entry.name}", entry


def _sync(app: App, out: Out) -> None:
    with shown_progress() as progress:
        report = app.sync(SyncRequest(), progress)
    seen = sum(source["seen"] for source in report["sources"])
    line(
        out,
        f"Synced in {report['seconds']:.1f} s: {seen} items seen, {report['extracted']} episodes read, "
        f"{report['new_facts']} new facts.",
    )


def _ask_all(app: App, out: Out, before: dict[str, set[str]]) -> dict[str, set[str]]:
    """Ask every question and print what is new against `before`; return the facts that answered each."""
    from ctxsync.engine import reading

    now = app.clock()
    answers: dict[str, set[str]] = {}
    for number, question in enumerate(QUESTIONS, 1):
        document = reading.ask(app.reader(), question, now=now, limit=5)
        answers[question] = {_gist(fact) for fact in document["answers"]}
        line(out)
        same = before.get(question) == answers[question]
        line(out, (f"{number}. {question}", "bold"), ("  as before" if same else "", "dim"))
        if not same:
            render.ask(out, inert_document(document), now=now)
    return answers


def _ask_together(app: App, out: Out, question: str) -> bool:
    """Ask a question and print the answer and whose words it takes; return whether those are of two sources."""
    from ctxsync.engine import reading

    now = app.clock()
    document = reading.ask(app.reader(), question, now=now, limit=5)
    line(out)
    line(out, (question, "bold"))
    render.ask(out, inert_document(document), now=now)
    sources: set[str] = set()
    for fact in document["answers"]:
        told = reading.why(app.reader(), fact["id"], now=now)
        for one in (*told["facts"], *told["superseded_by"]):
            sources.update(support["source"] for support in one["support"])
        for later in told["superseded_by"]:
            line(out, "What ended it:")
            render.ask(out, inert_document({**document, "answers": [later]}), now=now)
    line(out, (f"Taken from: {' and '.join(sorted(sources))}", "dim"))
    return len(sources) > 1


def _show_person(app: App, out: Out) -> None:
    """Print who a person is, and how much each source says."""
    from collections import Counter

    from ctxsync.engine import reading

    (person, *_) = reading.entity(app.reader(), PERSON, now=app.clock())["entities"]
    line(out)
    entity_head(out, inert_document(person))
    said = Counter(support["source"] for fact in person["facts"] for support in fact["support"])
    line(out, ", ".join(f"{count} from {source}" for source, count in sorted(said.items())), indent=4)
    line(out, ("All of it: ", "dim"), (f'ctxsync --home {app.home.path} entity "{PERSON}"', "cyan"), indent=4)


def _gist(fact: dict[str, Any]) -> str:
    return f"{fact['head']['name']} {fact['relation']} {fact['tail']['name']} {fact['valid_to']}"
