"""Labels as places when a pass died, or the server built All Mail anew: no place stays that is none any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ctxsync.errors import SuspiciousDeletion
from tests.connectors.imap.conftest import Reader, letter
from tests.connectors.imap.test_imap_scripted import ALL, WORK, gmail, titles

if TYPE_CHECKING:
    from tests.connectors.imap.scripted import Scripted

INBOX, WORKS = '"\\\\Inbox"', '"Work/R&AOk-ports"'


def places(reader: Reader) -> dict[str, set[str]]:
    return {reader.items[item]: at for item, at in reader.places.items() if at}


def test_a_label_that_changes_between_a_pass_that_died_and_the_next_is_noticed(server: Scripted) -> None:
    box = gmail(server, dict.fromkeys(range(1, 7), INBOX))
    reader = Reader(server.port)
    passing = reader.stream(batch=2)
    next(passing)
    next(passing)
    passing.close()  # type: ignore[attr-defined]
    box.labels[6] = WORKS
    box.changed[6] = box.modseq = 5
    reader.read()
    assert places(reader) == {f"Letter {n}": {ALL, "INBOX"} for n in range(1, 6)} | {"Letter 6": {ALL, WORK}}
    assert reader.read() == []


@pytest.mark.parametrize("found", [True, False])
def test_labels_that_go_while_all_mail_is_built_anew_are_places_no_longer(server: Scripted, found: bool) -> None:
    box = gmail(server, {1: INBOX, 2: f"{INBOX} {WORKS}", 3: "", 4: INBOX})
    reader = Reader(server.port)
    reader.read()
    box.validity, box.modseq = 8, 9
    box.messages = {11: letter(1), 13: letter(3), 14: letter(4)} | ({12: letter(2)} if found else {})
    box.labels = {11: INBOX, 12: WORKS, 13: WORKS, 14: INBOX}
    if not found:
        with pytest.raises(SuspiciousDeletion):
            reader.read()
        assert places(reader)["Letter 2"] == {ALL, "INBOX", WORK}
    reader.read(allow_deletes=True)
    rest = {"Letter 2": {ALL, WORK}} if found else {}
    assert places(reader) == {"Letter 1": {ALL, "INBOX"}, "Letter 3": {ALL, WORK}, "Letter 4": {ALL, "INBOX"}} | rest
    assert len(reader.titles()) == len(titles(1, 3, 4)) + found
    assert reader.read() == []
    assert not [key for key in reader.cursor if key.startswith(("uids:", "labels:")) and ":7:" in key]
