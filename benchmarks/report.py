"""What a benchmark hands back, and the table that is printed of it. Knows nothing of what is measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

HEADINGS: Final = ("what", "measured", "baseline", "figure", "at least", "holds")


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement.

    Args:
        what: What was measured.
        measured: The value.
        unit: Of `measured` and `baseline`.
        baseline: What it is compared with, measured in the same run; None when it stands alone.
        by: How they are compared: `times` (measured / baseline), `over` (measured - baseline).
        most: The figure may be no more than this. The figure is the comparison, or `measured` where there is none.
        least: The figure may be no less than this.
    """

    what: str
    measured: float
    unit: str
    baseline: float | None = None
    by: Literal["times", "over"] = "times"
    most: float | None = None
    least: float | None = None

    @property
    def figure(self) -> float:
        """What a target is held against."""
        if self.baseline is None:
            return self.measured
        return self.measured / self.baseline if self.by == "times" else self.measured - self.baseline

    @property
    def holds(self) -> bool | None:
        """Say whether the target is met; None when there is none."""
        if self.most is None and self.least is None:
            return None
        return (self.most is None or self.figure <= self.most) and (self.least is None or self.figure >= self.least)

    def cells(self) -> tuple[str, ...]:
        """Return the row as text, a cell a heading."""
        unit = "" if self.baseline is None else (" x" if self.by == "times" else f" {self.unit}".rstrip())
        sign = "+" if self.baseline is not None and self.by == "over" else ""
        target = "" if self.most is None else f"within {_number(self.most)}{unit or f' {self.unit}'}"
        if self.least is not None:
            target = f"{_number(self.least)}{unit or f' {self.unit}'}"
        return (
            self.what,
            f"{_number(self.measured)} {self.unit}".rstrip(),
            "" if self.baseline is None else f"{_number(self.baseline)} {self.unit}".rstrip(),
            "" if self.baseline is None else f"{sign}{_number(self.figure)}{unit}",
            target,
            {None: "", True: "yes", False: "NO"}[self.holds],
        )


def _number(value: float) -> str:
    """Return three significant digits, with thousands apart."""
    if abs(value) >= 1000:
        return f"{round(value):,}"
    return f"{value:.3g}"


def table(rows: Iterable[Row]) -> str:
    """Return the rows under their headings, first column to the left, the others to the right."""
    cells = [HEADINGS, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEADINGS))]
    lines = [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    ]
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(lines)
