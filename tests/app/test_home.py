from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from ctxsync.errors import ConfigError
from ctxsync.home import Home, resolve, write_private

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o000, 0o022, 0o277])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_the_option_wins_over_the_environment_and_the_platform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CTXSYNC_HOME", str(tmp_path / "env"))
    assert resolve(str(tmp_path / "option")).path == tmp_path / "option"
    assert resolve(None).path == tmp_path / "env"
    monkeypatch.delenv("CTXSYNC_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert resolve(None).path == tmp_path / "data" / "ctxsync"


def test_a_new_home_is_closed_to_others_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    home = Home(tmp_path / "home")
    home.create()
    home.reserve(home.cache_path)
    write_private(home.config_path, "x")
    assert (mode(home.path), mode(home.cache_path), mode(home.config_path)) == (0o700, 0o600, 0o600)


def test_a_home_that_was_opened_to_others_is_closed_again(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.config_path.write_text("")
    home.path.chmod(0o755)
    home.config_path.chmod(0o644)
    home.create()
    assert (mode(home.path), mode(home.config_path)) == (0o700, 0o600)


def test_a_folder_of_other_things_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("")
    tmp_path.chmod(0o755)
    Home(tmp_path).create()
    assert mode(tmp_path) == 0o755


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    with pytest.raises(ConfigError, match="is a file"):
        Home(tmp_path / "home").create()


def test_a_replaced_file_is_whole_or_untouched(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    write_private(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_private(path, "new \ud800")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_config_that_is_a_link_stays_one(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text("old")
    link = tmp_path / "config.toml"
    link.symlink_to(real)
    write_private(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"
