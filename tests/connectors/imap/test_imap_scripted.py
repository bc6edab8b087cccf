"""What Dovecot will not do, spoken by a scripted server: odd answers, broken connections, huge folders, Gmail."""

from __future__ import annotations

import tracemalloc
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.connectors.base import Observed, Quarantined, Sighted, Unsighted
from ctxsync.errors import SuspiciousDeletion, Unavailable
from tests.connectors.imap.conftest import Reader, letter
from tests.connectors.imap.scripted import HANG_UP, Box, Scripted

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator, Mapping


def boxed(*numbers: int) -> Box:
    return Box({number: letter(number) for number in numbers})


def once(answer: bytes) -> Callable[[str, re.Match[str]], bytes | None]:
    """Return an answer that is given one time."""
    turns = count()
    return lambda _tag, _found: answer if next(turns) == 0 else None


def titles(*numbers: int | str) -> list[str]:
    return sorted(f"Letter {number}" for number in numbers)


class Many:
    """A folder's messages, made when they are asked for."""

    def __init__(self, uids: range | list[int]) -> None:
        self.uids = uids

    def __iter__(self) -> Iterator[int]:
        return iter(self.uids)

    def __len__(self) -> int:
        return len(self.uids)

    def __contains__(self, uid: object) -> bool:
        return uid in self.uids

    def __getitem__(self, uid: int) -> bytes:
        return b"From: robin@example.com\r\nSubject: s\r\nMessage-ID: <%d@example.com>\r\n\r\nb\r\n" % uid


def test_a_range_up_to_a_star_that_answers_with_the_last_message_means_nothing_new(server: Scripted) -> None:
    server.boxes["INBOX"] = boxed(1, 2, 9)
    server.boxes["INBOX"].shows_next = False
    reader = Reader(server.port)
    reader.read()
    assert reader.titles() == titles(1, 2, 9)
    server.lines.clear()
    assert reader.read() == []
    assert "UID SEARCH UID 10:*" in server.lines
    assert server.fetched() == []
    server.boxes["INBOX"].messages = {**server.boxes["INBOX"].messages, 12: letter(12)}
    reader.read()
    assert reader.titles() == titles(1, 2, 9, 12)


@pytest.mark.parametrize("step", [1, 30])
def test_150_000_messages_are_listed_in_windows_and_fetched_in_chunks(server: Scripted, step: int) -> None:
    uids = range(1, 150_000 * step + 1, step)
    messages: Any = Many(uids)
    server.boxes["INBOX"] = Box(messages)
    reader = Reader(server.port)
    longest = 0
    reading = reader.stream()
    for _ in range(3):
        next(reading)
    reading.close()  # type: ignore[attr-defined]
    searches = [line for line in server.lines if "SEARCH" in line]
    assert searches[0] == f"UID SEARCH UID {uids[-1] - 9_999}:{uids[-1]}"
    assert len(searches) <= 2
    assert all(len(line) < 8_000 for line in server.lines)
    assert len(reader.titles()) == 600
    longest = max(len(str(batch.cursor)) for batch in reader.batches)
    assert longest < 60_000  # 200 messages: 1 block, or 24 when they lie far apart


def test_the_cursor_of_150_000_messages_changes_a_little_with_one_of_them(server: Scripted) -> None:
    reader = Reader(server.port)
    messages: Any = Many(range(1, 150_001))
    server.boxes["INBOX"] = Box(messages)
    known = bytes(range(16))
    from ctxsync.connectors.imap.ledger import Ledger, State

    ledger = Ledger({})
    ledger.begin("INBOX", 7)
    for uid in range(1, 150_001):
        ledger.put("INBOX", uid, f"mail:{known.hex()}")
    ledger.finish("INBOX", State(150_001, 150_000, 1, "", 150_000))
    reader.cursor = ledger.take()
    assert len(reader.cursor) < 600
    server.boxes["INBOX"].messages = Many(range(1, 150_002))  # type: ignore[assignment]
    tracemalloc.start()
    reader.read()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20_000_000
    assert sum(len(str(batch.cursor)) for batch in reader.batches) < 6_000
    assert server.fetched() == ["UID FETCH 150001 (UID BODY.PEEK[])"]
    assert len([line for line in server.lines if "SEARCH" in line]) == 1


