"""A Slack workspace on this machine: state, and the Web API over it as Slack documents it. No client of ours is known.

Shapes, orders and errors follow docs.slack.dev (conversations.history, .replies, .list, users.list, auth.test,
rate-limits, apps.connections.open); where the documentation is vague, what others measured: pages of history walk back
from `latest` or from now, but forward from a lone `oldest`; bounds are exclusive; each page of replies begins with the
parent. What Slack changes without anyone saying anything (block ids, counters of readers) changes here as well.
"""

from __future__ import annotations

import base64
import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qsl

if TYPE_CHECKING:
    from collections.abc import Callable

TEAM = "T0HARBOUR"
NOW = 1_750_000_000  # seconds; tests read as of this time
BOT_TOKEN = "xoxb-of-the-harbour-bot"
USER_TOKEN = "xoxp-of-robin-vale"
APP_TOKEN = "xapp-of-the-harbour-app"
PREFIX = {"public_channel": "channels", "private_channel": "groups", "mpim": "mpim", "im": "im"}
ALL_SCOPES = frozenset(
    {f"{prefix}:{what}" for prefix in PREFIX.values() for what in ("read", "history")}
    | {"users:read", "users:read.email", "team:read"}
)


class Clock:
    """Monotonic seconds that pass only by sleeping."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@dataclass
class Room:
    """A conversation: `kind` is Slack's type; `joined` says whether the bot is a member."""

    id: str
    name: str
    kind: str = "public_channel"
    archived: bool = False
    joined: bool = True
    user: str = ""
    topic: str = ""
    messages: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass
class Refusal:
    """An answer in place of the method's own. `cut` closes the connection instead."""

    status: int = 200
    body: dict[str, Any] | str = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False


