"""The demo does on sample data what it says: two sources in one answer, one person in four sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.app import App
from ctxsync.demo import PERSON, QUESTIONS, TOGETHER
from ctxsync.engine import reading

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, App]:
    """What it printed, and the home that it left."""
    from tests.cli.conftest import Line

    home: Path = tmp_path_factory.mktemp("demo") / "home"
    ran = Line(home)("--home", str(home), "demo")
    assert ran.code == 0, ran.out + ran.err
    return ran.out, App.open(str(home))


def sources(facts: list[dict[str, Any]]) -> set[str]:
    return {support["source"] for fact in facts for support in fact["support"]}


def test_every_question_is_answered_and_each_is_asked(demo: tuple[str, App]) -> None:
    out, _ = demo
    assert f"{len(QUESTIONS) + len(TOGETHER)} of {len(QUESTIONS) + len(TOGETHER)} questions answered by facts" in out
    for question in (*QUESTIONS, *TOGETHER):
        assert question in out
    assert "quarantined" not in out


def test_who_uses_the_tide_api_is_known_from_a_mail_and_from_slack(demo: tuple[str, App]) -> None:
    _, app = demo
    answers = reading.ask(app.reader(), TOGETHER[0], now=app.clock())["answers"]
    assert {fact["head"]["name"] for fact in answers} == {"Graymouth Harbour", "Skerry Point"}
    assert sources(answers) == {"mail", "slack"}


def test_who_led_the_trial_is_known_from_a_mail_and_that_it_ended_from_slack(demo: tuple[str, App]) -> None:
    _, app = demo
    (fact,) = reading.ask(app.reader(), TOGETHER[1], now=app.clock())["answers"]
    told = reading.why(app.reader(), fact["id"], now=app.clock())
    assert "Ilse Varga" in (fact["head"]["name"], fact["tail"]["name"])
    assert (sources(told["facts"]), sources(told["superseded_by"])) == ({"mail"}, {"slack"})


def test_what_was_committed_is_no_mail(demo: tuple[str, App]) -> None:
    _, app = demo
    answers = reading.ask(app.reader(), "What did Priya Raman commit?", now=app.clock())["answers"]
    assert sources(answers) == {"tides"}
    assert len(answers) == 2


def test_one_person_has_keys_of_several_kinds_and_facts_of_four_sources(demo: tuple[str, App]) -> None:
    _, app = demo
    (person,) = reading.entity(app.reader(), PERSON, now=app.clock())["entities"]
    assert person["keys"]["email"] == ["sam@example.com"]
    assert person["keys"]["slack"] == ["T0HARBOR1:U0SAMWHI1"]
    assert sources(person["facts"]) == {"vault", "tides", "mail", "slack"}


def test_nothing_of_the_sample_is_quarantined_and_every_mail_and_message_is_there(demo: tuple[str, App]) -> None:
    _, app = demo
    status = app.status()
    assert status["quarantined"] == []
    assert {source["name"]: source["items"] for source in status["sources"]} == {
        "vault": 48,
        "tides": 11,
        "mail": 24,
        "slack": 34,
    }


def test_a_newsletter_and_a_bot_are_nobody(demo: tuple[str, App]) -> None:
    _, app = demo
    for name in ("The Slow Water Letter", "cellar", "Quayside Clinic", "Cellar builds"):
        for found in reading.entity(app.reader(), name, now=app.clock())["entities"]:
            assert found["type"] != "Person", found
