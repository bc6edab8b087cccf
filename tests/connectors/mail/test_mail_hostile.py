"""Mail made to cost time or memory, or to change what other mail says: each takes about as long as any other mail."""

from __future__ import annotations

import time

import pytest

from ctxsync.connectors.mail.headers import addresses, words_of
from ctxsync.connectors.mail.message import mail_item

SECONDS = 5.0
"""Far over what these take, on a slow machine too; what takes the square of its length takes minutes at these sizes."""
HEAD = b"From: Rosa <rosa@example.org>\nSubject: x\nMessage-ID: <1@example.org>\n"


def seconds(began: float) -> float:
    return time.process_time() - began


@pytest.mark.parametrize(
    "field",
    ["a" * 300_000, '"' + '\\"' * 150_000 + "\\", "(" + "\\(" * 150_000 + "(", "(a" * 100_000, "a" * 300_000 + "@"],
    ids=["no address", "quotes without end", "comments without end", "open brackets", "an address without its end"],
)
def test_an_address_field_made_to_be_slow_is_read_in_time_linear_in_its_length(field: str) -> None:
    began = time.process_time()
    addresses(field)
    assert seconds(began) < SECONDS


def test_a_hundred_thousand_encoded_words_are_one_text() -> None:
    began = time.process_time()
    assert words_of("=?utf-8?q?x?= " * 70_000).strip() == "x" * 70_000
    assert seconds(began) < SECONDS


def test_parameters_without_end_in_an_enriched_text_cost_no_more_than_others() -> None:
    began = time.process_time()
    mail_item(HEAD + b"Content-Type: text/enriched\n\n" + b"<param>" * 50_000)
    assert seconds(began) < SECONDS
