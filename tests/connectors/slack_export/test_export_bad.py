"""Exports that are broken, hostile or not there: each has a message and a remedy, and the rest goes on."""

from __future__ import annotations

import gzip
import json
import os
import stat
import struct
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.changes import to_events
from ctxsync.connectors.base import Options, Quarantined, Released
from ctxsync.connectors.slack_export import SlackExportConnector, files
from ctxsync.errors import ConfigError, Unavailable
from tests.connectors.slack_export.conftest import NOW, Source, as_bytes, message, official

if TYPE_CHECKING:
    from pathlib import Path

DAY, NEXT = "2023-11-15", "2023-11-16"
GOOD = official(garden={DAY: [message(DAY, 1)], NEXT: [message(NEXT, 1)]})
READ = ["observed Message 1 of 2023-11-15", "sighted 1700006401.000001"]
READ_NEXT = ["observed Message 1 of 2023-11-16", "sighted 1700092801.000001"]


def quarantined(source: Source, **options: Any) -> dict[str, str]:
    return {one.place: one.error for one in source.read(**options) if isinstance(one, Quarantined)}


def test_a_source_without_a_path_says_which_setting_to_give() -> None:
    with pytest.raises(ConfigError, match="path"):
        SlackExportConnector("work", {}, Options())
    with pytest.raises(ConfigError, match="team"):
        SlackExportConnector("work", {"path": "/x", "team": 7}, Options())


def test_what_is_no_export_says_what_to_name_instead(source: Source, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"cannot be read: No such file.*ctxsync sync work"):
        source.read()
    source.folder({"hello.txt": b"hi", "slack.zip": b"PK"})
    with pytest.raises(Unavailable, match=r"holds no Slack export.*slack\.zip"):
        source.read()
    source.folder({f"{DAY}.json": [message(DAY, 1)]})
    with pytest.raises(Unavailable, match=r"one channel of an export.*folder that it is in"):
        source.read()
    source.folder({**{f"2023/{name}": one for name, one in GOOD.items()}, "2024/users.json": []})
    with pytest.raises(Unavailable, match=r"holds 2 exports: 2023, 2024.*source of its own"):
        source.read()
    source.path = tmp_path / "note.txt"
    source.path.write_text("no export")
    with pytest.raises(Unavailable, match="holds no Slack export"):
        source.read()


@pytest.mark.parametrize("part", [0.99, 0.5, 0.05])
def test_a_zip_that_is_broken_off_says_to_copy_it_again_and_deletes_nothing(source: Source, part: float) -> None:
    source.zip(GOOD)
    source.read()
    whole = source.path.read_bytes()
    source.path.write_bytes(whole[: int(len(whole) * part)])
    with pytest.raises(Unavailable, match=r"no whole zip.*[Cc]opy or download it again.*ctxsync sync work"):
        source.read()
    source.path.write_bytes(whole)
    assert source.says() == []


