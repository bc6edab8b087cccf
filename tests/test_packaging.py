"""What installs is what the repository holds: every part under `ctxsync`, and nothing beside it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PARTS = ("connectors", "engine", "events", "prompts", "schemas")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def folders() -> set[str]:
    """Every folder with code in it, as the package it installs as."""
    tops = [("ctxsync", ROOT / "ctxsync"), *((f"ctxsync.{part}", ROOT / part) for part in PARTS)]
    found = set()
    for name, top in tops:
        for init in top.rglob("__init__.py"):
            inner = init.parent.relative_to(top).parts
            if not (name == "ctxsync" and inner and inner[0] in PARTS):
                found.add(".".join((name, *inner)))
    return found


def test_every_folder_with_code_is_named_in_the_package_list() -> None:
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == folders()


def test_every_part_is_linked_for_type_checkers_and_editors() -> None:
    for part in PARTS:
        link = ROOT / "ctxsync" / part
        assert link.is_symlink()
        assert link.resolve() == ROOT / part


def test_importing_the_package_imports_nothing_else_of_it() -> None:
    code = "import sys, ctxsync; print(sorted(m for m in sys.modules if m.startswith(('ctxsync', 'pydantic', 'apsw'))))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "['ctxsync']"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    place = tmp_path_factory.mktemp("wheel")
    source = place / "source"
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, text=True, check=True
    ).stdout.split("\0")
    for name in filter(None, listed):
        target = source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_symlink():
            target.symlink_to((ROOT / name).readlink())
        elif (ROOT / name).exists():
            target.write_bytes((ROOT / name).read_bytes())
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*build, "--wheel-dir", str(place), str(source)], check=True, capture_output=True)
    (made,) = place.glob("ctxsync-*.whl")
    return zipfile.ZipFile(made)


@pytest.mark.slow
def test_the_wheel_puts_only_ctxsync_and_its_metadata_in_site_packages(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}

    assert tops == {"ctxsync", f"ctxsync-{PROJECT['project']['version']}.dist-info"}


@pytest.mark.slow
def test_the_wheel_holds_the_data_that_commands_need(wheel: zipfile.ZipFile) -> None:
    held = set(wheel.namelist())
    for part, pattern in (
        ("schemas", "*.sql"),
        ("schemas", "*.toml"),
        ("schemas", "events/*.json"),
        ("prompts", "*.txt"),
        ("engine", "extraction/learned/*.npz"),
        ("engine", "extraction/learned/*.txt"),
    ):
        assert {f"ctxsync/{path.relative_to(ROOT)}" for path in (ROOT / part).glob(pattern)} <= held
    notes = {path.relative_to(ROOT).as_posix() for path in (ROOT / "ctxsync" / "sample").rglob("*.md")}
    assert len(notes) >= 45
    assert notes <= held
    assert "ctxsync/engine/extraction/minilm/tokenizer.json" in held
    assert "ctxsync/py.typed" in held
