"""Maildirs, `.eml` folders, Takeout, and all of them together: places, roles, what is left out, and one item for one mail."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from ctxsync.connectors.base import Observed, Options, Stream
from ctxsync.connectors.mailbox import MailboxConnector
from ctxsync.errors import BadItem, ConfigError, Unavailable
from tests.connectors.mailbox.conftest import mbox
from tests.connectors.mailbox.worlds import deep, message, munged

if TYPE_CHECKING:
    from pathlib import Path

    from tests.connectors.mailbox.conftest import Desk

PLAIN = [message(number, body=f"Words {number}.") for number in range(12)]


def maildir(desk: Desk, *folders: str) -> None:
    for folder in ("", *folders):
        for part in ("cur", "new", "tmp"):
            (desk.root / folder / part).mkdir(parents=True, exist_ok=True)


def test_the_same_mail_is_the_same_item_in_every_kind_of_store(desk: Desk) -> None:
    raw = message(1, body="From me.\n\nFrom you, too.\n> From all.")
    desk.put("box.mbox", mbox([munged(raw)]))
    desk.put("dir/cur/1.a:2,S", raw.replace(b"\n", b"\r\n"))
    (desk.root / "dir/new").mkdir()
    desk.put("single.eml", raw)
    desk.put("apple.emlx", b"%d\n" % len(raw) + raw + b"<?xml version='1.0'?><plist/>")
    changes = desk.read()
    assert changes == [
        ("observed", "Message 1", "apple.emlx"),
        ("sighted", "Message 1", "apple.emlx"),
        ("sighted", "Message 1", "dir"),
        ("sighted", "Message 1", "single.eml"),
        ("sighted", "Message 1", "box.mbox"),
    ]


def test_a_maildir_has_its_folders_for_places_and_flags_are_no_content(desk: Desk) -> None:
    maildir(desk, ".Work", ".Sent")
    desk.put("new/1.a", PLAIN[1])
    desk.put(".Work/cur/2.b:2,S", PLAIN[2])
    desk.put(".Sent/cur/3.c:2,S", PLAIN[3])
    assert desk.read() == [
        ("observed", "Message 3", ".Sent"),
        ("sighted", "Message 3", ".Sent", "sent"),
        ("observed", "Message 2", ".Work"),
        ("sighted", "Message 2", ".Work"),
        ("observed", "Message 1", "INBOX"),
        ("sighted", "Message 1", "INBOX"),
    ]
    (desk.root / "new/1.a").rename(desk.root / "cur/1.a:2,FS")
    (desk.root / ".Work/cur/2.b:2,S").rename(desk.root / ".Work/cur/2.b:2,RS")
    assert desk.read() == []


def test_a_folder_of_sent_mail_is_known_in_modified_utf7(desk: Desk) -> None:
    maildir(desk, ".&AMk-l&AOk-ments envoy&AOk-s")
    desk.put(".&AMk-l&AOk-ments envoy&AOk-s/cur/1.a:2,S", PLAIN[0])
    assert desk.read()[-1][-1] == "sent"


def test_a_message_moved_between_folders_is_a_move(desk: Desk) -> None:
    maildir(desk, ".Archive", ".Sent")
    for number in range(4):
        desk.put(f"cur/{number}.x:2,S", PLAIN[number])
    desk.read()
    (desk.root / "cur/0.x:2,S").rename(desk.root / ".Archive/cur/90.x:2,S")
    assert desk.read() == [("moved", "Message 0", "INBOX", ".Archive")]
    assert desk.read() == []
    (desk.root / "cur/1.x:2,S").rename(desk.root / ".Sent/cur/91.x:2,S")  # there a sighting says more
    assert desk.read() == [("sighted", "Message 1", ".Sent", "sent"), ("unsighted", "Message 1", "INBOX", "deleted")]


def test_a_message_in_two_folders_goes_with_the_last(desk: Desk) -> None:
    maildir(desk, ".Archive")
    desk.put("cur/1.a:2,S", PLAIN[0])
    desk.put("cur/1.b:2,S", PLAIN[0])
    desk.put(".Archive/cur/1.c:2,S", PLAIN[0])
    desk.put("cur/2.a:2,S", PLAIN[1])
    assert [change[0] for change in desk.read()].count("observed") == 2
    (desk.root / "cur/1.a:2,S").unlink()
    assert desk.read() == []
    (desk.root / "cur/1.b:2,S").unlink()
    assert desk.read() == [("unsighted", "Message 0", "INBOX", "deleted")]


def test_takeout_has_its_labels_for_places_and_leaves_spam_and_trash_out(desk: Desk) -> None:
    labels = [
        'Inbox,Important,Opened,"Category, odd",Garden/Beans',
        "Sent,Archived",
        "Spam,Unread",
        "=?UTF-8?Q?Papierkorb,Ge=C3=B6ffnet?=",
        "Archived,Unread,Category updates",
    ]
    raws = [f"X-GM-THRID: 1\nX-Gmail-Labels: {label}\n".encode() + PLAIN[n] for n, label in enumerate(labels)]
    desk.put("Takeout/Mail/All mail.mbox", mbox(raws))
    box = "Takeout/Mail/All mail.mbox"
    assert desk.read() == [
        ("observed", "Message 0", "Inbox"),
        ("sighted", "Message 0", "Inbox"),
        ("sighted", "Message 0", "Category, odd"),
        ("sighted", "Message 0", "Garden/Beans"),
        ("observed", "Message 1", "Sent"),
        ("sighted", "Message 1", "Sent", "sent"),
        ("observed", "Message 4", box),
        ("sighted", "Message 4", box),
    ]
    assert desk.skipped["spam and trash"] == 2
    raws[0] = raws[0].replace(b"Inbox,", b"")
    raws[1] = raws[1].replace(b"Sent,Archived", b"Trash")
    desk.put(box, mbox(raws))
    assert desk.read() == [
        ("unsighted", "Message 0", "Inbox", "deleted"),
        ("unsighted", "Message 1", "Sent", "deleted"),
    ]


def test_a_message_of_takeout_that_becomes_readable_is_where_its_labels_are(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a newer parser: the bytes are the same."""

    def refuse(*_: object, **__: object) -> None:
        raise BadItem("It cannot be read yet.")

    raws = [f"X-Gmail-Labels: {label}\n".encode() + PLAIN[n] for n, label in enumerate(("Garden", "Sent", "Sent"))]
    desk.put("All mail.mbox", mbox(raws))
    with monkeypatch.context() as patch:
        patch.setattr("ctxsync.connectors.mailbox.passing.mail_item", refuse)
        assert [change[0] for change in desk.read(batch=2)] == ["quarantined"] * 3
    found = [change for change in desk.read(batch=2, retry_quarantined=True) if change[0] == "sighted"]
    assert found == [
        ("sighted", "Message 0", "Garden"),
        ("sighted", "Message 1", "Sent", "sent"),
        ("sighted", "Message 2", "Sent", "sent"),
    ]
    assert desk.read(batch=2, retry_quarantined=True) == []


