"""What every payload is; knows no type of event."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict

Span = tuple[int, int]


class Strict(BaseModel):
    """Base of everything in a payload: no unknown fields, no mutation."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Payload(Strict):
    """Base of all payloads.

    `type` and `version` name the schema. `state()` returns what the event makes true in the log, as key and value:
    an event whose every key already has its value for (source, subject) is a repetition and is not stored.
    An empty mapping means the event is always stored.
    """

    type: ClassVar[str]
    version: ClassVar[int] = 1
    before: ClassVar[str | None] = None
    """What a key of `state()` reads as before any event has set it; None when it is then unlike every value."""

    @classmethod
    def unchecked(cls, **fields: Any) -> Self:
        """Return a payload of these fields, which must be all of the model's, as `model_construct` in one go.

        For what is already known to be right, by the million.
        """
        made, put = cls.__new__(cls), object.__setattr__
        put(made, "__dict__", fields)
        put(made, "__pydantic_fields_set__", set(fields))
        put(made, "__pydantic_extra__", None)
        put(made, "__pydantic_private__", None)
        return made

    def state(self) -> dict[str, str]:
        """Return the log state this event sets for its source and subject."""
        return {}

    def fingerprint(self) -> str:
        """Return what makes a version of the subject the same whatever source shows it; empty when nothing does.

        At a source's first sight of a subject, a version that any source has already stored is a repetition.
        """
        return ""
