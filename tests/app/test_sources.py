from __future__ import annotations

import stat
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxsync.config import load_config
from ctxsync.errors import ConfigError, UsageError
from ctxsync.forms import NAME_PATTERN, RESERVED_NAMES
from ctxsync.home import Home
from ctxsync.sources import add, derive_name, remove_from_file

if TYPE_CHECKING:
    from ctxsync.source_settings import SourceConfig

WRITTEN = """# my settings

[identity]   # me
names = ["Robin Vale"]     # and my pen name

[[sources]]
name = "vault" # the good one
type = "notes"
path = "/srv/notes"

# the end
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.create()
    return home


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    vault = tmp_path / "My Notes"
    vault.mkdir()
    (vault / "a.md").write_text("# A\n")
    return vault


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(tmp_path / "code")], check=True)
    return tmp_path / "code"


def put(home: Home, kind: str, path: Path, name: str | None = None) -> SourceConfig:
    return add(home, load_config(home), kind, str(path), name=name)


def test_an_added_source_stands_in_the_file_under_a_name_of_its_folder(home: Home, vault: Path) -> None:
    assert put(home, "notes", vault).name == "my-notes"
    assert [(s.name, s.root, s.trust) for s in load_config(home).sources] == [("my-notes", vault, "own")]
    assert stat.S_IMODE(home.config_path.stat().st_mode) == 0o600


def test_comments_and_formatting_survive_adding_and_removing(home: Home, vault: Path) -> None:
    home.config_path.write_text(WRITTEN)
    put(home, "notes", vault, name="second")
    added = home.config_path.read_text()
    for kept in ("# my settings", "[identity]   # me", "# and my pen name", "# the good one", "# the end"):
        assert kept in added
    remove_from_file(home, "second")
    assert [source.name for source in load_config(home).sources] == ["vault"]
    assert "# and my pen name" in home.config_path.read_text()


def test_the_last_source_can_be_removed(home: Home, vault: Path) -> None:
    put(home, "notes", vault)
    remove_from_file(home, "my-notes")
    assert load_config(home).sources == ()


def test_globs_and_trust_are_written(home: Home, vault: Path) -> None:
    add(home, load_config(home), "notes", str(vault), trust="others", exclude=("private/**",), include=("*.md",))
    settings = load_config(home).sources[0].settings()
    assert (settings["trust"], settings["exclude"], settings["include"]) == ("others", ["private/**"], ["*.md"])


def test_a_missing_path_names_the_nearest_folder_that_exists(home: Home, vault: Path) -> None:
    with pytest.raises(UsageError, match=f"{vault} does"):
        put(home, "notes", vault / "deeper" / "still")


def test_a_repository_added_as_notes_is_told_to_be_git(home: Home, repository: Path) -> None:
    with pytest.raises(UsageError, match=r"source add git"):
        put(home, "notes", repository)


def test_a_vault_under_version_control_is_still_a_vault(home: Home, repository: Path) -> None:
    (repository / "daily").mkdir()
    (repository / "daily" / "today.md").write_text("x")
    assert put(home, "notes", repository).type == "notes"


def test_a_folder_added_as_git_is_told_to_be_notes(home: Home, vault: Path) -> None:
    with pytest.raises(UsageError, match=r"source add notes"):
        put(home, "git", vault)


def test_a_folder_inside_a_repository_names_the_repository(home: Home, repository: Path) -> None:
    (repository / "src").mkdir()
    with pytest.raises(UsageError, match=f"source add git {repository}"):
        put(home, "git", repository / "src")


def test_a_bare_repository_is_a_repository(home: Home, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "tools.git")], check=True)
    assert put(home, "git", tmp_path / "tools.git").name == "tools"


def test_the_same_folder_twice_names_the_first_source(home: Home, vault: Path, tmp_path: Path) -> None:
    put(home, "notes", vault)
    (tmp_path / "again").symlink_to(vault)
    with pytest.raises(UsageError, match='already the source "my-notes"'):
        put(home, "notes", tmp_path / "again")


def test_a_taken_or_impossible_name_is_refused(home: Home, vault: Path, repository: Path) -> None:
    put(home, "notes", vault, name="vault")
    with pytest.raises(UsageError, match="already a source"):
        put(home, "git", repository, name="vault")
    for name in ("log", "ctxsync", "A B", "", "../x"):
        with pytest.raises(UsageError, match="cannot name a source"):
            put(home, "git", repository, name=name)


def test_a_folder_in_ctxsyncs_own_home_is_refused(home: Home) -> None:
    (home.path / "notes").mkdir()
    for path in (home.path, home.path / "notes"):
        with pytest.raises(UsageError, match="own home"):
            put(home, "notes", path)


def test_an_unknown_type_names_the_nearest_one_or_all(home: Home, vault: Path) -> None:
    with pytest.raises(UsageError, match=r"Did you mean slack-export\?"):
        put(home, "slack_exports", vault)
    with pytest.raises(UsageError, match="Use notes, git, imap, mailbox, slack or slack-export"):
        put(home, "vault", vault)


def account(home: Home, location: str, **options: Any) -> SourceConfig:
    return add(home, load_config(home), "imap", location, **options)


def test_a_mail_account_is_named_by_its_server_and_looks_for_its_password_in_the_keyring(home: Home) -> None:
    source = account(home, "robin@mail.example.com", port=1993, folders=("INBOX", "Sent*"), since="2024-01-31")
    assert (source.name, source.location, source.root) == ("example.com", "robin@mail.example.com", None)
    assert 'password = "keyring:"' in home.config_path.read_text()
    assert [each.settings() for each in load_config(home).sources] == [source.settings()]
    assert source.settings() | {"port": 1993, "folders": ["INBOX", "Sent*"]} == source.settings()


def test_an_address_that_logs_in_is_told_apart_from_its_server(home: Home) -> None:
    assert account(home, "robin@example.org@mail.example.com").location == "robin@example.org at mail.example.com"
    assert account(home, "ann@example.org", host="mx.example.com").location == "ann@example.org at mx.example.com"
    with pytest.raises(UsageError, match=r'already the source "example\.com"'):
        account(home, "robin@example.org@mail.example.com")


@pytest.mark.parametrize("location", ["", "robin", "@mail.example.com", "robin@"])
def test_a_mail_account_without_user_or_server_says_how_to_write_it(home: Home, location: str) -> None:
    with pytest.raises(UsageError, match=r"user@host.*--host"):
        account(home, location)


def test_a_secret_on_the_command_line_is_neither_written_nor_repeated(home: Home) -> None:
    attempts: list[tuple[str, str, dict[str, Any]]] = [
        ("imap", "robin:hunter2@mail.example.com", {}),
        ("imap", "imaps://robin:hunter2@mail.example.com", {}),
        ("imap", "robin@mail.example.com", {"password": "hunter2"}),
        ("slack", "xoxb-hunter2", {}),
        ("slack", "team", {"token": "xoxp-hunter2"}),
    ]
    for kind, location, options in attempts:
        with pytest.raises(UsageError, match="source secret") as caught:
            add(home, load_config(home), kind, location, **options)
        assert "hunter2" not in str(caught.value)
    assert not home.config_path.exists()


def test_an_option_of_another_type_is_explained(home: Home, vault: Path) -> None:
    with pytest.raises(UsageError, match=r'"folders" .* is of sources of type imap, not notes'):
        add(home, load_config(home), "notes", str(vault), folders=("INBOX",))
    with pytest.raises(UsageError, match='must be a date, as "2024-01-31"'):
        account(home, "robin@mail.example.com", since="last year")
    with pytest.raises(UsageError, match="must be from 0 to 65535"):
        account(home, "robin@mail.example.com", port=99_999)


def test_a_workspace_is_called_as_it_is_named(home: Home) -> None:
    assert add(home, load_config(home), "slack", "https://Acme-Works.slack.com/archives").name == "acme-works"
    assert add(home, load_config(home), "slack", "").name == "slack"
    assert [source.location for source in load_config(home).sources] == ["slack.com", "slack.com"]


def test_a_mailbox_must_be_one(home: Home, tmp_path: Path) -> None:
    letters = {"All mail.mbox": b"From a@example.com Mon\n\nx", "photo.jpg": b"\xff\xd8", "takeout.zip": b"PK\3\4"}
    for name, data in letters.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "empty.mbox").write_bytes(b"")
    assert put(home, "mailbox", tmp_path / "All mail.mbox").name == "all-mail"
    assert put(home, "mailbox", tmp_path / "empty.mbox").name == "empty"
    with pytest.raises(UsageError, match="is no mbox"):
        put(home, "mailbox", tmp_path / "photo.jpg")
    with pytest.raises(UsageError, match="Unpack it"):
        put(home, "mailbox", tmp_path / "takeout.zip")
    with pytest.raises(UsageError, match="source add mailbox"):
        put(home, "notes", tmp_path / "All mail.mbox")


def test_a_slack_export_is_a_folder_or_a_zip(home: Home, tmp_path: Path, vault: Path) -> None:
    (tmp_path / "export.zip").write_bytes(b"PK\3\4")
    (tmp_path / "export.txt").write_bytes(b"hello")
    assert put(home, "slack-export", tmp_path / "export.zip").name == "export"
    assert put(home, "slack-export", vault).name == "my-notes"
    with pytest.raises(UsageError, match="is no Slack export"):
        put(home, "slack-export", tmp_path / "export.txt")


def test_a_broken_config_is_never_overwritten(home: Home, vault: Path) -> None:
    config = load_config(home)
    home.config_path.write_text("[identity\n")
    with pytest.raises(ConfigError):
        add(home, config, "notes", str(vault))
    assert home.config_path.read_text() == "[identity\n"


@given(st.text(min_size=1).filter(lambda name: "/" not in name and "\0" not in name), st.integers(0, 3))
def test_a_derived_name_is_always_valid_and_free(part: str, others: int) -> None:
    taken: list[str] = []
    for _ in range(others + 1):
        name = derive_name(Path("/srv") / part, taken)
        assert NAME_PATTERN.fullmatch(name)
        assert name not in {*taken, *RESERVED_NAMES}
        taken.append(name)
