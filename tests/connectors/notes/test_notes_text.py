"""What the connector makes of a note's text: names, properties, sections, links, tags, code, quotes, dates."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import orjson
import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxsync.connectors.base import Item, Section
    from tests.connectors.notes.conftest import Read, Seconds, Vault


@pytest.fixture
def read(vault: Vault) -> Read:
    def read(text: str, path: str = "Note.md", **options: object) -> Item:
        vault.write(path, text, mtime=1_600_000_000)
        vault.pull(**options)
        assert vault.bad == {}
        item = vault.note(path)
        orjson.dumps([dict(item.attributes), [section.content() for section in item.sections]])
        return item

    return read


def ms(*when: int) -> int:
    return int(datetime(*when, tzinfo=UTC).timestamp()) * 1000  # type: ignore[misc,arg-type]  # a tuple of date parts


def links(section: Section) -> list[tuple[str, str, str, str]]:
    return [(link.kind, link.target, link.heading, link.label) for link in section.links]


def covered(section: Section, ranges: Sequence[tuple[int, int]]) -> list[str]:
    return [section.text[start:end] for start, end in ranges]


# Frontmatter


@pytest.mark.parametrize(
    ("block", "attributes"),
    [
        ("title: A: B", {"title": "A: B"}),
        ("author: @foo", {"author": "@foo"}),
        ("date: {{date}}", {"date": "{{date}}"}),
        ("people: [[A]], [[B]]", {"people": "[[A]], [[B]]"}),
        ("tags:\n  - one\nnext: %x", {"tags": ["one"], "next": "%x"}),
        ('kinds:\n  - "[[Food]]"\nlast: {{date}}', {"kinds": ["[[Food]]"], "last": "{{date}}"}),
        ("a: [1, 2\nb: 3", {"a": "[1, 2", "b": "3"}),
        ("? [a, b]\n: c\nname: x", {"name": "x"}),
        ("a:\n\t- tab", {"a": ["tab"]}),
    ],
)
def test_frontmatter_that_is_not_yaml_is_flagged_and_the_whole_body_kept(
    read: Read, block: str, attributes: dict[str, object]
) -> None:
    block = block if block[0] != "?" else f"x: y\n{block}"
    attributes = attributes if block[0] != "x" else {"x": "y", **attributes}
    item = read(f"---\n{block}\n---\nFirst words.\n\n# Heading\nbody")
    assert item.flags == ("frontmatter-unparsed",)
    assert item.attributes == attributes
    assert [section.key for section in item.sections] == ["", "Heading"]
    first = item.sections[0]
    assert first.text == f"---\n{block}\n---\nFirst words."
    # Kept for reading, and no prose to take facts or links from.
    assert covered(first, first.code)[0].startswith(f"---\n{block}")
    assert first.links == ()
    assert item.sections[1].line == 6 + block.count("\n")


def test_typed_yaml_keeps_the_text_as_written(read: Read) -> None:
    item = read(
        "---\nday: 2024-02-30\nreal: 2024-02-28\nyes: yes\nno: No\nopen: true\ntime: 12:30:00\nnothing:\ntilde: ~\nversion: 1.10\n"
        "pi: 3.14\nzip: 01234\nhex: 0x1F\nbig: 123456789012345678901\ninf: .inf\ncontent: c\nhandler: h\nnested: [a, [b, {c: d}]]\n"
        "link: [[Some note]]\nquoted: '007'\nbinary: !!binary aGk=\n1: one\nnull: two\n---\nbody"
    )
    assert item.flags == ()
    assert item.attributes == {
        "day": "2024-02-30", "real": "2024-02-28", "yes": "yes", "no": "No", "open": True, "time": "12:30:00", "nothing": None,
        "tilde": None, "version": "1.10", "pi": 3.14, "zip": "01234", "hex": "0x1F", "big": "123456789012345678901", "inf": ".inf",
        "content": "c", "handler": "h", "nested": ["a", ["b", {"c": "d"}]], "link": "[[Some note]]", "quoted": "007", "binary": "aGk=",
        "1": "one", "null": "two",
    }  # fmt: skip
    assert item.sections[0].text == "body"


def test_a_yaml_bomb_is_flagged_and_costs_nothing(read: Read) -> None:
    bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "\n".join(
        f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)
    )
    assert read(f"---\n{bomb}\n---\nbody").flags == ("frontmatter-unparsed",)


@pytest.mark.parametrize(
    "text",
    [
        "---\n\nSome prose.\n\n---\n\nMore.",
        "---\n# Heading\nwords\n---\nmore",
        "---\nnot closed: ever\n\nwords",
        "words\n---\ntitle: no\n---",
        "--- \n- a\n- b\n---\nmore",
        "---\n\nNote: see: here\n\n---\nmore",
    ],
)
def test_a_leading_thematic_break_is_no_frontmatter(read: Read, text: str) -> None:
    item = read(text)
    assert item.attributes == {}
    assert item.flags == ()
    words = [word for section in item.sections for word in section.text.split()]
    assert words == text.split()


def test_empty_frontmatter_is_frontmatter(read: Read) -> None:
    item = read("---\n---\nwords")
    assert (item.sections[0].text, item.sections[0].line) == ("words", 3)


@pytest.mark.parametrize(
    ("block", "names"),
    [
        ("aliases: Bob", ("Bob",)),
        ("alias: Bob", ("Bob",)),
        ("aliases: [Bob, 'R. Vale']", ("Bob", "R. Vale")),
        ("Aliases:\n  - Bob\n  - Bob\n  - Note\n  - ''\n  -\n  - 42", ("Bob", "42")),
        ("aliases: Bob, Rob", ("Bob", "Rob")),
        ("aliases: {a: b}", ()),
        ("aliases:", ()),
    ],
)
def test_aliases_are_names_of_what_the_note_is_about(read: Read, block: str, names: tuple[str, ...]) -> None:
    assert read(f"---\n{block}\n---\n").names == names


def test_addresses_in_the_properties_are_identity_keys(read: Read) -> None:
    item = read("---\nemail: Ann@Example.com\nemails: [a.b@example.org, not an address, <x@example.net>]\n---\n")
    assert item.keys == ("email:ann@example.com", "email:a.b@example.org", "email:x@example.net")


def test_a_note_is_called_by_its_title_property_else_by_its_file_and_the_other_is_a_name_too(read: Read) -> None:
    assert read("# Heading\n", "Plain.md").title == "Plain"
    assert read("# Heading\n", "Plain.md").names == ("Heading",)
    assert read("## Lower\n# Later\n", "Other.md").names == ()
    titled = read("---\ntitle: Real Title\n---\n# Real Title\n", "file.md")
    assert (titled.title, titled.names) == ("Real Title", ("file",))


def test_frontmatter_tags_stand_with_the_first_section(read: Read) -> None:
    item = read("---\ntags: [project/alpha, '#beta']\ntag: gamma delta\n---\nwords #beta #epsilon\n# H\n#zeta")
    assert item.sections[0].tags == ("project/alpha", "beta", "gamma", "delta", "epsilon")
    assert item.sections[1].tags == ("zeta",)


# Sections


def test_sections_are_split_at_headings_with_their_path_and_line(read: Read) -> None:
    item = read("---\nx: y\n---\nintro\n\n# One\na\n\nTwo\n===\nb\n\nSub\n---\nc\n\n### Deep ##\nd\n# One\ne\n")
    assert [(s.key, s.heading, s.line, s.text) for s in item.sections] == [
        ("", (), 4, "intro"),
        ("One", ("One",), 6, "# One\na"),
        ("Two", ("Two",), 9, "Two\n===\nb"),
        ("Two > Sub", ("Two", "Sub"), 13, "Sub\n---\nc"),
        ("Two > Sub > Deep", ("Two", "Sub", "Deep"), 17, "### Deep ##\nd"),
        ("One (2)", ("One",), 19, "# One\ne"),
    ]


def test_the_line_of_a_section_is_where_its_text_stands_in_the_file(read: Read) -> None:
    text = "\n\n---\n\n\n\n# A\n\n\nwords\n\n\n## B\nmore\n"
    lines = text.split("\n")
    for section in read(text).sections:
        assert lines[section.line - 1] == section.text.split("\n")[0]


def test_a_heading_in_a_fence_a_list_or_a_quote_opens_no_section(read: Read) -> None:
    item = read(
        "# Real\n```\n# code\n```\n- # in a list\n\n> # quoted\n\n    # indented code\n\n~~~\n```\n# still code\n~~~\n<!--\n# hidden\n-->\n"
    )
    assert [section.key for section in item.sections] == ["Real"]


def test_keys_stay_when_another_section_is_inserted_or_edited(read: Read) -> None:
    before = [section.key for section in read("# A\na\n## Log\nx\n# B\nb\n## Log\ny\n").sections]
    after = [section.key for section in read("# New\nn\n# A\na changed\n## Log\nx\n# B\nb\n## Log\ny\n").sections]
    assert before == ["A", "A > Log", "B", "B > Log"]
    assert after == ["New", *before]


def test_a_heading_is_shown_as_read(read: Read) -> None:
    item = read("# Call with [[Ann Vale|Ann]] about **[the site](https://example.com)** `x` ^block1\n")
    assert item.sections[0].heading == ("Call with Ann about the site x",)


def test_a_note_without_text_has_one_empty_section(read: Read) -> None:
    for text in ("", "\n\n", "---\ntitle: x\n---\n"):
        item = read(text)
        assert [(section.key, section.text) for section in item.sections] == [("", "")]


def test_a_long_section_is_cut_at_paragraphs_and_an_insertion_changes_only_what_is_near(read: Read) -> None:
    paragraphs = [f"Paragraph {number} " + "of some words " * 12 for number in range(400)]
    before = read("# Long\n\n" + "\n\n".join(paragraphs)).sections
    assert all(len(section.text) < 7_000 for section in before)
    assert len(before) > 10
    assert all(section.heading == ("Long",) for section in before)
    paragraphs.insert(30, "An insertion of some words.")
    after = read("# Long\n\n" + "\n\n".join(paragraphs)).sections
    assert len({section.text for section in after} - {section.text for section in before}) <= 4
    assert len({section.key for section in after} ^ {section.key for section in before}) <= 6


def test_a_long_fence_is_never_cut(read: Read) -> None:
    fence = "```\n" + "code line\n\n" * 2_000 + "```"
    item = read("# A\n\nwords\n\n" + fence + "\n\nafter\n")
    assert any(fence in section.text for section in item.sections)


@pytest.mark.slow
def test_five_megabytes_are_read_in_bounded_time(read: Read, benchmark_seconds: Seconds) -> None:
    text = (
        "## Heading\n\n" + "Some words and [[a link]] that make a `line` of text.\n" * 10 + "\n- item\n- [ ] task\n\n"
    ) * 9_000
    assert len(text) > 5_000_000
    assert benchmark_seconds(lambda: read(text)) < 60


# Inside the text


def test_links_of_every_kind_with_their_parts_and_places(read: Read) -> None:
    text = (
        "[[Plain]] [[folder/Note|label]] [[Note#Heading|b]] [[Note#^block]] ![[image.png|300]] ![[Note#Part]] [[ Spaced ]]\n"
        "[text](other%20note.md#part) [site](https://example.com/a_(b)?q=1 'title') ![pic](a.png) <https://example.com/x> "
        "https://example.com/y. (https://example.com/z) [mail](mailto:a@example.com) [own](#here) [[#own]] [x](<with space.md>)\n"
        "\n[ref]: https://example.com/r\n"
    )
    section = read(text).sections[0]
    assert links(section) == [
        ("wikilink", "Plain", "", ""),
        ("wikilink", "folder/Note", "", "label"),
        ("wikilink", "Note", "Heading", "b"),
        ("wikilink", "Note", "block", ""),
        ("embed", "image.png", "", "300"),
        ("embed", "Note", "Part", ""),
        ("wikilink", "Spaced", "", ""),
        ("markdown", "other note.md", "part", "text"),
        ("url", "https://example.com/a_(b)?q=1", "", "site"),
        ("embed", "a.png", "", "pic"),
        ("url", "https://example.com/x", "", ""),
        ("url", "https://example.com/y", "", ""),
        ("url", "https://example.com/z", "", ""),
        ("url", "mailto:a@example.com", "", "mail"),
        ("markdown", "with space.md", "", "x"),
        ("url", "https://example.com/r", "", "ref"),
    ]
    assert [section.text[k.start : k.end] for k in section.links[:3]] == [
        "[[Plain]]",
        "[[folder/Note|label]]",
        "[[Note#Heading|b]]",
    ]


def test_a_wikilink_in_a_table_escapes_its_bar(read: Read) -> None:
    section = read("| a | b |\n|---|---|\n| [[a\\|b]] | ![[c#d\\|e]] |\n").sections[0]
    assert links(section) == [("wikilink", "a", "", "b"), ("embed", "c", "d", "e")]


def test_links_and_tags_in_code_comments_and_formulas_do_not_count(read: Read) -> None:
    hidden = "`[[a]] #a`|``x ` [[b]]``|%%[[c]] #c%%|<!-- [[d]] #d -->|$[[e]] #e$|{{query [[f]]}}"
    item = read(
        "".join(f"x {part} y\n" for part in hidden.split("|"))
        + "\n```\n[[g]] #g\n```\n\n    [[h]] #h\n\n~~~python\n[[i]] #i\n~~~\n\n%%\nblock\n\n[[j]] #j\n%%\n\n$$\n[[k]] #k\n$$\n\n"
        "#+BEGIN_SRC\n[[l]] #l\n#+END_SRC\n\n<script>\n[[m]] #m\n</script>\n\nseen [[Real]] #real\n"
    )
    (section,) = item.sections
    assert [link.target for link in section.links] == ["Real"]
    assert section.tags == ("real",)
    code = covered(section, section.code)
    assert code[0] == "`[[a]] #a`"
    assert "```\n[[g]] #g\n```" in code
    assert not any("Real" in part for part in code)


def test_a_backtick_that_never_closes_hides_nothing(read: Read) -> None:
    section = read("one ` tick [[a]]\n\nand ` another\n\n%% open [[b]]\n\n\\`[[c]]\\`").sections[0]
    assert [link.target for link in section.links] == ["a", "b", "c"]


def test_tags(read: Read) -> None:
    section = read(
        "#one #nested/tag #one #One (#two) #2024 #y2024 a#no #über-tag, #t! ## x #-#- \\#no http://x/#no #[[two words]] #日本\uff0c東京 #a/b/"
    ).sections[0]
    assert section.tags == ("one", "nested/tag", "two", "y2024", "über-tag", "t", "-", "two words", "日本", "a/b")


def test_a_link_into_the_note_itself_is_neither_a_link_nor_a_tag(read: Read) -> None:
    section = read("[[#Part one]] ![[#Part]] [here](#part) [[#^block|it]] and [[Other#Part]] #real").sections[0]
    assert links(section) == [("wikilink", "Other", "Part", "")]
    assert section.tags == ("real",)


def test_quotes_are_others_words_and_callouts_are_own_words(read: Read) -> None:
    section = read(
        "own\n\n> quoted\n> more\nlazy\n\n> [!note] Title\n> own words\n> > quoted in it\n\n> [!quote] Someone\n> said this\n\n- > in a list\n\n"
        "#+BEGIN_QUOTE\norg quote\n#+END_QUOTE\n\nown again"
    ).sections[0]
    quoted = "\n".join(covered(section, section.quoted))
    for words in ("quoted\n> more\nlazy", "quoted in it", "said this", "in a list", "org quote"):
        assert words in quoted
    for words in ("own words", "own again", "[!note]"):
        assert words not in quoted


def test_tasks_and_properties_are_stated_with_lines_that_do_not_shift(read: Read) -> None:
    text = "# Work\nowner:: [[Ann]]\n\n- [ ] open [[x]]\n- [x] done\n  - [-] dropped\n1. [X] numbered\n* TODO later\n- DONE earlier\nsize (area:: 3 km) `k:: v`\nstd::vector\n```\n- [ ] no\n```\n"
    section = read(text).sections[0]
    assert section.attributes == {
        "tasks": [
            {"text": "open [[x]]", "done": False, "line": 4},
            {"text": "done", "done": True, "line": 5},
            {"text": "dropped", "done": False, "line": 6},
            {"text": "numbered", "done": True, "line": 7},
            {"text": "later", "done": False, "line": 8},
            {"text": "earlier", "done": True, "line": 9},
        ],
        "properties": {"owner": "[[Ann]]", "area": "3 km"},
    }
    shifted = read("intro\n\n" + text).sections[1]
    assert shifted.content() == section.content()


# Logseq


def test_a_logseq_journal_is_dated_by_its_name(read: Read) -> None:
    item = read("- met [[Ann]]\n\t- about [[the boat]]\n", "journals/2022_06_18.md")
    assert item.sections[0].occurred_at == ms(2022, 6, 18)
    assert [link.target for link in item.sections[0].links] == ["Ann", "the boat"]


def test_logseq_page_properties_name_a_page_and_never_fork_its_identity(vault: Vault, read: Read) -> None:
    read("- words\n", "pages/page.md")
    before = vault.held["pages/page.md"]
    item = read(
        "title:: The Page\nalias:: One, [[Two]]\ntags:: x, y\n\n- words\n  id:: 6423-abc\n  collapsed:: true\n",
        "pages/page.md",
    )
    assert item.id == before
    assert (item.title, item.names) == ("The Page", ("page", "One", "Two"))
    assert item.sections[0].tags == ("x", "y")
    code = covered(item.sections[0], item.sections[0].code)
    assert [part.strip() for part in code] == ["id:: 6423-abc", "collapsed:: true"]
    assert read("- renamed by title\n", "pages/page.md").id == before


def test_logseq_file_names_spell_namespaces_and_odd_characters(read: Read) -> None:
    assert read("- x", "pages/projects___boat%3F.md").title == "projects/boat?"


# Times


@pytest.mark.parametrize(
    ("path", "when"),
    [
        ("2024-03-05.md", (2024, 3, 5)),
        ("daily/2024-03-05 Tuesday.md", (2024, 3, 5)),
        ("2024_03_05.md", (2024, 3, 5)),
        ("20240305.md", (2024, 3, 5)),
        ("202403051230 Zettel.md", (2024, 3, 5)),
        ("2024/03/05.md", (2024, 3, 5)),
        ("March 5th, 2024.md", (2024, 3, 5)),
        ("5 March 2024.md", (2024, 3, 5)),
        ("05.03.2024.md", (2024, 3, 5)),
        ("2024-02-30.md", (2020, 9, 13, 12, 26, 40)),
        ("Plan 99999999.md", (2020, 9, 13, 12, 26, 40)),
        ("12345678.md", (2020, 9, 13, 12, 26, 40)),
    ],
)
def test_a_daily_note_is_said_on_its_day_else_when_it_was_written(read: Read, path: str, when: tuple[int, ...]) -> None:
    assert read("words", path).sections[0].occurred_at == ms(*when)


def test_the_nearest_date_heading_wins_over_the_file_and_the_frontmatter(read: Read) -> None:
    item = read(
        "---\ndate: 2020-01-01\n---\nintro\n# 2024-03-05\na\n## Talk\nb\n## [[2024-03-06]] Wed\nc\n# Other\nd\n",
        "2023-01-01.md",
    )
    assert [section.occurred_at for section in item.sections] == [
        ms(2023, 1, 1), ms(2024, 3, 5), ms(2024, 3, 5), ms(2024, 3, 6), ms(2023, 1, 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("block", "when"),
    [
        ("date: 2021-05-06", (2021, 5, 6)),
        ("created: 2021-05-06T10:30", (2021, 5, 6, 10, 30)),
        ("Created: 2021-05-06 10:30:15", (2021, 5, 6, 10, 30, 15)),
        ("date: 2021-05-06T10:30:00+02:00", (2021, 5, 6, 8, 30)),
        ("date: 2021-02-30\ncreated: 2021-05-06", (2021, 5, 6)),
        ("date: {{date}}", (2020, 9, 13, 12, 26, 40)),
        ("date: soon", (2020, 9, 13, 12, 26, 40)),
        ("date: 20210506", (2021, 5, 6)),
        ("date: true", (2020, 9, 13, 12, 26, 40)),
    ],
)
def test_frontmatter_dates_a_note_that_has_no_daily_date(read: Read, block: str, when: tuple[int, ...]) -> None:
    assert read(f"---\n{block}\n---\nwords").sections[0].occurred_at == ms(*when)


def test_a_file_from_the_future_is_said_no_later_than_now(read: Read) -> None:
    assert read("words", now=ms(2020, 1, 1)).sections[0].occurred_at == ms(2020, 1, 1)


# Other kinds


def test_plain_text_is_read_as_text(read: Read) -> None:
    item = read("# no heading\n[[no link]] #no-tag https://example.com/a\n", "a.txt")
    (section,) = item.sections
    assert (section.heading, section.tags) == ((), ())
    assert links(section) == [("url", "https://example.com/a", "", "")]


def test_an_org_file_has_sections_links_and_code(read: Read) -> None:
    item = read(
        "#+TITLE: My file\nintro\n* First [[https://example.com][site]] :tag1:tag2:\nwords [[Note]] https://example.com/x\n** Sub\n"
        "#+begin_src sh\n* not a heading [[no]]\n#+end_src\n#+BEGIN_QUOTE\nothers\n#+END_QUOTE\n",
        "a.org",
    )
    assert item.title == "My file"
    assert [section.key for section in item.sections] == ["", "First site", "First site > Sub"]
    assert item.sections[1].tags == ("tag1", "tag2")
    assert links(item.sections[1]) == [
        ("url", "https://example.com", "", "site"), ("wikilink", "Note", "", ""), ("url", "https://example.com/x", "", ""),
    ]  # fmt: skip
    sub = item.sections[2]
    assert sub.links == ()
    assert "not a heading" in covered(sub, sub.code)[0]
    assert "others" in covered(sub, sub.quoted)[0]
