"""An IMAP server that says what a test writes down, for what Dovecot will not do; it keeps folders, and little else.

What a client says is answered by the first entry of `script` whose pattern fits (`TAG` in the answer stands for the
client's tag), else by the few commands below. An answer that ends in HANG_UP closes the connection; SILENCE says nothing.
"""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

HANG_UP = b"\0hang up"
SILENCE = b"\0silence"


@dataclass(slots=True)
class Box:
    """A folder: its messages by UID, and what the server says of it."""

    messages: Mapping[int, bytes] = field(default_factory=dict)
    validity: int = 7
    labels: dict[int, str] = field(default_factory=dict)
    modseq: int = 1
    changed: dict[int, int] = field(default_factory=dict)
    flags: str = ""
    shows_next: bool = True
    next: int = 0

    def following(self) -> int:
        return self.next or max(self.messages, default=0) + 1


class Scripted:
    """The server; it listens on `port`.

    Attributes:
        boxes: Folders by the name that LIST gives.
        capabilities: Those it names.
        script: Pairs of a pattern and an answer, or what makes one of the tag and the match; None falls through.
        lines: What clients said, without tags.
    """

    def __init__(self) -> None:
        self.boxes: dict[str, Box] = {"INBOX": Box()}
        self.capabilities = "IMAP4rev1 ENABLE CONDSTORE IDLE"
        self.script: list[tuple[str, bytes | Callable[[str, re.Match[str]], bytes | None]]] = []
        self.lines: list[str] = []
        self.said = threading.Condition()
        self.listing: list[bytes] | None = None
        self.password = "not-a-real-password"
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._open: set[socket.socket] = set()
        self._threads[0].start()

    def fetched(self) -> list[str]:
        return [line for line in self.lines if "BODY" in line]

    def wait_for(self, pattern: str, times: int = 1) -> None:
        with self.said:
            assert self.said.wait_for(lambda: sum(bool(re.search(pattern, x)) for x in self.lines) >= times, 10), (
                self.lines
            )

    def tell(self, data: bytes) -> None:
        """Say something unasked on every connection."""
        for one in list(self._open):
            with contextlib.suppress(OSError):
                one.sendall(data)

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for one in list(self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                self._threads.append(threading.Thread(target=self._serve, args=(client,), daemon=True))
                self._threads[-1].start()

    def _serve(self, client: socket.socket) -> None:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._open.add(client)
        selected: list[str] = []
        with contextlib.suppress(OSError), client, client.makefile("rb") as file:
            client.sendall(self._answer("", "GREETING", selected) or b"* OK ready\r\n")
            last = ""
            for line in file:
                tag, _, said = line.decode("utf-8", "replace").rstrip("\r\n").partition(" ")
                if not said:  # DONE, or a step of AUTHENTICATE: the command is the one before
                    tag, said = last, tag
                last = tag
                with self.said:
                    self.lines.append("LOGIN" if said.startswith("LOGIN") else said)
                    self.said.notify_all()
                answer = self._answer(tag, said, selected)
                if answer is None:
                    answer = self._default(tag, said, selected)
                if answer == SILENCE:
                    continue
                client.sendall(answer.removesuffix(HANG_UP))
                if answer.endswith(HANG_UP) or said == "LOGOUT":
                    break
        self._open.discard(client)

    def _answer(self, tag: str, said: str, selected: list[str]) -> bytes | None:
        for pattern, answer in self.script:
            found = re.search(pattern, said)
            if found:
                told = answer(tag, found) if callable(answer) else answer
                if told is not None:
                    return told.replace(b"TAG", tag.encode())
        return None

    def _default(self, tag: str, said: str, selected: list[str]) -> bytes:
        verb, _, rest = said.partition(" ")
        name = _unquoted(rest)
        done = f"{tag} OK done\r\n".encode()
        match verb:
            case "CAPABILITY":
                return f"* CAPABILITY {self.capabilities}\r\n".encode() + done
            case "LOGIN":
                good = said.endswith(f'"{self.password}"')
                return done if good else f"{tag} NO [AUTHENTICATIONFAILED] no\r\n".encode()
            case "ENABLE":
                return f"* ENABLED {rest}\r\n".encode() + done
            case "LIST":
                lines = self.listing or [f'* LIST ({b.flags}) "/" "{n}"'.encode() for n, b in self.boxes.items()]
                return b"".join(line + b"\r\n" for line in lines) + done
            case "STATUS" if name in self.boxes:
                box = self.boxes[name]
                numbers = f"UIDVALIDITY {box.validity} MESSAGES {len(box.messages)} HIGHESTMODSEQ {box.modseq}"
                if box.shows_next:
                    numbers += f" UIDNEXT {box.following()}"
                return f'* STATUS "{name}" ({numbers})\r\n'.encode() + done
            case "EXAMINE" if name in self.boxes:
                selected[:] = [name]
                return self._examined(self.boxes[name]) + f"{tag} OK [READ-ONLY] done\r\n".encode()
            case "UID" if selected:
                return self._uid(self.boxes[selected[0]], rest) + done
            case "IDLE":
                return b"+ idling\r\n"
            case "AUTHENTICATE":
                return b"+ \r\n"
            case "DONE":
                return done
            case "LOGOUT":
                return b"* BYE bye\r\n" + done
            case _:
                return f"{tag} NO there is no such thing\r\n".encode()

    def _examined(self, box: Box) -> bytes:
        lines = [f"* {len(box.messages)} EXISTS", "* 0 RECENT", f"* OK [UIDVALIDITY {box.validity}] v"]
        lines += [f"* OK [UIDNEXT {box.following()}] n"] * box.shows_next + [f"* OK [HIGHESTMODSEQ {box.modseq}] m"]
        return "".join(line + "\r\n" for line in lines).encode()

    def _uid(self, box: Box, rest: str) -> bytes:
        verb, wanted, what = (*rest.split(" ", 2), "")[:3]
        if verb == "SEARCH":
            uids = _in_set(box, what.split()[0])
            return b"* SEARCH" + b"".join(b" %d" % uid for uid in uids) + b"\r\n"
        found = []
        since = re.search(r"CHANGEDSINCE (\d+)", what)
        order = {uid: number for number, uid in enumerate(sorted(box.messages), 1)}
        for uid in _in_set(box, wanted):
            if since and box.changed.get(uid, 0) <= int(since[1]):
                continue
            parts = [b"UID %d" % uid]
            if "RFC822.SIZE" in what:
                parts += [b"RFC822.SIZE %d" % len(box.messages[uid]), b'INTERNALDATE "01-Mar-2024 10:00:00 +0000"']
            if "X-GM-LABELS" in what:
                parts.append(f"X-GM-LABELS ({box.labels.get(uid, '')})".encode())
            if "BODY.PEEK[]" in what:
                cut = re.search(r"BODY.PEEK\[\]<0\.(\d+)>", what)
                body = box.messages[uid][: int(cut[1])] if cut else box.messages[uid]
                parts.append(b"BODY[]%s {%d}\r\n%s" % (b"<0>" if cut else b"", len(body), body))
            found.append(b"* %d FETCH (%s)\r\n" % (order[uid], b" ".join(parts)))
        return b"".join(found)


def _unquoted(text: str) -> str:
    found = re.match(r'"((?:[^"\\]|\\.)*)"', text)
    return re.sub(r"\\(.)", r"\1", found[1]) if found else text.split(" ", maxsplit=1)[0]


def _in_set(box: Box, wanted: str) -> list[int]:
    """Return the UIDs of a set; `n:*` holds the last one always, as real servers have it."""
    last = max(box.messages, default=0)
    found: set[int] = set()
    for part in wanted.split(","):
        low, _, high = part.partition(":")
        ends = [last if end == "*" else int(end) for end in (low, high or low)]
        span = range(min(ends), max(ends) + 1)
        found.update(uid for uid in box.messages if uid in span) if len(span) > 50 else found.update(
            uid for uid in span if uid in box.messages
        )
    return sorted(found)


@contextmanager
def scripted() -> Iterator[Scripted]:
    """Run a server for the time of the context."""
    server = Scripted()
    try:
        yield server
    finally:
        server.close()
