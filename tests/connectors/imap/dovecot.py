"""A real Dovecot on free loopback ports with a throw-away configuration, plain and TLS; knows no connector.

It runs as root (mail then belongs to `vmail`, or `nobody`) and without.
"""

from __future__ import annotations

import atexit
import contextlib
import grp
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import imapclient
import pytest
import trustme

if TYPE_CHECKING:
    from collections.abc import Iterator

PASSWORD = "not-a-real-password"
DOVECOT = shutil.which("dovecot") or next((p for p in ("/usr/sbin/dovecot",) if Path(p).exists()), None)
NEEDS = "Dovecot is not installed: apt-get install -y --no-install-recommends dovecot-imapd"

CONFIGURATION = """
base_dir = {run}
state_dir = {run}
log_path = {log}
protocols = imap
listen = 127.0.0.1
ssl = yes
ssl_cert = <{folder}/cert.pem
ssl_key = <{folder}/key.pem
disable_plaintext_auth = no
auth_mechanisms = plain login
auth_failure_delay = 0
login_greeting = Ready.
mail_location = maildir:{folder}/mail/%u
mail_uid = {user}
mail_gid = {group}
mail_fsync = never
first_valid_uid = 1
first_valid_gid = 1
mail_max_userip_connections = 100
{rootless}
passdb {{
  driver = static
  args = password={password}
}}
userdb {{
  driver = static
  args = uid={user} gid={group} home={folder}/mail/%u
}}
service imap-login {{
  service_count = 0
  process_min_avail = 1
  {unchrooted}
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = {tls_port}
    ssl = yes
  }}
}}
service anvil {{
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
  {unchrooted}
}}
service imap {{
  service_count = 1000
  process_min_avail = 1
}}
namespace inbox {{
  inbox = yes
  separator = /
  mailbox Sent {{
    special_use = \\Sent
  }}
  mailbox Junk {{
    special_use = \\Junk
  }}
}}
"""
ROOTLESS = """
default_internal_user = {user}
default_internal_group = {group}
default_login_user = {user}
service stats {{
  chroot =
}}
"""


class Dovecot:
    """A server that runs.

    Args:
        folder: Where its files are.
        port: Without TLS, and with STARTTLS.
        tls_port: With TLS from the first byte.
    """

    def __init__(self, folder: Path, port: int, tls_port: int) -> None:
        self.folder, self.port, self.tls_port = folder, port, tls_port
        self.ca = folder / "ca.pem"
        self._users = count(1)

    def user(self) -> str:
        """Return a user with an empty mailbox of their own."""
        return f"user{next(self._users)}@example.com"

    def maildir(self, user: str) -> Path:
        return self.folder / "mail" / user

    @contextmanager
    def client(self, user: str) -> Iterator[Any]:
        """Yield another mail program of the same user, which may write."""
        with imapclient.IMAPClient("127.0.0.1", self.port, ssl=False, timeout=20) as client:
            client.login(user, PASSWORD)
            yield client


def free_ports(number: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _owner() -> tuple[str, str]:
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(os.getegid()).gr_name
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = names.get("vmail") or names["nobody"]
    return entry.pw_name, grp.getgrgid(entry.pw_gid).gr_name


@contextmanager
def serving() -> Iterator[Dovecot]:
    """Start a server for the time of the context; skips the test where Dovecot is not installed."""
    if DOVECOT is None:
        pytest.skip(NEEDS)
    folder = Path(tempfile.mkdtemp(prefix="dovecot-"))  # short: it holds sockets, whose paths have 100 characters
    try:
        folder.chmod(0o755)
        user, group = _owner()
        authority = trustme.CA()
        authority.cert_pem.write_to_path(folder / "ca.pem")
        certificate = authority.issue_cert("localhost", "127.0.0.1")
        certificate.private_key_pem.write_to_path(folder / "key.pem")
        for blob in certificate.cert_chain_pems:
            blob.write_to_path(folder / "cert.pem", append=True)
        (folder / "mail").mkdir()
        rootless = os.geteuid() != 0
        if not rootless:
            shutil.chown(folder / "mail", user, group)
        port, tls_port = free_ports(2)
        text = CONFIGURATION.format(
            folder=folder,
            run=folder / "run",
            log=folder / "log",
            user=user,
            group=group,
            password=PASSWORD,
            port=port,
            tls_port=tls_port,
            rootless=ROOTLESS.format(user=user, group=group) if rootless else "",
            unchrooted="chroot =" if rootless else "",
        )
        (folder / "dovecot.conf").write_text(text)
        process = subprocess.Popen(
            [DOVECOT, "-F", "-c", str(folder / "dovecot.conf")],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            _await(process, port, folder / "log")
            yield Dovecot(folder, port, tls_port)
        finally:
            process.terminate()
            try:
                process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@cache
def served() -> Dovecot:
    """Return the one server of this process, started when it is first wanted and stopped with the process."""
    stack = contextlib.ExitStack()
    try:
        server = stack.enter_context(serving())
    except RuntimeError:  # another process took a port that was free: once more, with others
        server = stack.enter_context(serving())
    atexit.register(stack.close)
    return server


def _await(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    until = time.monotonic() + 20
    while time.monotonic() < until and process.poll() is None:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                if connection.recv(4) == b"* OK":
                    return
        except OSError:
            pass
        time.sleep(0.02)  # nothing tells when it listens
    process.terminate()
    said = process.communicate()[1].decode() + (log.read_text() if log.exists() else "")
    raise RuntimeError(f"Dovecot does not start: {said}")
