from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from ctxsync.engine.extraction.llm.local import OVERRIDE, Vram, choose_model, detect_vram, recommended
from ctxsync.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EVERYTHING = ("nuextract:2.0-2b", "nuextract:2.0-4b", "qwen3:8b", "qwen3:14b", "gemma4:latest", "llama3:8b")


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Put programs on an otherwise empty PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(OVERRIDE, raising=False)

    def put(name: str, script: str) -> None:
        file = tmp_path / name
        file.write_text(f"#!{sys.executable} -SE\nimport sys\n{script}\n")
        file.chmod(0o755)

    return put


def printing(text: str) -> str:
    return f"print({text!r})"


def test_a_machine_without_a_gpu_has_none(program: Callable[[str, str], None]) -> None:
    assert detect_vram() is None


def test_nvidia_says_what_is_free_on_its_emptiest_card(program: Callable[[str, str], None]) -> None:
    script = "assert sys.argv[1] == '--query-gpu=memory.free,memory.total', sys.argv\n"
    program("nvidia-smi", script + printing("1200, 8192\n10240, 12288\n[N/A], [N/A]"))
    assert detect_vram() == Vram(10240, 12288, "nvidia-smi")


def test_rocm_says_what_is_used(program: Callable[[str, str], None]) -> None:
    card = {"VRAM Total Memory (B)": str(16 << 30), "VRAM Total Used Memory (B)": str(4 << 30)}
    program("rocm-smi", printing(json.dumps({"card0": card, "system": "x"})))
    assert detect_vram() == Vram(12 << 10, 16 << 10, "rocm-smi")


def test_metal_lends_three_quarters_of_the_memory(
    program: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    program(
        "system_profiler", printing('{"SPDisplaysDataType": [{"spdisplays_mtlgpufamilysupport": "spdisplays_metal3"}]}')
    )
    program("sysctl", printing(str(16 << 30)))
    assert detect_vram() == Vram(12 << 10, 16 << 10, "metal")


@pytest.mark.parametrize("script", ["sys.exit(9)", printing("NVIDIA-SMI has failed"), printing("x, y"), "print()"])
def test_a_program_that_fails_says_nothing(program: Callable[[str, str], None], script: str) -> None:
    for name in ("nvidia-smi", "rocm-smi"):
        program(name, script)
    assert detect_vram() is None


def test_a_program_that_hangs_is_left(program: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxsync.engine.extraction.llm.local._PATIENCE", 0.2)
    program("nvidia-smi", "import signal\nsignal.pause()")
    assert detect_vram() is None


def test_the_override_goes_first(program: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    program("nvidia-smi", printing("1200, 8192"))
    monkeypatch.setenv(OVERRIDE, "6.5")
    found = detect_vram()
    assert found
    assert (found.free_gb, found.by) == (6.5, OVERRIDE)


@pytest.mark.parametrize("said", ["8GB", "-1", "nan", "inf"])
def test_an_override_that_is_no_size_is_an_error(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OVERRIDE, said)
    with pytest.raises(ConfigError, match="no size"):
        detect_vram()


@pytest.mark.parametrize(
    ("gb", "installed", "chosen"),
    [
        (3.9, EVERYTHING, None),
        (4, EVERYTHING, "nuextract:2.0-2b"),
        (7.9, ("qwen3:8b",), None),
        (8, EVERYTHING, "nuextract:2.0-4b"),
        (12, ("qwen3:8b", "nuextract:2.0-2b"), "qwen3:8b"),
        (12, ("hf.co/numind/NuExtract:2.0-4b-q4_K_M",), "hf.co/numind/NuExtract:2.0-4b-q4_K_M"),
        (12, ("gemma4:latest",), "gemma4:latest"),
        (16, EVERYTHING, "qwen3:14b"),
        (24, ("qwen3:8b",), "qwen3:8b"),
        (24, ("nuextract:2.0-2b",), "nuextract:2.0-2b"),
        (24, ("llama3:8b",), None),
        (24, (), None),
    ],
)
def test_free_memory_and_what_is_installed_choose_the_model(
    gb: float, installed: tuple[str, ...], chosen: str | None
) -> None:
    assert choose_model(gb, installed) == chosen


def test_a_model_to_install_is_named_from_four_gigabytes_on() -> None:
    assert [recommended(gb) for gb in (2, 4, 8, 16)] == [None, "nuextract:2.0-2b", "nuextract:2.0-4b", "qwen3:14b"]
