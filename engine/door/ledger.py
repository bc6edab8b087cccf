"""The ledger of what left the machine; stub."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class Ledger:
    """`egress.db`: one row a cloud call, and what budgets and the breaker are computed from.

    Args:
        path: Where; the file is made with the first cloud call.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
