"""Whatever people do and wherever passes die: in the end, what is held is what the workspace says."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from ctxsync.errors import SourceError
from tests.connectors.slack.conftest import DAY, HOUR, Reader
from tests.connectors.slack.server import NOW, Refusal, Server, Workspace, limited

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[Workspace, Server]]:
    workspace = Workspace()
    with Server(workspace) as running:
        yield workspace, running


def shown(workspace: Workspace, room: str) -> dict[str, str]:
    """Return what the workspace says, by ts; a tombstone says nothing."""
    messages = workspace.rooms[room].messages.values()
    return {message["ts"]: message["text"] for message in messages if message.get("subtype") != "tombstone"}


@pytest.mark.parametrize("seed", range(12))
def test_what_is_held_is_what_the_workspace_says(shared: tuple[Workspace, Server], seed: int) -> None:
    workspace, server = shared
    dice = random.Random(seed)
    room = f"C{seed:03}"
    workspace.rooms.clear()
    workspace.room(room)
    reader = Reader(server.url, workspace, batch=dice.choice((2, 3, 5, 200)), now=NOW)

    for _ in range(120):
        messages = workspace.rooms[room].messages
        told = sorted(shown(workspace, room))
        match dice.choices(
            ("post", "reply", "edit", "delete", "read", "die", "limit", "wait"), (6, 6, 3, 3, 4, 3, 2, 2)
        )[0]:
            case "post":
                workspace.post(room, at=reader.now - dice.choice((5, 1, 60 * DAY)))
            case "reply" if told:
                parent = dice.choice(told)
                parent = messages[parent].get("thread_ts", parent)
                workspace.post(
                    room, at=reader.now - 1, thread_ts=parent, broadcast=parent in told and dice.random() < 0.3
                )
            case "edit" if told:
                workspace.edit(room, dice.choice(told), f"edited {dice.random()}")
            case "delete" if told:
                workspace.delete(room, dice.choice(told))
            case "read":
                reader.read(room, allow_deletes=True)
            case "die":
                reader.read(room, batches=dice.randint(1, 4), allow_deletes=True)
            case "limit":
                method = dice.choice(("conversations.history", "conversations.replies"))
                workspace.fail(
                    method, *[None] * dice.randint(0, 2), dice.choice((limited(900), *[Refusal(503, "down")] * 4))
                )
                with suppress(SourceError):
                    reader.read(room, allow_deletes=True)
                workspace.planned.clear()
            case "wait":
                reader.now += dice.choice((60, HOUR, 9 * DAY))
            case _:
                pass
    reader.now += 2 * DAY
    reader.read(room, allow_deletes=True)  # what is left of a pass that was cut short comes before a reconcile
    reader.read(room, allow_deletes=True)
    says = shown(workspace, room)
    # Edits of replies in threads that have been quiet for longer than the window are the one thing not looked for.
    assert reader.held(room) == sorted(says)
    roots = {ts for ts in says if workspace.rooms[room].messages[ts].get("thread_ts", ts) == ts}
    assert {ts: reader.text(ts, room) for ts in roots} == {ts: says[ts] for ts in roots}
    fresh = Reader(server.url, workspace, now=reader.now)
    fresh.read(room)
    assert fresh.held(room) == reader.held(room)
    assert reader.read(room, allow_deletes=True) == []
