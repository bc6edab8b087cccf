"""Fetching a model: over TLS from a hub that breaks off, lies and sends elsewhere."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import pytest
import trustme

from ctxsync import model_hub, model_store
from ctxsync.engine.extraction import gliner
from ctxsync.errors import ModelError, ProviderDown, UsageError
from ctxsync.home import Home
from tests.app.hub import COMMIT, REPO, Hub
from tests.engine.extraction.gliner import tiny

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = model_store.GLINER


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def hub(
    tmp_path: Path, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> Iterator[Hub]:
    """A hub with the small model, whose certificate is trusted; nothing is tried on a sentence here."""
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    monkeypatch.setattr(gliner, "LIBRARY", "gliner2_onnx_that_is_not_here")
    folder = tiny.build(tmp_path / "repository")
    (folder / "README.md").write_text("left there", encoding="utf-8")
    (folder / "pytorch_model.bin").write_bytes(b"left there too")
    with Hub(folder, authority) as hub:
        yield hub


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.create()
    return home


def pull(home: Home, hub: Hub, **more: Any) -> tuple[model_store.Kept, bool]:
    return model_hub.pull(home, lambda *_: None, hub=hub.url, repo=REPO, **more)


def left(home: Home) -> list[str]:
    return sorted(path.name for path in model_store.folder(home).glob("*"))


def fetched(hub: Hub) -> list[str]:
    return [path.partition(f"{COMMIT}/")[2] for path, _ in hub.asked if COMMIT in path]


def test_what_is_fetched_is_the_model_and_nothing_beside_it(home: Home, hub: Hub) -> None:
    seen: list[tuple[int, int]] = []
    kept, fresh = model_hub.pull(home, lambda *step: seen.append(step), hub=hub.url, repo=REPO)

    assert fresh
    assert model_store.installed(home)
    assert (kept.licence, kept.revision, kept.origin) == ("apache-2.0", COMMIT, f"{hub.url}/{REPO}")
    assert seen == sorted(seen)
    assert seen[-1] == (kept.size, kept.size)
    assert left(home) == [NAME]
    assert sorted(fetched(hub)) == sorted(kept.files)
    assert not {"README.md", "pytorch_model.bin"} & set(fetched(hub))


def test_the_same_again_fetches_no_file_and_another_none_either(home: Home, hub: Hub) -> None:
    pull(home, hub)
    hub.asked.clear()
    assert not pull(home, hub)[1]
    assert fetched(hub) == []

    hub.listing = lambda data: {**data, "sha": "f" * 40}
    with pytest.raises(ModelError, match="Another"):
        pull(home, hub)
    assert len(hub.asked) == 2


def test_a_broken_line_is_taken_up_where_it_ended(home: Home, hub: Hub) -> None:
    broken: list[str] = []

    def answer(handler: Any, path: str) -> bool:
        if not path.endswith("encoder.onnx") or broken:
            return False
        broken.append(path)
        handler.give((hub.folder / "onnx" / "encoder.onnx").read_bytes(), only=1000)
        return True

    hub.answer = answer
    pull(home, hub)

    assert [asked for path, asked in hub.asked if path == broken[0]] == ["", "bytes=1000-"]
    assert model_store.installed(home)


def test_what_arrived_before_it_was_given_up_is_not_fetched_again(home: Home, hub: Hub) -> None:
    def answer(handler: Any, path: str) -> bool:
        if path.endswith("span_rep.onnx"):
            handler.give(b"", 503)
            return True
        return False

    hub.answer = answer
    with pytest.raises(ModelError, match="503") as caught:
        pull(home, hub)
    assert "ctxsync models add" in caught.value.remedy
    assert NAME not in left(home)

    hub.answer = lambda _handler, _path: False
    hub.asked.clear()
    pull(home, hub)
    assert fetched(hub) == ["onnx/span_rep.onnx", "onnx/count_embed.onnx"]


def test_a_hub_that_knows_no_ranges_is_read_from_the_start(home: Home, hub: Hub) -> None:
    times: list[int] = []

    def answer(handler: Any, path: str) -> bool:
        if not path.endswith("encoder.onnx"):
            return False
        times.append(1)
        content = (hub.folder / "onnx" / "encoder.onnx").read_bytes()
        del handler.headers["Range"]
        handler.give(content, only=500 if len(times) == 1 else None)
        return True

    hub.answer = answer
    pull(home, hub)
    assert model_store.installed(home)


@pytest.mark.parametrize("name", ["onnx/encoder.onnx", "tokenizer_config.json"])
def test_content_that_its_digest_does_not_fit_is_never_installed(home: Home, hub: Hub, name: str) -> None:
    def answer(handler: Any, path: str) -> bool:
        if not path.endswith(name):
            return False
        content = bytearray((hub.folder / name).read_bytes())
        content[7] ^= 1
        handler.give(bytes(content))
        return True

    hub.answer = answer
    with pytest.raises(ModelError, match="does not arrive whole"):
        pull(home, hub)
    assert NAME not in left(home)


def test_more_than_was_announced_is_refused(home: Home, hub: Hub) -> None:
    def answer(handler: Any, path: str) -> bool:
        if path.endswith("encoder.onnx"):
            handler.give((hub.folder / "onnx" / "encoder.onnx").read_bytes() + b"x" * 100)
            return True
        return False

    hub.answer = answer
    with pytest.raises(ModelError, match="larger than was announced"):
        pull(home, hub)


@pytest.mark.parametrize("where", ["http://127.0.0.1/x", "https://elsewhere.example/x", "file:///etc/passwd"])
def test_it_goes_nowhere_else(home: Home, hub: Hub, where: str) -> None:
    def answer(handler: Any, path: str) -> bool:
        if path.endswith("encoder.onnx"):
            handler.give(b"", 302, Location=where)
            return True
        return False

    hub.answer = answer
    with pytest.raises(ModelError, match="may not go"):
        pull(home, hub)


def test_a_redirect_within_the_hub_is_followed(home: Home, hub: Hub) -> None:
    def answer(handler: Any, path: str) -> bool:
        if path.endswith("encoder.onnx") and not path.startswith("/store"):
            handler.give(b"", 302, Location=f"/store{path}")
            return True
        if path.startswith("/store"):
            handler.give((hub.folder / "onnx" / "encoder.onnx").read_bytes())
            return True
        return False

    hub.answer = answer
    pull(home, hub)
    assert model_store.installed(home)


def test_a_redirect_in_a_circle_ends(home: Home, hub: Hub) -> None:
    def answer(handler: Any, path: str) -> bool:
        handler.give(b"", 302, Location=path)
        return True

    hub.answer = answer
    with pytest.raises(ModelError, match="circle"):
        pull(home, hub)


@pytest.mark.parametrize("content", [b"<html>no</html>", b"[]", b'{"sha": "abc"}', b'{"sha": "../x", "siblings": []}'])
def test_what_does_not_answer_as_a_hub_is_told(home: Home, hub: Hub, content: bytes) -> None:
    def answer(handler: Any, _path: str) -> bool:
        handler.give(content)
        return True

    hub.answer = answer
    with pytest.raises(ModelError, match=r"[Hh]ub|answer"):
        pull(home, hub)


def test_a_name_that_leads_out_of_the_folder_is_not_fetched(home: Home, hub: Hub) -> None:
    def listing(data: dict[str, Any]) -> dict[str, Any]:
        data["siblings"].append({"rfilename": "../evil.json", "size": 2, "blobId": "0"})
        return data

    hub.listing = listing
    pull(home, hub)
    assert not any("evil" in path for path, _ in hub.asked)


def test_a_model_without_the_files_it_needs_is_told(home: Home, hub: Hub) -> None:
    (hub.folder / "gliner2_config.json").unlink()
    with pytest.raises(ModelError, match=r"gliner2_config\.json is not among"):
        pull(home, hub)


def test_a_precision_that_is_not_offered_names_those_that_are(home: Home, hub: Hub) -> None:
    with pytest.raises(UsageError) as caught:
        pull(home, hub, precision="fp16")
    assert caught.value.remedy == "It has: fp32."


def test_a_certificate_that_nobody_vouches_for_is_refused(
    home: Home, hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "other.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "other.pem"))
    with pytest.raises(ModelError, match="cannot be reached"):
        pull(home, hub)
    assert hub.asked == []


@pytest.mark.parametrize("address", ["http://127.0.0.1:1", "huggingface.co", "https://", "file:///tmp"])
def test_only_https_addresses_are_hubs(home: Home, address: str) -> None:
    with pytest.raises(UsageError, match="no https address"):
        model_hub.pull(home, lambda *_: None, hub=address)


@pytest.mark.parametrize("repo", ["name", "a/b/c", "../x", "a/.."])
def test_only_owner_and_name_are_a_repository(home: Home, repo: str) -> None:
    with pytest.raises(UsageError, match="no repository"):
        model_hub.pull(home, lambda *_: None, repo=repo)


def test_without_a_network_it_says_what_to_fetch_by_hand_and_where_to(home: Home) -> None:
    with socket.socket() as free:  # bound and not listening: a connection is refused
        free.bind(("127.0.0.1", 0))
        address = f"https://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(ModelError, match="cannot be reached") as caught:
            model_hub.pull(home, lambda *_: None, hub=address)

    for word in (f"{address}/{model_hub.REPO}", "gliner2_config.json", "tokenizer.json", "ctxsync models add FOLDER"):
        assert word in caught.value.remedy


def test_a_hub_with_an_account_is_refused_without_repeating_it(home: Home) -> None:
    with pytest.raises(UsageError) as told:
        model_hub.pull(home, lambda *_: None, hub="https://me:hunter2@hub.example")
    assert "hunter2" not in str(told.value)


def test_a_proxy_that_cannot_be_used_is_told_when_fetching(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "ftp://me:hunter2@127.0.0.1:9")
    with pytest.raises(ProviderDown, match="proxy") as told:
        model_hub.pull(home, lambda *_: None, hub="https://hub.example")
    assert "hunter2" not in str(told.value)
