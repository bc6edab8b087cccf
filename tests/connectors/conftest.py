"""What the tests of several connectors share: a mail server that is started once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.connectors.imap.dovecot import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.connectors.imap.dovecot import Dovecot


@pytest.fixture(scope="session")
def dovecot() -> Iterator[Dovecot]:
    """A real IMAP server; tests that want it are skipped where it is not installed."""
    with serving() as server:
        yield server
