"""A real server's folders become items, and the commands that it saw; one test a line of what has broken real tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxsync.connectors.base import Observed, Sighted, Unsighted
from tests.connectors.imap.conftest import Mail, letter

if TYPE_CHECKING:
    pass


def test_a_first_pass_reads_every_folder_newest_first_and_changes_no_flag(mail: Mail) -> None:
    mail.put(*(letter(n) for n in range(1, 6)))
    mail.put(letter("s"), folder="Sent")
    changes = mail.read(batch=2)
    assert [c.item.title for c in changes if isinstance(c, Observed)] == [
        *(f"Letter {n}" for n in (5, 4, 3, 2, 1)),
        "Letter s",
    ]
    assert mail.titles("INBOX") == [f"Letter {n}" for n in range(1, 6)]
    (sent,) = [c for c in changes if isinstance(c, Sighted) and c.place == "Sent"]
    assert sent.role == "sent"
    said = mail.commands()
    assert 'EXAMINE "INBOX"' in said
    assert any("BODY.PEEK[]" in c for c in said)
    with mail.server.client(mail.user) as client:
        client.select_folder("INBOX")
        assert set(client.get_flags([1, 2, 3, 4, 5]).values()) <= {(), (b"\\Recent",)}
