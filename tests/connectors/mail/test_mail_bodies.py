"""Bodies of real mail: charsets, parts, HTML, what is hidden, what is too much; and which messages are the same."""

# ruff: noqa: RUF001 (Russian words, on purpose)

from __future__ import annotations

import time

import pytest

from ctxsync.errors import BadItem
from tests.connectors.mail.letters import body, letter, multipart, own_words, read, text
from tests.connectors.mailbox.worlds import deep, munged

BEANS = "Bohnen für Gärtner, kräftig und süß."


@pytest.mark.parametrize(
    ("declared", "codec"),
    [
        ("utf-8", "utf-8"),
        ("utf-8 euao6y69zh2w", "utf-8"),
        ("cp-850", "cp850"),
        ("windows-1252", "cp1252"),
        ("iso-8859-1", "cp1252"),
        ('"utf8"', "utf-8"),
        ("nobody-knows", "utf-8"),
        ("us-ascii", "utf-8"),
        ("hex", "utf-8"),
        ("idna", "utf-8"),
        ("", "utf-16"),
    ],
)
def test_text_is_decoded_whatever_its_charset_is_called(declared: str, codec: str) -> None:
    if codec == "utf-16":
        declared = "utf-16"
    raw = letter(BEANS.encode(codec), f"Content-Type: text/plain; charset={declared}\nContent-Transfer-Encoding: 8bit")
    assert text(raw) == BEANS
    assert read(raw).flags == ()


def test_what_stands_behind_a_charset_does_not_hide_it() -> None:
    assert text(letter("Бобы".encode("koi8-r"), "Content-Type: text/plain; charset=koi8-r euao6y69zh2w")) == "Бобы"


def test_an_undeclared_charset_is_detected() -> None:
    words = "Это письмо о бобах, которые растут в нашем саду за домом. " * 4
    assert text(letter(words.encode("koi8-r"), "Content-Type: text/plain")) == words.strip()


def test_what_no_charset_reads_is_replaced_and_flagged() -> None:
    item = read(letter("Grüße und mehr Grüße ".encode() * 9 + b"\xff\xfe", "Content-Type: text/plain; charset=utf-8"))
    assert "Grüße" in item.sections[0].text
    assert item.flags == ("decoded-lossy",)


@pytest.mark.parametrize("ends", [b"\n", b"\r\n"])
@pytest.mark.parametrize("encoding", ["8bit", "base64", "quoted-printable"])
def test_the_same_words_are_the_same_item_however_they_travelled(ends: bytes, encoding: str) -> None:
    import base64
    import quopri

    words = "Grüße.\nFrom here on.\n\n> From there\nEnd.\n".encode()
    encoded = {"8bit": words, "base64": base64.encodebytes(words), "quoted-printable": quopri.encodestring(words)}
    raw = letter(
        encoded[encoding],
        f"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: {encoding}",
    )
    plain = letter(words + b"\n\n", "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit")
    assert read(raw.replace(b"\n", ends)).id == read(plain).id
    assert body(raw.replace(b"\n", ends)).text == body(plain).text


def test_what_an_mbox_did_to_lines_with_from_changes_nothing() -> None:
    raw = letter("From me.\n>From you.\n\nFrom all.\n")
    assert read(raw).id == read(munged(raw)).id
    assert body(raw) == body(munged(raw))


def test_one_message_id_with_two_bodies_is_two_items() -> None:
    assert read(letter("One.")).id != read(letter("Two.")).id


def test_without_a_message_id_sender_date_subject_and_body_tell() -> None:
    same = [read(letter("One.", own="")).id for _ in range(2)]
    others = [
        read(letter("Two.", own="")).id,
        read(letter("One.", "Subject: Peas", own="")).id,
        read(letter("One.", "From: robin@example.com", own="")).id,
        read(letter("One.", "Date: Tue, 3 Mar 2026 11:00:00 +0100", own="")).id,
    ]
    assert same[0] == same[1]
    assert len({same[0], *others}) == 5


def test_the_plain_form_of_a_text_is_read_and_its_html_is_not_an_attachment() -> None:
    raw = multipart(
        "Content-Type: text/plain\n\nPlain beans.",
        "Content-Type: text/html\n\n<p>Rich beans.</p>",
        kind="alternative",
    )
    assert (text(raw), body(raw).attributes.get("attachments")) == ("Plain beans.", None)


def test_the_html_is_read_when_the_plain_form_says_nothing() -> None:
    rich = "<p>" + "The beans are ripe, come and pick them. " * 20 + "</p>"
    raw = multipart(
        "Content-Type: text/plain\n\nYour mail program shows no HTML.",
        f"Content-Type: text/html\n\n{rich}",
        kind="alternative",
    )
    assert text(raw).startswith("The beans are ripe")


def test_attachments_are_named_measured_and_not_read() -> None:
    raw = multipart(
        "Content-Type: text/plain\n\nSee the plan.",
        "Content-Type: text/plain; name=plan.txt\nContent-Disposition: attachment; filename*=utf-8''B%C3%B6hnen.txt\n\nsecret",
        "Content-Type: application/pdf\nContent-Transfer-Encoding: base64\n\naGVsbG8=",
    )
    assert text(raw) == "See the plan."
    assert body(raw).attributes["attachments"] == [
        {
            "name": "Böhnen.txt",
            "type": "text/plain",
            "size": 6,
            "sha256": "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b",
        },
        {
            "name": "",
            "type": "application/pdf",
            "size": 5,
            "sha256": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
        },
    ]


