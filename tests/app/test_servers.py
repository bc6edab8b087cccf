"""Sources on servers: they wait, fail and are asked to wait, and nothing else is held up by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ctxsync.errors import AuthError, RateLimited, Unavailable
from ctxsync.sync import SyncRequest
from tests.app.desk import watching
from tests.connectors.slack.server import ALL_SCOPES, APP_TOKEN, BOT_TOKEN, Server, Workspace

if TYPE_CHECKING:
    from tests.app.desk import Desk, Lines
    from tests.app.servers import MailServer

MAIL = 'name = "work"\ntype = "imap"\nhost = "mail.example.com"\nuser = "robin"\npassword = "env:MAIL_PASSWORD"\n'
SLOW_DOWN = RateLimited("The server asks for a pause.", retry_after=90)


@pytest.fixture
def office(desk: Desk, server: MailServer) -> Desk:
    """A desk whose first source is a mail account."""
    config = desk.home.config_path
    config.write_text(f"[[sources]]\n{MAIL}\n" + config.read_text())
    return desk


def test_mail_answers_beside_notes(office: Desk) -> None:
    (office.vault / "Rosa Quint.md").unlink()
    report = office.app().sync(SyncRequest())
    assert [source["name"] for source in report["sources"]] == ["vault", "code", "work"], "servers are read last"
    assert office.facts() == [("Rosa Quint", "employment", "Acme")]


@pytest.mark.parametrize(
    "error",
    [
        AuthError("The login was refused.", remedy="Run `ctxsync source secret work`."),
        Unavailable("Nobody answers."),
        SLOW_DOWN,
        RuntimeError("a defect"),
    ],
)
def test_a_server_that_fails_pauses_itself_alone(office: Desk, server: MailServer, error: Exception) -> None:
    server.refuses = lambda _: error
    report = office.app().sync(SyncRequest())
    assert [source["name"] for source in report["sources"] if source["paused"]] == ["work"]
    assert office.facts() == [("Rosa Quint", "employment", "Acme")]
    (problem,) = report["problems"]
    assert problem["remedy"]
    assert office.app().status()["sources"][0]["paused"][0]["remedy"] == problem["remedy"]
    server.refuses = lambda _: None
    office.app(clock=lambda: office.app().clock() + 3_600_000).sync(SyncRequest())
    (work,) = [source for source in office.app().status()["sources"] if source["name"] == "work"]
    assert (work["paused"], work["location"], work["items"]) == ([], "robin@mail.example.com", 1)


def test_a_server_that_asks_for_time_gets_it_and_the_time_is_told(office: Desk, server: MailServer) -> None:
    now = office.app().clock()
    server.refuses = lambda _: SLOW_DOWN
    first = office.app(clock=lambda: now).sync(SyncRequest())
    assert "goes on" in first["problems"][0]["remedy"]
    assert office.app().status()["sources"][0]["waits_until"] == first["problems"][0]["until"]
    server.refuses = lambda _: None
    again = office.app(clock=lambda: now + 60_000).sync(SyncRequest(sources=("work",)))
    assert again["problems"][0]["until"] == first["problems"][0]["until"]
    assert server.asked == ["login"], "it was left alone"
    assert office.app(clock=lambda: now + 91_000).sync(SyncRequest())["problems"] == []
    assert office.app().status()["sources"][0]["waits_until"] is None


def test_a_dry_run_asks_what_it_may_and_goes_on_past_what_it_may_not(office: Desk, server: MailServer) -> None:
    config = office.home.config_path
    config.write_text(
        config.read_text() + '\n[[sources]]\nname = "team"\ntype = "slack"\ntoken = "env:NO_SUCH_TOKEN"\n'
    )
    server.refuses = lambda _: SLOW_DOWN
    office.app().sync(SyncRequest(sources=("work",)))
    report = office.app().sync(SyncRequest(dry_run=True))
    assert {source["name"]: source["observed"] for source in report["sources"] if not source["paused"]} == {
        "vault": 1,
        "code": 1,
    }
    assert server.asked == ["login"]


def test_a_server_cannot_ask_for_a_year(office: Desk, server: MailServer) -> None:
    now = office.app().clock()
    server.refuses = lambda _: RateLimited("Wait.", retry_after=3e7)
    office.app(clock=lambda: now).sync(SyncRequest())
    server.refuses = lambda _: None
    assert office.app(clock=lambda: now + 3_601_000).sync(SyncRequest())["problems"] == []


def test_new_mail_is_read_when_the_server_says_so(office: Desk, server: MailServer, lines: Lines) -> None:
    with watching(office.app(), lines):
        server.letters["mail:2"] = "Ines Falk works at Brightwater since 2025."
        server.wake()
        lines.wait(lambda line: line.startswith("work: 1 observed"))
        lines.wait(lambda line: line.startswith("graph: "))
        assert ("Ines Falk", "employment", "Brightwater") in office.facts()


def test_a_watch_goes_on_by_itself_when_the_pause_is_over(office: Desk, server: MailServer, lines: Lines) -> None:
    answers = [RateLimited("Wait.", retry_after=0.5), None]
    server.refuses = lambda _: answers.pop(0) if answers else None
    with watching(office.app(), lines):
        lines.wait(lambda line: line.startswith("work: 1 observed"), 20)


def test_a_server_that_cannot_be_watched_is_told_once_and_not_tried_after_each_save(
    office: Desk, server: MailServer, lines: Lines
) -> None:
    server.unwatchable = Unavailable("Nobody answers.")
    with watching(office.app(), lines):
        for number in range(2):
            office.note(f"Note {number}", "Ines Falk works at Brightwater since 2025.")
            lines.wait(lambda line: line.startswith(("graph: ", "vault: ")))
        assert server.asked.count("watch") == 1


def test_doctor_logs_in_only_when_asked(office: Desk, server: MailServer) -> None:
    def work(findings: list[dict[str, object]]) -> dict[str, object]:
        return next(finding for finding in findings if finding["check"] == "source work")

    assert work(office.app().doctor())["ok"]
    assert server.asked == []
    assert work(office.app().doctor(online=True))["ok"]
    assert server.asked == ["login", "read INBOX"]
    assert not office.home.events_path.exists(), "nothing is kept"
    server.refuses = lambda password: RuntimeError(f"LOGIN robin {password} refused")
    found = work(office.app().doctor(online=True))
    assert (found["level"], "opensesame" in str(found)) == ("error", False)


def test_doctor_finds_a_secret_that_is_not_there(office: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MAIL_PASSWORD")
    (found,) = [each for each in office.app().doctor() if each["check"] == "source work"]
    assert found["level"] == "error"
    assert "$MAIL_PASSWORD, which is not set" in found["message"]


def test_doctor_names_what_a_slack_token_lacks_though_the_rest_can_be_read(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = Workspace()
    workspace.room()
    monkeypatch.setenv("SLACK_TOKEN", BOT_TOKEN)
    monkeypatch.setenv("SLACK_APP", "xapp-of-another-harbour")
    with Server(workspace) as slack:
        desk.app().add_source("slack", "team", token="env:SLACK_TOKEN", app_token="env:SLACK_APP", api_url=slack.url)

        def found() -> str:
            return next(str(each) for each in desk.app().doctor(online=True) if each["check"] == "source team")

        assert "Slack refuses the app_token of team" in found()
        workspace.tokens[BOT_TOKEN] = ALL_SCOPES - {"users:read"}
        assert "lacks users:read" in found()
        workspace.tokens[BOT_TOKEN] = ALL_SCOPES
        monkeypatch.setenv("SLACK_APP", APP_TOKEN)
        assert "can be read" in found()
