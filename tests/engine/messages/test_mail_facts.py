"""What mail states outright, and what the prose in it states."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ctxsync.engine.extraction.messages import bare_subject
from tests.engine.messages.world import ME, NADIA, mail, note, who

if TYPE_CHECKING:
    from tests.engine.messages.world import World

TOM = who("Tom Brandt", "email:tom@example.com")


def test_a_mail_says_who_wrote_it_and_who_got_it(world: World) -> None:
    world.show("box", mail("a", to=[ME], cc=[TOM], sender=NADIA))
    assert world.facts() == [
        "Nadia Okoro authorship Lunch",
        "Robin Vale participation Lunch",
        "Tom Brandt participation Lunch",
    ]
    assert world.entities()["mail:a message-id:a@example.com"] == ("Lunch", "Event")


def test_a_thread_is_its_first_mail_whichever_comes_first(world: World) -> None:
    world.show("box", mail("b", subject="Re: Lunch", thread="a@example.com", in_reply_to="a@example.com"))
    facts = world.facts(tiers=True)
    assert "Re: Lunch -is part of-> Lunch" in facts
    assert "Re: Lunch -replies to-> Lunch" in facts
    world.show("box", mail("a", sender=ME, to=[NADIA]))
    assert "Robin Vale -authored-> Lunch" in world.facts(tiers=True)
    shown = world.entities()
    assert shown["mail:a message-id:a@example.com"] == ("Lunch", "Event")
    assert not [keys for keys in shown if keys.startswith("message-id")]


def test_an_answer_names_the_mail_that_it_answers_no_other_way_than_that_mail_does(world: World) -> None:
    for name in "bcd":
        world.show("box", mail(name, subject="AW: Menu", thread="a@example.com", in_reply_to="a@example.com"))
    world.show("box", mail("a", subject="Lunch on Friday"))
    assert world.entities()["mail:a message-id:a@example.com"] == ("Lunch on Friday", "Event")


def test_of_ten_thousand_recipients_fifty_are_named(world: World) -> None:
    many = [who(f"P {n}", f"email:p{n}@example.com") for n in range(100)]
    world.show("box", mail("a", to=many, recipient_count=10_000))
    assert len([fact for fact in world.facts() if "participation" in fact]) == 50


def test_a_mailing_list_is_a_group_that_the_mail_was_sent_to_and_never_a_person(world: World) -> None:
    group = {"id": "gardens.lists.example.org", "name": "Gardens", "address": "gardens@lists.example.org"}
    rewritten = who("Nadia via Gardens", "email:gardens@lists.example.org")
    to = [who("Gardens", "email:gardens@lists.example.org")]
    world.show("box", mail("a", to=to, list=group, automated=True))
    world.show("box", mail("b", sender=rewritten, to=to, list=group, automated=True))
    assert "Lunch -was sent to-> Gardens" in world.facts(tiers=True)
    people = [name for name, kind in world.entities().values() if kind == "Person"]
    assert people == ["Nadia Okoro"]


@pytest.mark.parametrize("address", ["noreply@example.com", "support@example.com", "gardens-bounces@example.org"])
def test_who_writes_from_an_office_or_a_machine_is_no_person(world: World, address: str) -> None:
    world.show("box", mail("a", sender=who("Robin Vale", f"address:{address}"), to=[]))
    world.show("vault", note("Standup", "Robin Vale spoke."))
    shown = world.entities()
    assert shown[f"address:{address}"] == (address, "Organization")
    assert "Person" not in {kind for _, kind in shown.values()}


def test_documents_that_a_mail_carries_are_named_and_its_pictures_are_not(world: World) -> None:
    files = [
        {"name": "plan.pdf", "type": "application/pdf", "size": 3, "sha256": "ab"},
        {"name": "logo.png", "type": "image/png", "size": 3, "sha256": "cd"},
    ]
    world.show("box", mail("a", attachments=files, to=[]))
    world.show("box", mail("b", subject="Again", attachments=files, to=[]))
    assert [fact for fact in world.facts(tiers=True) if "attaches" in fact] == [
        "Again -attaches-> plan.pdf",
        "Lunch -attaches-> plan.pdf",
    ]


def test_prose_in_a_mail_is_read_and_i_is_who_wrote_it(reading: World) -> None:
    reading.show("box", mail("a", "Hi Robin,\n\nI moved to Lisbon in March 2026. Tom Brandt works at Globex."))
    facts = reading.facts()
    assert "Nadia Okoro residence Lisbon" in facts
    assert "Tom Brandt employment Globex" in facts


def test_quoted_replies_forwards_and_signatures_give_no_facts(reading: World) -> None:
    own = "Nadia leads Project Heron."
    others = "On Monday Robin wrote:\nAlice Moss works at Acme.\n\nI live in Berlin.\n-- \nNadia, CEO of Initech"
    text = f"{own}\n\n{others}"
    reading.show("box", mail("a", text, quoted=[(len(own) + 2, len(text))]))
    facts = " ".join(reading.facts())
    assert "Heron" in facts
    assert not [word for word in ("Acme", "Alice", "Berlin", "Initech") if word in facts]


def test_a_quotation_within_a_line_takes_the_line_with_it(reading: World) -> None:
    text = "See below: Alice Moss works at Acme.\nNadia leads Project Heron."
    reading.show("box", mail("a", text, quoted=[(11, 36)]))
    assert "Acme" not in " ".join(reading.facts())
    assert "Heron" in " ".join(reading.facts())


def test_an_attached_message_states_nothing(reading: World) -> None:
    item = mail("a", "See attached.")
    text = "From: Alice Moss\n\nAlice Moss works at Acme."
    forwarded = replace(item.sections[0], key="forwarded:1", text=text, quoted=((0, len(text)),))
    reading.show("box", replace(item, sections=(*item.sections, forwarded)))
    assert "Acme" not in " ".join(reading.facts())


def test_what_a_machine_or_a_list_sent_is_read_no_further_than_its_header(reading: World) -> None:
    reading.show("box", mail("a", "Tom Brandt works at Globex.", automated=True))
    assert "Globex" not in " ".join(reading.facts())
    (event,) = reading.store.read(types=("episode.extracted",))
    assert event.payload["gate"] == ["tier0:automated"]


def test_a_display_name_without_an_address_is_nobody(reading: World) -> None:
    reading.show("box", mail("a", "I work at Globex.", sender=who("Robin Vale"), to=[who("Tom Brandt")]))
    assert reading.facts() == []


def test_very_long_mail_is_not_parsed(reading: World) -> None:
    reading.show("box", mail("a", "Tom Brandt works at Globex.\n" * 5_000))
    reading.read().close()
    (event,) = reading.store.read(types=("episode.extracted",))
    assert event.payload["gate"] == ["tier0:long"]


@pytest.mark.parametrize(
    ("subject", "bare"),
    [
        ("Re: Lunch", "Lunch"),
        ("AW: Fwd: RE[2]: Lunch", "Lunch"),
        ("回复: Lunch", "Lunch"),
        ("Lunch: Re: Friday", "Lunch: Re: Friday"),
        ("Re:", "Re:"),
        ("Reply to all", "Reply to all"),
    ],
)
def test_a_subject_is_bare_of_what_answers_put_before_it(subject: str, bare: str) -> None:
    assert bare_subject(subject) == bare


def test_a_subject_of_prefixes_takes_no_time() -> None:
    bare_subject("Re: " * 100_000)
    bare_subject("re" * 100_000)


def test_a_mail_with_the_id_of_one_list_and_the_address_of_another_makes_them_no_one_group(world: World) -> None:
    gardens = {"id": "gardens.example.org", "name": "Gardens", "address": "gardens@lists.example.org"}
    office = who("", "address:support@bank.example.com")
    world.show("box", mail("a", list=gardens))
    world.show("box", mail("b", to=[office]))
    world.show("box", mail("c", list={**gardens, "address": "support@bank.example.com"}))
    groups = {keys: name for keys, (name, kind) in world.entities().items() if kind == "Organization"}
    assert groups == {
        "list:gardens.example.org": "Gardens",
        "address:support@bank.example.com": "support@bank.example.com",
    }
