"""A pass over an account: every folder's additions first, then what is gone from each; knows no protocol.

An account is one stream. Folders are not streams of their own because a message that moves between two must be sighted
in one before it is gone from the other, whichever is read first, and two streams know nothing of each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxsync.connectors.base import Batch
from ctxsync.connectors.imap import gmail
from ctxsync.connectors.imap.folders import choose
from ctxsync.connectors.imap.leaving import departures, farewell, suspicious
from ctxsync.connectors.imap.problems import Refused, said
from ctxsync.connectors.imap.reading import Reading
from ctxsync.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctxsync.connectors.base import Options
    from ctxsync.connectors.imap.account import Account
    from ctxsync.connectors.imap.fetching import Line
    from ctxsync.connectors.imap.ledger import Ledger

SHOWN = 20  # folders that a message names
LOOKS = 3  # times that folders are looked at again for messages that moved while they were read


class Pass:
    """One pass.

    Args:
        account: Settings.
        options: What the runner asks.
        line: The connection.
        ledger: The cursor.
        size: Messages a batch at most.
    """

    def __init__(self, account: Account, options: Options, line: Line, ledger: Ledger, *, size: int) -> None:
        self._account, self._options = account, options
        self._line, self._ledger = line, ledger
        self._size = size
        self._closed: dict[str, str] = {}

    def run(self) -> Iterator[Batch]:
        """Yield what changed.

        Raises:
            Unavailable: The server went away, or a folder cannot be opened; every other one was read.
            SuspiciousDeletion: Too much is gone; everything else was yielded.
        """
        account, ledger = self._account, self._ledger
        try:
            listing = self._line.session.folders()
        except Refused as error:
            again = f"Run `ctxsync sync {account.source}` later."
            raise Unavailable(f"The server does not list its folders: {error.message}", remedy=again) from None
        choice, labels = choose(listing, account.folders, account.exclude), None
        if account.folders and not choice.folders:
            raise _none_fits(account, sorted(choice.left))
        if self._line.session.has(gmail.CAPABILITY):
            choice, labels = gmail.narrowed(choice, listing)
        readings = []
        for folder in choice.folders:
            own = labels if folder.everything else None
            reading = Reading(folder, account, self._options, self._line, ledger, self._size, own)
            readings.append(reading)
            yield from self._read(reading)
        open_ = [reading for reading in readings if reading.place not in self._closed]
        places = {folder.place for folder in labels.folders.values()} if labels else set()
        found = departures(ledger, open_, closed=self._closed, left=choice.left, labels=places)
        for _ in range(LOOKS):
            # What is gone from here may have gone to a folder that was read before.
            moved = [one for one in open_ if one.has_more()] if any(one.lost for one in found) else []
            if not moved:
                break
            for reading in moved:
                yield from self._read(reading)
            open_ = [reading for reading in open_ if reading.place not in self._closed]
            found = departures(ledger, open_, closed=self._closed, left=choice.left, labels=places)
        trips = suspicious(ledger, found, self._options, account.source)
        keep = trips is not None or bool(self._closed)  # a folder that is closed may have them
        for departure in found:
            labelled = labels is not None and any(r.place == departure.place and r.labels for r in open_)
            yield from farewell(ledger, departure, keep_lost=keep, size=self._size, labelled=labelled)
        held = {one.place for one in found if keep and one.lost and one.uids}
        for reading in open_:
            if reading.place not in held:
                reading.finish()
        unchanged = sum(reading.unchanged for reading in readings)
        yield Batch((), ledger.take(), seen=unchanged, unchanged=unchanged)
        if self._closed:
            place, words = next(iter(self._closed.items()))
            raise Unavailable(
                f"The folder {place} of {account.source} cannot be opened: {words}",
                remedy=f"If it is not to be read, add it to `exclude` of the source {account.source} in config.toml; "
                f"else run `ctxsync sync {account.source}` later.",
            )
        if trips is not None:
            raise trips

    def _read(self, reading: Reading) -> Iterator[Batch]:
        try:
            yield from reading.run()
        except Refused as error:
            self._closed[reading.place] = error.message


def _none_fits(account: Account, there: list[str]) -> Unavailable:
    """Return that the patterns fit no folder, which is more often a slip than a wish."""
    shown = ", ".join(there[:SHOWN]) + (" …" if len(there) > SHOWN else "")
    return Unavailable(
        f"No folder of {account.source} fits `folders` ({', '.join(account.folders)}). It has: {said(shown) or 'none'}",
        remedy=f"Correct `folders` of the source {account.source}: `ctxsync config edit`, "
        f"then run `ctxsync sync {account.source}`.",
    )
