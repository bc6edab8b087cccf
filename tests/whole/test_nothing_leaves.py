"""The whole product with every socket refused that leads off this machine; and what leaves when it may.

Each command is a process of its own, as a person starts it, with a guard in it that Python's audit hooks call before any
name is resolved and any connection is made. Mail comes from a real Dovecot and Slack from a local server, on loopback.
"""

from __future__ import annotations

import ast
import base64
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.connectors.imap.dovecot import PASSWORD, served
from tests.connectors.slack.server import BOT_TOKEN, Server, Workspace
from tests.engine.door.server import HOST, ModelServer, said

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
GUARD = Path(__file__).parent / "guard"
KEY = "csk-not-a-real-key-8f2h5k9w3x7z"
CANARY = "AKIAQ7CANARY42SECRETX"
PASSWORDS = ("blue-heron-77-lantern", "q9Zt")
NOTE = f"""# Nadia Okoro

Nadia Okoro joined Fennel Labs in May 2025. She moved from Lisbon to Ghent and works with Tomas Brandt.

The deployment account uses {CANARY}, and its password = {PASSWORDS[0]}. My PIN: {PASSWORDS[1]}
"""
PROVIDERS = """
[cerebras]
api_key = "env:CEREBRAS_API_KEY"
url = "{url}"

[deepinfra]
api_key = "env:CEREBRAS_API_KEY"
url = "{url}"

[openrouter]
api_key = "env:CEREBRAS_API_KEY"
url = "{url}"

[[providers]]
name = "mine"
url = "{url}"
model = "any"
tier = 2
api_key = "env:CEREBRAS_API_KEY"
"""


class Product:
    """A home, and the command in processes that are guarded.

    Args:
        folder: Where the home and the guard's log lie.
    """

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.home.mkdir(mode=0o700)
        self.log = folder / "guard.jsonl"
        self.more: dict[str, str] = {}
        self.running: list[subprocess.Popen[str]] = []

    def configure(self, text: str) -> None:
        path = self.home / "config.toml"
        path.write_text(text, encoding="utf-8")
        path.chmod(0o600)

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
        return {
            **kept,
            "PYTHONPATH": os.pathsep.join((str(GUARD), str(ROOT))),
            "CTXSYNC_TEST_GUARD": str(self.log),
            "CTXSYNC_HOME": str(self.home),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "CTXSYNC_TEST_PASSWORD": PASSWORD,
            "CTXSYNC_TEST_SLACK": BOT_TOKEN,
            "CEREBRAS_API_KEY": KEY,
            "OPENAI_API_KEY": KEY,
            "HF_TOKEN": KEY,
            **self.more,
        }

    def __call__(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "ctxsync", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=240,
            env=self.environment,
        )

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "ctxsync", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=self.environment,
        )
        self.running.append(process)
        return process

    def close(self) -> None:
        for process in self.running:
            with process:  # closes its pipes and waits for it
                process.kill()

    def noted(self, kind: str) -> list[Any]:
        lines = [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]
        return [line["what"] if kind == "program" else line for line in lines if line["kind"] == kind]


def repository(path: Path) -> None:
    path.mkdir()
    (path / "README.md").write_text("# Tide\n\nTide uses Redis.\n", encoding="utf-8")
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=Elin Marsh", "-c", "user.email=elin@example.com", "commit", "-qm", "Tide replaces Ebb"],
    ):
        subprocess.run(
            ["git", "-C", str(path), *command], check=True, env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
        )


@pytest.fixture
def product(tmp_path: Path) -> Iterator[Product]:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "Nadia.md").write_text(NOTE, encoding="utf-8")
    made = Product(tmp_path)
    yield made
    made.close()


@pytest.fixture
def everything(product: Product, tmp_path: Path) -> Iterator[str]:
    """All kinds of sources, each with something to read; their tables."""
    repository(tmp_path / "tide")
    mail = served()
    user = mail.user()
    with mail.client(user) as client:
        client.append(
            "INBOX",
            b"From: Rosa Quint <rosa@example.com>\r\nTo: robin@example.com\r\nSubject: Harbour\r\n"
            b"Date: Mon, 03 Mar 2025 10:00:00 +0000\r\nMessage-ID: <harbour@example.com>\r\n\r\n"
            b"Rosa Quint leads the Harbour project at Acme since 2024.\r\n",
        )
    workspace = Workspace()
    workspace.room("C01", "general")
    workspace.post("C01", "Ben Carver works at Southgate since 2021.")
    with Server(workspace) as slack:
        yield f"""
[[sources]]
name = "vault"
type = "notes"
path = "{tmp_path}/vault"

[[sources]]
name = "tide"
type = "git"
path = "{tmp_path}/tide"

[[sources]]
name = "mail"
type = "imap"
host = "127.0.0.1"
port = {mail.port}
tls = "none"
user = "{user}"
password = "env:CTXSYNC_TEST_PASSWORD"

[[sources]]
name = "chat"
type = "slack"
token = "env:CTXSYNC_TEST_SLACK"
api_url = "{slack.url}"
"""


