"""Loaded by Python itself in every process that a test starts with this folder in PYTHONPATH: refuses the network.

Connections to this machine are let through; any other, and any name that is to be resolved, is written down and refused.
Programs that are started are written down too. `CTXSYNC_TEST_HOSTS` may name hosts (`llm.example=127.0.0.1`) that lead to
this machine, so that a test can serve them.
"""

from __future__ import annotations

import ipaddress
import json
import os
import socket
import sys
from typing import Any

LOG = os.environ.get("CTXSYNC_TEST_GUARD", "")
HOSTS = dict(pair.split("=") for pair in os.environ.get("CTXSYNC_TEST_HOSTS", "").split(",") if pair)
_resolve = socket.getaddrinfo


def note(kind: str, what: Any) -> None:
    line = json.dumps({"kind": kind, "what": what, "argv": sys.argv[:4] if hasattr(sys, "argv") else []})
    handle = os.open(LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(handle, f"{line}\n".encode())
    os.close(handle)


def here(host: Any) -> bool:
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if host in (None, "", "localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def hook(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        host = arguments[0]
    elif event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = arguments[1]
        if not isinstance(address, tuple):  # a path on this machine, or the address that was connected to
            return
        host = address[0]
    elif event in ("subprocess.Popen", "os.exec", "os.posix_spawn"):
        note("program", [os.fsdecode(word) for word in arguments[1]] if arguments[1] else [str(arguments[0])])
        return
    else:
        return
    if not here(host):
        note("refused", [event, host.decode("ascii", "replace") if isinstance(host, bytes) else host])
        raise PermissionError(f"refused by the test: {event} {host!r}")


def resolved(host: Any, *rest: Any, **more: Any) -> Any:
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    return _resolve(HOSTS.get(name, host), *rest, **more)


if LOG:
    note("guarded", os.getpid())
    socket.getaddrinfo = resolved
    sys.addaudithook(hook)
