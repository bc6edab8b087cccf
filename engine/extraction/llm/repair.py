"""Reads the JSON object out of what a model answered, broken or not; knows no schema.

A model wraps its JSON in fences and prose, leaves commas behind, quotes with the wrong mark, or is cut off half-way.
All that is mended here, in code. Of an answer that was cut off only complete elements count. What holds no answer is
`BadReply`, never an empty result.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from ctxsync.errors import BadReply

if TYPE_CHECKING:
    from collections.abc import Iterator

# Longer answers are no answers to one episode; the bounds keep hostile ones from costing time.
_LONGEST, _MOST_STARTS, _DEEPEST = 100_000, 40, 24
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
# A comment's length is bounded: one that never ends would be looked through from each of its characters.
_SPACE = re.compile(r"(?:\s|//[^\n]*|/\*.{0,500}?\*/)*", re.DOTALL)
_BARE = re.compile(r"[^\s,:{}\[\]\"]+")
_KEY = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\Z")
_CLOSER = {'"': '"', "'": "'", "\N{LEFT DOUBLE QUOTATION MARK}": "\N{RIGHT DOUBLE QUOTATION MARK}"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_WORDS = {"true": True, "false": False, "null": None, "none": None, "undefined": None, "nan": None, "infinity": None}
_LISTS = ("entities", "relations")


@dataclass(frozen=True, slots=True)
class Parsed:
    """An answer as JSON.

    Args:
        answer: Holds a list of entities or one of relations, or both.
        clean: It was JSON and nothing else.
        cut: It ended before its last bracket.
    """

    answer: dict[str, Any]
    clean: bool
    cut: bool = False


class _Malformed(Exception):
    """What stands here is no JSON, however read."""


def parse(content: str) -> Parsed:
    """Return the answer in a model's words; raises `BadReply` that says what they are instead."""
    text = content.strip().removeprefix("\ufeff")[:_LONGEST]
    if not text:
        raise BadReply("The answer is empty.")
    if _is_answer(whole := _lowered(_strict(text))):
        return Parsed(whole, clean=True)
    words = _THOUGHT.sub("", text)
    echoed = False
    partial: Parsed | None = None
    for found, complete in _objects(words):
        value = _lowered(found)
        if _is_answer(value):
            if complete:
                return Parsed(value, clean=False)
            partial = partial or Parsed(value, clean=False, cut=True)
        echoed = echoed or "properties" in value or "$schema" in value
    if partial and any(partial.answer.get(key) for key in _LISTS):
        return partial
    raise BadReply(_problem(words, echoed=echoed, cut=partial is not None))


def _problem(words: str, *, echoed: bool, cut: bool) -> str:
    if cut:
        return "The answer was cut off before its first complete element."
    if echoed:
        return "The answer is the JSON Schema itself."
    if re.match(r"\s*<(?:!doctype|html|head|body)\b", words, re.IGNORECASE):
        return "The answer is a web page."
    if not words.strip():
        return "The answer is a thought that came to no end."
    return "The answer holds no JSON object with entities or relations."


def _strict(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _lowered(value: Any, depth: int = 2) -> Any:
    """Return a value with the keys of an answer and of its elements in small letters; those of attributes stay."""
    if isinstance(value, list) and depth:
        return [_lowered(item, depth - 1) for item in value]
    if not isinstance(value, dict) or not depth:
        return value
    return {str(key).lower(): _lowered(item, depth) if isinstance(item, list) else item for key, item in value.items()}


def _is_answer(value: Any) -> bool:
    return isinstance(value, dict) and any(isinstance(value.get(key), list) for key in _LISTS)


def _objects(text: str) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield what can be read from each brace on, and whether it was closed."""
    at = -1
    for _ in range(_MOST_STARTS):
        at = text.find("{", at + 1)
        if at < 0:
            return
        reader = _Reader(text, at)
        try:
            value, complete = reader.object(0)
        except _Malformed:
            continue
        yield value, complete


class _Reader:
    """Reads JSON leniently from a place on. Each method returns a value and whether it was there in full."""

    def __init__(self, text: str, at: int) -> None:
        self.text, self.at = text, at

    def object(self, depth: int) -> tuple[dict[str, Any], bool]:
        found: dict[str, Any] = {}
        self.at += 1
        while char := self._next(","):
            if char == "}":
                self.at += 1
                return found, True
            if char == "]":  # its own bracket was forgotten
                return found, True
            key, whole = self._key(char)
            if not whole or not (colon := self._next()):
                return found, False
            if colon != ":":
                raise _Malformed
            self.at += 1
            value, whole = self._value(depth + 1)
            if whole:
                found[key] = value
            else:
                if depth == 0 and isinstance(value, list):
                    found[key] = value
                return found, False
        return found, False

    def _list(self, depth: int) -> tuple[list[Any], bool]:
        found: list[Any] = []
        self.at += 1
        while char := self._next(","):
            if char == "]":
                self.at += 1
                return found, True
            if char == "}":
                return found, True
            value, whole = self._value(depth + 1)
            if not whole:
                return found, False
            found.append(value)
        return found, False

    def _value(self, depth: int) -> tuple[Any, bool]:
        char = self._next()
        if depth > _DEEPEST:
            raise _Malformed
        if not char:
            return None, False
        if char == "{":
            return self.object(depth)
        if char == "[":
            return self._list(depth)
        if char in _CLOSER:
            return self._string(char)
        return self._word()

    def _key(self, char: str) -> tuple[str, bool]:
        if char in _CLOSER:
            key, whole = self._string(char)
            return key.strip(), whole
        if bare := _KEY.match(self.text, self.at):
            self.at = bare.end()
            return bare[0], True
        raise _Malformed

    def _word(self) -> tuple[Any, bool]:
        bare = _BARE.match(self.text, self.at)
        if bare is None:
            raise _Malformed
        self.at = bare.end()
        if self.at >= len(self.text):
            return None, False
        word = bare[0]
        if _NUMBER.match(word):
            number = float(word)
            return (number if math.isfinite(number) else None), True
        if (known := word.lstrip("+-").lower()) in _WORDS:
            return _WORDS[known], True
        raise _Malformed

    def _string(self, opener: str) -> tuple[str, bool]:
        closer = _CLOSER[opener]
        parts: list[str] = []
        self.at += 1
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            if char == "\\":
                parts.append(self._escape())
            elif char == closer and self._closes():
                return "".join(parts), True
            else:
                parts.append(char)
        return "".join(parts), False

    def _closes(self) -> bool:
        """Say whether the mark just read ends its string: what follows belongs to JSON, not to a sentence."""
        space = _SPACE.match(self.text, self.at)
        end = space.end() if space else self.at
        return end >= len(self.text) or self.text[end] in ",:]}" or "\n" in self.text[self.at : end]

    def _escape(self) -> str:
        char = self.text[self.at : self.at + 1]
        self.at += 1
        if char == "u":
            digits = self.text[self.at : self.at + 4]
            if re.fullmatch(r"[0-9a-fA-F]{4}", digits):
                self.at += 4
                return chr(int(digits, 16))
        return _ESCAPES.get(char, char)

    def _next(self, skipping: str = "") -> str:
        """Move to the next character that is no white space, comment or `skipping`, and return it; empty at the end."""
        while True:
            space = _SPACE.match(self.text, self.at)
            self.at = space.end() if space else self.at
            char = self.text[self.at : self.at + 1]
            if not char or char not in skipping:
                return char
            self.at += 1
