"""A real server's folders become items, with the commands that the server saw: one test a line of what broke real tools."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from ctxsync.connectors.base import Observed, Quarantined, Released, Sighted, Unsighted, item_fingerprint
from ctxsync.errors import SuspiciousDeletion
from tests.connectors.imap.conftest import Mail, letter

if TYPE_CHECKING:
    from ctxsync.connectors.base import Change

TOO_DEEP = b"".join(
    b'Content-Type: multipart/mixed; boundary="b%d"\r\n\r\n--b%d\r\n' % (depth, depth) for depth in range(300)
)


def hidden(*capabilities: bytes):  # type: ignore[no-untyped-def]
    """Return a fault that takes capabilities out of what the server says."""

    def without(data: bytes) -> bytes:
        for capability in capabilities:
            data = data.replace(b" " + capability, b"")
        return data

    return without


def lost(changes: list[Change]) -> set[str]:
    """Return items that were, at any moment, gone from the last place that these changes gave them."""
    at: dict[str, int] = {}
    for change in changes:
        if isinstance(change, Sighted):
            at[change.item] = at.get(change.item, 0) + 1
        elif isinstance(change, Unsighted):
            at[change.item] = at.get(change.item, 0) - 1
    return {item for item, places in at.items() if places < 0}


def test_a_first_pass_reads_every_folder_newest_first_and_changes_no_flag(mail: Mail) -> None:
    mail.put(*(letter(n) for n in range(1, 6)))
    mail.put(letter("s"), folder="Sent")
    changes = mail.read(batch=2)
    titles = [c.item.title for c in changes if isinstance(c, Observed)]
    assert titles == [*(f"Letter {n}" for n in (5, 4, 3, 2, 1)), "Letter s"]
    assert mail.titles("INBOX") == [f"Letter {n}" for n in range(1, 6)]
    assert {c.role for c in changes if isinstance(c, Sighted) and c.place == "Sent"} == {"sent"}
    assert {c.role for c in changes if isinstance(c, Sighted) and c.place == "INBOX"} == {""}
    assert 'EXAMINE "INBOX"' in mail.commands()
    with mail.server.client(mail.user) as client:
        client.select_folder("INBOX")
        assert {flag for flags in client.get_flags([1, 2, 3, 4, 5]).values() for flag in flags} <= {b"\\Recent"}


def test_a_second_pass_with_nothing_new_asks_for_the_counters_of_each_folder_and_no_more(mail: Mail) -> None:
    mail.put(*(letter(n) for n in range(5)))
    mail.put(letter("s"), folder="Sent")
    mail.read()
    mail.wire.clear()
    assert mail.read() == []
    assert [command.split(" (")[0] for command in mail.commands()] == [
        "CAPABILITY",
        "LOGIN",
        "ENABLE QRESYNC",
        'LIST "" "*"',
        'STATUS "INBOX"',
        'STATUS "Sent"',
        "LOGOUT",
    ]


def test_a_flag_that_changes_is_no_content(mail: Mail) -> None:
    mail.put(letter(1), letter(2))
    mail.read()
    with mail.server.client(mail.user) as client:
        client.select_folder("INBOX")
        client.set_flags([1, 2], [b"\\Seen", b"\\Flagged", b"custom"])
    mail.wire.clear()
    assert mail.read() == []
    assert not any("FETCH" in command for command in mail.commands())


def test_a_changed_uidvalidity_finds_the_same_messages_again_none_new_and_none_gone(mail: Mail) -> None:
    messages = [letter(n) for n in range(30)]
    mail.put(*messages, folder="Work")
    mail.read()
    held = dict(mail.places)
    with mail.server.client(mail.user) as client:
        before = client.folder_status("Work", ["UIDVALIDITY"])[b"UIDVALIDITY"]
        client.delete_folder("Work")
        client.create_folder("Work")
        assert client.folder_status("Work", ["UIDVALIDITY"])[b"UIDVALIDITY"] != before
    mail.put(*reversed(messages), folder="Work")
    mail.wire.clear()
    assert mail.read(batch=7) == []
    assert mail.places == held
    assert "UID FETCH 30 (UID BODY.PEEK[])" not in mail.commands()
    assert sum("BODY.PEEK[]" in command for command in mail.commands()) == 5
    assert not any(":1:" in key or str(before) in key for key in mail.cursor if key.startswith("uids"))
    mail.wire.clear()
    assert mail.read() == []
    assert not any("EXAMINE" in command for command in mail.commands())


def test_a_rebuilt_folder_that_lacks_one_message_waits_for_the_person(mail: Mail) -> None:
    mail.put(*(letter(n) for n in range(5)), folder="Work")
    mail.read()
    with mail.server.client(mail.user) as client:
        client.delete_folder("Work")
    mail.put(*(letter(n) for n in range(1, 6)), folder="Work")
    with pytest.raises(SuspiciousDeletion, match=r"built the folder Work anew .* 1 of its 5") as caught:
        mail.read()
    assert "--allow-deletes work" in caught.value.remedy
    assert mail.titles() == [f"Letter {n}" for n in range(6)]
    with pytest.raises(SuspiciousDeletion):
        mail.read()
    (gone,) = mail.read(allow_deletes=True)
    assert isinstance(gone, Unsighted)
    assert mail.titles() == [f"Letter {n}" for n in range(1, 6)]
    assert mail.read() == []


def test_cursors_hold_uids_so_that_an_expunge_shifts_nothing(mail: Mail) -> None:
    mail.put(*(letter(n) for n in range(1, 7)))
    mail.read()
    mail.expunge(1, 2)
    mail.put(letter("new"))
    mail.wire.clear()
    changes = mail.read()
    assert [c.item.title for c in changes if isinstance(c, Observed)] == ["Letter new"]
    assert mail.titles() == [f"Letter {n}" for n in (3, 4, 5, 6, "new")]
    said = mail.commands()
    assert "UID FETCH 7 (UID BODY.PEEK[])" in said
    assert not [command for command in said if command.startswith(("FETCH", "SEARCH"))]


@pytest.mark.parametrize("qresync", [True, False])
def test_what_is_expunged_is_gone_by_qresync_or_else_by_the_difference_of_uids(mail: Mail, qresync: bool) -> None:
    if not qresync:
        mail.wire.fault = hidden(b"QRESYNC", b"CONDSTORE")
    mail.put(*(letter(n) for n in range(1, 7)))
    mail.read()
    mail.expunge(2, 3, 6)
    mail.wire.clear()
    changes = mail.read()
    assert [type(change) for change in changes] == [Unsighted] * 3
    assert mail.titles() == [f"Letter {n}" for n in (1, 4, 5)]
    said = mail.commands()
    assert any("VANISHED" in command for command in said) == qresync
    assert ("UID SEARCH UID 1:6" in said) != qresync
    assert not any("BODY" in command for command in said)


def test_a_copy_that_goes_takes_nothing_while_another_is_in_the_folder(mail: Mail) -> None:
    mail.put(letter(1), letter(1), letter(2))
    assert sum(isinstance(change, Observed) for change in mail.read()) == 2
    mail.expunge(1)
    assert mail.read() == []
    mail.expunge(2)
    assert [type(change) for change in mail.read()] == [Unsighted]
    assert mail.titles() == ["Letter 2"]


def test_change_counters_are_enabled_before_any_folder_is_selected(mail: Mail) -> None:
    mail.put(letter(1))
    mail.read()
    said = mail.commands()
    assert said.index("ENABLE QRESYNC") < said.index('EXAMINE "INBOX"')
    assert mail.cursor["folder:INBOX"][2] > 0  # type: ignore[index,operator]


@pytest.mark.parametrize(("source", "target"), [("INBOX", "Archive"), ("Archive", "INBOX")])
def test_a_message_that_moves_is_never_without_a_place(mail: Mail, source: str, target: str) -> None:
    mail.put(*(letter(n) for n in range(30)), folder=source)
    mail.put(letter("other"), folder=target)
    mail.read()
    with mail.server.client(mail.user) as client:
        client.select_folder(source)
        client.move(list(range(1, 26)), target)
    mail.wire.clear()
    changes = mail.read(batch=4)  # far over the breaker's share, and nothing is lost
    kinds = [type(change) for change in changes]
    assert kinds.index(Unsighted) > max(n for n, kind in enumerate(kinds) if kind is Sighted)
    assert lost(changes) == set()
    assert len(mail.titles(source)) == 5
    assert len(mail.titles(target)) == 26
    assert mail.commands().count(f'EXAMINE "{target}"') == 1


def test_a_message_that_moves_to_a_folder_while_it_was_read_already_is_found_there(mail: Mail) -> None:
    mail.put(letter(1))
    mail.put(letter(2), letter(3), folder="Archive")
    mail.read()
    mail.put(letter(4))
    seen: list[Change] = []
    for batch in mail.stream():
        if not seen:  # INBOX is being read
            with mail.server.client(mail.user) as client:
                client.select_folder("Archive")
                client.move([1], "INBOX")
        seen += batch.changes
    assert mail.titles("INBOX") == ["Letter 1", "Letter 2", "Letter 4"]
    assert mail.titles("Archive") == ["Letter 3"]
    assert lost(seen) == set()
    assert mail.read() == []


def test_a_folder_that_is_renamed_is_a_move_of_all_its_messages(mail: Mail) -> None:
    mail.put(letter(0))
    mail.put(*(letter(n) for n in range(1, 31)), folder="Work")
    mail.read()
    with mail.server.client(mail.user) as client:
        client.rename_folder("Work", "Jobs")
    assert lost(mail.read()) == set()
    assert len(mail.titles("Jobs")) == 30
    assert mail.titles("Work") == []
    assert mail.read() == []
    assert not any("Work" in key for key in mail.cursor)


def test_a_folder_that_vanished_takes_no_message_with_it_until_the_person_says_so(mail: Mail) -> None:
    mail.put(letter(1))
    mail.put(letter(2), folder="Work")
    mail.read()
    with mail.server.client(mail.user) as client:
        client.delete_folder("Work")
    mail.put(letter(3))
    with pytest.raises(SuspiciousDeletion, match=r"The folder Work is no longer there, and 1 of its 1") as caught:
        mail.read()
    assert "ctxsync sync --allow-deletes work" in caught.value.remedy
    assert mail.titles() == ["Letter 1", "Letter 2", "Letter 3"]
    assert [type(change) for change in mail.read(allow_deletes=True)] == [Unsighted]
    assert mail.read() == []


def test_a_folder_that_is_left_out_by_the_settings_is_left_behind_with_that_reason(mail: Mail) -> None:
    mail.put(letter(1))
    mail.put(letter(2), folder="Work")
    mail.read()
    mail.settings["exclude"] = ["Work"]
    (gone,) = mail.read()
    assert isinstance(gone, Unsighted)
    assert (gone.place, gone.reason) == ("Work", "excluded")
    assert mail.read() == []


def test_an_emptied_folder_is_ordinary_and_an_emptied_account_is_not(mail: Mail) -> None:
    mail.put(letter(1), letter(2))
    mail.put(letter(3), letter(4), letter(5), folder="Work")
    mail.read()
    mail.expunge(1, 2)
    assert [type(change) for change in mail.read()] == [Unsighted] * 2
    mail.expunge(1, 2, 3, folder="Work")
    with pytest.raises(SuspiciousDeletion, match="3 of 3 messages of work are gone"):
        mail.read()
    assert len(mail.titles()) == 3


def test_a_message_without_a_usable_date_is_of_the_day_it_came(mail: Mail) -> None:
    came = datetime(2023, 5, 6, 7, 8, 9, tzinfo=UTC)
    with mail.server.client(mail.user) as client:
        client.append("INBOX", letter(1).replace(b"Date: Fri, 01 Mar 2024", b"Date: Some, 99 Day 2024"), (), came)
        client.append("INBOX", letter(2).replace(b"Date: ", b"X-Date: "), (), came)
    found = [change.item for change in mail.read() if isinstance(change, Observed)]
    assert {item.sections[0].occurred_at for item in found} == {int(came.timestamp() * 1000)}
    assert any("INTERNALDATE" in command for command in mail.commands())


def test_a_message_that_is_gone_before_it_is_fetched_is_left_out_and_the_others_come(mail: Mail) -> None:
    mail.put(*(letter(n) for n in range(1, 5)))
    for number, _ in enumerate(mail.stream(batch=1)):
        if number == 0:
            mail.expunge(2)
    assert mail.titles() == ["Letter 1", "Letter 3", "Letter 4"]
    assert mail.read() == []
    assert mail.titles() == ["Letter 1", "Letter 3", "Letter 4"]


def test_broken_structure_does_not_matter_for_the_server_is_never_asked_for_it(mail: Mail) -> None:
    broken = letter(1).replace(b'text/plain; charset="utf-8"', b'multipart/mixed; boundary="never')
    mail.put(broken, letter(2))
    mail.read()
    assert len(mail.titles()) + len(mail.bad) == 2
    assert not [command for command in mail.commands() if "STRUCTURE" in command or "ENVELOPE" in command]


def test_names_in_every_spelling_are_places_that_people_read(mail: Mail) -> None:
    names = ["Büro/Anträge & Co", 'say "hello"', "[Lists]/a[b]c", "2024", "日本語", "back\\slash", "a*b%c"]
    for number, name in enumerate(names):
        if "*" in name:
            continue
        mail.put(letter(number), folder=name)
    mail.read()
    places = {place for at in mail.places.values() for place in at}
    assert places == set(names[:-1])
    assert 'EXAMINE "B&APw-ro/Antr&AOQ-ge &- Co"' in mail.commands()
    assert 'EXAMINE "say \\"hello\\""' in mail.commands()
    mail.wire.clear()
    assert mail.read() == []


def test_spam_is_read_only_when_it_is_named_and_patterns_take_brackets_as_they_are(mail: Mail) -> None:
    for number, name in enumerate(["INBOX", "Junk", "Trash", "[Lists]/one", "[Lists]/two"]):
        mail.put(letter(number), folder=name)

    def places(*folders: str, exclude: tuple[str, ...] = ()) -> set[str]:
        one = Mail(mail.server, mail.wire)
        one.settings |= {"user": mail.user, "folders": list(folders), "exclude": list(exclude)}
        one.read()
        return {place for at in one.places.values() for place in at}

    assert places() == {"INBOX", "[Lists]/one", "[Lists]/two"}
    assert places("*") == places()
    assert places("inbox", "junk") == {"INBOX", "Junk"}
    assert places("[Lists]/*", exclude=("*/TWO",)) == {"[Lists]/one"}


def test_since_leaves_older_mail_alone_and_an_earlier_day_fetches_it_then(mail: Mail) -> None:
    with mail.server.client(mail.user) as client:
        for year in (2020, 2021, 2022):
            client.append("INBOX", letter(year), (), datetime(year, 6, 1, tzinfo=UTC))
    mail.settings["since"] = "2021-02-03"
    mail.read()
    assert mail.titles() == ["Letter 2021", "Letter 2022"]
    assert "UID SEARCH UID 1:3 SINCE 3-Feb-2021" in mail.commands()
    mail.wire.clear()
    assert mail.read() == []
    assert not any("EXAMINE" in command for command in mail.commands())
    mail.expunge(1)
    assert mail.read() == []  # it was never read
    mail.expunge(2)
    mail.settings["since"] = "2019-01-01"
    mail.put(letter("last"))
    mail.read()
    assert mail.titles() == ["Letter 2022", "Letter last"]


def test_an_interrupted_backfill_goes_on_where_it_stopped_with_new_mail_first(mail: Mail) -> None:
    mail.put(*(letter(n) for n in range(1, 21)))
    stopped = mail.stream(batch=3)
    for _ in range(3):
        next(stopped)
    stopped.close()  # type: ignore[attr-defined]
    assert mail.titles() == sorted(f"Letter {n}" for n in range(12, 21))
    mail.put(letter(21))
    mail.wire.clear()
    found = [c.item.title for c in mail.read(batch=3) if isinstance(c, Observed)]
    assert found == [f"Letter {n}" for n in (21, *range(11, 0, -1))]
    assert len(mail.titles()) == 21
    mail.commands()


def test_one_unreadable_message_is_in_quarantine_and_tried_again_when_asked(mail: Mail) -> None:
    mail.put(letter(1), TOO_DEEP, letter(2))
    changes = mail.read()
    (bad,) = [change for change in changes if isinstance(change, Quarantined)]
    assert len(bad.raw_digest) == 64
    assert bad.place == f"INBOX#{bad.raw_digest[:16]}"
    assert mail.titles() == ["Letter 1", "Letter 2"]
    assert mail.read() == []
    assert [type(change) for change in mail.read(retry_quarantined=True)] == [Quarantined]
    mail.expunge(2)
    assert mail.read() == [Released(bad.place)]
    assert mail.read(retry_quarantined=True) == []


def test_a_large_message_is_cut_behind_max_body_and_says_so(mail: Mail) -> None:
    mail.put(letter("big", "words " * 20 + "\n" + ("x" * 70 + "\n") * 300), letter("small"))
    mail.settings["max_body"] = 2_000
    found = {change.item.title: change.item for change in mail.read() if isinstance(change, Observed)}
    assert "message-cut" in found["Letter big"].flags
    assert found["Letter big"].sections[0].text.startswith("words words")
    assert "UID FETCH 1 (UID BODY.PEEK[]<0.2001>)" in mail.commands()
    assert mail.read() == []


def test_content_is_the_same_whatever_line_ends_and_charset_say(mail: Mail) -> None:
    with mail.server.client(mail.user) as client:
        client.append("INBOX", letter(1, "Grüße\n"))
        client.create_folder("Copies")
        client.append("Copies", letter(1, "Grüße\n").replace(b"utf-8", b"UTF-8").replace(b"8bit", b"8BIT"))
        client.append("Copies", letter(2, "x").replace(b'"utf-8"', b'"utf-8 euao6y69zh2w"'))
    found = [change.item for change in mail.read() if isinstance(change, Observed)]
    prints = {item.id: item_fingerprint(item) for item in found if item.title == "Letter 1"}
    assert len(prints) == 1
    assert len(set(prints.values())) == 1
    assert any("Grüße" in item.sections[0].text for item in found)
    assert len(mail.titles()) == 2
