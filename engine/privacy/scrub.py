"""Pseudonyms for personal data; stub."""

from __future__ import annotations


class Scrubber:
    """Finds personal data and gives it pseudonyms, the same for the whole process.

    Args:
        names: Names of the owner.
        emails: Addresses of the owner.
        slack: Slack accounts of the owner, `team:user`.
    """

    def __init__(
        self, *, names: tuple[str, ...] = (), emails: tuple[str, ...] = (), slack: tuple[str, ...] = ()
    ) -> None:
        self.own = (*names, *emails, *slack)
