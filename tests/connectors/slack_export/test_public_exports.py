"""Public exports that others made, where they are at hand (never in this repository): everything in them is read.

They lie in a folder `data/slack` beside the working copy's `shared` folder, as they come: zips, folders, databases.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxsync.connectors.base import Observed, Quarantined, item_fingerprint
from tests.connectors.slack_export.conftest import Source

SHARED = Path(__file__).parents[4] / "shared" / "data" / "slack"


EXPORTS = sorted(SHARED.iterdir()) if SHARED.is_dir() else []


@pytest.mark.skipif(not EXPORTS, reason="no public Slack exports at hand")
@pytest.mark.parametrize("path", EXPORTS, ids=lambda path: path.name)
def test_a_public_export_is_read_whole_and_a_second_time_says_nothing(path: Path) -> None:
    source = Source(path)
    changes = source.read()
    assert not [change for change in changes if isinstance(change, Quarantined)]
    items = [change.item for change in changes if isinstance(change, Observed)]
    assert len({item_fingerprint(item) for item in items}) == len({item.id for item in items}) == len(items)
    assert source.read() == []
