"""Trust: what one sent oneself, as a folder shows, outranks what one received; a From line proves nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.engine.messages.world import ME, NADIA, commit, mail, note, said

if TYPE_CHECKING:
    from tests.engine.messages.world import World

OWN, OTHERS = 2, 1


def test_sent_mail_is_ones_own_word_and_received_mail_is_anothers(world: World) -> None:
    world.show("box", mail("a", sender=NADIA), "INBOX")
    world.show("box", mail("b", sender=ME, to=[NADIA]), "Sent", "sent")
    assert world.trust("mail:a") == OTHERS
    assert world.trust("mail:b") == OWN


def test_ones_own_from_line_in_received_mail_gets_no_trust(world: World) -> None:
    world.show("box", mail("a", sender=ME), "INBOX")
    assert world.trust("mail:a") == OTHERS


def test_trust_comes_and_goes_with_the_sighting_in_the_folder(world: World) -> None:
    world.show("box", mail("a", sender=ME), "INBOX")
    assert world.trust("mail:a") == OTHERS
    world.see("box", "mail:a", "Sent", "sent")
    assert world.trust("mail:a") == OWN
    world.lose("box", "mail:a", "INBOX")
    assert world.trust("mail:a") == OWN
    world.see("box", "mail:a", "INBOX")
    world.lose("box", "mail:a", "Sent")
    assert world.trust("mail:a") == OTHERS
    world.see("box", "mail:a", "Sent")  # the folder is no longer one of sent mail
    assert world.trust("mail:a") == OTHERS


def test_a_folder_that_is_no_longer_one_of_sent_mail_takes_the_trust_back(world: World) -> None:
    world.show("box", mail("a", sender=ME), "Outbox", "sent")
    assert world.trust("mail:a") == OWN
    world.see("box", "mail:a", "Outbox")
    assert world.trust("mail:a") == OTHERS


def test_mail_that_is_moved_out_of_sent_mail_is_anothers_word(world: World) -> None:
    world.show("box", mail("a", sender=ME), "Sent", "sent")
    world.move("box", "mail:a", "Sent", "Archive")
    assert world.trust("mail:a") == OTHERS


def test_sent_in_one_source_is_sent_in_all_and_removing_that_source_takes_it_back(world: World) -> None:
    world.show("archive", mail("a", sender=ME), "old.mbox")
    world.show("box", mail("a", sender=ME), "Sent", "sent")
    assert world.trust("mail:a") == OWN
    world.source("box", removed=True)
    assert world.trust("mail:a") == OTHERS
    world.source("box")
    assert world.trust("mail:a") == OWN


def test_a_source_that_becomes_ones_own_lifts_what_it_shows_whoever_showed_it_first(world: World) -> None:
    world.show("archive", mail("a"), "old.mbox")
    world.show("box", mail("a"), "INBOX")
    assert world.trust("mail:a") == OTHERS
    world.source("box", trust="own")
    assert world.trust("mail:a") == OWN
    world.lose("box", "mail:a", "INBOX")
    assert world.trust("mail:a") == OTHERS


def test_ones_own_slack_messages_and_commits_are_ones_own_for_their_source_knows_who_wrote_them(world: World) -> None:
    world.source("work", keys=("email:robin@example.com", "slack:T1:U9"))
    world.show("work", said("1772000000.000100", "Mine", user="U9", name="Robin Vale"), "C1")
    world.show("work", said("1772000000.000200", "Hers"), "C1")
    world.show("code", commit("c1", "Start"), "refs")
    assert world.trust("slack:T1/C1/1772000000.000100") == OWN
    assert world.trust("slack:T1/C1/1772000000.000200") == OTHERS
    assert world.trust("commit:c1") == OWN


def test_a_received_text_alone_never_retires_what_one_wrote_oneself(reading: World) -> None:
    reading.show("vault", note("Tom Brandt", "Tom Brandt works at Globex.", at="2026-01-01"), "Tom.md")
    reading.show("box", mail("a", "Tom Brandt left Globex. Tom Brandt works at Initech.", at="2026-03-01"))
    employers = {tail: end for _, tail, _, end in reading.spans("employment")}
    assert employers == {"Globex": None, "Initech": None}
    reading.see("box", "mail:a", "Sent", "sent")
    employers = {tail: end for _, tail, _, end in reading.spans("employment")}
    assert employers == {"Globex": "2026-03-01T00:00", "Initech": None}
    reading.lose("box", "mail:a", "Sent")
    employers = {tail: end for _, tail, _, end in reading.spans("employment")}
    assert employers == {"Globex": None, "Initech": None}
