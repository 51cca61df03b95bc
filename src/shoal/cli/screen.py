"""What a person sees: results on standard output, progress and errors on standard error.

Exit codes: 0 done, 1 the answer is no, 2 could not be done or not be said, 130 interrupted.
"""

from __future__ import annotations

import functools
import math
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.text import Text

import shoal
from shoal.cli.streams import lost
from shoal.cli.terminal import Screen, harmless, json_text

Command = TypeVar("Command", bound=Callable[..., None])

AsJson = Annotated[bool, typer.Option("--json", help="Print the same facts as JSON, for a program.")]
ShowValues = Annotated[
    bool,
    typer.Option("--show-values", help="Let error messages show values of the data (on a terminal only)."),
]

# Asked for a release or a change, these are an answer; every other error says that it could not be dealt with.
NO = (shoal.VerificationError, shoal.Unchanged, shoal.Doubtful)

screen = Screen(highlight=False)
messages = Screen(stderr=True, highlight=False)


class Interrupted(shoal.ShoalError):
    """Somebody pressed Ctrl-C, or the system wants to end."""


def command(function: Command) -> Command:
    """Turn what the library raises into a message and an exit code. The command must take as_json and show_values."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> None:
        as_json, show_values = kwargs["as_json"], kwargs["show_values"]
        try:
            with notes(as_json=as_json):
                function(*args, **kwargs)
            code = 0
        except typer.Exit as end:
            code = end.exit_code
        except shoal.ShoalError as error:
            _explain(error, as_json=as_json, show_values=show_values)
            code = 1 if isinstance(error, NO) else 2
        except KeyboardInterrupt:
            stopped = Interrupted("interrupted. A release or a change to a vault is made whole or not at all.")
            _explain(stopped, as_json=as_json, show_values=False)
            code = 130
        except OSError as problem:
            fault = shoal.OutputError(f"reading or writing failed: {problem.strerror or type(problem).__name__}.")
            _explain(fault, as_json=as_json, show_values=False)
            code = 2
        except Exception as problem:
            # The text of an unexpected error may quote the data: say where it happened, not what it says.
            last = traceback.extract_tb(problem.__traceback__)[-1]
            where = f"{Path(last.filename).name}, line {last.lineno}"
            bug = shoal.InternalError(f"{type(problem).__name__} in {where}: a bug in shoal, please report it.")
            if show_values and sys.stderr.isatty():
                messages.print(Text("".join(traceback.format_exception(problem)).rstrip()), soft_wrap=True)
            _explain(bug, as_json=as_json, show_values=False)
            code = 2
        if complaint := lost():
            # Or somebody might insert the batch again.
            hint = "Only what the command had to say is lost: its work is done." if code == 0 else None
            _explain(shoal.OutputError(complaint, hint=hint), as_json=as_json, show_values=False)
            code = 2
        if code:
            raise typer.Exit(code)

    return run  # type: ignore[return-value]  # the same signature, by functools.wraps


def _explain(error: shoal.ShoalError, *, as_json: bool, show_values: bool) -> None:
    if as_json:
        print(json_text(error.facts()), file=sys.stderr)  # noqa: T201  # the command's own output
        return
    revealed = show_values and sys.stderr.isatty()
    said = harmless(error.reveal() if revealed else str(error))
    messages.print(Text.assemble(("Error: ", "bold red"), said))
    if show_values and not revealed:
        messages.print("(Values are shown on a terminal only.)")


def print_json(facts: Mapping[str, object]) -> None:
    print(json_text(facts, indent=2))  # noqa: T201  # the command's own output


def number(value: float) -> str:
    """1234567 as 1 234 567; fractions to four digits."""
    if not math.isfinite(value):
        return str(value)
    return f"{value:,.0f}".replace(",", " ") if value == int(value) or value >= 1000 else f"{value:.4g}"


def plural(count: int, one: str, more: str | None = None) -> str:
    return f"{number(count)} {one if count == 1 else more or one + 's'}"


@contextmanager
def notes(*, as_json: bool) -> Iterator[None]:
    """Show what the library warns of as a note on standard error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", shoal.ShoalWarning)
        yield
    told: set[str] = set()
    for warning in caught:
        if str(warning.message) in told:
            continue
        told.add(str(warning.message))
        if not issubclass(warning.category, shoal.ShoalWarning):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        elif as_json:
            print(json_text({"note": str(warning.message)}), file=sys.stderr)  # noqa: T201  # the command's own
        else:
            messages.print(f"Note: {warning.message}", markup=False)
