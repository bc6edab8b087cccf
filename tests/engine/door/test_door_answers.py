"""What comes of each kind of answer, against a server that gives it."""

from __future__ import annotations

import gzip
import socket
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any

import pytest

from ctxsync.engine.door import transport
from ctxsync.errors import AuthError, BadReply, ProviderDown, ProviderLimited, ProviderRefused
from tests.engine.door.conftest import KEY, at, call
from tests.engine.door.server import Told, said

if TYPE_CHECKING:
    from ctxsync.engine.door.door import Door
    from ctxsync.engine.door.ledger import Ledger
    from ctxsync.engine.door.provider import Provider
    from tests.engine.door.server import Clock, ModelServer


def test_an_answer_tells_its_model_its_tokens_and_what_it_cost(
    cloud: ModelServer, door: Door, provider: Provider, ledger: Ledger, clock: Clock
) -> None:
    priced = replace(provider, price_in=0.07, price_out=0.34)

    reply = door.send(priced, call())

    assert (reply.status, reply.model, reply.tokens_in, reply.tokens_out) == (200, "big", 100, 20)
    assert reply.cost_usd == pytest.approx((100 * 0.07 + 20 * 0.34) / 1e6)
    assert reply.ms > 0
    (seen,) = cloud.seen
    assert seen.path == "/v1/chat/completions"
    assert seen.body["model"] == "big"
    assert seen.headers["Authorization"] == f"Bearer {KEY}"
    (row,) = ledger.calls()
    assert row | {"ms": 0} == {
        "id": 1,
        "at": clock.now,
        "provider": "cerebras",
        "host": "llm.example",
        "model": "big",
        "episode": "e1",
        "source": "vault",
        "digest": __import__("hashlib").sha256(seen.raw).hexdigest(),
        "bytes": len(seen.raw),
        "flags": "",
        "status": "ok",
        "http": 200,
        "tokens_in": 100,
        "tokens_out": 20,
        "cost": reply.cost_usd,
        "ms": 0,
    }


@pytest.mark.parametrize(
    ("told", "error", "status"),
    [
        (Told(200, "<html>Sign in</html>"), BadReply, "bad"),
        (Told(200, ""), BadReply, "bad"),
        (Told(200, '{"choices": [{"mess'), BadReply, "bad"),
        (Told(200, "[1, 2]"), BadReply, "bad"),
        (Told(200, {"choices": []}, cut=5), BadReply, "bad"),
        (Told(200, b"no gzip", {"Content-Encoding": "gzip"}), BadReply, "bad"),
        (Told(200, {"error": {"message": "upstream", "code": 502}}), ProviderDown, "down"),
        (Told(200, {"error": {"message": "slow down", "code": 429}}), ProviderLimited, "limited"),
        (Told(400, {"error": {"message": "max_tokens is too large"}}), ProviderRefused, "refused"),
        (Told(401, {"error": {"message": "no"}}), ProviderRefused, "refused"),
        (Told(402, {}), ProviderRefused, "refused"),
        (Told(413, {}), ProviderRefused, "refused"),
        (Told(408, {}), ProviderDown, "down"),
        (Told(500, "oops"), ProviderDown, "down"),
        (Told(503, "oops"), ProviderDown, "down"),
        (Told(529, "oops"), ProviderDown, "down"),
        (Told(503, "", {"Retry-After": "7"}), ProviderLimited, "limited"),
        (Told(429, ""), ProviderLimited, "limited"),
    ],
)
def test_each_kind_of_answer_is_one_kind_of_error_and_stands_in_the_ledger(
    cloud: ModelServer, door: Door, provider: Provider, ledger: Ledger, told: Told, error: type[Exception], status: str
) -> None:
    cloud.script = [told]

    with pytest.raises(error) as caught:
        door.send(provider, call())

    assert type(caught.value) is error or error is ProviderRefused
    assert [row["status"] for row in ledger.calls()] == [status]
    assert KEY not in str(caught.value)


