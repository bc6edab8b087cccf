"""Fixtures of the tests of the app."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ctxsync import passes
from tests.app.desk import Desk, Lines
from tests.app.servers import MailServer

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def lines() -> Lines:
    return Lines()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> MailServer:
    """A server behind every `imap` source; its password is in $MAIL_PASSWORD."""
    server = MailServer()
    installed: dict[str, Any] = {**passes._installed(), "imap": server}
    monkeypatch.setattr(passes, "_installed", lambda: installed)
    monkeypatch.setenv("MAIL_PASSWORD", "opensesame")
    return server
