"""Which local model this machine can run: its free video memory, and the models that Ollama has; starts nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ctxsync.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ctxsync.engine.door.door import Door
    from ctxsync.engine.door.provider import Provider

OVERRIDE = "CTXSYNC_VRAM_OVERRIDE"
"""Environment variable: gigabytes of free video memory to believe in."""

# A driver that hangs must not hang us.
_PATIENCE = 5.0
# Metal lends the GPU about three quarters of a Mac's memory (`recommendedMaxWorkingSetSize`).
_METAL_SHARE = 0.75

PREFERENCES: tuple[tuple[float, tuple[str, ...]], ...] = (
    (16, ("qwen3:14b", "gemma4:12b", "hermes-4:8b", "qwen3:8b", "nuextract:2.0-4b", "nuextract:2.0-2b")),
    (8, ("nuextract:2.0-4b", "qwen3:8b", "hermes-4:8b", "gemma4:4b", "gemma4", "nuextract:2.0-2b")),
    (4, ("nuextract:2.0-2b", "gemma4:2b")),
)
"""SPEC, "Tiers": from so many GB free on, these models, the one to prefer first. Under 4 GB there is none."""


@dataclass(frozen=True, slots=True)
class Vram:
    """Video memory in MiB, over all devices of a kind, and who said so."""

    free: int
    total: int
    by: str

    @property
    def free_gb(self) -> float:
        """Return GiB that are free."""
        return self.free / 1024


def detect_vram() -> Vram | None:
    """Return this machine's video memory; None where no GPU is found. The override goes first.

    Raises `ConfigError` where the override is no number.
    """
    if said := os.environ.get(OVERRIDE, "").strip():
        try:
            megabytes = round(float(said) * 1024)
        except (ValueError, OverflowError):
            megabytes = -1
        if megabytes < 0:
            raise ConfigError(f"{OVERRIDE} is {said!r}, which is no size.", remedy="Give gigabytes, for example 8.")
        return Vram(megabytes, megabytes, OVERRIDE)
    return _nvidia() or _rocm() or _metal()


def choose_model(vram_gb: float, installed: Collection[str]) -> str | None:
    """Return the installed model to use, by free memory; None where none fits.

    Args:
        vram_gb: GiB of free video memory.
        installed: Names as Ollama lists them: `qwen3:8b`, `nuextract:2.0-4b-q4_K_M`, `gemma4:latest`.
    """
    there = sorted(installed)
    for least, preferred in PREFERENCES:
        if vram_gb < least:
            continue
        for wanted in preferred:
            if wanted in installed:
                return wanted
            if alike := next((name for name in there if _is(name, wanted)), None):
                return alike
    return None


def recommended(vram_gb: float) -> str | None:
    """Return the model to install on a machine with so much free memory; None under 4 GB."""
    return next((preferred[0] for least, preferred in PREFERENCES if vram_gb >= least), None)


def installed_models(door: Door, provider: Provider) -> list[str]:
    """Return the names of the models that an Ollama has; raises `ProviderError` where it does not answer."""
    answer = door.get(provider, "/api/tags")
    models = answer.get("models") if isinstance(answer, dict) else None
    return [
        str(model["name"]) for model in models or () if isinstance(model, dict) and isinstance(model.get("name"), str)
    ]


def _is(name: str, wanted: str) -> bool:
    """Say whether an installed model is a wanted one: with a quantisation behind its tag, or from a namespace."""
    name = name.rpartition("/")[2].lower()
    wanted = wanted if ":" in wanted else f"{wanted}:latest"
    return name == wanted or name.startswith(f"{wanted}-")


def _nvidia() -> Vram | None:
    said = _run(["nvidia-smi", "--query-gpu=memory.free,memory.total", "--format=csv,noheader,nounits"])
    rows: list[tuple[int, int]] = []
    for line in said.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) == 2 and all(cell.isdigit() for cell in cells):
            rows.append((int(cells[0]), int(cells[1])))
    return _most(rows, "nvidia-smi")


def _rocm() -> Vram | None:
    cards = _json(["rocm-smi", "--showmeminfo", "vram", "--json"])
    rows: list[tuple[int, int]] = []
    for card in cards.values():
        values = {str(key).lower(): value for key, value in card.items()} if isinstance(card, dict) else {}
        total = _bytes(values.get("vram total memory (b)"))
        used = _bytes(values.get("vram total used memory (b)"))
        if total is not None and used is not None:
            rows.append((max(0, total - used) >> 20, total >> 20))
    return _most(rows, "rocm-smi")


def _metal() -> Vram | None:
    """Return what Metal may use: system memory is shared, so what is free of it is not known before it is asked for."""
    if sys.platform != "darwin":
        return None
    displays = _json(["system_profiler", "SPDisplaysDataType", "-json"]).get("SPDisplaysDataType")
    if not any("metal" in json.dumps(display).lower() for display in displays or ()):
        return None
    memory = _bytes(_run(["sysctl", "-n", "hw.memsize"]).strip())
    if memory is None:
        return None
    usable = int(memory * _METAL_SHARE) >> 20
    return Vram(usable, memory >> 20, "metal")


def _most(rows: Sequence[tuple[int, int]], by: str) -> Vram | None:
    """Return the device with the most free memory: a model that fits on one is not spread over two."""
    best = max(rows, default=None)
    return Vram(*best, by) if best else None


def _bytes(value: Any) -> int | None:
    return int(value) if str(value).isdigit() else None


def _json(command: Sequence[str]) -> dict[str, Any]:
    try:
        found = json.loads(_run(command) or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _run(command: Sequence[str]) -> str:
    """Return what a program prints; nothing where it is missing, fails or hangs."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode(errors="replace") if done.returncode == 0 else ""
