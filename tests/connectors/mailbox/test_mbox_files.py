"""mbox files as programs write them: where messages begin and end, and what changes from one reading to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxsync.connectors.mailbox import reading
from ctxsync.connectors.mailbox.chunks import name_between
from ctxsync.connectors.mailbox.mbox import cut
from ctxsync.errors import SuspiciousDeletion
from tests.connectors.mailbox.conftest import mbox
from tests.connectors.mailbox.worlds import deep, message, munged

if TYPE_CHECKING:
    import io

    from tests.connectors.mailbox.conftest import Desk

LINE = b"From rosa@example.com Mon Mar  3 10:00:00 2025\n"
# Of lengths that do not add up to each other's: an mbox that grew is told by where its old messages end.
PLAIN = [message(number, body=f"Words {number}." + "x" * (37 * number**3 % 1009)) for number in range(12)]


def test_the_date_of_the_from_line_is_when_a_message_without_date_came(desk: Desk) -> None:
    desk.put("a.mbox", mbox([PLAIN[0].replace(b"Date: Mon, 3 Mar 2025 10:00:00 +0000\n", b"")]))
    (observed, _) = desk.changes()
    assert observed.item.sections[0].occurred_at == 1_740_996_000_000


def test_an_unchanged_mbox_is_not_read_and_an_appended_one_from_its_last_message_on(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []

    def spy(file: io.BufferedReader, at: int, most: int) -> object:
        started.append(at)
        return cut(file, at, most)

    monkeypatch.setattr(reading, "cut", spy)
    desk.put("a.mbox", mbox(PLAIN[:10]))
    assert len(desk.read()) == 20
    assert desk.read() == []
    assert started == [0]
    desk.put("a.mbox", mbox(PLAIN))
    assert desk.read() == [
        (what, f"Message {number}", "a.mbox") for number in (10, 11) for what in ("observed", "sighted")
    ]
    assert started == [0, len(mbox(PLAIN[:9]))]


def test_a_compacted_mbox_doubles_nothing_and_what_was_taken_out_is_gone(desk: Desk) -> None:
    desk.put("a.mbox", mbox(PLAIN))
    desk.read()
    desk.put("a.mbox", mbox([*PLAIN[:2], *PLAIN[4:7], *PLAIN[8:]]))
    assert desk.read() == [("unsighted", f"Message {number}", "a.mbox", "deleted") for number in (2, 3, 7)]
    assert desk.read() == []


def test_an_mbox_that_was_compacted_and_grew_beyond_what_it_was_is_read_anew(desk: Desk) -> None:
    alike = [message(number) for number in range(10)]  # of one length: messages begin where others did
    desk.put("a.mbox", mbox([munged(each) for each in alike[:6]]))
    desk.read()
    desk.put("a.mbox", mbox([munged(each) for each in alike[2:]]))
    said = desk.read()
    assert [change[1] for change in said if change[0] == "observed"] == [f"Message {number}" for number in range(6, 10)]
    assert [change[1] for change in said if change[0] == "unsighted"] == ["Message 0", "Message 1"]


def test_a_file_that_was_just_written_is_looked_at_once_more_at_its_end_only(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    (desk.root / "a.mbox").write_bytes(mbox(PLAIN))
    desk.read()
    started: list[int] = []

    def spy(file: io.BufferedReader, at: int, most: int) -> object:
        started.append(at)
        return cut(file, at, most)

    monkeypatch.setattr(reading, "cut", spy)
    assert desk.read() == []
    assert started == [len(mbox(PLAIN[:11]))]


@given(st.lists(st.integers(0, 1_000), max_size=40))
def test_there_is_always_a_name_between_two_chunks(where: list[int]) -> None:
    names: list[tuple[int, ...]] = [(0,)]
    for number in where:
        at = number % len(names)
        after = names[at + 1] if at + 1 < len(names) else None
        name = name_between(names[at], after)
        assert names[at] < name
        assert after is None or name < after
        names.insert(at + 1, name)


def test_a_reordered_mbox_says_nothing(desk: Desk) -> None:
    desk.put("a.mbox", mbox(PLAIN))
    desk.read()
    for order in ([*PLAIN[6:], *PLAIN[:6]], PLAIN[::-1], PLAIN):
        desk.put("a.mbox", mbox(order))
        assert desk.read() == []
    assert desk.read() == []


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 11), max_size=14), st.integers(0, 6), st.booleans()), min_size=1, max_size=5
    )
)
def test_any_row_of_rewritings_some_of_them_interrupted_leaves_what_the_last_one_holds(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[list[int], int, bool]]
) -> None:
    from tests.connectors.mailbox.conftest import Desk

    desk = Desk(tmp_path_factory.mktemp("any"))
    held: set[str] = set()
    content = b""
    for row, batches, grows in rows:
        new = mbox([PLAIN[number] for number in row])
        content = content + new if grows else new
        desk.put("a.mbox", content)
        for most in (batches, None):
            for change in desk.read(allow_deletes=True, most=most):
                if change[0] == "sighted":
                    assert change[1] not in held
                    held.add(change[1])
                elif change[0] == "unsighted":
                    held.remove(change[1])
        assert held == {f"Message {number}" for number in range(12) if PLAIN[number] in content}
        assert desk.read() == []
        assert not [key for key in desk.cursor if key.startswith("z/")]


def test_copies_in_one_mbox_are_one_item_that_goes_with_the_last(desk: Desk) -> None:
    desk.put("a.mbox", mbox([PLAIN[0], PLAIN[1], PLAIN[0], PLAIN[0]]))
    assert [change[:2] for change in desk.read()] == [
        (what, f"Message {number}") for number in (0, 1) for what in ("observed", "sighted")
    ]
    desk.put("a.mbox", mbox([PLAIN[1], PLAIN[0]]))
    assert desk.read() == []
    desk.put("a.mbox", mbox([PLAIN[1]]))
    assert desk.read() == [("unsighted", "Message 0", "a.mbox", "deleted")]


def test_the_same_message_id_with_other_words_is_another_item(desk: Desk) -> None:
    desk.put("a.mbox", mbox([message(1, body="One."), message(1, body="Two.")]))
    found = desk.changes()
    assert len({change.item.id for change in found[::2]}) == 2


def test_messages_without_a_message_id_are_told_by_what_they_say(desk: Desk) -> None:
    desk.put("a.mbox", mbox([message(1, body=body, message_id="") for body in ("One.", "Two.", "One.")]))
    assert [change[0] for change in desk.read()] == ["observed", "sighted"] * 2


def test_a_message_with_another_subject_or_sender_is_another_message_whatever_its_id(desk: Desk) -> None:
    desk.put("a.mbox", mbox(PLAIN[:3]))
    desk.read()
    desk.put("a.mbox", mbox([PLAIN[0], PLAIN[1].replace(b"Subject: Message 1", b"Subject: Edited"), PLAIN[2]]))
    assert desk.read() == [
        ("observed", "Edited", "a.mbox"),
        ("sighted", "Edited", "a.mbox"),
        ("unsighted", "Message 1", "a.mbox", "deleted"),
    ]


def test_flags_that_mail_programs_write_into_an_mbox_are_no_content(desk: Desk) -> None:
    desk.put("a.mbox", mbox([b"X-Mozilla-Status: 0000\n" + each for each in PLAIN]))
    desk.read()
    desk.put("a.mbox", mbox([b"X-Mozilla-Status: 0001\nStatus: RO\n" + each for each in PLAIN]))
    assert desk.read() == []


def test_what_thunderbird_deleted_and_did_not_compact_yet_is_gone(desk: Desk) -> None:
    desk.put("a.mbox", mbox([b"X-Mozilla-Status: 0001\n" + each for each in PLAIN[:3]]))
    desk.read()
    states = (b"0001", b"0009", b"0001")
    desk.put("a.mbox", mbox([b"X-Mozilla-Status: " + s + b"\n" + m for s, m in zip(states, PLAIN, strict=False)]))
    assert desk.read() == [("unsighted", "Message 1", "a.mbox", "deleted")]


def test_a_half_copied_mbox_gives_what_is_whole_and_the_rest_when_it_grows(desk: Desk) -> None:
    whole = mbox(PLAIN[:4])
    desk.put("a.mbox", whole[: len(mbox(PLAIN[:2])) + 200])
    found = desk.read()
    assert [change[1] for change in found if change[0] == "observed"] == ["Message 0", "Message 1"]
    place = f"a.mbox#{len(mbox(PLAIN[:2]))}"
    assert found[-1] == ("quarantined", place)
    assert desk.read() == []
    desk.put("a.mbox", whole)
    assert desk.read() == [
        ("observed", "Message 2", "a.mbox"),
        ("sighted", "Message 2", "a.mbox"),
        ("released", place),
        ("observed", "Message 3", "a.mbox"),
        ("sighted", "Message 3", "a.mbox"),
    ]


def test_a_last_message_without_line_end_can_be_had_on_request(desk: Desk) -> None:
    desk.put("a.mbox", mbox(PLAIN[:2]).rstrip(b"\n"))
    assert desk.read()[-1][0] == "quarantined"
    assert [change[0] for change in desk.read(retry_quarantined=True)] == ["observed", "sighted", "released"]
    assert desk.read() == []


def test_a_bad_message_in_the_middle_is_quarantined_by_its_offset_and_stops_nothing(desk: Desk) -> None:
    desk.put("a.mbox", mbox([PLAIN[0], deep(200), PLAIN[1]]))
    place = f"a.mbox#{len(mbox(PLAIN[:1]))}"
    assert [change[0] for change in desk.read()] == ["observed", "sighted", "quarantined", "observed", "sighted"]
    assert desk.read() == desk.read(retry_quarantined=True) == []
    desk.put("a.mbox", mbox([deep(200), PLAIN[0], PLAIN[1]]))  # the same, elsewhere
    assert sorted(desk.read()) == [("quarantined", "a.mbox#0"), ("released", place)]
    desk.put("a.mbox", mbox(PLAIN[:2]))
    assert desk.read() == [("released", "a.mbox#0")]


def test_the_breaker_looks_at_each_mbox(desk: Desk) -> None:
    many = [message(number) for number in range(200)]
    desk.put("a.mbox", mbox(PLAIN[:5]))
    desk.put("b.mbox", mbox([munged(each) for each in many]))
    desk.read(batch=50)
    desk.put("a.mbox", b"")
    desk.put("b.mbox", mbox([munged(each) for each in many[1:]]))
    with pytest.raises(SuspiciousDeletion, match=r"5 of 5 messages of `mine` in a\.mbox") as caught:
        desk.read()
    assert caught.value.remedy == "If they were meant to go, run `ctxsync sync --allow-deletes mine`."
    with pytest.raises(SuspiciousDeletion):
        desk.read()
    assert [change[0] for change in desk.read(allow_deletes=True)] == ["unsighted"] * 5
    assert desk.read() == []


def test_an_mbox_that_is_gone_takes_its_messages_along_and_a_renamed_one_keeps_them(desk: Desk) -> None:
    desk.put("a.mbox", mbox(PLAIN[:1]))
    desk.put("b.mbox", mbox(PLAIN[1:]))
    desk.read()
    (desk.root / "a.mbox").rename(desk.root / "c.mbox")
    assert desk.read() == [("sighted", "Message 0", "c.mbox"), ("unsighted", "Message 0", "a.mbox", "deleted")]
    (desk.root / "c.mbox").unlink()
    assert desk.read() == [("unsighted", "Message 0", "c.mbox", "deleted")]
