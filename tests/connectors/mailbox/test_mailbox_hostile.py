"""Mailboxes that somebody handed over, and what may stand in them instead of mail."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tests.connectors.mailbox.worlds import message

if TYPE_CHECKING:
    from tests.connectors.mailbox.conftest import Desk


def test_a_pipe_among_a_maildirs_messages_is_passed_over_and_never_waited_for(desk: Desk) -> None:
    for part in ("cur", "new", "tmp"):
        (desk.root / part).mkdir()
    desk.put("cur/1:2,S", message(1))
    os.mkfifo(desk.root / "cur" / "2:2,S")
    assert desk.read() == [("observed", "Message 1", "INBOX"), ("sighted", "Message 1", "INBOX")]
