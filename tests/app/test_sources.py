from __future__ import annotations

import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxsync.config import NAME_PATTERN, RESERVED_NAMES, SourceConfig, load_config
from ctxsync.errors import ConfigError, UsageError
from ctxsync.home import Home
from ctxsync.sources import add, derive_name, remove_from_file

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
    assert [(s.name, s.path, s.trust) for s in load_config(home).sources] == [("my-notes", vault, "own")]
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
    (source,) = load_config(home).sources
    assert (source.trust, source.exclude, source.include) == ("others", ("private/**",), ("*.md",))


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


def test_types_of_later_versions_and_unknown_ones_are_told_apart(home: Home, vault: Path) -> None:
    with pytest.raises(UsageError, match="not available in this version"):
        put(home, "slack", vault)
    with pytest.raises(UsageError, match="no source type"):
        put(home, "vault", vault)


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
