"""Models come whole or not at all, from folders and archives, and nothing but graphs, JSON and text comes."""

from __future__ import annotations

import io
import json
import os
import shutil
import stat
import tarfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ctxsync import model_store
from ctxsync.engine.extraction import gliner
from ctxsync.errors import ModelError
from ctxsync.home import Home
from tests.engine.extraction.gliner import tiny

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = model_store.GLINER


def quiet(_done: int, _total: int) -> None:
    """Show nothing."""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.build(tmp_path_factory.mktemp("source") / "gliner2-tiny")


@pytest.fixture
def copy(source: Path, tmp_path: Path) -> Path:
    """A copy to damage before it is added."""
    return Path(shutil.copytree(source, tmp_path / "copy"))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.create()
    return home


@pytest.fixture
def untried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library is not there: nothing is tried on a sentence, which is what takes time."""
    monkeypatch.setattr(gliner, "LIBRARY", "gliner2_onnx_that_is_not_here")


def place_of(home: Home) -> Path:
    return model_store.folder(home) / NAME


def left(home: Home) -> list[str]:
    return sorted(path.name for path in model_store.folder(home).iterdir())


def zipped(source: Path, target: Path, top: str = "") -> Path:
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(source.rglob("*")):
            archive.write(path, f"{top}{path.relative_to(source).as_posix()}")
    return target


def tarred(source: Path, target: Path, top: str) -> Path:
    with tarfile.open(target, "w:gz" if target.suffix == ".gz" else "w") as archive:
        archive.add(source, top)
    return target


FORMS: dict[str, Callable[[Path, Path], Path]] = {
    "folder": lambda source, _: source,
    "folder around it": lambda source, _: source.parent,
    "zip": lambda source, to: zipped(source, to / "m.zip"),
    "zip with a folder": lambda source, to: zipped(source, to / "m.zip", "gliner2-tiny/"),
    "tar": lambda source, to: tarred(source, to / "m.tar", "."),
    "tar.gz with a folder": lambda source, to: tarred(source, to / "m.tar.gz", "gliner2-tiny"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.usefixtures("untried")
def test_each_form_gives_the_same_model(source: Path, home: Home, tmp_path: Path, form: str) -> None:
    seen: list[tuple[int, int]] = []
    kept, fresh = model_store.add(home, FORMS[form](source, tmp_path), lambda *step: seen.append(step))

    assert fresh
    assert kept.digest == gliner.digest_of(source)
    assert model_store.installed(home) == {NAME: place_of(home)}
    assert left(home) == [NAME]
    assert seen[-1] == (kept.size, kept.size)
    assert seen == sorted(seen)


@pytest.mark.usefixtures("untried")
def test_what_is_kept_is_closed_to_others_and_told_by_its_manifest(source: Path, home: Home) -> None:
    (source / "README.md").write_text("---\nlicense: apache-2.0\n---\nleft out\n", encoding="utf-8")
    kept, _ = model_store.add(home, source, quiet)
    paths = list(place_of(home).rglob("*"))

    assert all(stat.S_IMODE(path.stat().st_mode) & 0o077 == 0 for path in (place_of(home), *paths))
    assert "README.md" not in kept.files
    assert sorted(kept.files) == sorted(
        path.relative_to(place_of(home)).as_posix()
        for path in paths
        if path.is_file() and path.name != "ctxsync-model.json"
    )
    assert (kept.origin, kept.licence) == (str(source), "apache-2.0")
    (source / "README.md").unlink()


def test_the_same_again_changes_nothing(source: Path, home: Home) -> None:
    model_store.add(home, source, quiet)
    before = place_of(home).stat().st_ino
    _, fresh = model_store.add(home, source, quiet)

    assert not fresh
    assert place_of(home).stat().st_ino == before
    assert left(home) == [NAME]


@pytest.mark.usefixtures("untried")
def test_another_model_does_not_take_the_place_of_one_that_is_whole(source: Path, home: Home, tmp_path: Path) -> None:
    first, _ = model_store.add(home, source, quiet)
    other = tiny.build(tmp_path / "other", names={"lisbon": "place"})
    with pytest.raises(ModelError, match="Another") as caught:
        model_store.add(home, other, quiet)

    assert "ctxsync models remove gliner2" in caught.value.remedy
    assert model_store.manifest(place_of(home)) == first
    model_store.remove(home)
    assert model_store.add(home, other, quiet)[1]


def cut(place: Path) -> None:
    os.truncate(place / "onnx" / "encoder.onnx", 100)


def turn(place: Path) -> None:
    path = place / "onnx" / "encoder.onnx"
    content = bytearray(path.read_bytes())
    content[200] ^= 1
    path.write_bytes(content)


def drop(place: Path) -> None:
    (place / "tokenizer.json").unlink()


def forget(place: Path) -> None:
    (place / "ctxsync-model.json").write_text("{", encoding="utf-8")


def link(place: Path) -> None:
    path = place / "onnx" / "span_rep.onnx"
    path.rename(place.parent / "elsewhere.onnx")
    path.symlink_to(place.parent / "elsewhere.onnx")


@pytest.mark.parametrize("damage", [cut, turn, drop, forget, link])
@pytest.mark.usefixtures("untried")
def test_a_damaged_model_is_not_installed(source: Path, home: Home, damage: Callable[[Path], None]) -> None:
    model_store.add(home, source, quiet)
    damage(place_of(home))

    assert model_store.installed(home) == {}
    assert model_store.fault(place_of(home), thorough=True)


@pytest.mark.parametrize("damage", [cut, turn, drop])
@pytest.mark.usefixtures("untried")
def test_adding_it_again_mends_a_damaged_model(source: Path, home: Home, damage: Callable[[Path], None]) -> None:
    model_store.add(home, source, quiet)
    damage(place_of(home))

    assert model_store.add(home, source, quiet)[1]
    assert model_store.fault(place_of(home), thorough=True) is None


@pytest.mark.usefixtures("untried")
def test_a_change_that_keeps_size_and_time_is_found_by_the_thorough_look(source: Path, home: Home) -> None:
    model_store.add(home, source, quiet)
    path = place_of(home) / "onnx" / "encoder.onnx"
    before = path.stat()
    turn(place_of(home))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert model_store.fault(place_of(home)) is None
    assert model_store.fault(place_of(home), thorough=True) == "onnx/encoder.onnx has changed"
    assert model_store.add(home, source, quiet)[1]


@pytest.mark.usefixtures("untried")
def test_a_new_time_alone_is_no_damage(source: Path, home: Home) -> None:
    model_store.add(home, source, quiet)
    os.utime(place_of(home) / "tokenizer.json")

    assert model_store.installed(home)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "x/weights.PKL", "model.safetensors", "modeling.py"])
def test_code_and_pickled_weights_are_refused(copy: Path, home: Home, name: str) -> None:
    (copy / name).parent.mkdir(exist_ok=True)
    (copy / name).write_bytes(b"x")
    with pytest.raises(ModelError, match=r"code, or weights"):
        model_store.add(home, copy, quiet)

    assert left(home) == []


def without(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def holding(name: str, text: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / name).write_text(text, encoding="utf-8")

    return write


def config(**changes: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / "gliner2_config.json"
        path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **changes}), encoding="utf-8")

    return change


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (without("gliner2_config.json"), "No gliner2_config.json"),
        (without("config.json"), "config.json cannot be read"),
        (without("tokenizer.json"), "tokenizer.json cannot be read"),
        (without("onnx/encoder.onnx"), "onnx/encoder.onnx is missing"),
        (holding("tokenizer_config.json", "{"), "it is not JSON"),
        (holding("config.json", "[]"), "holds no settings"),
        (holding("config.json", '{"auto_map": {"AutoTokenizer": "x.Y"}}'), "code of its own"),
        (config(special_tokens={}), "lacks one of the tokens"),
        (config(max_width=0), "lacks max_width"),
        (config(onnx_files={}), "is missing"),
        (config(onnx_files={"fp32": {"encoder": "../e.onnx"}}), "is missing"),
        (holding("onnx/encoder.onnx", "no graph"), "cannot be opened"),
    ],
)
def test_what_is_no_such_model_is_refused_with_what_is_wrong(
    copy: Path, home: Home, damage: Callable[[Path], None], said: str
) -> None:
    damage(copy)
    with pytest.raises(ModelError, match=said) as caught:
        model_store.add(home, copy, quiet)

    assert caught.value.remedy
    assert left(home) == []


def test_a_link_that_leads_out_is_refused_and_one_within_is_copied(copy: Path, home: Home, tmp_path: Path) -> None:
    (copy / "onnx" / "again.onnx").symlink_to(copy / "onnx" / "encoder.onnx")
    model_store.add(home, copy, quiet)
    assert (place_of(home) / "onnx" / "again.onnx").is_file()
    assert not (place_of(home) / "onnx" / "again.onnx").is_symlink()
    model_store.remove(home)

    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    (copy / "notes.txt").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(ModelError, match="leads out"):
        model_store.add(home, copy, quiet)
    assert left(home) == []


@pytest.mark.parametrize("name", ["../evil.json", "/tmp/evil.json", "a/../../evil.json", "a\\evil.json"])
@pytest.mark.parametrize("form", ["zip", "tar"])
def test_an_archive_writes_nothing_outside(source: Path, home: Home, tmp_path: Path, name: str, form: str) -> None:
    path = FORMS[form](source, tmp_path)
    if form == "zip":
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(name, "{}")
    else:
        with tarfile.open(path, "a") as archive:
            member = tarfile.TarInfo(name)
            member.size = 2
            archive.addfile(member, io.BytesIO(b"{}"))
    with pytest.raises(ModelError, match="outside"):
        model_store.add(home, path, quiet)

    assert left(home) == []
    assert not list(tmp_path.rglob("evil*"))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_an_archive_with_links_or_devices_is_refused(source: Path, home: Home, tmp_path: Path, kind: bytes) -> None:
    path = tarred(source, tmp_path / "m.tar", "m")
    with tarfile.open(path, "a") as archive:
        member = tarfile.TarInfo("m/more.json")
        member.type, member.linkname = kind, "/etc/passwd"
        archive.addfile(member)
    with pytest.raises(ModelError, match="no plain file"):
        model_store.add(home, path, quiet)


def test_a_link_in_a_zip_is_refused(source: Path, home: Home, tmp_path: Path) -> None:
    path = zipped(source, tmp_path / "m.zip")
    with zipfile.ZipFile(path, "a") as archive:
        info = zipfile.ZipInfo("more.json")
        info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(ModelError, match="no plain file"):
        model_store.add(home, path, quiet)


@pytest.mark.parametrize("form", ["zip", "tar", "tar.gz with a folder"])
def test_a_damaged_archive_is_told(source: Path, home: Home, tmp_path: Path, form: str) -> None:
    path = FORMS[form](source, tmp_path)
    content = bytearray(path.read_bytes())
    content[len(content) // 3 : len(content) // 3 + 600] = b"\0" * 600
    path.write_bytes(content)
    with pytest.raises(ModelError):
        model_store.add(home, path, quiet)

    assert left(home) == []


@pytest.mark.parametrize("content", [b"", b"hello"])
def test_what_is_neither_folder_nor_archive_is_refused(home: Home, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    for path in (tmp_path / "file", tmp_path / "nothing", tmp_path):
        with pytest.raises(ModelError):
            model_store.add(home, path, quiet)


def test_an_archive_that_says_it_unpacks_to_more_than_any_model_is_refused(
    source: Path, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_store, "LARGEST", 1000)
    with pytest.raises(ModelError, match="no model is that large"):
        model_store.add(home, FORMS["zip"](source, tmp_path), quiet)


def test_an_interrupted_copy_leaves_nothing(source: Path, home: Home) -> None:
    def stop(done: int, _total: int) -> None:
        if done > 2000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model_store.add(home, source, stop)
    assert left(home) == []


@pytest.mark.usefixtures("untried")
def test_what_a_killed_process_left_is_swept_when_it_is_old(source: Path, home: Home) -> None:
    for name, age in (("old", model_store.STALE[".add-"] + 60), ("new", 0)):
        path = model_store.folder(home) / f".add-{name}"
        path.mkdir(parents=True)
        os.utime(path, (path.stat().st_mtime - age,) * 2)
    model_store.add(home, source, quiet)

    assert left(home) == [".add-new", NAME]


def test_of_two_at_once_the_second_does_not_disturb_the_first(
    source: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile(_: Path) -> None:  # between the last look and the rename
        shutil.copytree(source, place_of(home))

    monkeypatch.setattr(gliner, "check", meanwhile)
    with pytest.raises(ModelError, match="Another"):
        model_store.add(home, source, quiet)
    assert left(home) == [NAME]
    assert gliner.digest_of(place_of(home)) == gliner.digest_of(source)


def test_removing_what_is_not_there_says_so(home: Home) -> None:
    with pytest.raises(ModelError, match="No gliner2 model"):
        model_store.remove(home)