def test_an_attached_message_is_a_section_of_its_own_and_wholly_quoted() -> None:
    inner = letter("Inner words.", "Subject: Inside\nFrom: Theo <theo@example.com>").decode()
    raw = multipart("Content-Type: text/plain\n\nOuter words.", f"Content-Type: message/rfc822\n\n{inner}")
    outer, forwarded = read(raw).sections
    assert (outer.key, outer.text) == ("body", "Outer words.")
    assert forwarded.key == "forwarded:1"
    assert "Inner words." in forwarded.text
    assert "Subject: Inside" in forwarded.text
    assert forwarded.quoted == ((0, len(forwarded.text)),)
    assert forwarded.author is not None
    assert forwarded.author.keys == ("email:theo@example.com",)


def test_a_multipart_whose_boundary_is_wrong_is_cut_by_the_one_it_uses() -> None:
    raw = multipart("Content-Type: text/plain\n\nWords.").replace(b'"cut"', b'"Cut"')
    assert text(raw) == "Words."


def test_words_before_the_first_part_are_read_where_there_are_no_others() -> None:
    raw = multipart("Content-Type: message/delivery-status\n\nAction: failed")
    assert text(raw.replace(b"\n--cut", b"\nYour message failed.\n\n--cut", 1)) == "Your message failed."
    raw = multipart("Content-Type: text/plain\n\nWords.")
    assert text(raw.replace(b"\n--cut", b"\nThis is a message in MIME format.\n\n--cut", 1)) == "Words."


@pytest.mark.parametrize("start", ["", '; start="<root>"'])
def test_the_root_of_related_parts_is_read_wherever_it_stands(start: str) -> None:
    picture = "Content-Type: image/png; name=a.png\n\nx"
    page = "Content-Type: text/html\nContent-ID: <root>\n\n<p>The beans.</p>"
    raw = multipart(picture, page, kind="related")
    raw = raw.replace(b'boundary="cut"', f'boundary="cut"{start}'.encode())
    assert text(raw) == "The beans."
    found = body(raw).attributes["attachments"]
    assert isinstance(found, list)
    assert [each["name"] for each in found if isinstance(each, dict)] == ["a.png"]


def test_flowed_lines_are_joined() -> None:
    raw = letter("One \nsentence.\n> quoted \n> text\n-- \nRosa", "Content-Type: text/plain; format=flowed")
    assert text(raw) == "One sentence.\n> quoted text\n-- \nRosa"


@pytest.mark.parametrize("depth", [61, 200, 2_000])
def test_nesting_too_deep_is_refused_and_never_a_recursion(depth: int) -> None:
    with pytest.raises(BadItem, match="deep"):
        read(deep(depth))


def test_nesting_that_real_mail_has_is_read() -> None:
    assert text(deep(40)) == "hi"


def test_messages_within_messages_are_counted_as_deep_too() -> None:
    head = b"From: rosa@example.com\nContent-Type: message/rfc822\n\n"
    with pytest.raises(BadItem, match="deep"):
        read(head * 200 + letter())


def test_a_plain_text_may_speak_of_boundaries_as_often_as_it_likes() -> None:
    words = "Content-Type: multipart/mixed; boundary=b{}\n"
    assert text(letter("".join(words.format(number) for number in range(200)))).count("boundary") == 200


def test_a_hundred_megabytes_are_cut_and_bounded() -> None:
    head = letter("", 'Content-Type: multipart/mixed; boundary="cut"')
    start = b"--cut\nContent-Type: text/plain\n\nThe words.\n--cut\nContent-Type: a/b; name=big.bin\n\n"
    raw = head + start + b"\0" * 100_000_000
    begun = time.perf_counter()
    item = read(raw, max_body=1_000_000)
    assert time.perf_counter() - begun < 5
    assert item.sections[0].text == "The words."
    assert item.flags == ("message-cut",)


def test_where_a_long_message_is_cut_does_not_depend_on_its_line_ends() -> None:
    raw = letter("A line of words.\n" * 20_000)
    items = [read(each, max_body=100_000) for each in (raw, raw.replace(b"\n", b"\r\n"))]
    assert items[0].id == items[1].id
    assert items[0].sections == items[1].sections
    assert items[0].id != read(raw).id


@pytest.mark.parametrize(
    "hostile",
    [
        "<" * 200_000,
        "On " * 60_000 + "wrote:",
        ("> " * 300 + "\n") * 300,
        "-" * 300_000,
        "Am schrieb " * 30_000 + ":",
        "From: a\nSubject: b\n" * 20_000,
        "=?utf-8?q?" * 30_000,
        "- x\n" * 50_000,
        "\n" * 300_000,
        "<div style='display:none" * 20_000,
        "<style>" + "/*a" * 60_000 + "</style>",
        "<style>" + "@;" * 90_000 + "</style>",
        "<style>a</style>" * 20_000,
        "<a href=http://example.com/>x" * 20_000,
        "\u200b " * 60_000,
    ],
)
@pytest.mark.parametrize("kind", ["plain", "html"])
def test_hostile_text_takes_no_longer_than_it_is_long(hostile: str, kind: str) -> None:
    begun = time.perf_counter()
    read(letter(hostile, f"Content-Type: text/{kind}\nSubject: {hostile[:100_000].replace(chr(10), '')}"))
    assert time.perf_counter() - begun < 5


def test_terminal_codes_and_surrogates_are_text_that_any_event_holds() -> None:
    section = body(letter(b"\x1b]0;x\x07 \xed\xa0\x80 \x00.", b"Subject: \xed\xa0\x80"))
    section.text.encode()
    assert "\x00" not in section.text
    assert "\x1b" not in section.text
    assert own_words(section)
