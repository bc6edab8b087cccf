"""The outline of plain text and of Org files, kept simple; knows nothing of files or of what notes mean."""

from __future__ import annotations

import re

from ctxsync.connectors.base import Link
from ctxsync.connectors.notes.inline import Inline, merge, within
from ctxsync.connectors.notes.sections import Outline, line_starts

_URL = re.compile(r"\bhttps?://[^\s<>\[\]\"`|\\^{}]{1,2000}")
_HEADING = re.compile(r"^(?P<stars>\*{1,20})[ \t]+(?P<title>[^\n]{0,1000})")
_ORG_TAGS = re.compile(r"[ \t]:(?P<tags>[\w@#%:]{1,200}):[ \t]*$")
_BEGIN = re.compile(r"[ \t]*\#\+begin_(?P<kind>\w{1,20})", re.IGNORECASE)
_END = re.compile(r"[ \t]*\#\+end_(?P<kind>\w{1,20})", re.IGNORECASE)
_ORG_LINK = re.compile(r"\[\[(?P<target>[^\[\]\n]{1,1000})\](?:\[(?P<label>[^\[\]\n]{1,500})\])?\]")
_TITLE = re.compile(r"^\#\+TITLE:[ \t]*(?P<title>[^\n]{1,300})", re.MULTILINE | re.IGNORECASE)


def outline_text(text: str) -> tuple[Outline, Inline]:
    """Return plain text as one block; only its URLs are links."""
    return Outline(cuts=_paragraphs(text)), Inline((), tuple(_urls(text)), ())


def outline_org(text: str) -> tuple[Outline, Inline]:
    """Return the headings, source and quote blocks, links and heading tags of an Org file."""
    found = Outline(cuts=_paragraphs(text))
    tags: list[tuple[int, str]] = []
    starts = line_starts(text)
    kind, since = "", 0
    for number, line in enumerate(text.split("\n")):
        at = starts[number]
        if kind:
            end = _END.match(line)
            if end and end["kind"].lower() == kind:
                (found.quoted if kind in ("quote", "verse") else found.code).append((since, at + len(line)))
                kind = ""
            continue
        begin = _BEGIN.match(line)
        if begin:
            kind, since = begin["kind"].lower(), at
            continue
        heading = _HEADING.match(line)
        if heading:
            title = heading["title"]
            marked = _ORG_TAGS.search(title)
            if marked:
                tags += [(at, tag) for tag in marked["tags"].split(":") if tag]
                title = title[: marked.start()]
            found.headings.append((number, len(heading["stars"]), _ORG_LINK.sub(_shown, title).strip()))
    if kind and kind not in ("quote", "verse"):
        found.code.append((since, len(text)))
    code = merge(found.code)
    links: list[Link] = []
    for match in _ORG_LINK.finditer(text):
        target, label = match["target"].removeprefix("file:"), match["label"] or ""
        link_kind = "url" if re.match(r"[a-z][a-z0-9+.\-]+:", target) else "wikilink"
        links.append(Link(target, link_kind, label, "", *match.span()))
    taken = merge([(link.start, link.end) for link in links] + list(code))
    links = [link for link in links if not within(link.start, code)]
    links += [link for link in _urls(text) if not within(link.start, taken)]
    return found, Inline(code, tuple(sorted(links, key=lambda link: link.start)), tuple(tags))


def org_title(text: str) -> str:
    """Return what `#+TITLE:` states near the head of an Org file."""
    found = _TITLE.search(text[:4_000])
    return found["title"].strip() if found else ""


def _shown(found: re.Match[str]) -> str:
    return found["label"] or found["target"]


def _urls(text: str) -> list[Link]:
    links: list[Link] = []
    for found in _URL.finditer(text):
        url = found[0].rstrip(".,;:!?'\"*_~)")
        links.append(Link(url, "url", start=found.start(), end=found.start() + len(url)))
    return links


def _paragraphs(text: str) -> list[int]:
    """Return the lines that follow a blank one, and every fiftieth for text without any."""
    lines = text.split("\n")
    return [
        number
        for number in range(1, len(lines))
        if lines[number].strip() and (not lines[number - 1].strip() or number % 50 == 0)
    ]
