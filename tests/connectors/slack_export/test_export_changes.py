"""A newer export over the same path: only what differs is said, and only what it covers can be missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.connectors.base import Observed, Options, Unsighted
from ctxsync.connectors.slack_export import SlackExportConnector, parts
from ctxsync.errors import ConfigError, SuspiciousDeletion
from tests.connectors.slack_export.conftest import DAYS, NOW, Source, message, official

if TYPE_CHECKING:
    from ctxsync.connectors.slack_export.files import File

FIRST, SECOND, THIRD = DAYS


def day(name: str, *numbers: int, **more: Any) -> list[dict[str, Any]]:
    return [message(name, number, **more) for number in numbers]


def watched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the files that are parsed from now on."""
    parsed: list[str] = []
    really = parts.parse

    def parse(file: File) -> Any:
        parsed.append(file.name)
        return really(file)

    monkeypatch.setattr(parts, "parse", parse)
    return parsed


@pytest.mark.parametrize("kind", ["folder", "zip"])
def test_an_unchanged_export_is_not_parsed_again_and_in_a_newer_one_only_the_days_that_changed(
    source: Source, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = watched(monkeypatch)
    files = official(garden={FIRST: day(FIRST, 1, 2), SECOND: day(SECOND, 1)})
    getattr(source, kind)(files)
    source.read()
    parsed.clear()
    assert source.says() == []
    assert parsed == []
    files |= {f"garden/{SECOND}.json": day(SECOND, 1, 3), f"garden/{THIRD}.json": day(THIRD, 1)}
    if kind == "zip":
        source.zip(files)
    else:
        for name in (f"garden/{SECOND}.json", f"garden/{THIRD}.json"):
            source.put(name, files[name])
    assert source.says() == [
        "observed Message 3 of 2023-11-16",
        "sighted 1700092803.000003",
        "observed Message 1 of 2023-11-17",
        "sighted 1700179201.000001",
    ]
    assert parsed == [f"{SECOND}.json", f"{THIRD}.json"]


def test_what_is_no_content_changes_nothing_and_an_edit_is_one_new_version(source: Source) -> None:
    source.folder(official(garden={FIRST: day(FIRST, 1, 2)}))
    source.read()
    source.folder(
        official(garden={FIRST: day(FIRST, 1, 2, reply_count=4, client_msg_id="x", blocks=[{"block_id": "y"}])})
    )
    assert source.says() == []
    source.put(f"garden/{FIRST}.json", [message(FIRST, 1), message(FIRST, 2, text="Mended", edited={"ts": "1"})])
    assert source.says() == ["observed Mended"]


def test_a_day_that_lacks_a_message_says_that_it_is_gone(source: Source) -> None:
    source.folder(official(garden={FIRST: day(FIRST, 1, 2, 3), SECOND: day(SECOND, 1)}))
    source.read()
    source.folder(official(garden={FIRST: day(FIRST, 2, 3), SECOND: []}))
    assert source.says() == ["unsighted 1700006401.000001 deleted", "unsighted 1700092801.000001 deleted"]
    assert source.says() == []


def test_a_deleted_parent_with_answers_is_gone_and_its_answers_stay(source: Source) -> None:
    parent = message(FIRST, 1)
    answer = message(FIRST, 2, thread_ts=parent["ts"])
    source.folder(official(garden={FIRST: [parent, answer]}))
    source.read()
    tombstone = {
        **parent,
        "subtype": "tombstone",
        "hidden": True,
        "user": "USLACKBOT",
        "text": "This message was deleted.",
    }
    source.folder(official(garden={FIRST: [tombstone, answer]}))
    assert source.says() == [f"unsighted {parent['ts']} deleted"]


def test_days_and_channels_that_are_absent_say_nothing(source: Source) -> None:
    source.folder(
        official(
            garden={FIRST: day(FIRST, 1), SECOND: day(SECOND, 1), THIRD: day(THIRD, 1)}, shed={FIRST: day(FIRST, 1)}
        )
    )
    source.read()
    source.folder(official(garden={SECOND: day(SECOND, 1)}))
    assert source.says() == []


def test_an_export_that_begins_later_spares_its_first_morning_and_answers_to_older_parents(source: Source) -> None:
    older = message(FIRST, 1)
    before = [message(SECOND, 1), message(SECOND, 5), message(SECOND, 6, thread_ts=older["ts"]), message(SECOND, 9)]
    source.folder(official(garden={FIRST: [older], SECOND: before, THIRD: day(THIRD, 1, 2)}))
    source.read()
    source.folder(official(garden={SECOND: day(SECOND, 5), THIRD: day(THIRD, 1)}))
    assert source.says() == ["unsighted 1700092809.000009 deleted", "unsighted 1700179202.000002 deleted"]


def test_an_export_that_ends_earlier_spares_its_last_evening(source: Source) -> None:
    source.folder(official(garden={FIRST: day(FIRST, 1, 2), SECOND: day(SECOND, 1, 5, 9), THIRD: day(THIRD, 1)}))
    source.read()
    source.folder(official(garden={FIRST: day(FIRST, 1), SECOND: day(SECOND, 5)}))
    assert source.says() == ["unsighted 1700006402.000002 deleted", "unsighted 1700092801.000001 deleted"]


def test_a_newer_dump_tells_only_of_what_lies_between_its_ends(source: Source) -> None:
    def dump(*numbers: int) -> dict[str, Any]:
        return {"C1GARDEN.json": {"channel_id": "C1GARDEN", "messages": day(FIRST, *numbers)}}

    source.folder(dump(1, 2, 3, 4, 5))
    source.read()
    source.folder(dump(2, 4))
    assert source.says() == ["unsighted 1700006403.000003 deleted"]
    source.folder(dump())
    assert source.says() == []


def test_a_message_that_moves_to_the_day_of_another_time_zone_stays(source: Source) -> None:
    source.folder(official(garden={FIRST: day(FIRST, 1, 2), SECOND: day(SECOND, 1)}))
    source.read()
    source.folder(official(garden={FIRST: day(FIRST, 1), SECOND: [message(FIRST, 2), *day(SECOND, 1)]}))
    changes = source.read()
    assert not [change for change in changes if isinstance(change, Unsighted)]
    assert source.says() == []
    source.folder(official(garden={FIRST: day(FIRST, 1), SECOND: day(SECOND, 1)}))
    assert source.says() == ["unsighted 1700006402.000002 deleted"]


def test_too_many_deletions_of_a_channel_wait_and_the_other_channels_go_on(source: Source) -> None:
    source.folder(official(garden={FIRST: day(FIRST, *range(60))}, shed={FIRST: day(FIRST, 1)}))
    source.read()
    source.folder(official(garden={FIRST: day(FIRST, *range(30))}, shed={FIRST: day(FIRST, 1, 2)}))
    connector = SlackExportConnector("work", {"path": str(source.path)}, Options(now=NOW))
    garden, shed = [stream for stream in connector.discover() if stream.name.startswith("C")]
    with pytest.raises(SuspiciousDeletion, match=r"30 of 60 messages of garden .*--allow-deletes work"):
        list(connector.read(garden, source.cursors["C1GARDEN"]))
    others = [one for batch in connector.read(shed, source.cursors["C2SHED"]) for one in batch.changes]
    assert isinstance(others[0], Observed)
    assert len([one for one in source.says(allow_deletes=True) if one.startswith("unsighted")]) == 30


def test_the_same_message_twice_in_a_day_is_one_and_the_first_stands(source: Source) -> None:
    source.folder(official(garden={FIRST: [message(FIRST, 1), message(FIRST, 1, text="another")]}))
    assert source.says() == ["observed Message 1 of 2023-11-15", "sighted 1700006401.000001"]
    source.put(f"garden/{FIRST}.json", [message(FIRST, 1), message(FIRST, 1, text="a third")])
    assert source.says() == []


def test_channels_are_chosen_by_globs_of_names_or_ids_with_or_without_a_hash(source: Source) -> None:
    source.folder(official(garden={FIRST: day(FIRST, 1)}, shed={FIRST: day(FIRST, 1)}))
    for settings, expected in (
        ({"channels": ["#gard*"]}, {"C1GARDEN"}),
        ({"channels": "C2*"}, {"C2SHED"}),
        ({"exclude": ["#garden"]}, {"C2SHED"}),
        ({"channels": ["*"], "exclude": ["C1GARDEN", "shed"]}, set()),
    ):
        source.settings, source.cursors = settings, {}
        assert {item.id.split("/")[1] for item in source.items()} == expected
    with pytest.raises(ConfigError, match="`channels` of the source work"):
        SlackExportConnector("work", {"path": "/x", "channels": [1]}, Options())


def test_a_channel_that_is_left_out_later_goes_and_comes_back(source: Source) -> None:
    source.folder(official(garden={FIRST: day(FIRST, 1)}, shed={FIRST: day(FIRST, 1)}))
    source.read()
    source.settings["exclude"] = ["shed"]
    assert source.says() == ["unsighted 1700006401.000001 excluded"]
    assert source.says() == []
    source.settings = {}
    assert source.says() == ["observed Message 1 of 2023-11-15", "sighted 1700006401.000001"]


def test_bots_are_read_as_automated_or_left_out(source: Source) -> None:
    rain = message(FIRST, 2, user=None, bot_id="B1", subtype="bot_message", username="Rain", text="Rain at noon")
    source.folder(official(garden={FIRST: [message(FIRST, 1), message(FIRST, 3), rain]}))
    assert [item.sections[0].attributes.get("automated") for item in source.items()] == [None, None, True]
    source.settings["bots"] = False
    assert source.says() == [f"unsighted {rain['ts']} excluded"]
    source.settings["bots"] = True
    assert source.says() == ["observed Rain at noon", f"sighted {rain['ts']}"]


def test_since_leaves_out_what_is_older_and_does_not_parse_it(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = watched(monkeypatch)
    earlier = [message(FIRST, 1, ts="1699500000.000001")]
    source.settings["since"] = SECOND
    source.folder(official(garden={"2023-11-09": earlier, FIRST: day(FIRST, 1), SECOND: day(SECOND, 1)}))
    assert source.says() == ["observed Message 1 of 2023-11-16", "sighted 1700092801.000001"]
    assert parsed == [f"{FIRST}.json", f"{SECOND}.json"]  # the day before may be of another time zone
    source.settings["since"] = "2023-01-01"
    assert len(source.says()) == 4
    source.settings["since"] = THIRD
    assert len(source.says(allow_deletes=True)) == 3
    with pytest.raises(ConfigError, match=r'"since" .* "2024-01-31"'):
        SlackExportConnector("work", {"path": "/x", "since": "soon"}, Options())
