"""Mail under arbitrary deliveries, moves, expunges, removals and crashes: nothing lost, nothing doubled, one graph."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import hypothesis.strategies as st
import imapclient
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ctxsync.connectors.imap import ImapConnector
from ctxsync.connectors.mail.message import mail_item
from ctxsync.connectors.mailbox import MailboxConnector
from ctxsync.engine.graph.trust import OTHERS, OWN
from tests.connectors.imap.dovecot import PASSWORD, served
from tests.connectors.imap.world import SECRET
from tests.connectors.mailbox.worlds import deep, message, munged
from tests.whole.pipeline import BATCH, POINTS, Followed

if TYPE_CHECKING:
    from pathlib import Path

    from ctxsync.connectors.base import Connector, Json, Options

START = 1_760_000_000_000
BAD = 6  # the number of the message that no one can read
STATEMENTS = (
    "Ada Brook works at Northwind since 2019.",
    "Ada Brook left Northwind in 2023.",
    "Ben Carver works at Southgate since 2021.",
    "Ben Carver attended Westbury in 2020.",
    "Ada Brook works at Westbury since 2024.",
    "Ben Carver left Southgate in 2025.",
)
# No two chunks of an mbox have the same length: what was overwritten in place while a file grew may show later.
MESSAGES = [message(number, body=f"{text}\n\n{'m' * 4**number}") for number, text in enumerate(STATEMENTS)]
ITEMS = [mail_item(raw).id for raw in MESSAGES]
MESSAGES.append(deep(200))

Place = tuple[str, str]
PLACES: tuple[Place, ...] = (
    ("box", "Inbox.mbox"),
    ("box", "Sent.mbox"),
    ("box", "Kept"),
    ("box", "Sent"),
    ("box", "loose/a.eml"),
    ("box", "loose/b.eml"),
    ("old", "Old.mbox"),
    ("net", "INBOX"),
    ("net", "Sent"),
    ("net", "Archive"),
)
SENT = {("box", "Sent.mbox"), ("box", "Sent"), ("net", "Sent")}
CONFIG = """
[[sources]]
name = "box"
type = "mailbox"
path = "{place}/box"

[[sources]]
name = "old"
type = "mailbox"
path = "{place}/old"

