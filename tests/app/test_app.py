from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

import ctxsync.app
from ctxsync.config import load_config
from ctxsync.errors import CtxsyncError, StoreLocked, StoreMissing, UsageError
from ctxsync.home import Home, write_private
from ctxsync.sync import Step, SyncRequest
from tests.whole.support import PlainChain

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ctxsync.engine.extraction.base import Episode
    from tests.app.desk import Desk

HEAVY = ("pydantic", "spacy", "numpy", "git", "onnxruntime", "apsw", "rich", "tomlkit", "watchdog", "apscheduler")


def of(report: dict[str, Any], name: str) -> dict[str, Any]:
    return next(source for source in report["sources"] if source["name"] == name)


def test_a_first_sync_makes_notes_and_commits_answer(desk: Desk) -> None:
    report = desk.app().sync(SyncRequest())
    assert (of(report, "vault")["observed"], of(report, "code")["observed"]) == (1, 1)
    assert report["problems"] == []
    assert not report["interrupted"]
    assert report["facts"] >= 1
    assert desk.facts() == [("Rosa Quint", "employment", "Acme")]


def test_a_second_sync_stores_nothing_and_extracts_nothing(desk: Desk) -> None:
    desk.app().sync(SyncRequest())
    before = desk.types()
    report = desk.app().sync(SyncRequest())
    assert (report["extracted"], report["new_facts"], report["embedded"]) == (0, 0, 0)
    assert of(report, "vault")["unchanged"] == 1
    assert desk.types() == before


def test_a_second_sync_loads_no_model(desk: Desk) -> None:
    """With the real models: none of their libraries is imported when nothing waits."""
    script = (
        "import sys\nfrom ctxsync.app import App\nfrom ctxsync.sync import SyncRequest\n"
        "App.open(sys.argv[1]).sync(SyncRequest())\n"
        "print([m for m in ('spacy', 'onnxruntime', 'tokenizers') if m in sys.modules])\n"
    )
    command = [sys.executable, "-c", script, str(desk.home.path)]
    first, second = (subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in "12")
    assert "spacy" in first
    assert second == "[]\n"


def test_importing_the_app_costs_no_library(desk: Desk) -> None:
    script = "import sys, ctxsync.app\nprint([m for m in sys.argv[1:] if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script, *HEAVY], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_an_edit_retracts_what_the_note_no_longer_says(desk: Desk) -> None:
    desk.app().sync(SyncRequest())
    desk.note("Rosa Quint", "Rosa Quint works at Brightwater since 2025-01.")
    report = desk.app().sync(SyncRequest())
    assert of(report, "vault")["observed"] == 1
    assert desk.facts() == [("Rosa Quint", "employment", "Brightwater")]


def test_only_the_named_sources_are_read(desk: Desk) -> None:
    report = desk.app().sync(SyncRequest(sources=("code",)))
    assert [source["name"] for source in report["sources"]] == ["code"]
    assert desk.facts() == []


def test_a_source_that_is_not_configured_is_refused_with_those_that_are(desk: Desk) -> None:
    for request in (SyncRequest(sources=("nope",)), SyncRequest(allow_deletes=("nope",))):
        with pytest.raises(UsageError, match="configured: vault, code"):
            desk.app().sync(request)


def test_a_missing_vault_pauses_it_keeps_its_facts_and_the_repository_goes_on(desk: Desk) -> None:
    desk.app().sync(SyncRequest())
    desk.vault.rename(desk.root / "unmounted")
    desk.commit("Second", "two.txt")
    report = desk.app().sync(SyncRequest())
    assert of(report, "vault")["paused"]
    assert of(report, "code")["observed"] == 1
    assert [problem["kind"] for problem in report["problems"]] == ["paused"]
    assert desk.facts() == [("Rosa Quint", "employment", "Acme")]
    status = desk.app().status()
    assert status["sources"][0]["paused"]
    (desk.root / "unmounted").rename(desk.vault)
    assert desk.app().sync(SyncRequest())["problems"] == []
    assert desk.app().status()["sources"][0]["paused"] == []


