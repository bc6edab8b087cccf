"""HTML mail as a reader sees it: paragraphs, lists and links; nothing hidden, nothing fetched."""

from __future__ import annotations

import time

import pytest

from ctxsync.errors import BadItem
from tests.connectors.mail.letters import html, read, text


def test_html_reads_as_paragraphs_lists_rows_and_links() -> None:
    page = """<p>Dear&nbsp;Robin,<br>see <a href="https://example.com/b?x=1">our beans</a>.</p>
    <ul><li>Runner<li>Broad</ul><table><tr><td>Kilo</td><td>3</td></tr></table>
    <p><a href="https://example.com">https://example.com</a></p>"""
    assert text(html(page)).split("\n") == [
        "Dear Robin,",
        "see our beans (https://example.com/b?x=1).",
        "",
        "* Runner",
        "* Broad",
        "",
        "Kilo | 3",
        "",
        "https://example.com",
    ]


@pytest.mark.parametrize(
    "hidden",
    [
        '<div style="display: none">GHOST</div>',
        '<span style="DISPLAY:NONE !important">GHOST</span>',
        '<div style="visibility:hidden">GHOST</div>',
        '<div style="font-size:0px">GHOST</div>',
        '<div style="font-size:0"><b>GHOST</b></div>',
        '<div style="max-height:0; overflow:hidden">GHOST</div>',
        '<div style="opacity:0">GHOST</div>',
        '<div style="mso-hide:all">GHOST</div>',
        '<div style="position:absolute;left:-9999px">GHOST</div>',
        "<div hidden>GHOST</div>",
        '<style>.pre{color:red;display:none}</style><div class="a pre">GHOST</div>',
        "<style>#p{display:none}</style><div id=p>GHOST</div>",
        "<title>GHOST</title><style>GHOST</style><script>GHOST</script><!-- GHOST -->",
        "<template>GHOST</template><noscript>GHOST</noscript>",
        '<img src="http://tracker.example.com/1.gif?GHOST" width=1 height=1 alt="GHOST">',
        '<input type=hidden value="GHOST">',
    ],
)
def test_hidden_text_and_pixels_are_dropped(hidden: str) -> None:
    seen = text(html(f"<p>Before</p>{hidden}<p>After</p>"))
    assert "GHOST" not in seen
    assert seen.split() == ["Before", "After"]


@pytest.mark.parametrize(
    "shown",
    [
        '<td style="font-size:0"><div style="font-size:13px">SEEN</div></td>',
        '<div style="visibility:hidden"><b style="visibility:visible">SEEN</b></div>',
        "<style>@media (max-width:1px){.a{display:none}}</style><div class=a>SEEN</div>",
        '<div style="opacity:0.9;font-size:0.9em">SEEN</div>',
    ],
)
def test_what_is_seen_stays(shown: str) -> None:
    assert "SEEN" in text(html(f"<table><tr>{shown}</tr></table>"))


def test_remote_content_is_never_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    def refuse(*_: object) -> None:
        raise AssertionError("a mail was about to fetch something")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    page = '<link rel=stylesheet href="http://example.com/a.css"><img src="http://example.com/a.png"><p>Words</p>'
    assert text(html(page + '<iframe src="http://example.com/"></iframe>')) == "Words"


def test_html_nested_beyond_measure_is_refused_in_time() -> None:
    begun = time.perf_counter()
    with pytest.raises(BadItem, match="elements deep"):
        read(html("<div>" * 100_000 + "deep"))
    assert text(html("<blockquote>" * 2_000 + "deep")) == "deep"
    assert time.perf_counter() - begun < 5
