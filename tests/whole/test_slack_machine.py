"""A workspace and its export under arbitrary edits, deletions, exports and crashes: nothing lost, nothing doubled, one graph."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ctxsync.connectors.slack import SlackConnector
from ctxsync.connectors.slack import message as parser
from ctxsync.connectors.slack.api import Timing
from ctxsync.connectors.slack_export import SlackExportConnector
from ctxsync.engine.graph.trust import OTHERS, OWN
from ctxsync.errors import BadItem
from tests.connectors.slack.exporting import export
from tests.connectors.slack.server import BOT_TOKEN, NOW, TEAM, Server, Workspace
from tests.connectors.slack.world import TOKEN
from tests.whole.pipeline import BATCH, POINTS, Followed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ctxsync.connectors.base import Connector, Item, Options

ROOMS = {"C01": "general", "C02": "random"}
OWNER = "U02"
CONFIG = f"""
[identity]
slack = ["{TEAM}:{OWNER}"]

[[sources]]
name = "live"
type = "slack"

[[sources]]
name = "export"
type = "slack-export"
path = "{{place}}/export"
"""
FIRST = ("Ada Brook works at Northwind since 2019.", "Ben Carver works at Southgate since 2021.")
EDITED = (
    "Ada Brook left Northwind in 2023.",
    "Ben Carver attended Westbury in 2020.",
    "Ada Brook left Westbury in 2024.",
)
BY_HAND = ("Ben Carver left Northwind in 2022.", "Ada Brook attended Southgate in 2018.")  # only ever in an export

rooms = st.sampled_from(sorted(ROOMS))
firsts, edits = st.sampled_from(FIRST), st.sampled_from(EDITED)
Held = dict[tuple[str, str], str]  # texts by room and ts


class Slack(RuleBasedStateMachine):
    """A workspace that is read as it is, and exports of it, of which people may cut something out."""

    def __init__(self) -> None:
        super().__init__()
        self.workspace = Workspace()
        for id_, name in ROOMS.items():
            self.workspace.room(id_, name)
        self.server = Server(self.workspace)
        self.server.__enter__()
        self.home = Followed(CONFIG, {"live": self.live, "export": self.export}, NOW * 1000)
        self.ticks = 0
        self.exported: Held = {}
        self.made = self.home.place / "export"
        self.bad: set[str] = set()
        self.ever: dict[str, set[str]] = {}  # all texts that a message had anywhere
        self.sources: dict[str, set[str]] = {}  # where it may have been read
        self.own: set[str] = set()
        self.unread: Held = {}  # what cannot be read, as it was when it could
        self.cut: set[str] = set()  # what was changed by hand in an export
        self.export_again()

    def teardown(self) -> None:
        try:
            self.check()
            self.home.check_another_arrival_order_gives_the_same_state()
        finally:
            self.server.__exit__()
            self.home.close()

    # The sources

    def live(self, options: Options) -> Connector:
        clock = self.workspace.clock
        where = {"token": TOKEN, "api_url": self.server.url}
        return SlackConnector("live", where, options, batch=BATCH, timing=Timing(clock, clock.sleep))

    def export(self, options: Options) -> Connector:
        return SlackExportConnector("export", {"path": str(self.made)}, options, batch=BATCH)

    def said(self) -> Held:
        """Return what stands in the workspace now."""
        return {
            (room.id, ts): message["text"]
            for room in self.workspace.rooms.values()
            for ts, message in room.messages.items()
            if message.get("subtype") != "tombstone"
        }

    @invariant()
    def note(self) -> None:
        for source, held in (("live", self.said()), ("export", self.exported)):
            for (_, ts), text in held.items():
                self.ever.setdefault(ts, set()).add(text)
                self.sources.setdefault(ts, set()).add(source)

    def some(self, data: st.DataObject, held: Held) -> tuple[str, str]:
        return data.draw(st.sampled_from(sorted(held)))

    def stamp(self, path: Path) -> None:
        self.ticks += 1
        os.utime(path, (NOW + self.ticks, NOW + self.ticks))

    # What people do

    @rule(room=rooms, text=firsts, own=st.booleans(), days=st.integers(0, 2))
    def post(self, room: str, text: str, own: bool, days: int) -> None:
        """Say something, now or, as a bridge to another service does, on an earlier day."""
        self.ticks += 1
        at = NOW - 100_000 - 86_400 * days + self.ticks
        ts = self.workspace.post(room, text, user=OWNER if own else "U01", at=at)
        self.own.update({ts} if own else ())

    @initialize(read=st.booleans())
    def begin(self, read: bool) -> None:
        """There is more than a batch in the beginning."""
        for number in range(5):
            self.post("C01", FIRST[number % 2], own=number == 3, days=number % 3)
        self.export_again()
        self.note()
        if read:
            self.home.pull()

    @precondition(lambda self: self.said())
    @rule(data=st.data(), text=firsts, broadcast=st.booleans())
    def answer(self, data: st.DataObject, text: str, broadcast: bool) -> None:
        room, ts = self.some(data, self.said())
        parent = self.workspace.rooms[room].messages[ts].get("thread_ts", ts)
        self.ticks += 1
        at = int(parent.partition(".")[0]) + 1000 + self.ticks
        self.workspace.post(room, text, thread_ts=parent, broadcast=broadcast, at=at)

    @precondition(lambda self: self.said())
    @rule(data=st.data(), text=edits)
    def edit(self, data: st.DataObject, text: str) -> None:
        self.workspace.edit(*self.some(data, self.said()), text)

    @precondition(lambda self: self.said())
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        self.workspace.delete(*self.some(data, self.said()))

    @rule()
    def export_again(self) -> None:
        """Export the workspace; a day of which nothing is left is there, and empty."""
        fresh = self.home.place / "fresh"
        export(self.workspace, fresh)
        for day in self.made.glob("*/*.json"):
            path = fresh / day.parent.name / day.name
            if not path.exists():
                path.write_text("[]")
        for path in fresh.glob("*/*.json"):
            self.stamp(path)
        shutil.rmtree(self.made, ignore_errors=True)
        fresh.rename(self.made)
        self.exported = self.said()

    def day_of(self, room: str, ts: str) -> Path:
        return next(path for path in self.made.joinpath(ROOMS[room]).iterdir() if f'"ts": "{ts}"' in path.read_text())

    @precondition(lambda self: self.exported)
    @rule(data=st.data(), text=st.sampled_from(BY_HAND), cut=st.booleans())
    def edit_or_cut_in_the_export(self, data: st.DataObject, text: str, cut: bool) -> None:
        room, ts = self.some(data, self.exported)
        self.home.pull()  # what was exported is known, most often
        self.cut.add(ts)
        path = self.day_of(room, ts)
        messages = json.loads(path.read_text())
        (found,) = (message for message in messages if message["ts"] == ts)
        if cut:
            messages.remove(found)
            del self.exported[room, ts]
        else:
            found |= {"text": text, "edited": {"user": "U01", "ts": f"{NOW}.000000"}}
            found["blocks"][0]["elements"][0]["elements"][0]["text"] = text
            self.exported[room, ts] = text
        path.write_text(json.dumps(messages))
        self.stamp(path)

    @precondition(lambda self: self.exported and "export" not in self.home.removed)
    @rule(data=st.data(), gone=st.booleans())
    def break_a_day(self, data: st.DataObject, gone: bool) -> None:
        """A broken file keeps what it held, and is in quarantine until it is whole, or gone."""
        path = self.day_of(*self.some(data, self.exported))
        self.check()
        whole = path.read_text()
        path.write_text(whole[:-9])
        self.stamp(path)
        self.bad = {"export"}
        self.check()
        if gone:
            path.unlink()
            self.bad = set()
            self.check()
        path.write_text(whole)
        self.stamp(path)
        self.bad = set()
        self.check()

    @precondition(lambda self: self.said() and "live" not in self.home.removed)
    @rule(data=st.data(), then=st.sampled_from(("mend", "edit", "delete")))
    def spoil_a_message(self, data: st.DataObject, then: str) -> None:
        """What the parser fails at keeps the version before it."""
        room, ts = self.some(data, self.said())
        self.check()
        read = parser.message_item

        def fail(message: Mapping[str, object], **more: Any) -> Item | None:
            if message["ts"] == ts:
                raise BadItem("It cannot be read yet.")
            return read(message, **more)

        self.unread = {(room, ts): self.said()[room, ts]}
        self.workspace.edit(room, ts, EDITED[1])
        self.bad = {"live"}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(parser, "message_item", fail)
            self.check()
        self.unread, self.bad = {}, set()
        if then == "edit":
            self.workspace.edit(room, ts, EDITED[0])
        elif then == "delete":
            self.workspace.delete(room, ts)
        self.home.pull(retry=then == "mend")
        self.check()

    # The pipeline

    @rule(point=st.sampled_from(POINTS), count=st.integers(1, 4))
    def crash(self, point: str, count: int) -> None:
        self.home.arm(point, count)

    @rule(allow=st.booleans(), retry=st.booleans())
    def pull(self, allow: bool, retry: bool) -> None:
        self.home.pull(allow=allow, retry=retry)

    @rule()
    def extract(self) -> None:
        self.home.extract()

    @rule()
    def project(self) -> None:
        self.home.project()

    @rule(source=st.sampled_from(("live", "export")))
    def remove_a_source_or_add_it_again(self, source: str) -> None:
        if source in self.home.removed:
            self.home.removed.discard(source)
        else:
            self.home.pull()  # there is nothing to remove of what was never read
            self.home.remove(source)

    # What must hold

    @invariant()
    def the_log_verifies(self) -> None:
        self.home.check_the_log_verifies()

    @rule()
    def check(self) -> None:
        self.home.settle()
        self.note()
        shown = {"live": self.said() | self.unread, "export": self.exported}
        shown = {source: held for source, held in shown.items() if source not in self.home.removed}
        seen = {(f"slack:{TEAM}/{room}/{ts}", source, room) for source, held in shown.items() for room, ts in held}
        assert self.home.sighted("slack") == seen
        texts = self.home.held("slack")
        assert set(texts) == {item for item, *_ in seen}
        for item, held in texts.items():
            room, ts = item.split("/")[1:]
            showing = [source for source in shown if (room, ts) in shown[source]]
            assert len(held) <= len(showing)
            assert held <= self.ever[ts]
            if len(self.sources[ts]) == 1:
                assert held == {shown[showing[0]][room, ts]}
            elif "live" in showing and ts not in self.cut:
                # What a source shows at first that another had shown is not kept twice: the newest version is both's.
                assert shown["live"][room, ts] in held
            if "export" in showing and shown["export"][room, ts] in BY_HAND:
                assert shown["export"][room, ts] in held
        own = {item for item in texts if item.rpartition("/")[2] in self.own}
        assert self.home.trusted("slack") == {(item, OWN if item in own else OTHERS) for item in texts}
        assert {source for source, _ in self.home.quarantined()} == self.bad.difference(self.home.removed)
        assert len({item for item, *_ in self.home.sighted("directory")}) == bool(shown)
        self.home.check_the_rebuilt_graph_is_the_live_one()


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN.removeprefix("env:"), BOT_TOKEN)


@pytest.mark.slow
@pytest.mark.usefixtures("_token")
class TestSlack(Slack.TestCase):  # type: ignore[misc, valid-type]  # hypothesis builds the class
    settings = settings(
        max_examples=12,
        stateful_step_count=20,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        derandomize=True,
    )