def test_a_mass_deletion_waits_until_the_source_is_named(desk: Desk) -> None:
    notes = [desk.note(f"Person {n}", f"Ines Falk knows Person{n}.") for n in range(30)]
    desk.app().sync(SyncRequest())
    before = desk.facts()
    for note in notes:
        note.unlink()
    desk.note("New", "Ines Falk works at Brightwater.")
    report = desk.app().sync(SyncRequest())
    assert of(report, "vault")["retracted"] == 0
    assert of(report, "vault")["observed"] == 1
    assert "allow-deletes" in str(report["problems"])
    assert set(before) < set(desk.facts())
    report = desk.app().sync(SyncRequest(allow_deletes=("code",)))
    assert of(report, "vault")["retracted"] == 0
    report = desk.app().sync(SyncRequest(allow_deletes=("vault",)))
    assert of(report, "vault")["retracted"] == 30
    assert report["problems"] == []
    assert len(desk.facts()) == 2


def test_a_dry_run_says_what_would_happen_and_stores_nothing(desk: Desk) -> None:
    report = desk.app().sync(SyncRequest(dry_run=True))
    assert of(report, "vault")["observed"] == 1
    assert report["sections"] >= 2
    assert report["estimated_seconds"] > 0
    assert not desk.home.events_path.exists()
    desk.app().sync(SyncRequest())
    before = desk.types()
    (desk.vault / "Rosa Quint.md").rename(desk.vault / "Rosa.md")
    report = desk.app().sync(SyncRequest(dry_run=True))
    assert of(report, "vault")["moved"] == 1
    assert desk.types() == before


@pytest.mark.parametrize("phase", ["read", "extract", "project"])
def test_an_interrupt_in_any_phase_is_reported_and_the_next_sync_completes_it(desk: Desk, phase: str) -> None:
    whole = desk.root / "whole"
    other = ctxsync.app.App(Home(whole), load_config(desk.home), models=desk.models)
    other.sync(SyncRequest())

    def interrupt(step: Step) -> None:
        if step.phase == phase:
            raise KeyboardInterrupt

    report = desk.app().sync(SyncRequest(), interrupt)
    assert report["interrupted"]
    assert report["extracted"] == (2 if phase == "extract" else 0)
    assert not desk.app().sync(SyncRequest())["interrupted"]
    with closing(desk.app().graph()) as graph, closing(other.graph()) as same:
        assert graph.state_hash() == same.state_hash()


