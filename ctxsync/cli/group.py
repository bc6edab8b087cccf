"""Commands that load when they are called, plain help, and suggestions for typos; knows no command by name.

Help is laid out without rich: it has to be there at once. Everything a command imports, it imports when it runs.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from ctxsync.cli.coercion import make_plain
from ctxsync.cli.errors import ReaderGone, exit_code_of

EXAMPLES = "\nExamples:\n"
GLOBAL_OPTIONS = "--home FOLDER and --debug may stand anywhere on the line."
_WIDEST_HELP = 96


@dataclass(frozen=True, slots=True)
class Entry:
    """A command of a lazy group.

    Args:
        name: As typed.
        target: `module:attribute` of the function, or of the `typer.Typer` of a group.
        summary: One line for the list of commands; equals the first line of the docstring.
    """

    name: str
    target: str
    summary: str


@dataclass(slots=True)
class Session:
    """What the options before the command said; `ctx.obj` of every command."""

    home: str | None = None
    debug: bool = False


class _Plain:
    """Arguments read plainly, and help as plain text: usage, what it does, options, examples."""

    help: str | None

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, `--help` included."""
        return make_plain(super().get_params(ctx))  # type: ignore[misc]  # of the class it is mixed into

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.width = min(formatter.width if ctx.terminal_width else _terminal_width(), _WIDEST_HELP)
        text, _, examples = (self.help or "").partition(EXAMPLES)
        self.format_usage(ctx, formatter)  # type: ignore[attr-defined]  # of the class it is mixed into
        for paragraph in text.strip().split("\n\n"):
            formatter.write("\n")
            if paragraph.startswith("    "):
                formatter.write(f"{paragraph}\n")
            else:
                formatter.write_text(" ".join(paragraph.split()))
        self._write_parameters(ctx, formatter)
        if ctx.parent is not None:
            formatter.write(f"\n{GLOBAL_OPTIONS}\n")
        if examples:
            with formatter.section(heading("Examples")):
                formatter.write("".join(f"  {line.strip()}\n" for line in examples.strip().splitlines()))

    def _write_parameters(self, ctx: Any, formatter: Any) -> None:
        parameters = self.get_params(ctx)
        arguments = [
            (one.metavar or one.name, one.help or "") for one in parameters if one.param_type_name == "argument"
        ]
        options = [one.get_help_record(ctx) for one in parameters if one.param_type_name == "option"]
        for title, rows in (("Arguments", arguments), ("Options", [row for row in options if row])):
            if rows:
                with formatter.section(heading(title)):
                    formatter.write_dl(rows)
        if isinstance(self, TyperGroup):
            self.format_commands(ctx, formatter)


class Command(_Plain, TyperCommand):
    """A command; what it returns is the exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run it; a closed pipe ends it quietly."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ReaderGone from error


class Group(_Plain, TyperGroup):
    """A group of commands; without arguments it shows its help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options before the command."""
        return super().parse_args(ctx, args if args or ctx.resilient_parsing else ["--help"])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command, or name the nearest ones."""
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-") and not ctx.resilient_parsing:
            nearest = get_close_matches(args[0], known, n=2, cutoff=0.55)
            hint = f" Did you mean {' or '.join(nearest)}?" if nearest else ""
            ctx.fail(f"There is no command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)


class LazyGroup(Group):
    """The root: builds a command only when it is called, and turns every error into a message."""

    panels: ClassVar[dict[str, tuple[Entry, ...]]] = {}

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - typer passes it
        """Return all names, in the order of the help."""
        return [entry.name for entries in self.panels.values() for entry in entries]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - typer passes it
        """Import and build one command; None when there is none of that name."""
        if cmd_name not in self.commands:
            for entries in self.panels.values():
                for entry in entries:
                    if entry.name == cmd_name:
                        self.commands[cmd_name] = build(entry)
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - typer passes it
        """Write the commands by panel, importing none of them."""
        for panel, entries in self.panels.items():
            with formatter.section(heading(panel)):
                formatter.write_dl([(entry.name, entry.summary) for entry in entries])

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the global options wherever they stand."""
        return super().parse_args(ctx, hoist(args))

    def main(
        self,
        args: Any = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command line and exit with its code."""
        call = super().main
        if not standalone_mode:
            return call(args, prog_name, complete_var, standalone_mode, windows_expand_args, **extra)
        session = Session()
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")
        code = exit_code_of(
            lambda: call(args, prog_name, complete_var, False, windows_expand_args, obj=session, **extra),
            debug=lambda: session.debug,
        )
        sys.exit(code)


def build(entry: Entry) -> Any:
    """Import an entry's target and return its command."""
    module, _, attribute = entry.target.partition(":")
    target = getattr(import_module(module), attribute)
    if not isinstance(target, typer.Typer):
        function, target = target, typer.Typer(add_completion=False, rich_markup_mode=None)
        target.command(entry.name, cls=Command, short_help=entry.summary)(function)
    command = get_command(target)
    command.name = entry.name
    return command


def hoist(args: list[str]) -> list[str]:
    """Return the arguments with `--home X`, `--home=X` and `--debug` moved to the front; nothing after `--` is touched."""
    front: list[str] = []
    rest: list[str] = []
    waiting = list(args)
    while waiting:
        arg = waiting.pop(0)
        if arg == "--":
            rest += [arg, *waiting]
            break
        if arg == "--home" and waiting:
            front += [arg, waiting.pop(0)]
        elif arg == "--debug" or arg.startswith("--home="):
            front.append(arg)
        else:
            rest.append(arg)
    return front + rest


def heading(text: str) -> str:
    """Return a heading, bold on a terminal that takes colours."""
    return typer.style(text, bold=True) if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else text


def _terminal_width() -> int:
    return max(typer.get_terminal_size().columns - 1, 40)
