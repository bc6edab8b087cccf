"""`ctxsync models` as installed: a model is added, extracts, is damaged, mended and removed, and the built-in one reads."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Ran
from tests.engine.extraction.gliner import tiny

COMMAND = Path(sys.executable).with_name("ctxsync")
TEXT = "Nadia Okoro works at Fennel Labs and praised quillfeather."


class Command:
    """The installed command, on one home, where nobody answers questions and no hub can be reached."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def __call__(self, *args: str, stdin: str = "") -> Ran:
        environment = {**os.environ, "CTXSYNC_HOME": str(self.home), "GIT_CONFIG_GLOBAL": os.devnull}
        done = subprocess.run(
            [str(COMMAND), *args],
            input=stdin,
            capture_output=True,
            text=True,
            env=environment,
            timeout=200,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def listed(self) -> dict[str, dict[str, Any]]:
        return {row["name"]: row for row in self("models", "list", "--json").json["models"]}

    def extracted(self) -> Any:
        return self("extract", TEXT, "--json").json

    def finding(self) -> dict[str, Any] | None:
        findings = self("doctor", "--json").json["findings"]
        return next((finding for finding in findings if finding["check"] == "gliner2"), None)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.build(tmp_path_factory.mktemp("model") / "gliner2-tiny-onnx")


@pytest.fixture
def command(tmp_path: Path) -> Command:
    command = Command(tmp_path / "home")
    assert command("init", "--name", "Robin Vale", "--email", "robin@example.com").code == 0
    return command


def damage(command: Command) -> None:
    os.truncate(command.home / "models" / "gliner2" / "onnx" / "encoder.onnx", 300)


def set_tier1(command: Command, value: str) -> None:
    path = command.home / "config.toml"
    text = path.read_text(encoding="utf-8")
    table = "[extraction]\n"
    assert "tier1" not in text
    text = (
        text.replace(table, f'{table}tier1 = "{value}"\n') if table in text else f'{text}\n{table}tier1 = "{value}"\n'
    )
    path.write_text(text, encoding="utf-8")


def test_the_models_that_ship_are_listed_with_size_licence_checksum_and_place(command: Command) -> None:
    rows = command.listed()

    for name in ("english", "minilm"):
        assert rows[name]["state"] == "installed"
        assert rows[name]["size"] > 10_000_000
        assert rows[name]["licence"] in {"MIT", "Apache-2.0"}
        assert len(rows[name]["checksum"]) == len("sha256:") + 64
        assert Path(rows[name]["path"]).is_dir()
    assert rows["gliner2"]["state"] == "not installed"
    assert "ctxsync models add" in rows["gliner2"]["remedy"]
    assert "minilm  installed" in command("models", "list").out


def test_a_model_is_added_extracts_and_is_removed(command: Command, model: Path) -> None:
    before = command.extracted()
    assert before["model"] == "structural+builtin"

    added = command("models", "add", str(model), "--json").json
    assert (added["name"], added["added"]) == ("gliner2", True)
    assert command.listed()["gliner2"]["checksum"] == added["checksum"]
    assert command.finding() == {
        "check": "gliner2", "ok": True, "level": "ok",
        "message": "The GLiNER2 model is installed and whole.", "remedy": "",
    }  # fmt: skip

    found = command.extracted()
    assert found["model"] == f"structural+gliner2:{added['checksum'][7:19]}+builtin"
    types = {entity["name"]: entity["type"] for entity in found["entities"]}
    assert types["quillfeather"] == "Organization"
    assert [relation["relation"] for relation in found["relations"]] == ["part_of"]

    assert not command("models", "add", str(model), "--json").json["added"]
    refused = command("models", "remove", "gliner2")
    assert refused.code == 2
    assert "--yes" in refused.err
    assert command("models", "remove", "gliner2", "--yes", "--json").json == {"removed": "gliner2"}
    assert not (command.home / "models" / "gliner2").exists()
    assert command.extracted()["model"] == before["model"]


def test_settings_may_keep_the_built_in_extractor(command: Command, model: Path) -> None:
    command("models", "add", str(model))
    set_tier1(command, "builtin")

    assert command.extracted()["model"] == "structural+builtin"
    assert "not used" in (command.finding() or {})["message"]


def test_a_damaged_model_is_told_and_the_built_in_extractor_reads(command: Command, model: Path) -> None:
    command("models", "add", str(model))
    damage(command)

    assert command.extracted()["model"] == "structural+builtin"
    assert command.listed()["gliner2"]["state"] == "damaged"
    finding = command.finding() or {}
    assert (finding["level"], "onnx/encoder.onnx has changed" in finding["message"]) == ("warning", True)
    assert "ctxsync models remove gliner2" in finding["remedy"]

    assert command("models", "add", str(model), "--json").json["added"]
    assert "gliner2" in command.extracted()["model"]


def test_where_settings_ask_for_it_a_damaged_model_stops_with_what_to_do(command: Command, model: Path) -> None:
    set_tier1(command, "gliner2")
    missing = command("extract", TEXT)
    assert (missing.code, "ctxsync models list" in missing.err) == (1, True)
    assert (command.finding() or {})["level"] == "error"

    command("models", "add", str(model))
    assert "gliner2" in command.extracted()["model"]
    damage(command)
    broken = command("extract", TEXT)
    assert (broken.code, broken.out) == (1, "")
    assert "Traceback" not in broken.err
    assert (command.finding() or {})["level"] == "error"


def test_damage_that_shows_only_when_it_is_opened_stops_a_sync_and_loses_nothing(
    command: Command, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "Nadia Okoro.md").write_text("# Nadia Okoro\n\nNadia Okoro works at Fennel Labs.\n")
    command("source", "add", "notes", str(tmp_path / "vault"))
    command("models", "add", str(model))
    encoder = command.home / "models" / "gliner2" / "onnx" / "encoder.onnx"
    before = encoder.stat()
    encoder.write_bytes(b"\xff" * before.st_size)
    os.utime(encoder, ns=(before.st_atime_ns, before.st_mtime_ns))

    stopped = command("sync")
    assert stopped.code == 1
    assert "cannot be opened" in stopped.err
    assert "ctxsync models remove gliner2" in stopped.err

    command("models", "add", str(model))
    assert command("sync").code == 0
    facts = command("facts", "--json").json
    assert "Fennel Labs" in json.dumps(facts)


def test_an_archive_is_added_like_a_folder(command: Command, model: Path, tmp_path: Path) -> None:
    archive = shutil.make_archive(str(tmp_path / "model"), "gztar", model.parent, model.name)

    assert command("models", "add", archive).out.startswith("gliner2 installed: ")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("models", "add", "/no/such/folder"), 1, "There is no /no/such/folder"),
        (("models", "remove", "gliner2", "--yes"), 1, "No gliner2 model is installed"),
        (("models", "remove", "minilm", "--yes"), 2, "comes with ctxsync's packages"),
        (("models", "remove", "gilner2", "--yes"), 2, "No model is called gilner2"),
        (("models", "pull", "minilm"), 2, "comes with ctxsync's packages"),
        (("models", "pull", "gliner2", "--hub", "http://127.0.0.1"), 2, "no https address"),
    ],
)
def test_what_cannot_be_done_says_why(command: Command, arguments: tuple[str, ...], code: int, said: str) -> None:
    ran = command(*arguments)

    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert "\ntry: " in ran.err


def test_without_a_network_pull_names_what_to_fetch_by_hand(command: Command) -> None:
    ran = command("models", "pull", "gliner2", "--hub", "https://127.0.0.1:9")

    assert ran.code == 1
    assert "cannot be reached" in ran.err
    assert "https://127.0.0.1:9/lmo3/gliner2-large-v1-onnx" in ran.err
    assert "ctxsync models add FOLDER" in ran.err


@pytest.mark.parametrize("arguments", [("add", "."), ("pull", "gliner2"), ("remove", "gliner2")])
def test_without_a_home_it_says_to_run_init(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    ran = Command(tmp_path / "none")("models", *arguments)

    assert ran.code == 1
    assert "ctxsync init" in ran.err
    assert not (tmp_path / "none").exists()