def until(process: subprocess.Popen[str], words: str) -> str:
    """Read what a process says up to a line with these words."""
    assert process.stdout is not None
    said_so_far = []
    for line in process.stdout:
        said_so_far.append(line)
        if words in line:
            return "".join(said_so_far)
    raise AssertionError("".join(said_so_far))


REQUESTS = (
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
    '"clientInfo":{"name":"test","version":"1"}}}\n'
    '{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","arguments":'
    '{"question":"where does Nadia Okoro work?"}}}\n'
)


@pytest.mark.slow
def test_with_allow_cloud_off_no_command_reaches_for_the_network(product: Product, everything: str) -> None:
    product.configure(
        '[extraction]\nmode = "cloud-quality"\n[privacy]\nallow_cloud = false\n'
        + PROVIDERS.format(url="https://api.cerebras.example/v1")
        + everything
    )

    synced = product("sync", "--json")
    assert synced.returncode == 0, synced.stderr
    assert {source["name"] for source in json.loads(synced.stdout)["sources"]} == {"vault", "tide", "mail", "chat"}
    assert "Fennel Labs" in product("ask", "where does Nadia Okoro work?").stdout
    assert product("search", "who leads the harbour project").returncode == 0
    assert product("extract", "Nadia joined Fennel Labs").returncode == 0
    for tier in ("2", "3", "4"):
        product("extract", "--tier", tier, "Nadia joined Fennel Labs")
    assert product("doctor", "--online").returncode in (0, 1)
    assert product("status").returncode == 0
    assert product("models", "list").returncode == 0
    assert product("rebuild").returncode == 0
    assert product("verify", "--deep").returncode == 0

    mcp = product.start("mcp")
    assert mcp.stdin is not None
    mcp.stdin.write(REQUESTS)
    mcp.stdin.flush()
    until(mcp, '"id":2')
    mcp.stdin.close()
    assert mcp.wait(60) == 0

    watch = product.start("watch")
    until(watch, "ready")
    (product.home.parent / "vault" / "Elin.md").write_text("Elin Marsh works at Northwind.\n", encoding="utf-8")
    until(watch, "vault:")
    watch.send_signal(signal.SIGINT)
    until(watch, "stopped")
    assert watch.wait(60) == 0

    assert product.noted("refused") == []
    assert len(product.noted("guarded")) >= 14  # the guard was in each of them
    assert not reaching(product.noted("program"))
    assert product("egress").stdout == "Nothing ever left this machine.\n"
    assert not (product.home / "egress.db").exists()


def reaching(programs: list[list[str]]) -> list[list[str]]:
    """Return those of the programs started that may use the network: all but git without remotes, and looks at hardware."""
    looks = {"nvidia-smi", "rocm-smi", "uname", "lscpu", "sysctl", "system_profiler", "ldconfig", "ldconfig.real"}
    return [
        words
        for words in programs
        if Path(words[0]).name not in looks
        and not (Path(words[0]).name == "git" and words[1:] in (["version"], ["--version"]))
        and not (words[0] == "env" and "GIT_ALLOW_PROTOCOL=none" in words and "git" in words)
    ]


@pytest.fixture
def cloud(product: Product, tmp_path: Path) -> Iterator[ModelServer]:
    """A provider with a name that is not this machine's, which the guard leads here."""
    with ModelServer(tmp_path) as server:
        server.script = [said(json.dumps({"entities": [], "relations": []}))]
        product.more = {"SSL_CERT_FILE": str(tmp_path / "ca.pem"), "CTXSYNC_TEST_HOSTS": f"{HOST}=127.0.0.1"}
        yield server


def allowed(server: ModelServer, sources: str, *, allow: bool = True) -> str:
    switch = "true" if allow else "false"
    return (
        f'[extraction]\nmode = "cloud-quality"\n[privacy]\nallow_cloud = {switch}\n'
        f'[local_llm]\nbackend = "off"\n[cerebras]\napi_key = "env:CEREBRAS_API_KEY"\nurl = "{server.url}"\n' + sources
    )


def vault(product: Product, more: str = "") -> str:
    return f'[[sources]]\nname = "vault"\ntype = "notes"\npath = "{product.home.parent}/vault"\n{more}'


