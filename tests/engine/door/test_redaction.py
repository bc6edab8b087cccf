"""What leaves of a body and what comes back, as the server at the other end sees it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.connectors.secrets import resolve
from ctxsync.engine.door.door import Door
from ctxsync.engine.privacy.analysis import Analyzer
from ctxsync.engine.privacy.scrub import Scrubber
from ctxsync.errors import DoorClosed
from tests.engine.door.conftest import call
from tests.engine.door.server import Told, said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctxsync.engine.door.ledger import Ledger
    from ctxsync.engine.door.provider import Provider
    from tests.engine.door.server import ModelServer, Seen

ANALYZER = Analyzer()
NOTE = "Rosa Amsel <rosa.amsel@acme.example> left Acme in May 2024. Rosa's phone is +49 30 1234567."


@pytest.fixture
def scrubbing(ledger: Ledger) -> Iterator[Door]:
    def made() -> Scrubber:
        return Scrubber(names=("Robin Vale",), emails=("robin@vale.example",), slack=("T01:U02",), analyze=ANALYZER)

    with Door(allow_cloud=True, scrub=True, ledger=ledger, scrubber=made) as door:
        yield door


def echo(seen: Seen) -> Told:
    """Answer with the last message's words, as JSON in a string, as a model that copies names does."""
    return said(json.dumps({"quote": seen.body["messages"][-1]["content"]}))


def content(reply: Any) -> str:
    text: str = reply.body["choices"][0]["message"]["content"]
    return text


def test_names_leave_as_pseudonyms_and_come_back_as_names(
    cloud: ModelServer, scrubbing: Door, provider: Provider
) -> None:
    cloud.script = [echo]

    reply = scrubbing.send(provider, call(NOTE))

    raw = cloud.seen[0].raw.decode().lower()
    assert not [word for word in ("rosa", "amsel", "acme.example", "1234567") if word in raw]
    assert " in May 2024" in cloud.seen[0].text
    assert json.loads(content(reply)) == {"quote": NOTE}


def test_a_part_of_a_name_comes_back_as_that_part(cloud: ModelServer, scrubbing: Door, provider: Provider) -> None:
    def first_word(seen: Seen) -> Told:
        return said(json.dumps({"head": seen.body["messages"][-1]["content"].split()[0], "tail": "Acme"}))

    cloud.script = [first_word]

    assert json.loads(content(scrubbing.send(provider, call(NOTE)))) == {"head": "Rosa", "tail": "Acme"}


@pytest.mark.parametrize(
    "form",
    [
        '```json\n{{"quote": "{0}"}}\n```',
        'Here: {{"a": "x\\n{0}", "b": "{0}',
        "{0} left.",
        '{{"a": ["{0}", {{"{0}": 1}}]}}',
    ],
)
def test_names_come_back_in_whatever_form_a_model_answers(
    cloud: ModelServer, scrubbing: Door, provider: Provider, form: str
) -> None:
    def answer(seen: Seen) -> Told:
        return said(form.format(" ".join(seen.body["messages"][-1]["content"].split()[:2])))

    cloud.script = [answer]

    assert content(scrubbing.send(provider, call(NOTE))) == form.format("Rosa Amsel")


def test_a_name_with_a_quote_in_it_does_not_break_the_json_that_it_is_put_into(
    cloud: ModelServer, scrubbing: Door, provider: Provider
) -> None:
    cloud.script = [echo]
    text = 'Write to "rosa\\x"@acme.example or Dr. Rosa "Rosie" Amsel.'

    reply = scrubbing.send(provider, call(text, people=('Rosa "Rosie" Amsel',)))

    assert json.loads(content(reply)) == {"quote": text}


def test_what_a_model_makes_up_stays_as_it_is(cloud: ModelServer, scrubbing: Door, provider: Provider) -> None:
    cloud.script = [said("Velvaranian Mevhotigs and Person_1 met Lyscumar")]

    assert (
        content(scrubbing.send(provider, call("Nothing of note."))) == "Velvaranian Mevhotigs and Person_1 met Lyscumar"
    )


