"""Others' words in a mail: exactly what is quoted, and nothing of what its author wrote."""

# ruff: noqa: RUF001 (letters of other scripts, on purpose)

from __future__ import annotations

import pytest

from ctxsync.connectors.mail.words import PHONE, PHONED
from tests.connectors.mail.letters import body, html, letter, marked, own_words

QUOTED_BLOCKS = [
    "On Tue, 3 Mar 2026 at 10:00, Rosa Quint <rosa@example.com> wrote:\n> Do you come?",
    "On Tue, 3 Mar 2026 at 10:00, Rosa Quint\n<rosa@example.com> wrote:\n> Do you come?",
    "Am 03.03.2026 um 10:00 schrieb Rosa Quint:\n> Kommst du?",
    "Le mar. 3 mars 2026 à 10:00, Rosa Quint <rosa@example.com> a écrit :\n\n> Tu viens ?",
    "El mar, 3 mar 2026 a las 10:00, Rosa (<rosa@example.com>) escribió:\n> ¿Vienes?",
    "Il giorno mar 3 mar 2026 alle ore 10:00 Rosa <rosa@example.com>\nha scritto:\n> Vieni?",
    "W dniu 3.03.2026 o 10:00, Rosa Quint pisze:\n> Przyjdziesz?",
    "2026年3月3日(火) 10:00 Rosa <rosa@example.com>:\n> 来ますか",
    "вт, 3 мар. 2026 г. в 10:00, Роза <rosa@example.com>:\n> Ты придёшь?",
    "Rosa Quint writes:\n> Do you come?",
    "> Do you come?\n>> To what?\n> To the garden.",
    "-----Original Message-----\nFrom: Rosa Quint\nSent: Tuesday\nTo: Robin\nSubject: Beans\n\nDo you come?",
    "________________________________\nVon: Rosa Quint\nGesendet: Dienstag\nAn: Robin\nBetreff: Bohnen\n\nKommst du?",
    "---------- Forwarded message ---------\nFrom: Rosa <rosa@example.com>\nDate: Tue\nSubject: Beans\n\nDo you come?",
    "Begin forwarded message:\n\nFrom: Rosa <rosa@example.com>\nDate: Tue\nSubject: Beans\n\nDo you come?",
    "From: Rosa Quint <rosa@example.com>\nDate: Tue\nTo: Robin\nSubject: Beans\n\nDo you come?",
    "On Tue, 3 Mar 2026 at 10:00, Rosa Quint <rosa@example.com> wrote:\nDo you come?\nAll of you?",
    "-- \nRosa Quint\nGarden association",
    "Sent from my iPhone",
    "Gesendet von meinem Telefon",
    "_______________________________________________\nGardens mailing list\nhttps://example.com/listinfo/gardens",
    "-----BEGIN PGP SIGNATURE-----\n\niQEz\n-----END PGP SIGNATURE-----",
]


@pytest.mark.parametrize("block", QUOTED_BLOCKS)
def test_a_quotation_a_forward_or_a_signature_below_is_quoted_whole(block: str) -> None:
    section = body(letter(f"Yes, I come.\n\nThe beans are mine.\n\n{block}\n"))
    assert marked(section) == f"Yes, I come.\n\nThe beans are mine.\n\n{{{{{block}}}}}"


@pytest.mark.parametrize(
    "words",
    [
        "My answers:\n- one: beans\n- two: peas",
        "From: the north came rain.\nTo: nobody it mattered.",
        "Note: I said at 10:00: beans.",
        "From here on we plant peas.",
        "- one\n- two\n\nThanks,\nRobin",
        "Date: 3 March\nPlace: the garden\nBring: beans",
        "On Monday at 10:00 we meet:\nRobin, Rosa and Theo.",
        "Rosa wrote a letter.",
        "a -- b\n\n---\n\nc",
    ],
)
def test_own_words_are_not_taken_for_others(words: str) -> None:
    assert own_words(body(letter(words))) == words


def test_answers_between_quotations_are_own_words() -> None:
    section = body(
        letter(
            "Rosa Quint wrote on 3.3.2026 10:00:\n> Do you come?\n\nYes.\n\n> With whom?\nWith Theo.\n\n-- \nRobin\n",
        )
    )
    assert own_words(section).split() == ["Yes.", "With", "Theo."]
    assert len(section.quoted) == 3


def test_a_quoted_line_that_a_mailer_wrapped_is_quoted_whole() -> None:
    wrapped = "> This line of Rosa's letter was long enough that the mail program wrapped\nit off\n> here.\nMine."
    assert own_words(body(letter(wrapped))).strip() == "Mine."


def test_patches_are_code() -> None:
    patch = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b"
    section = body(letter(f"Please apply.\n\n{patch}\n-- \n2.40\n"))
    ((start, end),) = section.code
    assert section.text[start:end] == patch


@pytest.mark.parametrize(
    "quote",
    [
        '<blockquote type="cite"><p>Do you come?</p><p>All?</p></blockquote>',
        '<div class="gmail_quote"><div class="gmail_attr">On Tue Rosa wrote:</div><blockquote>Do you come?</blockquote></div>',
        '<div id="divRplyFwdMsg"><b>From:</b> Rosa</div><div>Do you come?</div>',
        '<div style="border:none;border-top:solid #E1E1E1 1.0pt"><b>From:</b> Rosa</div><p>Do you come?</p>',
        '<div class="moz-cite-prefix">On 3.3.2026 Rosa wrote:</div><blockquote>Do you come?</blockquote>',
        "<div>On 3 Mar 2026, at 10:00, Rosa wrote:</div><blockquote>Do you come?</blockquote>",
        '<div class="gmail_signature">Robin Vale<br>Gardener</div>',
    ],
)
def test_what_html_marks_as_quoted_is_quoted_exactly(quote: str) -> None:
    section = body(html(f"<p>Yes, I come.</p><p>The beans are mine.</p>{quote}"))
    assert own_words(section).strip() == "Yes, I come.\n\nThe beans are mine."
    for start, end in section.quoted:
        assert section.text[start:end].strip() == section.text[start:end]


def test_an_indented_block_of_html_is_own_words() -> None:
    page = '<blockquote style="margin:0 0 0 40px;border:none;padding:0px">Mine, indented.</blockquote>'
    assert body(html(page)).quoted == ()


@pytest.mark.parametrize(
    "line",
    [
        "Sent from my iPhone",
        "Get Outlook for Android",
        "Von meinem Telefon gesendet",
        "Gesendet von unterwegs",
        "Diese Nachricht wurde von meinem Telefon gesendet",
        "Envoyé de mon téléphone",
        "Enviado desde mi teléfono",
        "Inviato da Proton",
        "Verzonden vanaf mijn telefoon",
        "Skickat från min telefon",
        "Wysłane z telefonu",
        "Отправлено с телефона",
        "iPhoneから送信",
    ],
)
def test_what_a_telephone_adds_is_known_by_its_first_letters_in_whatever_case(line: str) -> None:
    assert body(letter(f"Yes.\n\n{line}\n")).quoted
    for first in (line[0].lower(), line[0].upper()):
        for second in map(chr, range(0x3000)):
            assert first + second in PHONED or not PHONE.match(first + second + line[2:])
