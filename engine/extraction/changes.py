"""What the line of a change says that its repository needs from now on, or no longer; patterns only, no language model.

A commit's subject tells what the change does ("Use a set for lookups", "Remove the old helper"), and hardly ever what the
repository lasts on. Only the few forms that speak of a dependency count, and only with a name that can be one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxsync.engine.extraction.gazetteer import TECHNICAL
from ctxsync.engine.extraction.mentions import STRONG

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctxsync.engine.extraction.cast import Cast, Thing
    from ctxsync.engine.extraction.lexicon import Match

_NAME = r"(?:[Tt]he )?`?(?P<{0}>[A-Za-z@][\w.+#@/-]*?(?: (?:Actions|Cloud|Compose|Registry|Container Registry))?)`?"
_END = r"(?=[,.;:)(]?$|[,;:(]|\.\s| (?:for|as|in|on|and|because|since|to|when|where|by|everywhere|throughout|instead|rather|via)\b| from (?:PyPI|npm)\b)"
_VERSION = r"(?:>=?|==|~=)?\s?v?\d[\w.*+-]*"


def _form(pattern: str, *slots: str) -> re.Pattern[str]:
    for slot in slots:
        pattern = pattern.replace(f"<{slot}>", _NAME.format(slot))
    return re.compile(rf"^(?:{pattern}){_END}", re.IGNORECASE)


# (form, whether one of its names must be well known). `new` is what is needed from now on, `old` what is no longer.
_FORMS: tuple[tuple[re.Pattern[str], bool], ...] = (
    (_form(rf"(?:bump|upgrade|update|pin) <new> (?:version )?(?:from {_VERSION} )?to {_VERSION}", "new"), False),
    (_form(rf"(?:require|need|depend on|pin) <new> {_VERSION}", "new"), False),
    (_form(r"(?:add|introduce) <new> (?:as an? )?(?:runtime |hard |new |optional )?(?:dependency|requirement)", "new"), False),
    (_form(r"(?:add|introduce) (?:an? )?(?:new )?(?:dependency|requirement) on <new>", "new"), False),
    (_form(r"(?:drop|remove|ditch|get rid of) <old> (?:dependency|dep|requirement)", "old"), False),
    (_form(r"(?:drop|remove|ditch|get rid of) (?:the )?(?:dependency|requirement) (?:on|for) <old>", "old"), False),
    (_form(r"(?:switch|migrate|move|port|convert|change) from <old> to <new>", "old", "new"), True),
    (_form(r"(?:switch|migrate|move) to <new>", "new"), True),
    (_form(r"replace <old> (?:with|by) <new>", "old", "new"), True),
    (_form(r"(?:use|adopt|prefer|choose) <new> (?:instead of|rather than|over|in place of) <old>", "new", "old"), True),
    (_form(r"(?:drop|remove|ditch|abandon|stop using) <old> in favou?r of <new>", "old", "new"), True),
    (_form(r"(?:drop|remove|ditch|abandon|stop using|get rid of) <old>", "old"), True),
    (_form(r"(?:use|adopt|rely on|depend on|start using) <new>", "new"), True),
)  # fmt: skip
_RELEASE = r"(?P<name>[A-Za-z][\w.+#]*)(?P<number> v?\d[\w.]*)?(?: and (?:older|below))?"
_DROPPED = re.compile(rf"^(?:drop|remove|end) (?:support for {_RELEASE}\b|{_RELEASE.replace('name', 'name2').replace('number', 'number2')} support)", re.IGNORECASE)  # fmt: skip
_FILE = re.compile(r"[/\\]|\.(?:py|md|rst|txt|c|h|go|rs|ts|toml|ya?ml|json|cfg|ini|sh|html?|css)$", re.IGNORECASE)
_INTERNAL = re.compile(r"_|\.[a-z_]+$|^[a-z]+[A-Z]|^[A-Z][a-z]+[A-Z]|[()=]")
# What can stand where a name stands and is none.
_NO_NAMES = frozenset(
    [
        "a",
        "an",
        "the",
        "this",
        "that",
        "it",
        "its",
        "our",
        "own",
        "new",
        "old",
        "more",
        "less",
        "some",
        "all",
        "any",
        "only",
        "both",
        "same",
        "version",
        "versions",
        "dependencies",
        "deps",
        "requirements",
        "copyright",
        "year",
        "changelog",
        "readme",
        "docs",
        "tests",
        "code",
        "type",
        "types",
        "list",
        "dict",
        "set",
        "tuple",
        "string",
        "int",
        "instead",
        "default",
        "defaults",
        "latest",
    ]
)
_NEEDS = frozenset({"dependency", "datastore", "hosting"})
_OF_THE_CODE = frozenset({"link", "change", "fix", "revert", "mention", "order", "basis"})


@dataclass(frozen=True, slots=True)
class Change:
    """A dependency that a change takes up or gives up.

    Args:
        name: What it is called.
        phrase: As a fact shows it.
        ends: It is given up.
        start: First character of the name in the text.
        end: One past its last.
    """

    name: str
    phrase: str
    ends: bool
    start: int
    end: int


def changes(text: str) -> Iterator[Change]:
    """Yield the dependencies that a change's line, in the imperative, takes up and gives up."""
    dropped = _DROPPED.match(text)
    if dropped:
        which = "name" if dropped["name"] else "name2"
        if dropped[which].lower() in TECHNICAL:
            end = dropped.end("number" if which == "name" else "number2")
            end = end if end > 0 else dropped.end(which)
            start = dropped.start(which)
            yield Change(text[start:end], "no longer supports", ends=True, start=start, end=end)
        return
    for form, known in _FORMS:
        match = form.match(text)
        if match is None:
            continue
        names = {slot: name for slot, name in match.groupdict().items() if name}
        if all(_could_be(name) for name in names.values()) and (
            not known or any(_known(name) for name in names.values())
        ):
            for slot in sorted(names):
                ends = slot == "old"
                phrase = "no longer uses" if ends else "uses"
                yield Change(names[slot], phrase, ends=ends, start=match.start(slot), end=match.end(slot))
        return


def _known(name: str) -> bool:
    return name.lower() in TECHNICAL or name.lower().startswith("github ")


def _could_be(name: str) -> bool:
    """Say whether a name can be that of another product: no file, no identifier of the code itself, no plain word."""
    if _known(name):
        return True
    return not (_FILE.search(name) or _INTERNAL.search(name) or name.lower() in _NO_NAMES or len(name) < 2)


def outlasts(match: Match, left: Thing, right: Thing, cast: Cast, *, implied: bool) -> bool:
    """Say whether a commit's statement outlasts the commit: most tell what was done to the code, once.

    Of the repository only that it needs a well-known thing is kept, of the commit that it caused something, and of what
    an imperative speaks of (`Remove X from Y`) that a system's tool changed or one thing took another's place.
    """
    if cast.commit in (left, right):
        return match.phrase_class == "cause"
    if match.phrase_class in _OF_THE_CODE:
        return False
    needs = match.phrase_class in _NEEDS and bool(right.technical)
    if left in (cast.repository, cast.me) or right in (cast.repository, cast.me):
        return needs and not match.ends
    return not implied or needs or (match.phrase_class == "succession" and min(left.strength, right.strength) >= STRONG)
