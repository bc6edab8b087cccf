"""How reports of passes and sources read on a terminal: each line once, and nothing that only the program means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.cli import render_status, render_sync
from ctxsync.cli.output import console

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def printed(capsys: pytest.CaptureFixture[str], render: Callable[..., None], document: Any) -> str:
    render(console(), document)
    return capsys.readouterr().out


def quarantined(place: str, message: str, remedy: str = "Correct the file.") -> dict[str, str]:
    return {"kind": "quarantined", "source": "export", "place": place, "message": message, "remedy": remedy}


def test_what_several_problems_have_in_common_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    told = printed(
        capsys,
        render_sync.problems,
        [
            quarantined("a.json", "a.json is no JSON."),
            quarantined("b.json", "Its name leads out of the export."),
            quarantined("c.json", "Odd.", "Ask whoever made it."),
        ],
    )
    assert told.splitlines() == [
        "quarantined export: a.json is no JSON.",
        "quarantined export: b.json: Its name leads out of the export.",
        "    try: Correct the file.",
        "quarantined export: c.json: Odd.",
        "    try: Ask whoever made it.",
    ]


def test_a_stream_that_only_the_program_knows_is_not_named(capsys: pytest.CaptureFixture[str]) -> None:
    told = printed(capsys, render_sync.problems, [quarantined(".directory", "The token lacks users:read.")])
    assert told.startswith("quarantined export: The token lacks users:read.\n")


def test_a_source_that_was_read_in_part_is_not_called_never_synced(capsys: pytest.CaptureFixture[str]) -> None:
    source = {"name": "work", "type": "imap", "items": 200, "last_success": None, "paused": [], "skipped": {}}
    document = {"home": "/h", "events": 9, "episodes": 3, "entities": 0, "facts": {"current": 0, "all": 0}}
    told = printed(capsys, render_status.status, document | {"sources": [source, source | {"name": "new", "items": 0}]})
    assert "work  imap · 200 items · not read to its end yet" in told
    assert "new  imap · 0 items · never synced" in told


def test_space_on_a_disk_is_told_in_the_unit_that_fits() -> None:
    from ctxsync.doctor import size_words

    assert [size_words(number * 2**20) for number in (0, 3, 1023, 80_279)] == ["0 MiB", "3 MiB", "1,023 MiB", "78 GiB"]


@pytest.fixture
def ready(line: Any) -> Any:
    line("init", "--name", "Robin Vale", "--email", "robin@example.com")
    return line


def test_a_source_is_added_with_messages_that_fit_its_type(ready: Any) -> None:
    ran = ready("source", "add", "imap")
    assert ran.code == 2
    assert "Missing LOCATION: user@host, the account" in ran.err
    ran = ready("source", "add", "imap", "robin@mail.example.com", "--tls-ca", "/nowhere/ca.pem")
    assert ran.code == 2
    assert "/nowhere/ca.pem, of tls_ca, cannot be read: No such file or directory." in ran.err
    assert ready("source", "add", "imap", "robin@mail.example.com").code == 0
    assert ready("source", "add", "slack").code == 0
    ran = ready("source", "secret", "example.com", "passwrod")
    assert "Sources of type imap have no secret" in ran.err
    assert '\n\n[[sources]]\nname = "slack"' in (ready.home / "config.toml").read_text()


def test_where_a_home_is_named_the_command_that_makes_it_names_it_too(line: Any, tmp_path: Path) -> None:
    ran = line("--home", str(tmp_path / "my graph"), "status")
    assert ran.code == 1
    assert f"try: Run `ctxsync --home '{tmp_path}/my graph' init`." in ran.err


def test_tiers_of_what_is_retracted_are_not_counted(ready: Any, tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "Lyon.md").write_text("# Lyon\n\nA city. See [[Rhone]].\n")
    assert ready("source", "add", "notes", str(tmp_path / "vault")).code == 0
    assert ready("sync").code == 0
    assert ready("status", "--json").json["tiers"]["0"] > 0
    assert ready("source", "remove", "vault").code == 0
    assert ready("status", "--json").json["tiers"] == {}


def test_help_promises_no_erasing_that_is_refused(ready: Any) -> None:
    assert "not in this version" in " ".join(ready("source", "remove", "--help").out.lower().split())