def test_folders_of_spam_and_trash_are_left_out_unless_they_are_named(desk: Desk) -> None:
    desk.put("Spam.mbox", mbox(PLAIN[:1]))
    desk.put("Junk/old.mbox", mbox(PLAIN[1:2]))
    desk.put("Papierkorb", mbox(PLAIN[2:3]))
    desk.put("trash.eml", PLAIN[3])
    desk.put("Inbox.mbox", mbox(PLAIN[4:5]))
    assert [change[1] for change in desk.read() if change[0] == "observed"] == ["Message 3", "Message 4"]
    assert desk.skipped["spam and trash"] == 3
    desk.settings = {"include": ["Spam.mbox", "Inbox.mbox", "trash.eml"]}
    assert [change[:2] for change in desk.read()] == [("observed", "Message 0"), ("sighted", "Message 0")]


def test_excluded_paths_are_not_read_and_go_when_they_are_excluded_later(desk: Desk) -> None:
    desk.put("a.mbox", mbox(PLAIN[:2]))
    desk.put("private/b.mbox", mbox(PLAIN[2:3]))
    desk.read()
    desk.settings = {"exclude": ["private/"]}
    assert desk.read() == [("unsighted", "Message 2", "private/b.mbox", "excluded")]


def test_messages_before_since_are_not_read(desk: Desk) -> None:
    old = PLAIN[0].replace(b"2025", b"2015")
    desk.put("a.mbox", mbox([old, PLAIN[1]]))
    desk.put("b.eml", PLAIN[2].replace(b"2025", b"2015"))
    desk.settings = {"since": "2024-01-31"}
    assert [change[1] for change in desk.read()] == ["Message 1", "Message 1"]
    assert desk.read() == []
    desk.settings = {}
    assert {change[1] for change in desk.read()} == {"Message 0", "Message 2"}


def test_what_is_longer_than_max_body_is_cut_and_flagged(desk: Desk) -> None:
    desk.settings = {"max_body": 2_000}
    desk.put("a.mbox", mbox([message(1, body="Words of the letter. " * 1_000)]))
    desk.put("b.eml", message(1, body="Words of the letter. " * 1_000))
    found = [change for change in desk.changes() if isinstance(change, Observed)]
    assert [change.item.flags for change in found] == [("message-cut",)]


def test_files_that_are_no_mail_are_counted_by_kind(desk: Desk) -> None:
    desk.put("a.eml", PLAIN[0])
    desk.put("index.msf", b"x")
    desk.put("photo.jpg", b"\xff\xd8")
    desk.put("README", b"read me")
    desk.read()
    assert desk.skipped == {".msf": 1, ".jpg": 1, "(none)": 1}