def test_an_encrypted_zip_says_to_unpack_it(source: Source) -> None:
    source.zip(GOOD)
    data = bytearray(source.path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(signature)
        while at >= 0:
            data[at + offset] |= 1
            at = data.find(signature, at + 4)
    source.path.write_bytes(bytes(data))
    with pytest.raises(Unavailable, match=r"is encrypted.*Unpack it with its password"):
        source.read()


@pytest.mark.parametrize("lists", ["users.json", "channels.json"])
@pytest.mark.parametrize("broken", [b'[{"id": "U1', b'{"ok": false}', b""])
def test_lists_that_are_broken_stop_the_source_for_without_them_every_name_would_be_wrong(
    source: Source, lists: str, broken: bytes
) -> None:
    source.folder(GOOD)
    source.read()
    source.put(lists, broken)
    with pytest.raises(Unavailable, match=rf"{lists}.*Copy the export again"):
        source.read()
    source.folder(GOOD)
    assert source.says() == []


@pytest.mark.parametrize(
    "broken", [b'[{"ts": "17000', b"", b"\x00" * 50, b'"text"', b"7", b"[" * 100_000, b'{"a":' * 100_000]
)
def test_a_day_that_is_no_list_of_messages_is_quarantined_and_the_others_go_on(source: Source, broken: bytes) -> None:
    source.folder({**GOOD, f"garden/{DAY}.json": broken})
    assert source.says() == [f"quarantined garden/{DAY}.json", *READ_NEXT]
    assert source.says() == []
    assert source.says(retry_quarantined=True) == []
    source.put(f"garden/{DAY}.json", GOOD[f"garden/{DAY}.json"])
    assert source.says() == [*READ, f"released garden/{DAY}.json"]


def test_a_day_that_breaks_later_keeps_its_messages(source: Source) -> None:
    source.folder(GOOD)
    source.read()
    source.put(f"garden/{DAY}.json", b'[{"type": "mess')
    errors = quarantined(source)
    assert "Copy the export again" in errors[f"garden/{DAY}.json"]
    source.folder(GOOD)
    assert source.says() == [f"released garden/{DAY}.json"]


def test_entries_that_are_no_messages_are_one_place_and_the_others_of_the_day_are_read(source: Source) -> None:
    source.folder(official(garden={DAY: [7, None, message(DAY, 1), {"type": "message", "text": "no time"}]}))
    errors = quarantined(source)
    assert list(errors) == [f"garden/{DAY}.json#entries"]
    assert errors[f"garden/{DAY}.json#entries"].startswith("3 of the entries")
    assert source.says() == []
    source.put(f"garden/{DAY}.json", [message(DAY, 1)])
    assert source.says() == [f"released garden/{DAY}.json#entries"]


def test_a_number_that_no_event_can_hold_stops_no_other_message(source: Source) -> None:
    wild = message(DAY, 2, text="wild", reactions=[{"name": "eyes", "count": 2**70}])
    source.folder({**GOOD, f"garden/{DAY}.json": [wild, message(DAY, 1)]})
    assert [one for one in source.says() if "wild" not in one] == ["sighted 1700006402.000002", *READ, *READ_NEXT]
    assert source.says() == []


def test_json_that_only_a_lenient_reader_takes_is_read(source: Source) -> None:
    text = b'\xef\xbb\xbf[{"type": "message", "user": "U1ROBIN", "ts": "1700006401.000001", "text": "a\x01\\ud800\xff", "x": NaN}]'
    source.folder({**GOOD, f"garden/{DAY}.json": text})
    assert source.items()[0].sections[0].text == "a\x01��"


def test_a_folder_whose_name_is_no_text_is_read_and_named(source: Source) -> None:
    source.folder(GOOD)
    folder = os.path.join(os.fsencode(source.path), b"caf\xe9")  # noqa: PTH118  # pathlib takes no bytes
    os.mkdir(folder)  # noqa: PTH102
    for name, data in ((b"2023-11-15.json", as_bytes([message(DAY, 1)])), (b"2023-11-16.json", b"broken")):
        with open(os.path.join(folder, name), "wb") as file:  # noqa: PTH118, PTH123
            file.write(data)
    changes = source.read()
    assert list(to_events("work", changes, NOW))
    assert "caf�/2023-11-16.json" in {one.place for one in changes if isinstance(one, Quarantined)}


def test_a_channel_cannot_call_itself_the_directory(source: Source) -> None:
    files = {**GOOD, ".directory/2023-11-15.json": [message(DAY, 1, text="planted")]}
    files["channels.json"] = [{"id": ".directory", "name": "garden"}]
    source.zip(files)
    assert "planted" not in repr(source.read())
    assert set(source.cursors) == {".directory"}


def put_member(path: Path, info: zipfile.ZipInfo | str, data: bytes, **more: Any) -> None:
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(info, data, **more)


@pytest.mark.parametrize(
    "name",
    ["../../garden/2023-11-15.json", "/garden/2023-11-15.json", "C:/garden/2023-11-15.json", "a\\..\\2023-11-15.json"],
)
def test_a_name_that_leads_out_of_a_zip_is_not_read_and_named(source: Source, name: str) -> None:
    source.zip({**GOOD})
    put_member(source.path, name, as_bytes([message(DAY, 2, text="planted")]))
    changes = source.read()
    errors = {one.place: one.error for one in changes if isinstance(one, Quarantined)}
    assert list(errors) == [name]
    assert "leads out of the export" in errors[name]
    assert "Take it out" in errors[name]
    assert "planted" not in repr(changes)
    assert not list(source.path.parent.glob("garden*"))
    source.zip(GOOD)
    assert source.read() == [Released(name)]


def test_a_link_is_not_followed_in_a_zip_or_a_folder(source: Source, tmp_path: Path) -> None:
    link = zipfile.ZipInfo(f"garden/{DAY}.json")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    source.zip({name: one for name, one in GOOD.items() if DAY not in name})
    put_member(source.path, link, b"/etc/passwd")
    errors = quarantined(source)
    assert "It is a link" in errors[f"garden/{DAY}.json"]
    secret = tmp_path / "secret.json"
    secret.write_bytes(as_bytes([message(DAY, 2, text="secret")]))
    source.path, source.cursors = tmp_path / "folder", {}
    source.folder(GOOD)
    (source.path / "garden" / "2023-11-17.json").symlink_to(secret)
    changes = source.read()
    assert "secret" not in repr([one for one in changes if not isinstance(one, Quarantined)])
    assert [one.place for one in changes if isinstance(one, Quarantined)] == ["garden/2023-11-17.json"]


def test_a_zip_bomb_is_not_unpacked(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    source.zip({**GOOD, f"garden/{DAY}.json": b"[" + b" " * 30_000_000 + b"]"})
    opened: list[str] = []
    really = zipfile.ZipFile.open

    def watched(self: zipfile.ZipFile, name: Any, *rest: Any, **more: Any) -> Any:
        opened.append(name.filename)
        return really(self, name, *rest, **more)

    monkeypatch.setattr(zipfile.ZipFile, "open", watched)
    changes = source.read()
    errors = {one.place: one.error for one in changes if isinstance(one, Quarantined)}
    assert "would unpack to 30,000,002 bytes" in errors[f"garden/{DAY}.json"]
    assert f"garden/{DAY}.json" not in opened
    assert f"garden/{NEXT}.json" in opened


def test_a_file_of_more_than_is_read_at_once_says_what_to_do(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 10_000)
    source.folder({**GOOD, f"garden/{DAY}.json": [message(DAY, 1, text="x" * 20_000)]})
    assert "slackdump convert" in quarantined(source)[f"garden/{DAY}.json"]


def test_a_zip_that_lies_about_a_size_is_quarantined_there(source: Source) -> None:
    source.zip(GOOD)
    data = bytearray(source.path.read_bytes())
    at = data.find(b"PK\x01\x02")
    while data[at + 46 : at + 46 + data[at + 28]] != f"garden/{DAY}.json".encode():
        at = data.find(b"PK\x01\x02", at + 4)
    struct.pack_into("<I", data, at + 24, 20)
    source.path.write_bytes(bytes(data))
    errors = quarantined(source)
    assert "cannot be read" in errors[f"garden/{DAY}.json"]
    assert "Copy the export again" in errors[f"garden/{DAY}.json"]


def test_a_second_copy_of_a_day_is_named_and_the_first_is_read(source: Source) -> None:
    other = [message(DAY, 2, text="other")]
    source.folder({**GOOD, f"garden/{DAY} (1).json": other, f"C1GARDEN/{DAY}.json": other})
    changes = source.read()
    errors = {one.place: one.error for one in changes if isinstance(one, Quarantined)}
    assert set(errors) == {f"garden/{DAY} (1).json", f"garden/{DAY}.json"}
    assert all("Take it out" in error for error in errors.values())


def test_two_members_of_one_name_are_named_unless_they_are_the_same(source: Source) -> None:
    source.zip(GOOD)
    with pytest.warns(UserWarning, match="Duplicate name"):
        put_member(source.path, f"garden/{DAY}.json", as_bytes(GOOD[f"garden/{DAY}.json"]))
    assert quarantined(source) == {}
    with pytest.warns(UserWarning, match="Duplicate name"):
        put_member(source.path, f"garden/{DAY}.json", as_bytes([message(DAY, 2)]))
    assert "two files of this name" in quarantined(source)[f"garden/{DAY}.json (2)"]


@pytest.mark.parametrize(
    "broken", [b"\x1f\x8b no gzip", gzip.compress(b'{"t": 0, "id": "C1GARDEN", "m": [}\n', mtime=0)]
)
def test_a_chunk_file_that_is_broken_is_quarantined_and_the_others_go_on(source: Source, broken: bytes) -> None:
    chunk = {"t": 0, "id": "C2SHED", "m": [message(DAY, 1)]}
    source.folder({"C1GARDEN.json.gz": broken, "C2SHED.json.gz": gzip.compress(json.dumps(chunk).encode())})
    assert source.says() == ["quarantined C1GARDEN.json.gz", *READ]


def test_a_chunk_file_that_ends_early_keeps_what_it_had_and_says_so(source: Source) -> None:
    lines = [
        json.dumps({"t": 0, "id": "C1GARDEN", "m": [message(DAY, number, text=os.urandom(2000).hex())]})
        for number in range(20)
    ]
    whole = gzip.compress("\n".join(lines).encode())
    source.folder({"C1GARDEN.json.gz": whole[: len(whole) // 2]})
    says = source.says()
    assert says[-1] == "quarantined C1GARDEN.json.gz"
    assert 2 < len(says) < 40
    source.put("C1GARDEN.json.gz", whole)
    assert len(source.says()) == 42 - len(says)


def test_a_gzip_bomb_stops_where_no_archive_would_be_as_large(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    from ctxsync.connectors.slack_export import parts

    monkeypatch.setattr(parts, "MAX_BYTES", 100_000)
    monkeypatch.setattr(parts, "MAX_RATIO", 1)
    line = json.dumps({"t": 7, "id": "C1GARDEN", "cu": ["U" * 1000]}).encode() + b"\n"
    source.folder({"C1GARDEN.json.gz": gzip.compress(line * 1000, mtime=0)})
    assert "more than any archive" in quarantined(source)["C1GARDEN.json.gz"]


@pytest.mark.parametrize("broken", [b'[{"type": "mess', [message(DAY, 1), 7]])
def test_what_was_in_quarantine_is_released_when_its_file_goes_moves_or_is_left_out(
    source: Source, broken: bytes | list[Any]
) -> None:
    whole = {**GOOD, f"shed/{DAY}.json": broken}
    lone = {name: one for name, one in GOOD.items() if name != f"garden/{DAY}.json"}

    def changed() -> list[tuple[str, str]]:
        kept = (Quarantined, Released)
        return [(type(one).__name__, one.place) for one in source.read(allow_deletes=True) if isinstance(one, kept)]

    source.folder(whole)
    ((_, place),) = changed()
    assert place.removesuffix("#entries") == f"shed/{DAY}.json"
    source.folder(GOOD)  # which has no file of that channel
    assert changed() == [("Released", place)]
    source.folder({**lone, f"garden/{DAY}.json": broken})
    ((_, place),) = changed()
    source.folder({**lone, f"garden/{DAY}.json": broken}, under="an export/")
    assert changed() == [("Released", place), ("Quarantined", f"an export/{place}")]
    source.settings["exclude"] = ["garden"]
    assert changed() == [("Released", f"an export/{place}")]
    assert changed() == []
