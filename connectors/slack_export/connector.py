"""The Slack export connector: an export's channels are streams, and its people and channels one more.

It reads the same items as the API would give, so that an export of a workspace that is synced as well adds only what
the API did not show. It writes nothing, and unpacks nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ctxsync.connectors.base import (
    Batch,
    Change,
    Json,
    Observed,
    Options,
    Quarantined,
    Released,
    Sighted,
    Stream,
    Unsighted,
)
from ctxsync.connectors.base import digest as digest_of
from ctxsync.connectors.slack.choice import Choice
from ctxsync.connectors.slack.directory import STREAM
from ctxsync.connectors.slack.stamps import since
from ctxsync.connectors.slack_export.files import listing
from ctxsync.connectors.slack_export.layout import Export, layout
from ctxsync.connectors.slack_export.ledger import Ledger
from ctxsync.connectors.slack_export.passing import BATCH, Pass
from ctxsync.connectors.slack_export.wanted import Wanted
from ctxsync.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ctxsync.connectors.slack.directory import Directory


class SlackExportConnector:
    """An export of a workspace: a folder, a zip, slackdump's database, or a single dump.

    Args:
        name: The source's name.
        settings: `path` (absolute); `channels` and `exclude`, globs of names or ids; `bots`, false to leave out what
            bots and apps wrote; `since`, a date `2024-01-31`; `team`, the workspace's id where the export does not
            tell it.
        options: What the runner asks of this read.
        batch: Messages a batch at most.

    Raises:
        ConfigError: There is no path, or a setting means nothing.
    """

    def __init__(self, name: str, settings: Mapping[str, Json], options: Options, *, batch: int = BATCH) -> None:
        path, team = settings.get("path"), settings.get("team") or ""
        if not isinstance(path, str) or not path:
            raise ConfigError(f"The source {name} has no path.", remedy="Give `path = …` in config.toml.")
        if not isinstance(team, str):
            raise ConfigError(f"`team` of the source {name} is no text.", remedy='Give it as `team = "T0123456"`.')
        self.name = name
        self._path = Path(path)
        self._team = team
        self._options = options
        self._batch = batch
        self._choice = Choice(name, settings)
        self._wanted = Wanted(bots=settings.get("bots") is not False, since=since(name, settings.get("since")))
        self._export: Export | None = None

    def discover(self) -> Iterator[Stream]:
        """Yield the directory, where there is something in it, then each channel by its id.

        A channel that has no file is among them where the export lists it: a file of it may be in quarantine still.

        Raises:
            Unavailable: The path holds no export, several, or one that is broken or encrypted.
        """
        export = self._export = layout(listing(self._path, self.name), self._path, self.name)
        if export.users or export.channels or export.refused:
            yield Stream(self.name, STREAM)
        listed = (record.get("id") for record in export.channels if isinstance(record, dict))
        for channel in dict.fromkeys([*export.parts, *(id_ for id_ in listed if id_ and isinstance(id_, str))]):
            yield Stream(self.name, channel)

    def read(self, stream: Stream, cursor: Mapping[str, Json] | None) -> Iterator[Batch]:
        """Yield what changed since the cursor.

        Raises:
            Unavailable: As `discover`.
            SuspiciousDeletion: Too much is no longer in the export; everything else has been yielded.
        """
        export = self._export or layout(listing(self._path, self.name), self._path, self.name)
        self._export = export
        cursor = cursor or {}
        directory = export.directory(self._team_of(export, cursor))
        if stream.name == STREAM:
            yield from self._directory(export, directory, cursor)
            return
        taken = self._choice.takes(stream.name, directory.channel_name(stream.name))
        if not cursor and not (taken and stream.name in export.parts):
            return
        yield from Pass(
            self.name,
            stream.name,
            export.parts.get(stream.name, []),
            Ledger(cursor),
            directory,
            wanted=Wanted(self._wanted.bots, self._wanted.since, taken),
            options=self._options,
            size=self._batch,
        ).run()

    def _team_of(self, export: Export, cursor: Mapping[str, Json]) -> str:
        """Return the workspace's id: as configured, as recorded, as it was before, as is likely."""
        before = cursor.get("team")
        return (
            self._team or export.certain_team() or (before if isinstance(before, str) else "") or export.likely_team()
        )

    def _directory(self, export: Export, directory: Directory, cursor: Mapping[str, Json]) -> Iterator[Batch]:
        """Observe the directory when it says something else, and say which files are not read."""
        changes: list[Change] = []
        patch: dict[str, Json] = {}
        seen = 0
        if export.users or export.channels:
            item, seen = directory.item(), 1
            says = digest_of(item.id, item.title, dict(item.attributes))
            if cursor.get("says") != says:
                changes.append(Observed(item, STREAM))
                before = cursor.get("item")
                if before != item.id:
                    changes.append(Sighted(item.id, STREAM))
                    if isinstance(before, str):
                        changes.append(Unsighted(before, STREAM, "renamed"))
                patch |= {"says": says, "item": item.id, "team": directory.team}
        held = cursor.get("refused")
        refused: dict[str, Json] = held if isinstance(held, dict) else {}
        for path, why in export.refused.items():
            if refused.get(path) != why:
                remedy = "Take it out of the export, or make the export again."
                changes.append(Quarantined(path, f"{path} is not read. {why} {remedy}"))
        changes += (Released(path) for path in refused if path not in export.refused)
        if refused != export.refused:
            patch["refused"] = dict(export.refused) or None
        yield Batch(tuple(changes), patch, seen, 0 if "says" in patch else seen)
