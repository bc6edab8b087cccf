"""Which ranges of a mail's plain text are others' words: quotations, forwards, signatures. Knows no HTML or headers.

Told line by line, by shape: `>`, blocks of header fields, rules, signatures, and what `attribution` says of the lines
above. Every range is of whole lines.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate, compress, islice
from operator import not_
from typing import TYPE_CHECKING, Final

from ctxsync.connectors.mail.attribution import LONGEST, is_attribution, is_open, opens_reply, told_by_library
from ctxsync.connectors.mail.words import FIELDS, FOOTER, FROM_FIELDS, OPENS, PHONE, PHONED, WROTE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MAX_SIGNATURE: Final = 40  # lines; what stands below a longer one may be the author's own words
MAX_ASKED: Final = 2_000  # times that the library is asked of one text: each takes as long as 50 lines do here
MAX_QUOTATIONS: Final = 5_000  # whose attributions are looked for; a text of a million characters may have more
_WIDTH: Final = 72  # characters of a line at which mailers wrap, at the earliest
_WRAPPED: Final = 45  # characters of what is wrapped off

_QUOTED = re.compile(r"^[ \t\u00a0]{0,3}>|^[ \t]{0,3}[A-Z]{1,3}> ")
_RULE = re.compile(
    r"^[ \t]*(?:-{2,}|_{5,}|={5,}|\*{5,})[ \t]*(?:[^\W\d_][^\n]{2,50}?[ \t]*(?:-{2,}|_{5,}|={5,}|\*{5,})[ \t]*)?$"
)
_NAMED_RULE = re.compile(r"^[ \t]*-{2,}[ \t]*[^\W\d_][^\n]{3,50}?[ \t]*-{2,}[ \t]*$")
_FIELD = re.compile(r"^[ \t]*[*]?([^\W\d_][\w -]{0,20}?)[ \t]?:[*]?(?:[ \t\u00a0]|$)")
_SIGNED = re.compile(r"^-----(BEGIN|END) PGP (SIGNED MESSAGE|SIGNATURE|MESSAGE|PUBLIC KEY BLOCK)-----[ \t]*$")
_PATCH = re.compile(r"^(?:diff --git |Index: \S|---$|--- [^\s-].*$|=== modified )")
_STAT = re.compile(r"^ \S.{0,200} \| +(?:\d+|Bin)")
_RULED = frozenset({"--", "__", "==", "**", "-~"})  # how rules begin
_PATCHED = frozenset({"dif", "Ind", "---", "==="})  # how patches begin
_SIGNS = PHONED | _RULED | {"- "} | {patched[:2] for patched in _PATCHED}
_LIST_FOOTER = re.compile(r"^[ \t]*(?:_{10,}|-{10,}|={10,}|-~-+~|--~--~)")


@dataclass(frozen=True, slots=True)
class Ranges:
    """Half-open character ranges, in order, apart from each other.

    Args:
        quoted: Others' words, and signatures.
        code: Patches.
    """

    quoted: tuple[tuple[int, int], ...]
    code: tuple[tuple[int, int], ...]


def ranges_of(text: str, known: Iterable[tuple[int, int]] = ()) -> Ranges:
    """Return what of a text is quoted, and what is code.

    Args:
        text: LF line ends.
        known: Ranges that are known to be quoted already (from HTML).
    """
    return _Lines(text, known).ranges()


class _Lines:
    def __init__(self, text: str, known: Iterable[tuple[int, int]]) -> None:
        self.text = text
        self.lines = text.split("\n")
        self.bare = [*map(str.strip, self.lines)]
        self.before = [0, *accumulate(map(len, self.lines))]  # characters of the lines before each, without line ends
        self.quoted = [False] * len(self.lines)
        if ">" in text:
            self.quoted = [line[:1] == ">" or (">" in line[:8] and bool(_QUOTED.match(line))) for line in self.lines]
        if ">From" in text:
            for number, line in enumerate(self.lines):
                self.quoted[number] &= line[:6] != ">From "
        self.known = list(known)
        for start, end in self.known:
            first, last = self._line_at(start), self._line_at(max(end - 1, start))
            if self._start(first) < start:
                first += 1
            for number in range(first, last + 1):
                self.quoted[number] = True
        # Lines of the author's own that may begin a signature or a patch; there are few.
        own = compress(enumerate(self.bare), map(not_, self.quoted))
        self.signs = [number for number, bare in own if bare[:2] in _SIGNS]
        self.asked = 0  # times that the library was
        self.end = len(self.lines)  # where the author's own text may still be
        while self.end and not self.bare[self.end - 1]:
            self.end -= 1

    def _start(self, number: int) -> int:
        return self.before[number] + number

    def _line_at(self, position: int) -> int:
        return bisect_right(range(len(self.lines)), position, key=self._start) - 1

    def ranges(self) -> Ranges:
        self._wrapped()
        self._signed()
        self._embedded_from()
        self._attributions()
        self._forwards()
        self._signatures()
        return Ranges(self._spans(self.quoted, self.known), self._spans(self._patches(), ()))

    def _alone(self) -> Iterator[int]:
        """Yield the lines that stand alone between quoted ones."""
        for number, _ in _runs(self.quoted):
            if number > 1 and self.quoted[number - 2]:
                yield number - 1

    def _wrapped(self) -> None:
        """Quote a short line between quoted ones when it is what a mailer wrapped off the line above."""
        for number in self._alone():
            line, above = self.lines[number], self.lines[number - 1]
            if (
                line
                and len(line) <= _WRAPPED
                and not above.endswith((".", "?", "!", ":"))
                and len(above) + 1 + len(line.split(" ")[0]) > _WIDTH
            ):
                self.quoted[number] = True

    def _signed(self) -> None:
        """Quote what PGP puts round a text, and its ciphertext."""
        if "-----BEGIN PGP" not in self.text:
            return
        until = ""
        for number, line in enumerate(self.lines):
            if until:
                self.quoted[number] = True
                if line.startswith(until) or (until == "\n" and not line.strip()):
                    until = ""
            elif line.startswith("-----"):
                found = _SIGNED.match(line)
                if found and found[1] == "BEGIN":
                    self.quoted[number] = True
                    until = "\n" if found[2] == "SIGNED MESSAGE" else f"-----END PGP {found[2]}"

    def _embedded_from(self) -> None:
        """Quote a line `From …` between quoted lines: its `>` was taken for an mbox's."""
        for number in self._alone():
            if self.lines[number].startswith(("From ", ">From ")):
                self.quoted[number] = True

    def _attributions(self) -> None:
        """Quote the lines that say whose words the quoted lines below them are."""
        for number, _ in islice(_runs(self.quoted), MAX_QUOTATIONS):
            last = number - 1
            while last >= 0 and not self.bare[last] and number - last < 3:
                last -= 1
            if last >= 0 and not self.quoted[last] and self.bare[last]:
                self._attribute(last, number)

    def _attribute(self, last: int, until: int) -> None:
        for first in range(last, max(last - 3, -1), -1):
            if not self.bare[first] or self.quoted[first]:
                return
            said = " ".join(self.bare[first : last + 1])
            if len(said) > LONGEST:
                return
            if is_attribution(said, opening=first != last) or (first == last and is_open(said)):
                begins = first
                above = self.bare[first - 1] if first else ""
                # An attribution that was wrapped opens with its date or `On` on a line above.
                if (
                    above
                    and not OPENS.match(said)
                    and OPENS.match(above)
                    and len(above) + len(said) < LONGEST
                    and not above.endswith((".", "!", "?"))
                ):
                    begins = first - 1
                self._quote(begins, until)
                return

    def _forwards(self) -> None:
        """Quote all that follows an attribution, a rule or a block of header fields that opens another message.

        What is quoted further down is marked by itself, and the author's answers stand between: so it is looked for
        below the last quoted line only.
        """
        below = next((number + 1 for number in range(self.end - 1, -1, -1) if self.quoted[number]), 0)
        colon = -1  # the next line that ends in one
        for number in range(below, self.end):
            line = self.bare[number]
            if colon < number:
                rest = range(number, self.end)
                colon = next((each for each in rest if self.bare[each].endswith((":", "\uff1a"))), self.end)
            if line and (
                ((":" in line or line[:2] in _RULED) and self._opens_forward(number))
                or (colon < number + 3 and self._opens_reply(number, colon))
            ):
                self._quote(number, self.end)
                return

    def _opens_forward(self, number: int) -> bool:
        line = self.lines[number]
        if self.bare[number][:2] in _RULED and _RULE.match(line):
            below = next((each for each in range(number + 1, min(number + 4, self.end)) if self.bare[each]), -1)
            if below >= 0 and self._header_block(below, 2):
                return True
            return bool(_NAMED_RULE.match(line)) and told_by_library([line])
        if ":" not in line:
            return False
        above_is_free = number == 0 or not self.bare[number - 1] or _RULE.match(self.lines[number - 1])
        if above_is_free and self._header_block(number, 3):
            return True
        if not line.endswith(":") or len(line) >= 60 or WROTE.search(line):
            return False
        self.asked += 1
        return self.asked <= MAX_ASKED and told_by_library([line])

    def _header_block(self, number: int, least: int) -> bool:
        """Say whether a line opens a block of a message's header fields, the first one saying from whom."""
        found = _FIELD.match(self.lines[number])
        if not found or found[1].strip().casefold() not in FROM_FIELDS:
            return False
        count, wrapped = 1, 0
        for line in self.lines[number + 1 : number + 12]:
            found = _FIELD.match(line)
            if found and found[1].strip().casefold() in FIELDS:
                count, wrapped = count + 1, 0
            elif wrapped or not line.strip():
                wrapped += 1
                if wrapped > 1 or (not line.strip() and count > 1):
                    break
            else:
                wrapped += 1
        return count >= least

    def _opens_reply(self, number: int, colon: int) -> bool:
        """Say whether an attribution up to a colon stands here without `>` below it: then all below is quoted."""
        said = self.bare[number : colon + 1]
        return colon < self.end and all(said) and opens_reply(" ".join(said), self.lines[number : colon + 1])

    def _signatures(self) -> None:
        for number in self.signs:
            if self.quoted[number] or number >= self.end:
                continue
            line = self.lines[number]
            if line[:2] in {"--", "- "} and line in {"-- ", "--", "- -- ", "- --", "--\u00a0"}:
                limit = MAX_SIGNATURE if line.endswith((" ", "\u00a0")) else MAX_SIGNATURE * 2 // 3
                far = min(self.end, number + limit + 1)
                stop = next((each for each in range(number + 1, far) if self.quoted[each]), far)
                if stop - number <= limit:
                    self._quote(number, stop)
            elif len(line) < 100 and self.bare[number][:2] in PHONED and PHONE.match(self.bare[number]):
                self._quote(number, number + 1)
            elif (
                self.bare[number][:2] in _RULED
                and _LIST_FOOTER.match(line)
                and self.end - number <= 12
                and FOOTER.search(" ".join(self.lines[number : self.end]))
            ):
                self._quote(number, self.end)
                return

    def _patches(self) -> Sequence[bool]:
        """Return of each line whether it is of a patch."""
        if _PATCHED.isdisjoint(self.lines[number][:3] for number in self.signs):
            return ()
        code = [False] * len(self.lines)
        inside = False
        for number in range(self.end):
            if self.quoted[number]:
                inside = False
                continue
            line = self.lines[number]
            if not inside and line[:4] in {"diff", "Inde", "---", "--- ", "=== "} and _PATCH.match(line):
                inside = line == "---" and number + 1 < self.end and bool(_STAT.match(self.lines[number + 1]))
                below = self.lines[number + 1 : number + 6]
                inside = inside or any(each.startswith(("+++ ", "@@ ", "--- ", "index ", "=====")) for each in below)
            code[number] = inside
        return code

    def _quote(self, first: int, end: int) -> None:
        self.quoted[first:end] = [True] * (end - first)

    def _spans(self, marks: Sequence[bool], more: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
        """Return marked lines as character ranges, joined where only blank lines are between, with further ranges."""
        spans: list[tuple[int, int]] = [(start, end) for start, end in more if start < end]
        if not spans and True not in marks:
            return ()
        for first, end in _runs(marks):
            told = next((number for number in range(first, end) if self.bare[number]), -1)
            if told >= 0:
                last = next(number for number in range(end - 1, told - 1, -1) if self.bare[number])
                spans.append((self._start(told), self._start(last) + len(self.lines[last])))
        joined: list[tuple[int, int]] = []
        for start, end in sorted(spans):
            if joined and (start <= joined[-1][1] or not self.text[joined[-1][1] : start].strip()):
                joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
            else:
                joined.append((start, end))
        return tuple(joined)


def _runs(marks: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Yield the half-open ranges of marked lines, as they are when each is asked for."""
    first = -1
    try:
        while True:
            first = marks.index(True, first + 1)
            try:
                end = marks.index(False, first)
            except ValueError:
                end = len(marks)
            yield first, end
            first = end
    except ValueError:
        return