def test_messages_whose_names_tell_nothing_are_known_by_their_first_lines(desk: Desk) -> None:
    desk.put("mh/1", PLAIN[0])
    desk.put("mh/2.", PLAIN[1])
    desk.put("letter", PLAIN[2])
    desk.put("notes", b"Note: this is no mail\n\nfrom here on\n")
    assert {change[1] for change in desk.read() if change[0] == "observed"} == {"Message 0", "Message 1", "Message 2"}
    assert desk.skipped == {"(none)": 1}


def test_a_maildir_that_lost_its_empty_folders_is_one_and_what_lies_beside_its_messages_is_read(desk: Desk) -> None:
    desk.put("lists/cur/1700000000.M1P1.host:2,S", PLAIN[0])
    desk.put("lists/stray", PLAIN[1])
    desk.put("lists/dovecot-uidlist", b"3 V1 N2\n")
    assert [change for change in desk.read() if change[0] == "sighted"] == [
        ("sighted", "Message 0", "lists"),
        ("sighted", "Message 1", "lists/stray"),
    ]
    assert desk.skipped == {}


def test_an_mbox_that_is_none_stands_in_quarantine_until_it_is_one(desk: Desk) -> None:
    desk.put("a.mbox", b"not what it says")
    desk.put("b.mbox", mbox(PLAIN[:1]))
    assert desk.read()[-1] == ("quarantined", "a.mbox")
    assert desk.read() == []
    desk.put("a.mbox", mbox(PLAIN[1:2]))
    assert desk.read() == [
        ("observed", "Message 1", "a.mbox"),
        ("sighted", "Message 1", "a.mbox"),
        ("released", "a.mbox"),
    ]


def test_a_bad_file_is_tried_again_when_its_bytes_change(desk: Desk) -> None:
    desk.put("a.eml", deep(200))
    assert desk.read() == [("quarantined", "a.eml")]
    assert desk.read() == []
    desk.put("a.eml", PLAIN[0])
    assert desk.read() == [("released", "a.eml"), ("observed", "Message 0", "a.eml"), ("sighted", "Message 0", "a.eml")]
    desk.put("a.eml", deep(200))
    (bad,) = desk.changes()
    assert (bad.place, bad.item[:5]) == ("a.eml", "mail:")  # its last good version keeps its sighting
    desk.put("a.eml", PLAIN[0])
    assert desk.read() == [("released", "a.eml")]


def test_links_in_a_circle_end(desk: Desk) -> None:
    desk.put("sub/a.eml", PLAIN[0])
    (desk.root / "sub/again").symlink_to(desk.root)
    (desk.root / "nowhere.eml").symlink_to(desk.root / "gone")
    assert [change[0] for change in desk.read()] == ["observed", "sighted", "quarantined"]


@pytest.mark.parametrize("form", ["mbox", "eml", "maildir"])
def test_the_source_may_be_the_store_itself(desk: Desk, form: str) -> None:
    maildir(desk)
    paths = {
        "mbox": desk.put("All mail.mbox", mbox(PLAIN[:1])),
        "eml": desk.put("one.eml", PLAIN[0]),
        "maildir": desk.put("cur/1.a:2,", PLAIN[0]).parent.parent,
    }
    place = {"mbox": "All mail.mbox", "eml": "one.eml", "maildir": "INBOX"}[form]
    (desk.root / "one.eml").rename(desk.root.parent / "one.eml")
    (desk.root / "All mail.mbox").rename(desk.root.parent / "All mail.mbox")
    path = paths[form] if form == "maildir" else desk.root.parent / place
    assert desk.read(path=path) == [("observed", "Message 0", place), ("sighted", "Message 0", place)]
    assert desk.read(path=path) == []


def test_a_path_that_cannot_be_read_names_itself_and_what_to_run(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no mail")
    for path in (tmp_path / "away", tmp_path / "notes.txt"):
        connector = MailboxConnector("mine", {"path": str(path)}, Options())
        with pytest.raises(Unavailable, match=path.name) as caught:
            list(connector.read(Stream("mine"), None))
        assert "ctxsync sync mine" in caught.value.remedy


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"path": ""},
        {"path": "/x", "since": "soon"},
        {"path": "/x", "max_body": "much"},
        {"path": "/x", "exclude": 1},
    ],
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="mine"):
        MailboxConnector("mine", settings, Options())  # type: ignore[arg-type]


def test_a_delivery_wakes_a_watcher(desk: Desk) -> None:
    maildir(desk)
    woken = threading.Event()
    connector = MailboxConnector("mine", {"path": str(desk.root)}, Options())
    with connector.watch(lambda _: woken.set()):
        desk.put("new/1.a", PLAIN[0])
        assert woken.wait(20)


def test_a_mail_at_the_end_of_an_mbox_wakes_a_watcher(tmp_path: Path) -> None:
    path = tmp_path / "All.mbox"
    path.write_bytes(b"")
    woken = threading.Event()
    with MailboxConnector("mine", {"path": str(path)}, Options()).watch(lambda _: woken.set()):
        with path.open("ab") as file:
            file.write(b"From robin@example.com Mon Mar  4 10:00:00 2024\n" + PLAIN[0] + b"\n")
        assert woken.wait(20)