def test_a_provider_that_repeats_the_key_does_not_make_us_repeat_it(
    cloud: ModelServer, door: Door, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ctxsync.connectors.secrets import resolve

    monkeypatch.setenv("CEREBRAS", KEY)
    cloud.script = [Told(401, {"error": {"message": f"the key {KEY} is unknown"}})]
    keyed = replace(provider, api_key=lambda: resolve("env:CEREBRAS", source="cerebras", setting="api_key"))

    with pytest.raises(ProviderRefused, match=r"the key \*\*\* is unknown"):
        door.send(keyed, call())


def test_an_answer_that_never_ends_is_given_up(cloud: ModelServer, door: Door, provider: Provider) -> None:
    cloud.script = [Told(200, "{" + " " * 500, wait=0.05, drip=400)]

    with pytest.raises(ProviderDown, match="end in time"):
        door.send(replace(provider, timeout=0.3), call())


def test_an_answer_that_does_not_begin_is_given_up(cloud: ModelServer, door: Door, provider: Provider) -> None:
    cloud.script = [Told(200, "{}", wait=20)]

    with pytest.raises(ProviderDown, match="does not answer in time"):
        door.send(replace(provider, timeout=0.2), call())


def test_an_answer_that_is_small_only_while_packed_is_bounded(
    cloud: ModelServer, door: Door, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "MAX_BYTES", 1_000_000)
    cloud.script = [Told(200, gzip.compress(b" " * 5_000_000), {"Content-Encoding": "gzip"})]

    with pytest.raises(BadReply, match="longer than"):
        door.send(provider, call())


def test_a_server_that_is_not_there_is_down(door: Door, provider: Provider) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        with pytest.raises(ProviderDown, match="cannot be reached"):
            door.send(replace(provider, url=f"https://llm.example:{port}/v1"), call())
        with pytest.raises(ProviderDown, match="cannot be reached"):
            door.send(replace(provider, url=f"http://127.0.0.1:{port}"), call())


@pytest.mark.parametrize("how", ["seconds", "date"])
def test_retry_after_is_kept_and_no_call_is_made_before_it_passes(
    cloud: ModelServer, door: Door, provider: Provider, clock: Clock, how: str
) -> None:
    then = format_datetime(datetime.fromtimestamp(clock.now + 90, UTC), usegmt=True)
    cloud.script = [Told(429, "", {"Retry-After": "90" if how == "seconds" else then}), said("fine")]
    with pytest.raises(ProviderLimited) as caught:
        door.send(provider, call())
    assert caught.value.retry_after == pytest.approx(90)

    clock.passes(89)
    with pytest.raises(ProviderLimited) as caught:
        door.send(provider, call())
    assert caught.value.retry_after == pytest.approx(1)
    assert len(cloud.seen) == 1

    clock.passes(1)
    assert door.send(provider, call()).status == 200


@pytest.mark.parametrize(
    "gone",
    [
        Told(404, {"error": {"message": "The model `big` does not exist", "code": "model_not_found"}}),
        Told(400, {"error": {"code": "model_not_found"}}),
        Told(400, {"error": {"message": "big has been deprecated"}}),
        Told(410, {"detail": "model decommissioned"}),
    ],
)
def test_a_model_that_is_gone_is_followed_by_its_successor_from_then_on(
    cloud: ModelServer, door: Door, provider: Provider, ledger: Ledger, gone: Told
) -> None:
    cloud.script = [gone, said("one"), said("two")]
    followed = replace(provider, successors=("newer", "newest"))

    assert door.send(followed, call()).model == "newer"
    assert door.send(followed, call()).model == "newer"

    assert [seen.body["model"] for seen in cloud.seen] == ["big", "newer", "newer"]
    assert [(row["model"], row["status"]) for row in ledger.calls()] == [
        ("big", "refused"),
        ("newer", "ok"),
        ("newer", "ok"),
    ]


def test_without_a_successor_a_model_that_is_gone_is_a_refusal(
    cloud: ModelServer, door: Door, provider: Provider
) -> None:
    cloud.script = [Told(404, {"error": {"message": "no such model"}})]

    for _ in range(2):
        with pytest.raises(ProviderRefused):
            door.send(provider, call())

    assert len(cloud.seen) == 1


@pytest.mark.parametrize("key", ["two words", "line\nend", "schlüssel"])
def test_what_is_no_key_is_refused_without_being_told(door: Door, provider: Provider, key: str) -> None:
    with pytest.raises(ProviderRefused) as caught:
        door.send(replace(provider, api_key=lambda: key), call())

    assert key not in str(caught.value)


def test_a_key_that_is_not_there_is_a_refusal_with_its_remedy(door: Door, provider: Provider) -> None:
    def missing() -> str:
        raise AuthError("There is none.", remedy="Set CEREBRAS_API_KEY.")

    with pytest.raises(ProviderRefused, match="Set CEREBRAS_API_KEY"):
        door.send(replace(provider, api_key=missing), call())


def test_ollama_counts_in_its_own_words(local: ModelServer, door: Door) -> None:
    body: dict[str, Any] = {"message": {"content": "{}"}, "prompt_eval_count": 7, "eval_count": 3}
    local.script = [Told(200, body)]

    reply = door.send(at(local, api_key=None), call())

    assert (reply.tokens_in, reply.tokens_out) == (7, 3)


def test_a_cloud_is_reached_through_the_proxy_that_the_environment_names(
    cloud: ModelServer, door: Door, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which sees an encrypted connection: here it is one that is not there."""
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)

    with pytest.raises(ProviderDown):
        door.send(provider, call())

    assert cloud.seen == []


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:9", "ftp://user:hunter2@127.0.0.1:9", "http://[::1"])
def test_a_proxy_that_cannot_be_used_is_told_without_its_password(
    cloud: ModelServer, door: Door, provider: Provider, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(ProviderDown, match="the proxy for it") as told:
        door.send(provider, call())
    assert "hunter2" not in str(told.value)
    assert [row["status"] for row in ledger.calls()] == ["down"]
    assert cloud.seen == []


def test_what_a_server_says_of_an_error_can_be_stored_and_acts_on_no_terminal(
    cloud: ModelServer, door: Door, provider: Provider
) -> None:
    cloud.script = [Told(403, '{"error": {"message": "no \\ud800\\u001b]0;mine\\u0007 \\u202e way"}}')]
    with pytest.raises(ProviderRefused) as told:
        door.send(provider, call())
    assert "(403: no ]0;mine way)" in told.value.message


@pytest.mark.parametrize("count", ["1" + "0" * 30, "9" * 400])
def test_a_count_of_tokens_that_nobody_can_have_is_not_believed(
    cloud: ModelServer, door: Door, provider: Provider, ledger: Ledger, count: str
) -> None:
    cloud.script = [Told(200, f'{{"choices": [], "usage": {{"prompt_tokens": {count}, "completion_tokens": 1}}}}')]
    reply = door.send(provider, call())
    assert 0 < reply.tokens_in < 1_000
    assert ledger.calls()[0]["tokens_in"] == reply.tokens_in


def test_a_call_that_was_given_up_costs_what_was_sent(
    cloud: ModelServer, door: Door, provider: Provider, ledger: Ledger
) -> None:
    cloud.script = [Told(200, "<html>"), Told(401, "{}")]
    for _ in range(2):
        with pytest.raises((BadReply, ProviderRefused)):
            door.send(replace(provider, price_in=10.0), call())
    given_up, refused = ledger.calls()
    assert given_up["cost"] == pytest.approx(given_up["tokens_in"] * 10 / 1e6) != 0
    assert refused["cost"] == 0


def test_a_call_of_which_no_outcome_is_known_counts_as_it_was_estimated(
    cloud: ModelServer, door: Door, provider: Provider, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(transport.Transport, "request", killed)
    with pytest.raises(KeyboardInterrupt):
        door.send(replace(provider, price_in=10.0, price_out=20.0), call())
    (row,) = ledger.calls()
    assert row["status"] == "sent"
    assert row["cost"] > 0


def test_two_providers_of_one_name_have_a_key_each(cloud: ModelServer, door: Door, provider: Provider) -> None:
    cloud.script = [said("one"), said("two")]
    door.send(provider, call())
    other = replace(provider, url=f"{provider.url}/other", api_key=lambda: "another-key")
    door.send(other, call())
    assert [seen.headers["Authorization"] for seen in cloud.seen] == [f"Bearer {KEY}", "Bearer another-key"]
