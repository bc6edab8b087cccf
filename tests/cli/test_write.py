"""The commands that write, through real files, real git and the models that ship."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

SYNC = {"name", "seen", "observed", "retracted", "moved", "quarantined", "unchanged", "skipped", "paused", "seconds"}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A vault of one note and a file that no parser knows."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "Jonas.md").write_text("# Jonas Ferreira\n\nJonas Ferreira lives in Lisbon.\n", encoding="utf-8")
    (folder / "paper.pdf").write_bytes(b"%PDF-1.4")
    return folder


@pytest.fixture
def ready(line: Any, vault: Path) -> Any:
    """A home that has the vault as its source and was not synced yet."""
    assert line("init", "--name", "Robin Vale", "--email", "robin@example.com").code == 0
    assert line("source", "add", "notes", str(vault), "--name", "vault").code == 0
    return line


# init and sources


def test_init_makes_a_private_home_and_says_what_comes_next(line: Any) -> None:
    ran = line("init", "--name", 'Robin "R" Vale', "--email", "robin@example.com")
    assert ran.code == 0
    assert str(line.home) in ran.out
    assert "ctxsync source add notes ~/notes" in ran.out
    assert line.home.stat().st_mode & 0o777 == 0o700
    assert (line.home / "config.toml").stat().st_mode & 0o777 == 0o600
    assert line("config", "show", "--json").json["identity"]["names"] == ['Robin "R" Vale']


def test_init_takes_who_you_are_from_git(line: Any, tmp_path: Path) -> None:
    settings = tmp_path / "gitconfig"
    settings.write_text("[user]\nname = Robin Vale\nemail = robin@example.com\n")
    document = line("init", "--json", GIT_CONFIG_GLOBAL=str(settings)).json
    assert (document["names"], document["emails"]) == (["Robin Vale"], ["robin@example.com"])


def test_init_again_changes_nothing(ready: Any) -> None:
    before = (ready.home / "config.toml").read_bytes()
    ran = ready("init")
    assert ran.code == 0
    assert ran.out.startswith("Nothing was changed")
    assert ready("init", "--name", "Other").code == 2
    assert (ready.home / "config.toml").read_bytes() == before


def test_sources_are_added_listed_and_removed(ready: Any) -> None:
    (source,) = ready("source", "list", "--json").json["sources"]
    assert (source["name"], source["type"], source["trust"]) == ("vault", "notes", "own")
    assert "vault  notes" in ready("source", "list").out
    assert ready("source", "remove", "vault").code == 0
    assert ready("source", "list", "--json").json == {"sources": []}
    assert "ctxsync source add" in ready("source", "list").out


def test_a_source_that_cannot_be_is_refused_with_a_remedy(ready: Any, tmp_path: Path) -> None:
    for arguments in (("notes", str(tmp_path / "nowhere")), ("gti", str(tmp_path)), ("git", str(tmp_path))):
        ran = ready("source", "add", *arguments)
        assert ran.code == 2
        assert "try: " in ran.err


# sync


def test_sync_reports_each_source_and_the_whole(ready: Any) -> None:
    ran = ready("sync", columns=120)
    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[0].split() == [
        "source", "seen", "new", "or", "changed", "unchanged", "moved", "gone", "quarantined", "seconds",
    ]  # fmt: skip
    assert ran.out.splitlines()[1].split()[:3] == ["vault", "1", "1"]
    assert "1 .pdf" in ran.out
    assert "extracted" in ran.out
    assert ran.err == ""
    assert "Jonas Ferreira lives in Lisbon" in ready("ask", "where does Jonas Ferreira live?").out


def test_sync_gives_the_json_of_the_design(ready: Any) -> None:
    document = ready("sync", "--json").json
    assert set(document) >= {"sources", "extracted", "facts", "seconds"}
    assert set(document["sources"][0]) >= SYNC


def test_a_narrow_terminal_gets_a_line_a_source(ready: Any) -> None:
    out = ready("sync", columns=60).out
    assert out.startswith("vault: 1 seen, 1 observed")
    assert max(map(len, out.splitlines())) <= 60


def test_a_dry_run_stores_nothing_and_estimates(ready: Any) -> None:
    ran = ready("sync", "--dry-run")
    assert ran.code == 0
    assert "Nothing was stored" in ran.out
    assert "section would be extracted" in ran.out
    assert "cost $0.00" in ran.out
    assert not (ready.home / "events.db").exists()


def test_an_unknown_source_is_a_usage_error(ready: Any) -> None:
    assert ready("sync", "vualt").code == 2
    assert ready("sync", "--allow-deletes", "vualt").code == 2


def test_a_paused_source_is_listed_with_its_remedy_and_exits_3(ready: Any, vault: Path) -> None:
    ready("sync")
    vault.rename(vault.with_name("elsewhere"))
    ran = ready("sync")
    assert ran.code == 3
    assert "paused vault" in ran.out
    assert "try: Mount the disk" in ran.out
    status = ready("status")
    assert status.code == 3
    assert "paused vault" in status.out
    assert "try: Mount the disk" in status.out


def test_a_quarantined_note_is_listed_and_exits_3(ready: Any, vault: Path) -> None:
    (vault / "Caf\u00e9.md").write_text("# One\n")
    (vault / "Cafe\u0301.md").write_text("# Another, under the same name\n")
    ran = ready("sync", columns=400)
    assert ran.code == 3
    assert "quarantined vault: Caf" in ran.out
    assert "try: " in ran.out
    status = ready("status")
    assert status.code == 3
    assert "quarantined 1 item" in status.out
    assert "ctxsync sync --retry-quarantined" in status.out


def test_ctrl_c_exits_130_and_says_what_was_kept_and_how_to_go_on(ready: Any, vault: Path) -> None:
    assert ready("sync").code == 0
    for number in range(20):
        (vault / f"{number}.md").write_text(f"# Note {number}\n\nPerson{number} Vale lives in Town{number}.\n")
    running = subprocess.Popen(
        [sys.executable, "-c", WAITING_SYNC],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "CTXSYNC_HOME": str(ready.home)},
    )
    assert running.stdout is not None
    assert running.stderr is not None
    assert running.stdout.readline() == "extracting\n"
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=120)
    assert running.returncode == 130, err
    assert "interrupted: Stopped. Everything stored so far is kept" in err
    assert "try: Run `ctxsync sync` to go on from there." in err
    assert "Traceback" not in out + err
    assert "20 new or changed items" in err
    assert f"0 new facts, {ready('status', '--json').json['facts']['current']} current" in out
    going_on = ready("sync", "--json").json
    assert going_on["sources"][0]["observed"] == 0
    assert going_on["extracted"] == 20


# Says when everything is read and nothing is extracted yet, and waits there for the signal.
WAITING_SYNC = """
import signal, sys, ctxsync.app
def checkpoint(name):
    if name == "extract" and not told:
        told.append(name)
        print("extracting", flush=True)
        signal.pause()