def test_names_that_are_known_get_pseudonyms_whether_or_not_they_are_recognised(
    cloud: ModelServer, scrubbing: Door, provider: Provider
) -> None:
    scrubbing.send(provider, call("zyx qoph ate lunch with vale, says 王伟.", people=("zyx qoph", "王伟")))

    assert not [word for word in ("zyx", "qoph", "王伟", "vale") if word in cloud.seen[0].raw.decode()]


def test_a_name_found_in_one_message_is_replaced_in_all_and_in_the_schema(
    cloud: ModelServer, scrubbing: Door, provider: Provider
) -> None:
    body = {
        "messages": [{"role": "user", "content": "amsel? ROSA AMSEL!"}, {"role": "user", "content": NOTE}],
        "response_format": {"schema": {"enum": ["Rosa Amsel", "Person"], "description": "token: string"}},
    }

    scrubbing.send(provider, call(body=body))

    assert "rosa" not in cloud.seen[0].raw.decode().lower()
    assert cloud.seen[0].body["response_format"]["schema"]["enum"][1] == "Person"
    assert cloud.seen[0].body["response_format"]["schema"]["description"] == "token: string"


def test_what_ships_with_ctxsync_leaves_byte_for_byte(cloud: ModelServer, scrubbing: Door, provider: Provider) -> None:
    shipped = "Example: Rosa Amsel joined Acme in May. Her password = hunter2.\n"

    scrubbing.send(provider, call(f"{shipped}{NOTE} password = hunter3", shipped=shipped))

    sent = cloud.seen[0].body["messages"][1]["content"]
    assert sent.startswith(shipped)
    assert "Rosa" not in sent.removeprefix(shipped)
    assert "hunter3" not in sent


def test_a_secret_never_leaves_and_is_told_and_never_put_back(
    cloud: ModelServer, scrubbing: Door, provider: Provider, ledger: Ledger
) -> None:
    cloud.script = [echo]

    reply = scrubbing.send(provider, call("The key is ghp_abcdefghijklmnopqrstuvwxyz012345, she said."))

    assert b"ghp_" not in cloud.seen[0].raw
    assert json.loads(content(reply))["quote"] == "The key is [SECRET_1], she said."
    assert reply.flags == ("secret:github",)
    assert [row["flags"] for row in ledger.calls()] == ["secret:github"]


def test_what_this_process_resolved_never_leaves_however_it_looks(
    cloud: ModelServer, door: Door, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAIL_WORD", "blue haus/é")
    resolve("env:MAIL_WORD", source="mail", setting="password")

    reply = door.send(provider, call("It was blue haus/é, or blue%20haus%2F%C3%A9, or Ymx1ZSBoYXVzL8Op."))

    assert cloud.seen[0].text.count("[SECRET_") == 3
    assert b"haus" not in cloud.seen[0].raw
    assert "secret:known" in reply.flags


def test_a_known_secret_where_no_text_should_stand_keeps_the_call_here(
    cloud: ModelServer, door: Door, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "extraordinary")
    resolve("env:TOKEN", source="chat", setting="token")

    with pytest.raises(DoorClosed, match="A secret of this installation"):
        door.send(provider, call(body={"extraordinary": 1}))

    assert cloud.seen == []


def test_without_presidio_nothing_is_sent_unscrubbed(
    cloud: ModelServer, ledger: Ledger, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "presidio_analyzer", None)

    with (
        Door(allow_cloud=True, scrub=True, ledger=ledger) as door,
        pytest.raises(DoorClosed, match="Personal data cannot be looked for"),
    ):
        door.send(provider, call(NOTE))

    assert cloud.seen == []


def test_without_a_pipeline_nothing_is_sent_and_nothing_is_downloaded(
    cloud: ModelServer, ledger: Ledger, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ctxsync.engine.privacy.analysis.PIPELINES", ("no_such_pipeline",))

    with Door(allow_cloud=True, scrub=True, ledger=ledger) as door, pytest.raises(DoorClosed, match="no_such_pipeline"):
        door.send(provider, call(NOTE))

    assert cloud.seen == []


def test_parts_of_a_message_and_lone_surrogates_are_read_too(
    cloud: ModelServer, door: Door, provider: Provider
) -> None:
    parts = [{"type": "text", "text": "password = hunter2 \ud800"}, {"type": "text", "text": "fine"}]

    door.send(provider, call(body={"messages": [{"role": "user", "content": parts}]}))

    assert b"hunter2" not in cloud.seen[0].raw