[[sources]]
name = "net"
type = "imap"
host = "127.0.0.1"
user = "user@example.com"
"""

places = st.sampled_from(PLACES)
numbers = st.integers(0, BAD)


class Mail(RuleBasedStateMachine):
    """Two mailboxes on disk and an account, which hold copies of few messages; each place is a list of them."""

    def __init__(self) -> None:
        super().__init__()
        self.server = served()
        self.user = self.server.user()
        self.client = imapclient.IMAPClient("127.0.0.1", self.server.port, ssl=False, timeout=20)
        self.client.login(self.user, PASSWORD)
        for folder in ("Sent", "Archive"):
            self.client.create_folder(folder)
        self.at: dict[Place, list[tuple[Any, int]]] = {place: [] for place in PLACES}
        self.ticks = 0
        self.home = Followed(CONFIG, {"box": self.box, "old": self.old, "net": self.net}, START)
        for source in ("box", "old"):
            (self.home.place / source).mkdir()

    def teardown(self) -> None:
        try:
            self.check()
            self.home.check_another_arrival_order_gives_the_same_state()
            if not self.spoiled():
                self.home.check_reading_it_all_at_once_gives_the_same_state()
        finally:
            self.client.logout()
            self.home.close()

    # The sources

    def box(self, options: Options) -> Connector:
        return MailboxConnector("box", {"path": str(self.home.place / "box")}, options, batch=BATCH)

    def old(self, options: Options) -> Connector:
        return MailboxConnector("old", {"path": str(self.home.place / "old")}, options, batch=BATCH)

    def net(self, options: Options) -> Connector:
        where: dict[str, Json] = {"host": "127.0.0.1", "port": self.server.port, "tls": "none"}
        return ImapConnector("net", {**where, "user": self.user, "password": f"env:{SECRET}"}, options, batch=BATCH)

    def path(self, place: Place) -> Path:
        return self.home.place.joinpath(*place)

    def save(self, place: Place) -> None:
        """Write a place on the disk as its list has it; files that stay in it are not written again."""
        path, held = self.path(place), self.at[place]
        if path.suffix == ".mbox":
            head = b"From rosa@example.com Mon Mar  3 10:00:00 2025\n"
            self.put(path, b"".join(head + munged(MESSAGES[number]) + b"\n" for _, number in held))
        elif path.suffix == ".eml":
            if held:
                self.put(path, MESSAGES[held[0][1]])
            else:
                path.unlink(missing_ok=True)
        else:
            for part in ("cur", "new", "tmp"):
                (path / part).mkdir(parents=True, exist_ok=True)
            wanted = {f"{key}.example:2,S": number for key, number in held}
            for file in (path / "cur").iterdir():
                if wanted.pop(file.name, None) is None:
                    file.unlink()
            for name, number in wanted.items():
                self.put(path / "cur" / name, MESSAGES[number])

    def put(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        self.ticks += 1
        os.utime(path, (1_750_000_000 + self.ticks, 1_750_000_000 + self.ticks))

    def add(self, place: Place, number: int) -> None:
        if place[0] == "net":
            told = self.client.append(place[1], MESSAGES[number])  # [APPENDUID validity uid]
            self.at[place].append((int(told.split(b"]")[0].split()[-1]), number))
            return
        if place[1].endswith(".eml"):
            self.at[place].clear()
        self.ticks += 1
        self.at[place].append((f"{self.ticks}", number))
        self.save(place)

    def drop(self, place: Place, index: int) -> int:
        key, number = self.at[place].pop(index)
        if place[0] == "net":
            self.client.select_folder(place[1])
            self.client.delete_messages([key])
            self.client.uid_expunge([key])
        else:
            self.save(place)
        return number

    def spoiled(self) -> set[Place]:
        return {place for place, held in self.at.items() if place[1].endswith(".eml") and BAD in dict(held).values()}

    def some(self, data: st.DataObject) -> tuple[Place, int]:
        place = data.draw(st.sampled_from([place for place, held in self.at.items() if held]))
        return place, data.draw(st.integers(0, len(self.at[place]) - 1))

    # What happens to mail

    @initialize(read=st.booleans())
    def begin(self, read: bool) -> None:
        """There is more than a batch in the beginning, some of it in several places."""
        for place, held in (
            (PLACES[0], (0, 1, 2, 3, 4)),
            (PLACES[2], (3, 5)),
            (PLACES[7], (2, 3, 4, 5)),
            (PLACES[8], (5,)),
        ):
            for number in held:
                self.add(place, number)
        if read:
            self.home.pull()

    @rule(place=places, number=numbers)
    def deliver(self, place: Place, number: int) -> None:
        self.add(place, number)

    @rule(place=places)
    def import_all_that_another_has(self, place: Place) -> None:
        if not place[1].endswith(".eml"):
            for number in [number for _, number in self.at["net", "INBOX"]]:
                self.add(place, number)

    @rule(
        place=st.sampled_from((PLACES[0], PLACES[2], PLACES[6], PLACES[7])),
        many=st.lists(numbers, min_size=4, max_size=9),
    )
    def deliver_many(self, place: Place, many: list[int]) -> None:
        """More than a batch, so that a pass may die between two of them."""
        for number in many:
            self.add(place, number)

    @rule(place=st.sampled_from((PLACES[0], PLACES[1], PLACES[6])), many=st.lists(numbers, max_size=9))
    def write_an_mbox_anew(self, place: Place, many: list[int]) -> None:
        self.at[place] = [(str(index), number) for index, number in enumerate(many)]
        self.save(place)

    @precondition(lambda self: any(self.at.values()))
    @rule(data=st.data())
    def expunge(self, data: st.DataObject) -> None:
        self.drop(*self.some(data))

    @precondition(lambda self: any(self.at.values()))
    @rule(data=st.data(), to=places, first=st.booleans())
    def move(self, data: st.DataObject, to: Place, first: bool) -> None:
        """Move a message; it may be read in both places in between, or in none."""
        place, index = self.some(data)
        if to == place:
            return
        if first:
            self.add(to, self.at[place][index][1])
            self.drop(place, index)
        else:
            self.add(to, self.drop(place, index))

    @precondition(lambda self: self.at["box", "Kept"])
    @rule()
    def rename_between_maildirs(self) -> None:
        """Move a file as mail programs do: its name stays."""
        one = self.at["box", "Kept"].pop()
        self.at["box", "Sent"].append(one)
        self.save(("box", "Sent"))
        self.save(("box", "Kept"))

    @precondition(lambda self: any(self.at.values()))
    @rule(place=places)
    def empty(self, place: Place) -> None:
        while self.at[place]:
            self.drop(place, 0)

    @rule()
    def bump_uidvalidity(self) -> None:
        held = [number for _, number in self.at["net", "Archive"]]
        self.client.select_folder("INBOX")  # not the one that goes
        self.client.delete_folder("Archive")
        self.client.create_folder("Archive")
        self.at["net", "Archive"].clear()
        for number in reversed(held):
            self.add(("net", "Archive"), number)

    # The pipeline

    @rule(point=st.sampled_from(POINTS), count=st.integers(1, 4))
    def crash(self, point: str, count: int) -> None:
        self.home.arm(point, count)

    @rule(allow=st.booleans(), retry=st.booleans())
    def pull(self, allow: bool, retry: bool) -> None:
        self.home.pull(allow=allow, retry=retry)

    @rule()
    def extract(self) -> None:
        self.home.extract()

    @rule()
    def project(self) -> None:
        self.home.project()

    @rule(source=st.sampled_from(("box", "old", "net")))
    def remove_a_source_or_add_it_again(self, source: str) -> None:
        if source in self.home.removed:
            self.home.removed.discard(source)
        else:
            self.home.pull()  # there is nothing to remove of what was never read
            self.home.remove(source)

    # What must hold

    @invariant()
    def the_log_verifies(self) -> None:
        self.home.check_the_log_verifies()

    @rule()
    def check(self) -> None:
        self.home.settle()
        there = {place: held for place, held in self.at.items() if place[0] not in self.home.removed}
        seen = {(ITEMS[number], *place) for place, held in there.items() for _, number in held if number != BAD}
        # What a file held before it became unreadable is believed to be there still.
        spoiled = self.spoiled()
        found = self.home.sighted("mail")
        kept = {one for one in found if one[1:] in spoiled}
        assert found - kept == seen
        assert len(kept) == len({one[1:] for one in kept})
        seen = found
        held = self.home.held("mail")
        assert {item: len(texts) for item, texts in held.items()} == {item: 1 for item, _, _ in seen}
        sent = {item for item, *place in seen if tuple(place) in SENT}
        assert self.home.trusted("mail") == {(item, OWN if item in sent else OTHERS) for item in held}
        bad = {place for place, held in there.items() if any(number == BAD for _, number in held)}
        assert {(source, place.split("#")[0]) for source, place in self.home.quarantined()} == bad
        self.home.check_the_rebuilt_graph_is_the_live_one()


@pytest.fixture(autouse=True)
def _password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRET, PASSWORD)


@pytest.mark.slow
@pytest.mark.usefixtures("_password")
class TestMail(Mail.TestCase):  # type: ignore[misc, valid-type]  # hypothesis builds the class
    settings = settings(
        max_examples=12,
        stateful_step_count=25,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        derandomize=True,
    )