ODD = {
    "a body that is NIL": b"* 2 FETCH (UID 2 BODY[] NIL)\r\n",
    "keys without values": b"* 2 FETCH (UID 2 BODY[])\r\n",
    "no UID": b"* 2 FETCH (BODY[] {3}\r\nabc)\r\n",
    "another key": b"* 2 FETCH (UID 2 BODY {3}\r\nabc)\r\n",
    "no parentheses": b"* 2 FETCH UID 2\r\n",
    "an open quote": b'* 2 FETCH (UID 2 X "\r\n',
    "another message": b"* 9 FETCH (UID 99 BODY[] {3}\r\nabc)\r\n",
    "flags only": b"* 2 FETCH (FLAGS (\\Seen))\r\n* 2 FETCH (UID 2 FLAGS (\\Seen))\r\n",
    "nothing": b"",
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_an_odd_answer_costs_its_own_message_alone_which_is_asked_for_again(server: Scripted, odd: bytes) -> None:
    server.boxes["INBOX"] = boxed(1, 2, 3)
    rest = b"".join(b"* %d FETCH (UID %d BODY[] {%d}\r\n%s)\r\n" % (n, n, len(letter(n)), letter(n)) for n in (1, 3))
    server.script = [(r"FETCH 1:3 \(UID BODY", once(rest + odd + b"TAG OK done\r\n"))]
    reader = Reader(server.port)
    reader.read()
    assert reader.titles() == titles(1, 3)
    reader.read()
    assert reader.titles() == titles(1, 2, 3)
    server.lines.clear()
    assert reader.read() == []
    assert not any("EXAMINE" in line for line in server.lines)


def test_a_message_that_the_server_never_hands_over_is_named_after_three_passes(server: Scripted) -> None:
    server.boxes["INBOX"] = boxed(1, 2)
    server.script = [(r"FETCH (1:2|2) \(UID BODY", b"* 2 FETCH (UID 2 BODY[] NIL)\r\nTAG OK done\r\n")]
    reader = Reader(server.port)
    assert reader.read() == []
    server.script = [
        (r"FETCH 2 \(UID BODY", b"TAG NO [SERVERBUG] it hurts\r\n"),
        (r"FETCH 1:2 \(UID BODY", b"TAG NO x\r\n"),
    ]
    reader.read()
    assert reader.titles() == titles(1)
    assert [type(change) for change in reader.read()] == [Quarantined]
    assert reader.bad == {"INBOX#2": "The server did not hand over a message of INBOX in 3 passes."}
    assert reader.read() == []
    server.script = []
    reader.read()
    assert (reader.titles(), reader.bad) == (titles(1, 2), {})


BREAKS = {
    "the server goes": b"* 1 FETCH (UID 1 BODY[] {5000}\r\nFrom: x" + HANG_UP,
    "the server says BYE": b"* BYE Shutting down for a while\r\n" + HANG_UP,
    "a literal is longer than announced": b"* 1 FETCH (UID 1 BODY[] {4}\r\nSubject: x\r\n\r\nbody\r\n)\r\nTAG OK\r\n",
    "a literal is longer than anything asked for": b"* 1 FETCH (UID 1 BODY[] {99999999999}\r\nx" + HANG_UP,
    "words that are no IMAP": b"HTTP/1.1 500 Internal Server Error\r\n" + HANG_UP,
    "a line without an end": b"* 1 FETCH (" + b"x" * 100_000 + HANG_UP,
}


@pytest.mark.parametrize("broken", BREAKS.values(), ids=BREAKS)
def test_a_connection_that_breaks_in_the_middle_of_a_fetch_is_made_anew(server: Scripted, broken: bytes) -> None:
    server.boxes["INBOX"] = boxed(1, 2, 3)
    server.script = [(r"FETCH 1:3 \(UID BODY", once(broken))]
    reader = Reader(server.port)
    reader.read()
    assert reader.titles() == titles(1, 2, 3)
    assert server.lines.count("LOGIN") == 2
    assert reader.read() == []


@pytest.mark.parametrize("broken", BREAKS.values(), ids=BREAKS)
def test_one_message_that_breaks_every_connection_stops_no_other(server: Scripted, broken: bytes) -> None:
    server.boxes["INBOX"] = boxed(1, 2, 3, 4)
    server.script = [(r"FETCH (1:4|1) \(UID BODY", broken)]
    reader = Reader(server.port)
    reader.read()
    assert reader.titles() == titles(2, 3, 4)
    server.script = []
    reader.read()
    assert reader.titles() == titles(1, 2, 3, 4)


SAYS = {
    "the server goes": "closed the connection in the middle of an answer",
    "the server says BYE": "hung up: Shutting down for a while",
    "a literal is longer than announced": "answers that are not IMAP",
    "a literal is longer than anything asked for": "a literal of 99999999999 bytes was announced",
    "words that are no IMAP": "answers that are not IMAP",
    "a line without an end": "closed the connection in the middle of an answer",
}


@pytest.mark.parametrize("kind", BREAKS)
def test_a_server_that_breaks_on_every_message_ends_the_pass_with_what_was_stored(server: Scripted, kind: str) -> None:
    server.boxes["INBOX"] = boxed(1, 2, 3, 4)
    reader = Reader(server.port)
    passing = reader.stream(batch=1)
    next(passing)
    server.script = [(r"BODY", BREAKS[kind])]
    with pytest.raises(Unavailable, match=SAYS[kind]) as caught:
        list(passing)
    assert "ctxsync sync work" in caught.value.remedy
    assert reader.titles() in (titles(4), titles(3, 4))  # the next one was on its way
    server.script = []
    reader.read()
    assert reader.titles() == titles(1, 2, 3, 4)


def test_a_folder_that_cannot_be_opened_stops_no_other_and_loses_nothing(server: Scripted) -> None:
    server.boxes |= {"INBOX": boxed(1, 2, 3), "Shared": boxed(4), "Work": boxed(5)}
    reader = Reader(server.port)
    reader.read()
    server.script = [('STATUS "Shared"', b"TAG NO [NOPERM] Permission denied\r\n")]
    server.boxes["INBOX"] = boxed(2, 3)
    server.boxes["Work"] = boxed(5, 6)
    with pytest.raises(Unavailable, match=r"The folder Shared of work cannot be opened: \[NOPERM\]") as caught:
        reader.read()
    assert "`exclude`" in caught.value.remedy
    assert reader.titles() == titles(1, 2, 3, 4, 5, 6)  # 1 may have gone to Shared
    server.script = []
    reader.read()
    assert reader.titles() == titles(2, 3, 4, 5, 6)


def test_a_folder_that_is_refused_when_it_is_selected_is_named_too(server: Scripted) -> None:
    server.boxes |= {"INBOX": boxed(1), "Odd": boxed(2)}
    server.script = [('EXAMINE "Odd"', b"TAG NO Mailbox is corrupt\r\n")]
    reader = Reader(server.port)
    with pytest.raises(Unavailable, match=r"Odd .* Mailbox is corrupt"):
        reader.read()
    assert reader.titles() == titles(1)


def test_folders_that_hold_no_messages_are_not_selected_and_odd_names_are_read(server: Scripted) -> None:
    server.boxes |= {
        name: boxed(number) for number, name in enumerate(["7", "a b", "[G]/x", "&zz", "flat", "A.B/C"], 1)
    }
    server.listing = [
        b'* LIST (\\Noselect \\HasChildren) "/" "Top"',
        b'* LIST (\\NonExistent) "/" "Ghost"',
        b"* LIST () NIL flat",
        b'* LIST () "/" 7',
        b'* LIST () "/" {3}\r\na b',
        b'* LIST () "/" [G]/x',
        b'* LIST () "/" "&zz"',
        b'* LIST (\\Sent) "." "A.B/C"',
        b"* LIST nonsense",
    ]
    reader = Reader(server.port)
    changes = reader.read()
    places = {change.place: change.role for change in changes if isinstance(change, Sighted)}
    assert places == {"flat": "", "7": "", "a b": "", "[G]/x": "", "&zz": "", "A/B%2FC": "sent"}
    assert {line for line in server.lines if line.startswith("EXAMINE")} == {
        f'EXAMINE "{name}"' for name in ("flat", "7", "a b", "[G]/x", "&zz", "A.B/C")
    }


def test_a_uidvalidity_that_changes_on_every_pass_neither_doubles_nor_deletes(server: Scripted) -> None:
    server.boxes["INBOX"] = boxed(1, 2, 3)
    reader = Reader(server.port)
    reader.read()
    for validity in (8, 9, 7):
        server.boxes["INBOX"].validity = validity
        assert reader.read() == []
    assert reader.titles() == titles(1, 2, 3)
    assert len([key for key in reader.cursor if key.startswith("uids")]) == 1


def test_a_uidvalidity_that_changes_during_a_backfill_goes_on_with_what_was_read(server: Scripted) -> None:
    server.boxes["INBOX"] = boxed(*range(1, 9))
    reader = Reader(server.port)
    passing = reader.stream(batch=2)
    next(passing)
    passing.close()  # type: ignore[attr-defined]
    server.boxes["INBOX"].validity = 8
    found = [change.item.title for change in reader.read() if isinstance(change, Observed)]
    assert sorted(found) == titles(*range(1, 7))
    assert reader.titles() == titles(*range(1, 9))
    assert reader.read() == []


def test_a_server_that_lost_everything_takes_nothing_away(server: Scripted) -> None:
    server.boxes["INBOX"] = boxed(*range(1, 4))
    reader = Reader(server.port)
    reader.read()
    server.boxes["INBOX"] = Box(validity=8)
    with pytest.raises(SuspiciousDeletion, match="UIDVALIDITY changed"):
        reader.read()
    server.boxes = {}
    server.listing = [b"* LIST () NIL Other"]
    with pytest.raises(Unavailable):
        reader.read()
    assert reader.titles() == titles(1, 2, 3)
    server.listing, server.boxes = None, {"INBOX": boxed(1, 2, 3)}
    reader.read()
    assert reader.titles() == titles(1, 2, 3)


def gmail(server: Scripted, labels: Mapping[int, str]) -> Box:
    server.capabilities += " X-GM-EXT-1"
    everything = boxed(*labels)
    everything.labels = dict(labels)
    everything.flags = "\\All"
    others = {
        "INBOX": Box(),
        "[Gmail]/Important": Box(flags="\\Important"),
        "[Gmail]/Sent Mail": Box(flags="\\Sent"),
        "Work/Réports": Box(),
        "[Gmail]/Spam": boxed(66),
    }
    server.boxes = {**others, "[Gmail]/All Mail": everything}
    server.boxes["[Gmail]/Spam"].flags = "\\Junk"
    names = {name: name.replace("é", "&AOk-") for name in server.boxes}
    server.boxes = {names[name]: box for name, box in server.boxes.items()}
    return everything


ALL, SENT, WORK = "[Gmail]/All Mail", "[Gmail]/Sent Mail", "Work/Réports"


def test_gmail_is_one_item_with_a_place_for_each_label_and_fetched_once(server: Scripted) -> None:
    gmail(server, {1: '"\\\\Inbox" "Work/R&AOk-ports"', 2: '"\\\\Sent" "\\\\Important"', 3: ""})
    reader = Reader(server.port)
    reader.read()
    places = {reader.items[item]: at for item, at in reader.places.items()}
    assert places == {"Letter 1": {ALL, "INBOX", WORK}, "Letter 2": {ALL, SENT}, "Letter 3": {ALL}}
    assert {place for (_, place), role in reader.roles.items() if role == "sent"} == {SENT}
    assert server.fetched() == ["UID FETCH 1:3 (UID BODY.PEEK[])"]
    assert [line for line in server.lines if line.startswith("EXAMINE")] == [f'EXAMINE "{ALL}"']
    server.lines.clear()
    assert reader.read() == []
    assert len(server.lines) == 7


def test_a_gmail_label_that_comes_or_goes_is_a_place_that_comes_or_goes(server: Scripted) -> None:
    box = gmail(server, {1: '"\\\\Inbox"', 2: '"\\\\Inbox"'})
    reader = Reader(server.port)
    reader.read()
    box.labels[1] = '"Work/R&AOk-ports"'
    box.changed[1] = box.modseq = 5
    server.lines.clear()
    changes = reader.read()
    assert [(type(change), change.place) for change in changes] == [(Sighted, WORK), (Unsighted, "INBOX")]  # type: ignore[union-attr]
    assert server.fetched() == []
    assert "UID FETCH 1:2 (UID X-GM-LABELS) (CHANGEDSINCE 1)" in server.lines
    assert reader.read() == []


def test_a_gmail_message_that_is_deleted_leaves_all_its_places(server: Scripted) -> None:
    box = gmail(server, {1: '"\\\\Inbox"', 2: '"\\\\Inbox" "Work/R&AOk-ports"', 3: ""})
    reader = Reader(server.port)
    reader.read()
    box.messages = {uid: raw for uid, raw in box.messages.items() if uid != 2}
    box.modseq = 9
    assert {change.place for change in reader.read() if isinstance(change, Unsighted)} == {ALL, "INBOX", WORK}
    assert reader.titles() == titles(1, 3)


def test_gmail_without_all_mail_is_read_folder_by_folder(server: Scripted) -> None:
    gmail(server, {1: '"\\\\Inbox"'})
    server.boxes["INBOX"] = boxed(1)
    reader = Reader(server.port, folders=["INBOX", "[Gmail]/Spam"])
    reader.read()
    assert {place for at in reader.places.values() for place in at} == {"INBOX", "[Gmail]/Spam"}


def test_a_server_that_refuses_to_count_changes_is_read_without(server: Scripted) -> None:
    server.script = [("^ENABLE", b"TAG BAD Unknown command\r\n")]
    server.boxes["INBOX"] = boxed(1, 2, 3)
    reader = Reader(server.port)
    reader.read()
    server.boxes["INBOX"] = boxed(1, 3)
    reader.read()
    assert reader.titles() == titles(1, 3)
    assert not [line for line in server.lines if "HIGHESTMODSEQ" in line or "CHANGEDSINCE" in line]
