"""The prompt: the prefix that never changes, then facts and text as data; knows no server.

What comes from a source stands between lines with a mark that the data itself cannot hold, and the control words of
chat templates are taken out of it: a text cannot close its fence, and cannot pretend to be another speaker.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxsync import prompts
from ctxsync.connectors.base import digest
from ctxsync.engine.extraction import dates
from ctxsync.engine.extraction.gate import own_words
from ctxsync.engine.extraction.llm import context
from ctxsync.errors import ExtractionError

if TYPE_CHECKING:
    from ctxsync.connectors.base import Json
    from ctxsync.engine.extraction.base import Episode
    from ctxsync.engine.extraction.llm.context import KnownFact
    from ctxsync.engine.schema import Schema

# Bytes of UTF-8 that a token holds, at the least that is seen in prose: 3.5 to 4.5 in English, 3 in most scripts.
BYTES_PER_TOKEN = 3
# For what a chat template adds, and for marks around the data.
_TOKENS_AROUND = 120
# A context that leaves less than this to a text is no context to ask in.
_LEAST_TEXT = 100
# `<|im_start|>`, `<start_of_turn>`, `</s>`, `[INST]` … : a server reads them as its own even within a message.
_CONTROL = re.compile(
    r"<(?=[|\uff5c])|<(?=</?SYS>>)"
    r"|<(?=/?(?:s|bos|eos|pad|unk|think|tool_call|tool_response|im_start|im_end|image|start_of_turn|end_of_turn|start_of_image)>)"
    r"|\[(?=/?(?:INST|SYS|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|IMG)\])",
    re.IGNORECASE,
)
_HARMLESS = {"<": "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}", "[": "("}
_LAST = "Answer with the JSON object for this text."


@dataclass(frozen=True, slots=True)
class Prompt:
    """One episode's prompt.

    Args:
        messages: System and user message.
        facts: The facts that were given, by the id that the prompt gives them.
        cut: Not all of the text was given.
    """

    messages: tuple[dict[str, Json], ...]
    facts: dict[str, KnownFact]
    cut: bool


def prefix(schema: Schema) -> str:
    """Return the rules: the same bytes for every text under a schema."""
    types = "\n".join(f"{name}: {description}" for name, description in schema.entity_types.items())
    relations = "\n".join(f"{name}: {description}" for name, description in schema.relations.items())
    return prompts.load("extract").replace("<entity_types>", types).replace("<relations>", relations)


def tokens(text: str) -> int:
    """Return how many tokens a text takes at most, by its bytes; an estimate, for no model's tokenizer is at hand."""
    return len(text.encode(errors="replace")) // BYTES_PER_TOKEN + 1


def build(rules: str, episode: Episode, facts: dict[str, KnownFact], author: str, room: int) -> Prompt:
    """Return the prompt for an episode.

    Args:
        rules: What `prefix` returns.
        episode: Whose text is asked about; what others are quoted with is left out of it.
        facts: Current facts by their short ids.
        author: Who "I" is; empty when nobody knows.
        room: Tokens for prompt and data; the text is cut at the end of a paragraph to fit in.

    Raises:
        ExtractionError: There is no room for a text.
    """
    about = [
        f"Author: {_line(author) or 'unknown'}",
        f"Date: {dates.day_of(episode.written_at):%Y-%m-%d, %A}",
        *([f"Title: {_line(episode.title)}"] if episode.title.strip() else []),
        *([f"Under: {_line(' > '.join(episode.heading))}"] if episode.heading else []),
    ]
    known = list(context.lines(facts))
    left = room - tokens(rules) - tokens("\n".join([*about, *known])) - _TOKENS_AROUND
    if left < _LEAST_TEXT:
        raise ExtractionError(
            f"A context of {room} tokens beside the answer is too small for the rules and a text.",
            remedy="Start the model with a larger context (num_ctx, --ctx-size).",
        )
    own = own_words(episode.text, episode.quoted)
    text = shortened(own, left)
    given = harmless("\n".join(["\n".join(known), "\n".join(about), text]))
    mark = _mark(given)
    blocks = [f"=== {mark} facts", *(harmless(line) for line in known or ["none"])]
    blocks += [f"=== {mark} text", *(harmless(line) for line in about), "", harmless(text), f"=== {mark} end", _LAST]
    messages: tuple[dict[str, Json], ...] = (
        {"role": "system", "content": rules},
        {"role": "user", "content": "\n".join(blocks)},
    )
    return Prompt(messages, facts, cut=len(text) < len(own))


def harmless(text: str) -> str:
    """Return a text, of the same length, without the control words of chat templates."""
    return _CONTROL.sub(lambda found: _HARMLESS[found[0]], text)


def shortened(text: str, room: int) -> str:
    """Return as many whole paragraphs of a text as fit; of a first one that is too long its lines, else its words."""
    if tokens(text) <= room:
        return text
    data = text.encode(errors="replace")[: max(0, room) * BYTES_PER_TOKEN]
    fitting = data.decode(errors="ignore")
    for end in ("\n\n", "\n", ". ", " "):
        if (at := fitting.rfind(end)) > 0:
            return fitting[:at].rstrip()
    return fitting


def _mark(data: str) -> str:
    """Return a word that is not in the data: made from it, and made again until it is not."""
    mark = digest(data)[:12]
    while mark in data:
        mark = digest(mark)[:12]
    return mark


def _line(text: str) -> str:
    return " ".join(text.split())[:300]