@pytest.mark.slow
def test_a_key_in_a_note_is_in_no_byte_that_leaves(product: Product, cloud: ModelServer) -> None:
    product.configure(allowed(cloud, vault(product)))

    ran = product("sync", "--json")
    assert ran.returncode == 0, ran.stderr
    product("extract", "--tier", "3", f"Nadia said the token is {CANARY}.")

    assert cloud.seen, ran.stdout
    sent = b"\n".join(seen.raw + repr(seen.path).encode() for seen in cloud.seen)
    for secret in (CANARY, *PASSWORDS):
        assert secret.encode() not in sent
        assert base64.b64encode(secret.encode())[:-4] not in sent
    text = sent.decode()
    assert "[SECRET_" in text
    for name in ("Nadia", "Okoro", "Brandt"):
        assert name not in "".join(told(seen) for seen in cloud.seen)
    calls = json.loads(product("egress", "--json").stdout)["calls"]
    assert len(calls) == len(cloud.seen)
    assert {call["host"] for call in calls} == {HOST}
    assert any("secret:aws" in call["flags"] for call in calls)
    assert product.noted("refused") == []


def told(seen: Any) -> str:
    """Return what a request holds besides the rules, which ship with ctxsync and have names in their examples."""
    return "\n".join(message["content"] for message in seen.body["messages"] if message["role"] != "system")


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["settings", "source"])
def test_what_may_not_leave_does_not_though_the_provider_answers(
    product: Product, cloud: ModelServer, closed: str
) -> None:
    sources = vault(product, "allow_cloud = false\n" if closed == "source" else "")
    product.configure(allowed(cloud, sources, allow=closed == "source"))

    assert product("sync").returncode == 0
    if closed == "settings":
        product("extract", "--tier", "3", "Nadia joined Fennel Labs.")

    assert cloud.seen == []
    assert product("egress").stdout == "Nothing ever left this machine.\n"


def test_the_guard_sees_what_it_is_to_see(product: Product) -> None:
    """Or all of this would prove nothing."""
    code = (
        "import socket, urllib.request\n"
        "for act in (lambda: urllib.request.urlopen('http://api.example/'),\n"
        "            lambda: socket.create_connection(('192.0.2.1', 80), 1),\n"
        "            lambda: socket.socket().connect(('192.0.2.1', 80)),\n"
        "            lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))):\n"
        "    try: act()\n"
        "    except OSError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=product.environment,
    )

    assert done.stdout.count("refused by the test") == 4
    assert [line["what"] for line in product.noted("refused")] == [
        ["socket.getaddrinfo", "api.example"],
        ["socket.getaddrinfo", "192.0.2.1"],
        ["socket.connect", "192.0.2.1"],
        ["socket.sendto", "192.0.2.1"],
    ]


NETWORK = {
    *(
        "httpx",
        "httpcore",
        "requests",
        "urllib3",
        "aiohttp",
        "websockets",
        "http",
        "socket",
        "ssl",
        "ftplib",
        "smtplib",
    ),
    *(
        "telnetlib",
        "xmlrpc",
        "ollama",
        "openai",
        "anthropic",
        "huggingface_hub",
        "grpc",
        "litellm",
        "slack_sdk",
        "imapclient",
    ),
}
MAY = {
    "engine/door": "the door",
    "connectors": "sources: they read, and each talks to the server that it is configured for",
    "engine/extraction/gliner": "sets the hub's client offline before a library is loaded that has it",
    "tiers.py": "asks whether something listens on a port of this machine, and sends nothing",
    "model_hub.py": "fetches models' files, when told to by `ctxsync models pull`; it sends nothing but their names",
}


def imported(path: Path) -> set[str]:
    """Return the modules that a file imports anywhere, and the names that it imports by text."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in (
            "import_module",
            "__import__",
        ):
            found |= {str(word.value) for word in node.args if isinstance(word, ast.Constant)}
    return found


def test_no_module_but_the_door_and_the_connectors_can_talk_to_anyone() -> None:
    package = ROOT / "ctxsync"
    files = [Path(folder) / name for folder, _, names in os.walk(package, followlinks=True) for name in names]
    modules = sorted(path for path in files if path.suffix == ".py")
    assert len(modules) > 100

    guilty = {
        f"{path.relative_to(package)}: {module}"
        for path in modules
        if not any(path.relative_to(package).is_relative_to(allowed_) for allowed_ in MAY)
        for module in imported(path)
        if module.split(".")[0] in NETWORK or module in ("urllib.request", "asyncio.streams")
    }

    assert not guilty
