"""Reads flags, texts and whole numbers of the command line without pydantic, which typer imports for them otherwise.

That import is half of what `ctxsync status` would take. A typer that keeps its coercion elsewhere is left as it is:
commands then start slower and behave the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import typer

_KINDS = (bool, str, int, list[str])


@dataclass(frozen=True, slots=True)
class Plain:
    """Stands in for typer's own coercion of a parameter.

    Args:
        annotation: `bool`, `str`, `int` or `list[str]`.
    """

    annotation: Any

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value as the command takes it; raises `typer.BadParameter`."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if self.annotation is not int:
            return list(value) if self.annotation == list[str] else value
        try:
            number = int(value)
        except ValueError:
            number = None
        low, high = param.min, param.max
        if number is None or (low is not None and number < low) or (high is not None and number > high):
            bounds = f" from {low:,} to {high:,}" if low is not None and high is not None else ""
            raise typer.BadParameter(f"{value!r} is not a whole number{bounds}.", ctx=ctx, param=param)
        return number


def make_plain(parameters: list[Any]) -> list[Any]:
    """Return a command's parameters, those that are flags, texts or whole numbers reading their values plainly."""
    for param in parameters:
        annotation = getattr(getattr(param, "type_descriptor", None), "annotation", None)
        if annotation in _KINDS and getattr(param, "_runtime_param", 0) is None:
            param._runtime_param = Plain(annotation)  # noqa: SLF001 - typer has no public seam for it
    return parameters