told = []
ctxsync.app.checkpoint = checkpoint
sys.argv = ["ctxsync", "sync"]
from ctxsync.cli import main
main()
"""


# log, extract, schema


def test_a_logged_thought_answers_at_once(ready: Any) -> None:
    ran = ready("log", "Rosa Lind", "lives in Lyon.")
    assert ran.code == 0
    assert "ctxsync explain" in ran.out
    assert "Lyon" in ready("search", "Rosa Lind").out


def test_log_reads_stdin_and_refuses_nothing(ready: Any) -> None:
    assert ready("log", "-", stdin="Rosa Lind lives in Lyon.\n").code == 0
    assert ready("log", "-", stdin=" \n").code == 2


def test_extract_needs_no_home_and_stores_nothing(line: Any) -> None:
    ran = line("extract", "Nadia Okoro joined Fennel Labs in May 2025.")
    assert ran.code == 0
    assert "Nadia Okoro joined Fennel Labs" in ran.out
    assert "tier 1" in ran.out
    assert not line.home.exists()


def test_extract_gives_the_json_of_the_design_from_stdin_too(line: Any) -> None:
    document = line("extract", "-", "--json", stdin="Nadia Okoro joined Fennel Labs in May 2025.").json
    assert set(document) >= {"id", "entities", "relations", "invalidates", "suggestions", "confidence", "tier"}
    assert set(document["entities"][0]) >= {"id", "name", "type", "attributes"}
    relation = document["relations"][0]
    assert set(relation) >= {"head", "relation", "tail", "phrase", "quote", "confidence", "valid_from", "valid_to"}
    assert relation["head"] in {entity["id"] for entity in document["entities"]}


def test_extract_jsonl_keeps_ids_and_order_and_a_bad_line_has_its_error_in_its_place(line: Any) -> None:
    lines = [
        {"id": "b", "text": "Nadia Okoro works at Fennel Labs."},
        "not json",
        {"id": "a", "text": "Yesterday Jonas Ferreira moved to Lisbon.", "occurred_at": "2025-03-02T00:00:00Z"},
        {"id": "c"},
        {"id": 7, "text": ""},
    ]
    text = "\n".join(one if isinstance(one, str) else json.dumps(one) for one in lines)
    ran = line("extract", "--jsonl", stdin=text)
    told = [json.loads(one) for one in ran.out.splitlines()]
    assert [one["id"] for one in told] == ["b", 2, "a", "c", 7]
    assert ["error" in one for one in told] == [False, True, False, True, False]
    assert ran.code == 1
    assert told[2]["relations"][0]["valid_from"] == "2025-03-01"


def test_stdin_that_is_not_utf_8_is_read_all_the_same(ready: Any) -> None:
    def run(*args: str, stdin: bytes) -> subprocess.CompletedProcess[bytes]:
        environment = {**os.environ, "CTXSYNC_HOME": str(ready.home)}
        command = [sys.executable, "-m", "ctxsync", *args]
        return subprocess.run(command, input=stdin, capture_output=True, check=False, env=environment)

    assert run("extract", "-", stdin=b"Nadia Okoro lives in Orl\xe9ans.").returncode == 0
    ran = run("schema", "match", "--jsonl", stdin=b'{"phrase":"works at"}\n{"phrase":"\xe9"}\n')
    assert ran.returncode == 1
    assert [b"error" in text for text in ran.stdout.splitlines()] == [False, True]


def test_extract_of_nothing_is_a_usage_error(line: Any) -> None:
    assert line("extract", "-", stdin=" ").code == 2
    assert line("extract", "x", "--jsonl").code == 2


def test_schema_match_says_relation_direction_and_score(line: Any) -> None:
    lines = '{"phrase":"works at","n":1}\n{"phrase":"employs"}\n'
    ran = line("schema", "match", "--jsonl", stdin=lines)
    one, two = (json.loads(text) for text in ran.out.splitlines())
    assert (one["relation"], one["direction"], one["n"]) == ("part_of", 1, 1)
    assert (two["relation"], two["direction"]) == ("part_of", -1)
    assert 0 < one["score"] <= 1
    assert "part_of/employment" in line("schema", "match", "works at").out


def test_schema_list_has_the_nine_types_and_ten_relations(line: Any) -> None:
    document = line("schema", "list", "--json").json
    assert len(document["entity_types"]) == 9
    assert len(document["relations"]) == 10
    assert "depends_on" in line("schema", "list").out


# the log and the graph


def test_an_exported_log_imports_into_the_same_graph(synced: Any, line: Any, tmp_path: Path) -> None:
    folder = tmp_path / "export"
    assert synced("export", str(folder)).code == 0
    ran = line("import", str(folder))
    assert ran.code == 0, ran.err
    assert line("status", "--json").json["state_hash"] == synced("status", "--json").json["state_hash"]


def test_import_of_no_folder_is_a_usage_error(line: Any, tmp_path: Path) -> None:
    assert line("import", str(tmp_path / "none")).code == 2


def test_rebuild_gives_the_same_graph_and_verify_agrees(synced: Any) -> None:
    before = synced("status", "--json").json
    ran = synced("rebuild", "--json")
    assert ran.code == 0, ran.err
    after = synced("status", "--json").json
    assert (after["state_hash"], after["history_hash"]) == (before["state_hash"], before["history_hash"])
    assert "A graph rebuilt from the log is the same." in synced("verify", "--deep").out


def test_a_deleted_graph_names_rebuild(line: Any, synced: Any, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(synced.home, line.home)
    (line.home / "graph.db").unlink()
    ran = line("ask", "who")
    assert ran.code == 1
    assert "ctxsync rebuild" in ran.err or "ctxsync sync" in ran.err
    assert line("verify").code == 1
    assert line("rebuild").code == 0
    assert line("verify").code == 0


def test_a_damaged_log_is_told_by_verify(line: Any, synced: Any) -> None:
    import shutil

    import apsw

    shutil.copytree(synced.home, line.home)
    db = apsw.Connection(str(line.home / "events.db"))
    for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        db.execute(f'DROP TRIGGER "{name}"')
    db.execute("UPDATE event SET payload = replace(payload, 'Harbour', 'Harbinger')")
    db.close()
    ran = line("verify")
    assert ran.code == 1
    assert ran.err.startswith("error: ")


# settings, doctor, hooks, watch


def test_config_edit_checks_what_was_written(ready: Any, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "[syn]\\n" >> "$1"\n')
    editor.chmod(0o755)
    ran = ready("config", "edit", VISUAL=str(editor))
    assert ran.code == 1
    assert '"syn"' in ran.err
    assert 'did you mean "sync"' in ran.err
    assert ready("config", "validate").code == 1
    assert ready("status").code == 1


def test_config_edit_without_an_editor_says_to_set_one(ready: Any) -> None:
    ran = ready("config", "edit", VISUAL="/nowhere/editor")
    assert ran.code == 1
    assert "Set EDITOR" in ran.err


def test_config_path_is_told_before_there_is_a_home(line: Any) -> None:
    assert line("config", "path").out == f"{line.home / 'config.toml'}\n"


def test_doctor_of_a_good_home_finds_all_well(synced: Any) -> None:
    ran = synced("doctor")
    assert ran.code == 0, ran.out
    assert ran.out.splitlines()[-1] == "All is well."


def test_doctor_names_broken_settings_and_examines_the_rest(ready: Any) -> None:
    (ready.home / "config.toml").write_text("[syn]\n")
    ran = ready("doctor", "--json")
    assert ran.code == 1
    findings = ran.json["findings"]
    assert next(finding["check"] for finding in findings if not finding["ok"]) == "config"
    assert any(finding["check"] == "sqlite" and finding["ok"] for finding in findings)


def test_doctor_takes_no_source_for_removed_while_the_settings_are_broken(synced: Any) -> None:
    """To follow `source remove` would have lost what a mistyped line only hid."""
    path = synced.home / "config.toml"
    path.write_text(path.read_text() + "\n[syn]\n")
    findings = synced("doctor", "--json").json["findings"]
    assert [finding["check"] for finding in findings if not finding["ok"]] == ["config"]


def test_hooks_are_installed_and_taken_away(ready: Any, tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    ran = ready("hook", "install", str(repository))
    assert ran.code == 0, ran.err
    assert ".git/hooks/" in ran.out
    assert ready("hook", "uninstall", str(repository)).code == 0
    assert "No hook of ctxsync was there." in ready("hook", "uninstall", str(repository)).out


def test_watch_tells_what_it_watches_on_stderr_and_ends_at_ctrl_c(ready: Any) -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "ctxsync", "watch"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "CTXSYNC_HOME": str(ready.home)},
    )
    assert running.stderr is not None
    stop = threading.Timer(120, running.kill)
    stop.start()
    seen = []
    for text in running.stderr:
        seen.append(text)
        if text.startswith("vault: 1 observed") or "graph:" in text:
            running.send_signal(signal.SIGINT)
            break
    out, err = running.communicate(timeout=60)
    stop.cancel()
    assert running.returncode == 0, err
    assert any("vault: watching" in text for text in seen)
    assert out == ""
