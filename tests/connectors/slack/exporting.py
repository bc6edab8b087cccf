"""An official export of the workspace as it is now: the shape that Slack documents under "How to read Slack data exports".

Lists of conversations by kind, `users.json`, and a folder a channel by its name with a file a day (UTC), each message
as Slack stores it: replies beside their parents, the author's profile in each, and of a parent the list of its replies.
"""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tests.connectors.slack.server import NOW

if TYPE_CHECKING:
    from pathlib import Path

    from tests.connectors.slack.server import Room, Workspace

LISTS = {"public_channel": "channels", "private_channel": "groups", "mpim": "mpims", "im": "dms"}


def export(workspace: Workspace, folder: Path) -> None:
    """Write an export into a folder."""
    folder.mkdir()
    (folder / "users.json").write_text(json.dumps([dict(user, updated=1) for user in workspace.users.values()]))
    for kind, name in LISTS.items():
        rooms = [room for room in workspace.rooms.values() if room.kind == kind]
        (folder / f"{name}.json").write_text(json.dumps([_listed(room) for room in rooms]))
        for room in rooms:
            _days(workspace, room, folder / (room.id if kind == "im" else room.name))


def _listed(room: Room) -> dict[str, Any]:
    known = {"id": room.id, "created": NOW - 900_000, "members": ["U01", "U02"]}
    if room.kind == "im":
        return known
    topic, purpose = {"value": room.topic, "creator": "U01", "last_set": 0}, {"value": "", "creator": ""}
    return known | {"name": room.name, "is_archived": room.archived, "topic": topic, "purpose": purpose}


def _days(workspace: Workspace, room: Room, folder: Path) -> None:
    days: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for ts, message in sorted(room.messages.items()):
        stored: dict[str, Any] = json.loads(json.dumps(message))
        stored |= {"client_msg_id": f"client-{ts}", "user_team": "T0HARBOUR", "source_team": "T0HARBOUR"}
        profile = workspace.users.get(message.get("user", ""), {}).get("profile", {})
        if profile:
            stored["user_profile"] = {
                **profile,
                "name": profile["display_name"],
                "team": "T0HARBOUR",
                "avatar_hash": "g0",
            }
        for block in stored.get("blocks", []):
            block["block_id"] = "Xp0rt"
        replies = workspace.replies(room.id, ts)
        if replies:
            users = list(dict.fromkeys(reply["user"] for reply in replies))
            stored |= {"thread_ts": ts, "reply_count": len(replies), "latest_reply": replies[-1]["ts"]}
            stored |= {"reply_users": users, "replies": [{"user": each["user"], "ts": each["ts"]} for each in replies]}
        if message.get("thread_ts", ts) != ts:
            stored["parent_user_id"] = "U01"
        days[datetime.fromtimestamp(float(ts), UTC).strftime("%Y-%m-%d")].append(stored)
    folder.mkdir()
    for day, messages in days.items():
        (folder / f"{day}.json").write_text(json.dumps(messages))
