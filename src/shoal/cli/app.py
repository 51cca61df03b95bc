"""The program `shoal`: its commands, each in a file of its own."""

from __future__ import annotations

import signal
import sys
from typing import Annotated, NoReturn

import typer

from shoal.cli import anonymize, checkout, compare, demo, hierarchy, measure, schema, vault, verify, warmup
from shoal.cli.streams import lost, watch
from shoal.cli.usage import Commands
from shoal.version import __version__

app = typer.Typer(
    name="shoal",
    cls=Commands,
    help="Keep published person-level data k-anonymous: every record looks like at least k − 1 others.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # a traceback with local variables would show the data
    context_settings={"help_option_names": ["-h", "--help"]},
)
PANEL = "One table"
app.command("demo", rich_help_panel=PANEL)(demo.demo)
app.command("anonymize", rich_help_panel=PANEL)(anonymize.anonymize)
app.command("verify", rich_help_panel=PANEL)(verify.verify)
app.command("measure", rich_help_panel=PANEL)(measure.measure)
app.add_typer(schema.app, name="schema", rich_help_panel=PANEL)
app.command("hierarchy", rich_help_panel=PANEL)(hierarchy.hierarchy)
app.command("compare", rich_help_panel=PANEL)(compare.compare)
vault.register(app)
app.command("warmup", rich_help_panel="This machine")(warmup.warmup)
checkout.register(app)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"shoal {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options before the command."""


def main() -> None:
    watch()
    signal.signal(signal.SIGTERM, _stop)
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `shoal … | head` ends as other programs do, not with a "no"
    code: str | int | None = 0
    try:
        app()
    except SystemExit as end:
        code = end.code
    except OSError as problem:  # outside of the commands: --install-completion
        print(f"Error: writing failed: {problem.strerror}.", file=sys.stderr)  # noqa: T201  # the program's own output
        code = 2
    if complaint := lost():  # of what is said outside of the commands: help, the version, wrong usage
        print(f"Error: {complaint}", file=sys.stderr)  # noqa: T201  # the program's own output
        code = 2
    sys.exit(code)


def _stop(number: int, frame: object) -> NoReturn:
    """Being told to end is an interruption: what is half done is cleaned up."""
    raise KeyboardInterrupt
