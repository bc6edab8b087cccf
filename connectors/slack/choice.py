"""Which channels the settings of a source take: globs of names or ids, with or without `#`. Knows no channel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxsync.connectors.globs import globs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ctxsync.connectors.base import Json


class Choice:
    """What `channels` and `exclude` say.

    Args:
        source: The source's name, for messages.
        settings: The source's settings.

    Raises:
        ConfigError: One of them is no list of globs.
    """

    def __init__(self, source: str, settings: Mapping[str, Json]) -> None:
        self._taken = globs(source, _plain(settings, "channels"), "channels")
        self._left_out = globs(source, _plain(settings, "exclude"), "exclude")

    def takes(self, channel: str, name: str = "") -> bool:
        """Say whether a channel is read.

        Args:
            channel: Its id.
            name: Its name without `#`; empty when it has none.
        """
        called = [one for one in (channel, name) if one]
        if self._taken is not None and not any(map(self._taken.match_file, called)):
            return False
        return self._left_out is None or not any(map(self._left_out.match_file, called))


def _plain(settings: Mapping[str, Json], key: str) -> dict[str, Json]:
    """Return the setting with its globs' `#` taken off, which would make them comments."""
    value = settings.get(key)
    if isinstance(value, str):
        return {key: value.removeprefix("#")}
    if isinstance(value, list):
        return {key: [one.removeprefix("#") if isinstance(one, str) else one for one in value]}
    return {key: value}
