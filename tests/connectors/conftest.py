"""What the tests of several connectors share: a mail server that is started once."""

from __future__ import annotations

import pytest

from tests.connectors.imap.dovecot import Dovecot, served


@pytest.fixture(scope="session")
def dovecot() -> Dovecot:
    """A real IMAP server; tests that want it are skipped where it is not installed."""
    return served()
