"""What the name of an extraction run says of it; knows no event and no extractor."""

from __future__ import annotations

from typing import Final

TRIAL: Final = "trial:"
"""What the name of a trial begins with: a run that is asked for, and counts for nothing until it is adopted."""


def is_trial(run: str) -> bool:
    """Say whether a run is a trial."""
    return run.startswith(TRIAL)