class Workspace:
    """The state, and what people do in it."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.lock = threading.RLock()
        self.rooms: dict[str, Room] = {}
        self.users: dict[str, dict[str, Any]] = {}
        self.tokens: dict[str, frozenset[str]] = {BOT_TOKEN: ALL_SCOPES, USER_TOKEN: ALL_SCOPES}
        self.says_scopes = True
        self.page_cap = 999
        self.limits: dict[str, tuple[int, float, int]] = {}  # method: calls, per seconds, Retry-After
        self.planned: dict[str, list[Refusal | None]] = {}
        self.always: dict[str, Refusal] = {}
        self.alter: Callable[[str, dict[str, Any]], dict[str, Any]] = lambda _method, answer: answer
        self.calls: list[tuple[str, dict[str, str]]] = []
        self.socket_url = ""
        self._spent: dict[str, list[float]] = {}
        self._ticks = count(1)
        self._noise = count(1)
        for user, name, mail in (("U01", "Robin Vale", "robin"), ("U02", "Maya Lindqvist", "maya")):
            self.user(user, name, email=f"{mail}@example.com")
        self.user("U09", "Harbour Bot", is_bot=True)

    # What people do

    def user(self, id_: str, name: str, *, email: str = "", is_bot: bool = False) -> None:
        handle = name.split(maxsplit=1)[0].lower()
        profile = {"real_name": name, "display_name": handle, **({"email": email} if email else {})}
        known = {"id": id_, "team_id": TEAM, "name": handle, "real_name": name, "is_bot": is_bot, "deleted": False}
        self.users[id_] = known | {"profile": profile}

    def room(self, id_: str = "C01", name: str = "general", **more: Any) -> Room:
        room = self.rooms[id_] = Room(id_, name, **more)
        return room

    def post(self, room: str, text: str = "", *, user: str = "U01", at: float | None = None, **more: Any) -> str:
        """Say something; `thread_ts` answers, `broadcast` shows the answer in the channel as well. Returns the ts."""
        tick = next(self._ticks)
        seconds = NOW - 100_000 + tick if at is None else at
        ts = f"{int(seconds)}.{tick % 1_000_000:06d}"
        text = text or f"message {tick}"
        message = {"type": "message", "user": user, "text": text, "ts": ts, "team": TEAM, **more}
        if message.pop("broadcast", False):
            root = self.rooms[room].messages[more["thread_ts"]]
            message |= {"subtype": "thread_broadcast", "root": {"ts": root["ts"], "text": root["text"]}}
        if "blocks" not in message:
            words = {"type": "rich_text_section", "elements": [{"type": "text", "text": text}]}
            message["blocks"] = [{"type": "rich_text", "elements": [words]}]
        self.rooms[room].messages[ts] = message
        return ts

    def edit(self, room: str, ts: str, text: str) -> None:
        message = self.rooms[room].messages[ts]
        message |= {"text": text, "edited": {"user": message["user"], "ts": f"{NOW}.000000"}}
        message["blocks"][0]["elements"][0]["elements"][0]["text"] = text

    def react(self, room: str, ts: str, name: str, *users: str) -> None:
        reactions = self.rooms[room].messages[ts].setdefault("reactions", [])
        reactions.append({"name": name, "users": list(users), "count": len(users)})

    def delete(self, room: str, ts: str) -> None:
        """Delete a message; of a parent whose replies stay, a tombstone stays."""
        messages = self.rooms[room].messages
        if self.replies(room, ts):
            messages[ts] = {
                "type": "message",
                "subtype": "tombstone",
                "text": "This message was deleted.",
                "user": "USLACKBOT",
                "hidden": True,
                "ts": ts,
                "thread_ts": ts,
            }
        else:
            del messages[ts]

    def replies(self, room: str, parent: str) -> list[dict[str, Any]]:
        found = self.rooms[room].messages.values()
        return sorted(
            (each for each in found if each.get("thread_ts") == parent and each["ts"] != parent), key=lambda m: m["ts"]
        )

    # What the API says

    def fail(self, method: str, *refusals: Refusal | None) -> None:
        """Let the next calls of a method be answered so; None lets one through."""
        self.planned.setdefault(method, []).extend(refusals)

    def count(self, method: str = "") -> int:
        return sum(not method or each == method for each, _ in self.calls)

    def answer(self, method: str, arguments: dict[str, str], token: str) -> Refusal:
        with self.lock:
            self.calls.append((method, arguments))
            planned = self.planned.get(method)
            refusal = planned.pop(0) if planned else self.always.get(method) or self.always.get("*")
            if refusal is None and method in self.limits:
                refusal = self._over_limit(method)
            if refusal is not None:
                return refusal
            if method == "apps.connections.open":
                if token != APP_TOKEN:
                    return error("invalid_auth")
                return Refusal(body={"ok": True, "url": self.socket_url})
            scopes = self.tokens.get(token)
            if scopes is None:
                return error("invalid_auth" if token else "not_authed")
            found = self._method(method, arguments, scopes, bot=token.startswith("xoxb"))
            headers = {"x-oauth-scopes": ",".join(sorted(scopes))} if self.says_scopes else {}
            return Refusal(body=self.alter(method, found), headers=headers)

    def _over_limit(self, method: str) -> Refusal | None:
        calls, seconds, retry = self.limits[method]
        spent = [at for at in self._spent.get(method, []) if at > self.clock.now - seconds]
        self._spent[method] = spent
        if len(spent) >= calls:
            return limited(retry)
        spent.append(self.clock.now)
        return None

    def _method(self, method: str, arguments: dict[str, str], scopes: frozenset[str], *, bot: bool) -> dict[str, Any]:
        needed = [scope for scope in self._needed(method, arguments) if scope not in scopes]
        if needed:
            return {"ok": False, "error": "missing_scope", "needed": needed[0], "provided": ",".join(sorted(scopes))}
        if method == "auth.test":
            who = {"team": "Harbour", "team_id": TEAM, "user": "robin", "user_id": "U01"}
            return {"ok": True, "url": "https://harbour.example.com/", **who, **({"bot_id": "B09"} if bot else {})}
        if method == "team.info":
            return {"ok": True, "team": {"id": TEAM, "name": "Harbour", "domain": "harbour"}}
        if method == "users.list":
            users = [dict(user, updated=next(self._noise)) for user in self.users.values()]
            return self._cut(users, "members", arguments)
        if method == "conversations.list":
            kinds = arguments.get("types", "public_channel").split(",")
            return self._cut([self._listed(r) for r in self.rooms.values() if r.kind in kinds], "channels", arguments)
        room = self.rooms.get(arguments.get("channel", ""))
        if room is None or (not room.joined and room.kind != "public_channel"):
            return {"ok": False, "error": "channel_not_found"}
        if bot and not room.joined:
            return {"ok": False, "error": "not_in_channel"}
        if method == "conversations.history":
            return self._history(room, arguments)
        if method == "conversations.replies":
            return self._replies(room, arguments)
        return {"ok": False, "error": "unknown_method"}

    def _needed(self, method: str, arguments: dict[str, str]) -> list[str]:
        if method == "conversations.list":
            return [f"{PREFIX[kind]}:read" for kind in arguments.get("types", "public_channel").split(",")]
        if method in ("conversations.history", "conversations.replies"):
            room = self.rooms.get(arguments.get("channel", ""))
            return [f"{PREFIX[room.kind]}:history"] if room else []
        return {"users.list": ["users:read"], "team.info": ["team:read"]}.get(method, [])

    def _listed(self, room: Room) -> dict[str, Any]:
        record = {"id": room.id, "is_archived": room.archived, "created": NOW - 900_000, "updated": next(self._noise)}
        if room.kind == "im":
            return record | {"is_im": True, "user": room.user}
        topic = {"value": room.topic, "creator": "U01", "last_set": 0}
        kinds = {"is_channel": room.kind == "public_channel", "is_private": room.kind != "public_channel"}
        kinds |= {"is_mpim": room.kind == "mpim", "is_im": False}
        return record | kinds | {"name": room.name, "is_member": room.joined, "topic": topic}

    def _cut(self, rows: list[Any], key: str, arguments: dict[str, str]) -> dict[str, Any]:
        limit, offset = int(arguments.get("limit", 100)), _offset(arguments)
        more = _cursor(offset + limit) if offset + limit < len(rows) else ""
        return {"ok": True, key: rows[offset : offset + limit], "response_metadata": {"next_cursor": more}}

    def _history(self, room: Room, arguments: dict[str, str]) -> dict[str, Any]:
        oldest, latest = arguments.get("oldest", ""), arguments.get("latest", "")
        rows = [
            message
            for ts, message in sorted(room.messages.items(), reverse=True)
            if message.get("thread_ts", ts) == ts or message.get("subtype") == "thread_broadcast"
            if (not oldest or _number(ts) > _number(oldest)) and (not latest or _number(ts) < _number(latest))
        ]
        if oldest and not latest:
            rows.reverse()
        limit, offset = min(int(arguments.get("limit", 100)), self.page_cap), _offset(arguments)
        page = sorted(rows[offset : offset + limit], key=lambda m: str(m["ts"]), reverse=True)
        more = offset + limit < len(rows)
        answer = {"ok": True, "messages": [self._shown(room, m) for m in page], "has_more": more, "pin_count": 0}
        return answer | ({"response_metadata": {"next_cursor": _cursor(offset + limit)}} if more else {})

    def _replies(self, room: Room, arguments: dict[str, str]) -> dict[str, Any]:
        parent = room.messages.get(arguments.get("ts", ""))
        if parent is None:
            return {"ok": False, "error": "thread_not_found"}
        rows = self.replies(room.id, parent["ts"])
        limit, offset = min(int(arguments.get("limit", 1000)), self.page_cap), _offset(arguments)
        page = [parent, *rows[offset : offset + limit - 1]]
        offset += limit - 1
        more = offset < len(rows)
        answer = {"ok": True, "messages": [self._shown(room, m) for m in page], "has_more": more}
        return answer | ({"response_metadata": {"next_cursor": _cursor(offset)}} if more else {})

    def _shown(self, room: Room, message: dict[str, Any]) -> dict[str, Any]:
        """Return a message as an answer has it: with what is counted of its thread, and other block ids each time."""
        shown: dict[str, Any] = json.loads(json.dumps(message))
        for block in shown.get("blocks", []) if isinstance(shown.get("blocks"), list) else ():
            block["block_id"] = f"n{next(self._noise)}"
        if isinstance(message.get("thread_ts"), str) and message["thread_ts"] != message["ts"]:
            shown["parent_user_id"] = room.messages.get(message["thread_ts"], {}).get("user", "U01")
        replies = self.replies(room.id, message["ts"])
        if replies:
            users = list(dict.fromkeys(reply["user"] for reply in replies))
            shown |= {"thread_ts": message["ts"], "reply_count": len(replies), "latest_reply": replies[-1]["ts"]}
            shown |= {"reply_users": users, "reply_users_count": len(users), "subscribed": False, "is_locked": False}
        return shown


def error(code: str, **more: Any) -> Refusal:
    return Refusal(body={"ok": False, "error": code, **more})


def limited(seconds: int | str = 1) -> Refusal:
    return Refusal(429, {"ok": False, "error": "ratelimited"}, {"Retry-After": str(seconds)})


def _number(ts: str) -> int:
    seconds, _, fraction = ts.partition(".")
    return int(seconds) * 1_000_000 + int(fraction.ljust(6, "0"))


def _cursor(offset: int) -> str:
    return base64.b64encode(f"next:{offset}".encode()).decode()


def _offset(arguments: dict[str, str]) -> int:
    cursor = arguments.get("cursor", "")
    return int(base64.b64decode(cursor).decode().removeprefix("next:")) if cursor else 0


class Server:
    """The Web API of a workspace at a free port of this machine."""

    def __init__(self, workspace: Workspace) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                token = self.headers.get("Authorization", "").removeprefix("Bearer ")
                method = self.path.partition("?")[0].rpartition("/")[2]
                answer = workspace.answer(method, dict(parse_qsl(body)), token)
                if answer.cut:
                    self.close_connection = True
                    return
                data = (answer.body if isinstance(answer.body, str) else json.dumps(answer.body)).encode()
                self.send_response(answer.status)
                for name, value in {"Content-Type": "application/json; charset=utf-8", **answer.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self.url = f"http://127.0.0.1:{self._http.server_port}/api/"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
