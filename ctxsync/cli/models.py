"""`ctxsync models`: list, add, pull and remove."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path  # noqa: TC003 - typer reads it at run time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ctxsync.cli.group import Command, Group
from ctxsync.cli.options import JsonFlag, home_of, require_home, show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ctxsync.cli.output import Out

AGAIN = "The next `ctxsync sync` extracts with it; what is stored is extracted once more then."

group = typer.Typer(
    cls=Group,
    add_completion=False,
    rich_markup_mode=None,
    help="""List, add, fetch and remove models.

    Examples:
        ctxsync models list
        ctxsync models add ~/Downloads/gliner2-large-v1-onnx
        ctxsync models pull gliner2
    """,
)
Name = Annotated[str, typer.Argument(metavar="NAME", help="gliner2.")]


@group.command("list", cls=Command)
def list_(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """List each model with its state, size, licence, checksum and place.

    Nothing is fetched and no model is opened.

    Examples:
        ctxsync models list
        ctxsync models list --json
    """
    from ctxsync.model_list import listed

    show({"models": listed(home_of(ctx))}, _listed, as_json=as_json)


@group.command(cls=Command)
def add(
    ctx: typer.Context,
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A model's folder, or a .zip, .tar or .tar.gz of it.")],
    as_json: JsonFlag = False,
) -> None:
    """Install a model from a folder or an archive.

    It is copied, checked, and tried on one sentence; adding the same again changes nothing. Graphs, JSON and text are
    kept; code and pickled weights are refused.

    Examples:
        ctxsync models add ~/Downloads/gliner2-large-v1-onnx
        ctxsync models add gliner2.tar.gz
    """
    from ctxsync import model_store

    home = home_of(ctx)
    require_home(ctx, home)
    with _shown("Copying") as progress:
        kept, fresh = model_store.add(home, path, progress)
    show(_added(kept, fresh=fresh), _report, as_json=as_json)


@group.command(cls=Command)
def pull(
    ctx: typer.Context,
    name: Name,
    *,
    hub: Annotated[str | None, typer.Option("--hub", metavar="URL", help="Else https://huggingface.co.")] = None,
    repo: Annotated[
        str | None, typer.Option("--repo", metavar="OWNER/NAME", help="Else lmo3/gliner2-large-v1-onnx.")
    ] = None,
    revision: Annotated[str, typer.Option("--revision", metavar="R", help="A branch, tag or commit.")] = "main",
    precision: Annotated[str, typer.Option("--precision", metavar="P", help="fp32, or fp16 where offered.")] = "fp32",
    as_json: JsonFlag = False,
) -> None:
    """Fetch a model from a hub, and install it.

    Only this command fetches, only over https, and none of your texts goes there. What a broken line left is taken up
    again by the next call. Without a network: `ctxsync models add`.

    Examples:
        ctxsync models pull gliner2
        ctxsync models pull gliner2 --precision fp16
    """
    from ctxsync import model_hub

    _known(name)
    home = home_of(ctx)
    require_home(ctx, home)
    with _shown("Fetching") as progress:
        kept, fresh = model_hub.pull(
            home,
            progress,
            hub=hub or model_hub.HUB,
            repo=repo or model_hub.REPO,
            revision=revision,
            precision=precision,
        )
    show(_added(kept, fresh=fresh), _report, as_json=as_json)


@group.command(cls=Command)
def remove(
    ctx: typer.Context,
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Delete an installed model; the built-in extractor takes over.

    Nothing that was extracted with it is lost.

    Examples:
        ctxsync models remove gliner2 --yes
    """
    from ctxsync import model_store
    from ctxsync.errors import UsageError

    _known(name)
    home = home_of(ctx)
    require_home(ctx, home)
    if not yes and (model_store.folder(home) / name).exists():
        if not sys.stdin.isatty():
            raise UsageError(
                "It deletes files and nobody is there to ask.", remedy=f"Run `ctxsync models remove {name} --yes`."
            )
        typer.confirm(f"Delete {model_store.folder(home) / name}?", abort=True, err=True)
    model_store.remove(home)
    show({"removed": name}, _removed, as_json=as_json)


def _known(name: str) -> None:
    from ctxsync import model_store
    from ctxsync.errors import UsageError
    from ctxsync.model_list import PACKAGED

    if name in {model.name for model in PACKAGED}:
        raise UsageError(f"{name} comes with ctxsync's packages.", remedy="Run `ctxsync models list`.")
    if name != model_store.GLINER:
        raise UsageError(f"No model is called {name}.", remedy="Run `ctxsync models list`.")


def _added(kept: Any, *, fresh: bool) -> dict[str, Any]:
    from ctxsync.engine.extraction import gliner

    return {
        "name": kept.name,
        "added": fresh,
        "size": kept.size,
        "files": len(kept.files),
        "licence": kept.licence,
        "checksum": f"sha256:{kept.digest}",
        "remedy": "" if gliner.is_available() else gliner.INSTALL,
    }


@contextmanager
def _shown(word: str) -> Iterator[Callable[[int, int], None]]:
    """Give a function that shows bytes done: a bar on a terminal's stderr, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    from ctxsync.cli.output import progress_console

    columns = (
        TextColumn(word),
        BarColumn(bar_width=20),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=progress_console(), transient=True) as bars:
        task = bars.add_task(word, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)


def _listed(out: Out, document: dict[str, Any]) -> None:
    from ctxsync.cli.output import joined, line

    for model in document["models"]:
        line(out, (model["name"], "bold"), f"  {model['state']}", (f"  {model['use']}", "dim"))
        size = _bytes(model["size"]) if model["size"] else ""
        facts = joined((size, model["licence"], model["checksum"], model["path"]))
        if facts:
            line(out, (facts, "dim"), indent=4)
        if model["remedy"]:
            line(out, model["remedy"], indent=4)


def _report(out: Out, document: dict[str, Any]) -> None:
    from ctxsync.cli.output import line

    state = "installed" if document["added"] else "was installed already"
    line(out, (document["name"], "bold"), f" {state}: {_bytes(document['size'])}, {document['checksum']}")
    if document["remedy"]:
        line(out, f"The library that runs it is missing. {document['remedy']}")
    elif document["added"]:
        line(out, AGAIN)


def _removed(out: Out, document: dict[str, Any]) -> None:
    from ctxsync.cli.output import line

    line(out, (document["removed"], "bold"), " is deleted. The built-in extractor reads what comes next.")


def _bytes(size: int) -> str:
    for unit, step in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= step:
            return f"{size / step:,.1f} {unit}"
    return f"{size} bytes"