def test_what_was_appended_before_a_crash_is_extracted_though_nothing_changed_since(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Crash(BaseException):
        pass

    def crash(name: str) -> None:
        if name == "extract":
            raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(ctxsync.app, "checkpoint", crash)
        with pytest.raises(Crash):
            desk.app().sync(SyncRequest())
    assert desk.types()["episode.extracted"] == 0
    report = desk.app().sync(SyncRequest())
    assert of(report, "vault")["observed"] == 0
    assert report["extracted"] > 0
    assert desk.facts() == [("Rosa Quint", "employment", "Acme")]


def test_a_second_sync_waits_for_the_first_and_names_it(desk: Desk) -> None:
    waiting: list[str] = []
    inside, waited = threading.Event(), threading.Event()

    def hold(step: Step) -> None:
        inside.set()
        assert waited.wait(60)

    first = threading.Thread(target=lambda: desk.app().sync(SyncRequest(), hold))
    first.start()
    assert inside.wait(60)

    def on_wait(line: str) -> None:
        waiting.append(line)
        waited.set()

    report = desk.app().sync(SyncRequest(on_wait=on_wait))
    first.join(60)
    assert report["extracted"] == 0
    assert len(waiting) == 1
    assert "sync" in waiting[0]
    assert all(number == 1 for kind, number in desk.types().items() if kind == "schema.adopted")


def test_a_sync_that_waits_too_long_fails_naming_the_first(desk: Desk) -> None:
    with desk.app().lock("rebuild"), pytest.raises(StoreLocked, match="rebuild"):
        desk.app().sync(SyncRequest(timeout=0.05))


def test_a_full_disk_loses_nothing(desk: Desk) -> None:
    """The home stands on a file system of 1 MB, where root may make one."""
    small = desk.root / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1200k,mode=700", "tmpfs", str(small)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("cannot mount a small file system here")
    try:
        for number in range(60):
            desk.note(f"Person {number}", f"Ines Falk knows Person{number}.\n\n" + "words and more words " * 800)
        app = ctxsync.app.App(Home(small / "home"), load_config(desk.home), models=desk.models)
        with pytest.raises(CtxsyncError, match="full"):
            app.sync(SyncRequest())
        subprocess.run(["mount", "-o", "remount,size=60m", str(small)], check=True)
        assert app.sync(SyncRequest())["problems"] == []
        assert app.verify(deep=True)["graph"] == "agrees"
        with app.store() as store:
            counts = Counter(event.type for event in store.read())
        assert counts["item.sighted"] == 62
    finally:
        subprocess.run(["umount", str(small)], check=True)


class Stubborn(PlainChain):
    """A chain that must not be asked."""

    def extract(self, episodes: Sequence[Episode]) -> Any:
        raise AssertionError(f"asked to extract {len(episodes)} episodes again")


def test_a_rebuild_asks_no_model_and_gives_the_same_graph(desk: Desk) -> None:
    desk.app().sync(SyncRequest())
    with closing(desk.app().graph()) as graph:
        before = (graph.state_hash(), graph.history_hash())
    desk.models._chain = Stubborn()
    report = desk.app().rebuild()
    assert (report["state_hash"], report["history_hash"]) == before
    assert desk.app().verify(deep=True)["graph"] == "agrees"


def test_a_lost_graph_is_built_again_by_the_next_sync(desk: Desk) -> None:
    desk.app().sync(SyncRequest())
    for path in desk.home.path.glob("graph.db*"):
        path.unlink()
    desk.app().sync(SyncRequest())
    assert desk.facts() == [("Rosa Quint", "employment", "Acme")]


def test_a_logged_thought_answers_at_once_as_my_own(desk: Desk) -> None:
    text = desk.home.config_path.read_text() + '\n[identity]\nnames = ["Robin Vale"]\nemails = ["robin@example.com"]\n'
    write_private(desk.home.config_path, text)
    result = desk.app().log("Ines Falk works at Brightwater since 2025.\n")
    assert result["item"].startswith("log:")
    assert result["new_facts"] == 1
    assert desk.facts() == [("Ines Falk", "employment", "Brightwater")]
    with desk.app().store() as store:
        (event,) = store.read(types=("item.observed",))
    assert len(event.payload["place"]) == len("2026-11-30")
    assert event.payload["sections"][0]["author"] == {"name": "Robin Vale", "keys": ["email:robin@example.com"]}


def test_a_logged_text_with_undecodable_bytes_is_kept(desk: Desk) -> None:
    assert desk.app().log("Ines Falk works at Brightwater since 2025.\n\udcff\x00")["new_facts"] == 1
    assert desk.types()["item.quarantined"] == 0


def test_there_is_nothing_to_log_in_an_empty_text(desk: Desk) -> None:
    with pytest.raises(UsageError, match="nothing to log"):
        desk.app().log(" \n")


def test_a_removed_source_no_longer_answers_and_is_gone_from_the_settings(desk: Desk) -> None:
    app = desk.app()
    app.sync(SyncRequest())
    app.remove_source("vault")
    assert desk.facts() == []
    assert [source.name for source in load_config(desk.home).sources] == ["code"]
    desk.app().sync(SyncRequest())
    assert desk.facts() == []


def test_a_source_that_is_added_again_answers_again_without_being_extracted(desk: Desk) -> None:
    app = desk.app()
    app.sync(SyncRequest())
    app.remove_source("vault")
    app.add_source("notes", str(desk.vault), name="vault")
    report = desk.app().sync(SyncRequest())
    assert report["extracted"] == 0
    assert desk.facts() == [("Rosa Quint", "employment", "Acme")]


def test_a_source_that_was_deleted_from_the_file_by_hand_answers_until_it_is_removed(desk: Desk) -> None:
    desk.app().sync(SyncRequest())
    desk.home.config_path.write_text("")
    desk.app().sync(SyncRequest())
    assert desk.facts() == [("Rosa Quint", "employment", "Acme")]
    left = [finding["check"] for finding in desk.app().doctor() if finding["level"] == "warning"]
    assert left == ["source code", "source vault"]
    desk.app().remove_source("vault")
    assert desk.facts() == []
    for name in ("vault", "nope", "log"):
        with pytest.raises(UsageError, match="no source"):
            desk.app().remove_source(name)


def test_a_name_never_changes_its_type(desk: Desk) -> None:
    app = desk.app()
    app.sync(SyncRequest())
    app.remove_source("vault")
    with pytest.raises(UsageError, match="was a notes source before"):
        app.add_source("git", str(desk.code), name="vault")
    text = desk.home.config_path.read_text().replace('name = "code"', 'name = "vault"')
    desk.home.config_path.write_text(text)
    report = desk.app().sync(SyncRequest())
    assert [problem["source"] for problem in report["problems"]] == ["vault"]
    assert "was that of a notes source" in str(report["problems"])


def test_forgetting_a_source_is_refused_and_changes_nothing(desk: Desk) -> None:
    app = desk.app()
    app.sync(SyncRequest())
    before = desk.types()
    with pytest.raises(CtxsyncError, match="not available in this version"):
        app.remove_source("vault", forget=True)
    assert (desk.types(), len(load_config(desk.home).sources)) == (before, 2)


def test_an_exported_log_imports_to_the_same_graph(desk: Desk, tmp_path: Path) -> None:
    desk.app().sync(SyncRequest())
    desk.app().export_log(tmp_path / "export")
    other = ctxsync.app.App(Home(tmp_path / "other"), load_config(Home(tmp_path / "other")), models=desk.models)
    other.import_log(tmp_path / "export")
    with closing(desk.app().graph()) as one, closing(other.graph()) as two:
        assert one.state_hash() == two.state_hash()


def test_an_empty_home_has_a_status_and_no_log(tmp_path: Path) -> None:
    app = ctxsync.app.App(Home(tmp_path), load_config(Home(tmp_path)))
    status = app.status()
    assert (status["events"], status["facts"], status["sources"]) == (0, {"current": 0, "all": 0}, [])
    with pytest.raises(StoreMissing):
        app.store()


def test_the_status_counts_what_is_there_and_when_each_source_was_read(desk: Desk) -> None:
    desk.app().sync(SyncRequest())
    (desk.vault / "scan.pdf").write_bytes(b"%PDF")
    desk.app().sync(SyncRequest())
    status = desk.app().status()
    assert status["events"] == sum(desk.types().values())
    assert status["lag"] == 0
    assert status["facts"]["current"] >= 1
    vault = status["sources"][0]
    assert (vault["name"], vault["items"], vault["skipped"]) == ("vault", 1, {".pdf": 1})
    assert vault["last_success"].endswith("Z")
    assert status["state_hash"] is None
    assert desk.app().status(full=True)["state_hash"]


def test_a_note_that_cannot_be_read_is_a_problem_until_it_can(desk: Desk) -> None:
    bad = desk.note("Locked", "Ines Falk knows Rosa Quint.")
    bad.unlink()
    bad.symlink_to(bad.name)  # a loop: reading it fails for root as well
    report = desk.app().sync(SyncRequest())
    bad.unlink()
    desk.note("Locked", "Ines Falk knows Rosa Quint.")
    desk.app().sync(SyncRequest())
    assert desk.app().status()["quarantined"] == []
    assert report["interrupted"] is False


def test_doctor_finds_nothing_wrong_at_a_synced_home_and_names_what_is(desk: Desk) -> None:
    desk.app().sync(SyncRequest())
    assert [finding for finding in desk.app().doctor(chain=True) if finding["level"] == "error"] == []
    desk.vault.rename(desk.root / "unmounted")
    desk.home.path.chmod(0o755)
    found = {finding["check"]: finding for finding in desk.app().doctor() if not finding["ok"]}
    assert {"home", "source vault"} <= set(found)
    assert all(finding["remedy"] for finding in found.values())


def test_a_home_inside_the_vault_is_left_out_of_it(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "a.md").write_text("# A\n")
    home = Home(vault / "store")
    app = ctxsync.app.App(home, load_config(home))
    app.add_source("notes", str(vault))
    (home.path / "leak.md").write_text("# Not a note\n")
    report = app.sync(SyncRequest(dry_run=True))
    assert report["sources"][0]["observed"] == 1
