"""Questions about mail and Slack: who said what, where and when, and where a person finds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.engine.reading import Reader, linking
from ctxsync.engine.reading.browse import entity
from ctxsync.events.model import SourceConfigured
from ctxsync.events.store import EventStore, NewEvent
from tests.engine.messages.world import ME, NADIA, ROBIN, World, directory, mail, note, said, who

if TYPE_CHECKING:
    from collections.abc import Iterator

TOM = who("Tom Brandt", "email:tom@example.com")
PEOPLE = (("U1", "Nadia Okoro", "nadia@example.com"), ("U2", "Tom Brandt", "tom@example.com"))
PLAN = {"name": "plan.pdf", "type": "application/pdf", "size": 3, "sha256": "ab"}


def configured(store: EventStore, name: str, kind: str, trust: Any = "others") -> None:
    payload = SourceConfigured(
        name=name, kind=kind, location="x", trust=trust, identity_names=ROBIN.names, identity_keys=ROBIN.keys
    )
    store.append([NewEvent("ctxsync", f"source:{name}", payload, 0)])


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, full_chain: Any) -> Iterator[World]:
    root = tmp_path_factory.mktemp("told")
    with EventStore.open(root / "events.db", write=True) as store:
        world = World(root, full_chain, store)
        for name, kind in (("box", "imap"), ("work", "slack"), ("code", "git")):
            configured(store, name, kind)
            world.known[name] = "others"
        configured(store, "vault", "notes", "own")
        world.known["vault"] = "own"
        world.show("vault", note("Kafka", "The orders service uses Kafka.", at="2026-02-01"), "Kafka.md")
        world.show(
            "box",
            mail(
                "a", "The outage came from Kafka, I think.", subject="Outage", at="2026-05-20T09:00", attachments=[PLAN]
            ),
        )
        world.show(
            "box", mail("b", "Shall we have lunch?", subject="Lunch", at="2026-05-26T09:00", sender=TOM, to=[ME, NADIA])
        )
        world.show(
            "box",
            mail(
                "c",
                "Kafka is fine again.",
                subject="Re: Outage",
                at="2026-05-27T09:00",
                sender=ME,
                to=[NADIA],
                thread="a@example.com",
            ),
            "Sent",
            "sent",
        )
        world.show("work", directory(*PEOPLE, channels=(("C1", "general"), ("C2", "ops"))), ".directory")
        world.show("work", said("1779700000.000100", "Kafka is down, looking into it"), "C1")
        world.show(
            "work",
            said("1779800000.000100", "Kafka needs more disks", channel="C2", user="U2", name="Tom Brandt"),
            "C2",
        )
        world.show(
            "work",
            said("1779800100.000100", "Nadia please look at the disks", channel="C2", user="U2", name="Tom Brandt"),
            "C2",
        )
        world.read().close()
        yield world


def texts(answer: dict[str, Any]) -> list[str]:
    return [passage["text"] for passage in answer["passages"]]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("what did Nadia write about Kafka?", {"The outage came from Kafka, I think.", "Kafka is down, looking into it"}),
        ("What did Nadia say about Kafka in mail?", {"The outage came from Kafka, I think."}),
        ("What has Nadia Okoro said about Kafka on Slack?", {"Kafka is down, looking into it"}),
        ("what did Tom say in #ops?", {"Kafka needs more disks", "Nadia please look at the disks"}),
        ("what did Tom write in #ops about disks", {"Kafka needs more disks", "Nadia please look at the disks"}),
        ("emails from Tom Brandt", {"Shall we have lunch?"}),
        ("Show me the emails from Nadia", {"The outage came from Kafka, I think."}),
        ("emails from Tom last week", {"Shall we have lunch?"}),
        ("emails from Nadia last week", set()),
        ("Tom's messages about disks", {"Kafka needs more disks", "Nadia please look at the disks"}),
        ("slack messages about Kafka", {"Kafka is down, looking into it", "Kafka needs more disks"}),
        ("messages about lunch", {"Shall we have lunch?"}),
        ("what did I write about Kafka?", {"Kafka is fine again.", "The orders service uses Kafka."}),
        ("what did I say about Kafka in sent mail?", {"Kafka is fine again."}),
        ("what did I send to Nadia?", {"Kafka is fine again."}),
        ("what did Tom write to Nadia", {"Shall we have lunch?"}),
        ("what did Tom send me?", {"Shall we have lunch?"}),
        ("what did Tom send me about Kafka?", set()),
        ("emails to Nadia", {"Shall we have lunch?", "Kafka is fine again."}),
        ("emails from Tom to Nadia", {"Shall we have lunch?"}),
        ("what did Nadia send to Tom?", set()),
        ("what was posted in #ops?", {"Kafka needs more disks", "Nadia please look at the disks"}),
        ("what was said about disks in #ops", {"Kafka needs more disks", "Nadia please look at the disks"}),
        ("what happened in #general?", {"Kafka is down, looking into it"}),
        ("what happened in the ops channel?", {"Kafka needs more disks", "Nadia please look at the disks"}),
        ("what did Tom say in channel ops", {"Kafka needs more disks", "Nadia please look at the disks"}),
        ("emails about Kafka in my inbox", {"The outage came from Kafka, I think."}),
    ],
)  # fmt: skip
def test_what_somebody_said_is_answered_with_their_words(told: World, question: str, expected: set[str]) -> None:
    answer = told.ask(question)
    assert set(texts(answer)) == expected
    assert answer["plan"]["asked"] == "said"
    assert answer["plan"]["route"] == "passages"


def test_what_one_only_quotes_one_did_not_say(told: World) -> None:
    quote = "> Kafka and Postgres are both down."
    told.show("box", mail("q", f"I agree.\n{quote}", subject="Re: Down", sender=TOM, quoted=[(9, 9 + len(quote))]))
    told.show("box", mail("r", "Postgres is up.", subject="Up", sender=TOM))
    assert texts(told.ask("what did Tom write about Postgres?")) == ["Postgres is up."]


def test_the_latest_comes_first_where_no_topic_ranks(told: World) -> None:
    assert texts(told.ask("messages from Tom"))[0] == "Nadia please look at the disks"


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("who wrote about disks?", {"Tom Brandt"}),
        ("Who said anything about Kafka on Slack?", {"Nadia Okoro", "Tom Brandt"}),
        ("who posted in #ops?", {"Tom Brandt"}),
        ("who wrote something in #general", {"Nadia Okoro"}),
        ("who sent Lunch?", {"Tom Brandt"}),
        ("who sent Outage?", {"Nadia Okoro"}),
        ("who sent plan.pdf?", {"Nadia Okoro"}),
        ("who received Lunch?", {"Robin Vale", "Nadia Okoro"}),
        ("who uses Kafka?", {"orders service"}),
    ],
)
def test_who_wrote_sent_and_received_is_answered_with_people(told: World, question: str, values: set[str]) -> None:
    assert set(told.ask(question)["values"]) == values


def test_nobody_attended_a_mail(told: World) -> None:
    assert told.ask("who attended Lunch?")["values"] == []


def test_somebody_unknown_has_said_nothing_and_the_answer_says_why(told: World) -> None:
    answer = told.ask("what did Zacharias say about Kafka?")
    assert answer["passages"] == []
    assert "Zacharias" in answer["note"]


def test_a_passage_says_who_wrote_it_when_and_where_it_is_found(told: World) -> None:
    (mailed,) = told.ask("emails from Nadia")["passages"]
    assert (mailed["author"], mailed["title"], mailed["occurred_at"], mailed["locator"]) == (
        "Nadia Okoro",
        "Outage",
        "2026-05-20T09:00:00Z",
        "<a@example.com>",
    )
    (posted,) = told.ask("what did Nadia say in #general?")["passages"]
    assert posted["author"] == "Nadia Okoro"
    assert posted["locator"] == ("https://slack.com/app_redirect?team=T1&channel=C1&message_ts=1779700000.000100")


def test_a_locator_leads_back_to_the_item(told: World) -> None:
    told.read().close()
    reader = Reader.open(told.root / "graph.db")
    try:
        (mailed,) = told.ask("emails from Nadia")["passages"]
        (posted,) = told.ask("what did Nadia say in #general?")["passages"]
        for passage in (mailed, posted):
            for locator in (passage["locator"], passage["subject"]):
                assert linking.items_at(reader, locator, 2**62) == [passage["subject"]]
        assert linking.items_at(reader, "<nobody@example.com>", 2**62) == []
    finally:
        reader.close()


def test_a_channel_is_found_by_its_name(told: World) -> None:
    told.read().close()
    reader = Reader.open(told.root / "graph.db")
    try:
        for name in ("#ops", "ops"):  # a shell takes what follows a # for a comment
            (channel,) = entity(reader, name, now=0)["entities"]
            assert channel["keys"]["channel"] == ["T1/C2"]
        assert "channel" not in entity(reader, "Kafka", now=0)["entities"][0]["keys"]
    finally:
        reader.close()


def test_a_message_is_not_what_its_words_name(told: World) -> None:
    # "Kafka" heads a note, and a mail's subject and a Slack message's text may be just that.
    before = told.ask("what uses Kafka?")["values"]
    told.show("box", mail("k", "See subject.", subject="Kafka", at="2026-05-01T09:00"))
    told.show("work", said("1778000000.000100", "Kafka"), "C1")
    told.show("work", said("1778000001.000100", "who uses Kafka?"), "C1")
    assert told.ask("what uses Kafka?")["values"] == before == ["orders service"]
    assert told.ask("Who uses Kafka?")["values"] == ["orders service"]


def test_first_names_are_found_among_many_messages_that_start_with_them(told: World) -> None:
    for number in range(60):
        told.show("work", said(f"17780010{number:02}.000100", f"Tom please look at number {number}"), "C1")
    assert told.ask("who is Tom?", now="2026-06-01")["answers"]


def test_a_thing_that_is_called_like_a_source_is_still_asked_about(told: World) -> None:
    told.show("vault", note("Tools", "Tom Brandt works on Slack.", at="2026-02-01"), "Tools.md")
    assert told.ask("who works on Slack?")["values"] == ["Tom Brandt"]


def test_what_is_known_of_somebody_comes_before_each_of_their_messages(reading: World) -> None:
    for number in range(30):
        reading.show("box", mail(f"m{number}", subject=f"Note {number}", at="2026-05-01T09:00"))
    reading.show("vault", note("Nadia Okoro", "Nadia Okoro works at Globex.", at="2026-05-01"), "Nadia.md")
    first = reading.ask("who is Nadia Okoro?")["answers"][0]
    assert (first["phrase"], first["tail"]["name"]) == ("works at", "Globex")


def test_a_mail_that_two_sources_show_answers_for_both(world: World) -> None:
    for name in ("archive", "box"):
        configured(world.store, name, "imap")
        world.known[name] = "others"
    world.show("archive", mail("a", "Lunch at noon."), "old.mbox")
    world.show("box", mail("a", "Lunch at noon."))
    for source in ("archive", "box"):
        assert texts(world.ask("emails from Nadia", source=source)) == ["Lunch at noon."]
        assert world.ask("who sent Lunch?", source=source)["values"] == ["Nadia Okoro"]
    world.lose("archive", "mail:a", "old.mbox")
    assert world.ask("who sent Lunch?", source="box")["values"] == ["Nadia Okoro"]


def test_i_am_known_by_my_address_where_mail_is_all_there_is(world: World) -> None:
    configured(world.store, "box", "imap")
    world.known["box"] = "others"
    world.show("box", mail("a", "See you.", sender=ME, to=[NADIA]), "Sent", "sent")
    assert texts(world.ask("what did I write in mail?")) == ["See you."]


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("who takes part in the Kick-off?", {"Robin Vale", "Nadia Okoro"}),
        ("who is invited to the Kick-off?", {"Robin Vale", "Nadia Okoro"}),
        ("who was invited to the Kick-off?", {"Robin Vale", "Nadia Okoro"}),
        ("who organized the Kick-off?", {"Nadia Okoro"}),
        ("who is the organizer of the Kick-off?", {"Nadia Okoro"}),
        ("where does the Kick-off take place?", {"Room 4"}),
        ("where is the Kick-off?", {"Room 4"}),
        ("when does the Kick-off take place?", {"2026-06-10T10:00:00Z"}),
        ("when is the Kick-off?", {"2026-06-10T10:00:00Z"}),
    ],
)
def test_a_meeting_is_asked_about(world: World, question: str, values: set[str]) -> None:
    meeting = {
        "uid": "k@example.com",
        "method": "REQUEST",
        "title": "Kick-off",
        "start": "2026-06-10T10:00:00Z",
        "end": "2026-06-10T11:00:00Z",
        "location": "Room 4",
        "organizer": NADIA,
        "attendees": [ME],
    }
    world.show("box", mail("a", subject="Invitation: Kick-off", invitations=[meeting]))
    assert set(world.ask(question, now="2026-06-10T10:30")["values"]) == values


@pytest.mark.parametrize(
    "question", ["who takes part in the Kick-off?", "when is the Kick-off?", "where is the Kick-off?"]
)
def test_a_meeting_is_asked_about_before_it_takes_place(world: World, question: str) -> None:
    meeting = {
        "uid": "k",
        "title": "Kick-off",
        "start": "2026-06-10T10:00:00Z",
        "location": "Room 4",
        "attendees": [TOM],
    }
    world.show("box", mail("a", subject="Invitation: Kick-off", invitations=[meeting]))
    assert world.ask(question, now="2026-06-01")["values"] in (["Tom Brandt"], ["2026-06-10T10:00:00Z"], ["Room 4"])
