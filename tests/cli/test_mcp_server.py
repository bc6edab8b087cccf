"""Agents ask and search over MCP: read-only, typed, and told that what they read is untrusted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

from ctxsync.app import App
from ctxsync.mcp_server import server

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


def talk(target: Any, conversation: Callable[[Client], Awaitable[Any]]) -> Any:
    """Connect a client of the SDK, have the conversation, return what it returned."""

    async def session() -> Any:
        with anyio.fail_after(60):
            async with Client(target) as client:
                return await conversation(client)

    return anyio.run(session)


@pytest.fixture
def here(synced: Any) -> Any:
    """The server, in this process."""
    return server(App.open(str(synced.home)))


@pytest.fixture
def process(synced: Any) -> StdioServerParameters:
    """The server as a client starts it."""
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "ctxsync", "mcp"],
        env={**os.environ, "CTXSYNC_HOME": str(synced.home)},
    )


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    return await client.call_tool(tool, arguments)


def test_there_are_two_tools_and_both_only_read(here: Any) -> None:
    tools = talk(here, lambda client: client.list_tools()).tools
    assert [tool.name for tool in tools] == ["ask", "search"]
    for tool in tools:
        assert tool.annotations.read_only_hint is True
        assert tool.annotations.destructive_hint is False
        assert tool.annotations.open_world_hint is False


def test_each_tool_says_what_it_does_and_that_its_text_is_untrusted_and_types_both_ways(here: Any) -> None:
    for tool in talk(here, lambda client: client.list_tools()).tools:
        assert "untrusted content" in tool.description
        assert len(tool.description) < 500
        assert "notice" in tool.output_schema["properties"]
        assert all("description" in field or name == "limit" for name, field in tool.input_schema["properties"].items())


def test_ask_answers_with_a_fact_its_source_and_the_notice(here: Any) -> None:
    result = talk(here, lambda client: call(client, "ask", question="where does Nadia Okoro work?"))
    assert not result.is_error
    document = result.structured_content
    assert document["answers"][0]["tail"]["name"] == "Fennel Labs"
    assert document["answers"][0]["support"][0]["locator"] == "People/Nadia Okoro.md:7"
    assert "untrusted content" in document["notice"]
    assert json.loads(result.content[0].text) == document


def test_both_time_axes_work(here: Any) -> None:
    async def both(client: Client) -> Any:
        question = "where did Nadia Okoro work?"
        past = await call(client, "ask", question=question, valid_at="2021")
        before = await call(client, "ask", question=question, known_at="2020")
        return past.structured_content["answers"], before.structured_content["answers"]

    past, before = talk(here, both)
    assert [fact["tail"]["name"] for fact in past] == ["Harbour Press"]
    assert before == []


def test_search_finds_passages_and_keeps_the_limit(here: Any) -> None:
    result = talk(here, lambda client: call(client, "search", query="Nadia", limit=1))
    assert len(result.structured_content["passages"]) == 1
    assert "untrusted content" in result.structured_content["notice"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"question": "who", "valid_at": "soon"},
        {"question": "  "},
        {"question": "who", "limit": 0},
        {"question": "who", "limit": 10**9},
        {},
    ],
)
def test_a_bad_call_is_an_error_that_says_why_and_the_server_goes_on(here: Any, arguments: dict[str, Any]) -> None:
    async def both(client: Client) -> Any:
        return await client.call_tool("ask", arguments), await call(
            client, "ask", question="where does Nadia Okoro work?"
        )

    bad, good = talk(here, both)
    assert bad.is_error
    assert bad.content[0].text
    assert "Traceback" not in bad.content[0].text
    assert not good.is_error


def test_a_home_without_a_graph_is_an_error_that_names_the_command(line: Any) -> None:
    line("init")
    result = talk(server(App.open(str(line.home))), lambda client: call(client, "ask", question="who"))
    assert result.is_error
    assert "ctxsync sync" in result.content[0].text


def test_many_calls_at_once_are_all_answered(here: Any) -> None:
    async def many(client: Client) -> list[Any]:
        results: list[Any] = []

        async def one() -> None:
            results.append(await call(client, "ask", question="where does Nadia Okoro work?"))

        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(one)
        return results

    assert [result.is_error for result in talk(here, many)] == [False] * 8


def test_it_works_over_stdio_as_a_process(process: StdioServerParameters) -> None:
    async def both(client: Client) -> Any:
        return await call(client, "ask", question="where does Nadia Okoro work?"), client.server_info

    result, about = talk(process, both)
    assert result.structured_content["answers"][0]["tail"]["name"] == "Fennel Labs"
    assert about.name == "ctxsync"


def test_nothing_but_the_protocol_is_on_stdout_and_it_ends_when_the_client_goes(synced: Any) -> None:
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
    }
    ran = subprocess.run(
        [sys.executable, "-m", "ctxsync", "mcp"],
        input=json.dumps(hello) + "\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "CTXSYNC_HOME": str(synced.home)},
    )
    assert ran.returncode == 0, ran.stderr
    messages = [json.loads(text) for text in ran.stdout.splitlines()]
    assert messages[0]["id"] == 1
    assert all(message["jsonrpc"] == "2.0" for message in messages)
