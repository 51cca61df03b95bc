"""What a person sees: results on standard output, progress and errors on standard error.

Exit codes: 0 done, 1 the answer is no, 2 could not be done, 130 interrupted.
"""

from __future__ import annotations

import functools
import math
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import rich.progress
import typer
from rich.text import Text

import shoal
from shoal.cli.terminal import Screen, harmless, json_text

Command = TypeVar("Command", bound=Callable[..., None])

AsJson = Annotated[bool, typer.Option("--json", help="Print the same facts as JSON, for a program.")]
ShowValues = Annotated[
    bool,
    typer.Option("--show-values", help="Let error messages show values of the data (on a terminal only)."),
]

# Asked for a release, these are an answer; every other error says that the question could not be dealt with.
NO = (shoal.VerificationError, shoal.Unchanged)

screen = Screen(highlight=False)
messages = Screen(stderr=True, highlight=False)


class Interrupted(shoal.ShoalError):
    """Somebody pressed Ctrl-C, or the system wants to end."""


def command(function: Command) -> Command:
    """Turn what the library raises into a message and an exit code. The command must take as_json and show_values."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            with notes(as_json=kwargs["as_json"]):
                function(*args, **kwargs)
            flush()
        except shoal.ShoalError as error:
            _explain(error, as_json=kwargs["as_json"], show_values=kwargs["show_values"])
            raise typer.Exit(1 if isinstance(error, NO) else 2) from None
        except KeyboardInterrupt:
            stopped = Interrupted("interrupted. A release or a change to a vault is made whole or not at all.")
            _explain(stopped, as_json=kwargs["as_json"], show_values=False)
            raise typer.Exit(130) from None
        except OSError as problem:  # standard output on a full disk, and the like
            fault = shoal.OutputError(f"reading or writing failed: {problem.strerror or type(problem).__name__}.")
            _explain(fault, as_json=kwargs["as_json"], show_values=False)
            raise typer.Exit(2) from None
        except typer.Exit:
            raise
        except Exception as problem:
            # The text of an unexpected error may quote the data: say where it happened, not what it says.
            last = traceback.extract_tb(problem.__traceback__)[-1]
            where = f"{Path(last.filename).name}, line {last.lineno}"
            bug = shoal.InternalError(f"{type(problem).__name__} in {where}: a bug in shoal, please report it.")
            if kwargs["show_values"] and sys.stderr.isatty():
                messages.print(Text("".join(traceback.format_exception(problem)).rstrip()), soft_wrap=True)
            _explain(bug, as_json=kwargs["as_json"], show_values=False)
            raise typer.Exit(2) from None

    return run  # type: ignore[return-value]  # the same signature, by functools.wraps


def flush() -> None:
    """Bring to standard output what has been said. When Python does so at its end, nobody can tell that it has failed.

    Raises OSError; what could not be written is dropped then, or Python would try again.
    """
    try:
        sys.stdout.flush()
    except OSError:
        with open(os.devnull, "wb") as nowhere:  # noqa: PTH123  # a device
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        raise


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


class Bar(shoal.Progress):
    """A progress bar: one line per stage, gone when the work is done."""

    def __init__(self, bars: rich.progress.Progress) -> None:
        self._bars = bars
        self._task: rich.progress.TaskID | None = None
        self._name = ""

    def stage(self, name: str, total: int | None = None) -> None:
        if name == self._name and total is None:  # a kernel compiles many functions
            return
        if self._task is not None:
            self._bars.remove_task(self._task)
        self._task, self._name = self._bars.add_task(name, total=total), name

    def advance(self, steps: int) -> None:
        if self._task is not None:
            self._bars.advance(self._task, steps)

    def note(self, text: str) -> None:
        if self._task is not None:
            self._bars.update(self._task, description=f"{self._name}, {text}")


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


@contextmanager
def progress(*, as_json: bool) -> Iterator[shoal.Progress]:
    """A bar on standard error if somebody is watching, silence otherwise."""
    if as_json or not sys.stderr.isatty():
        yield shoal.Progress()
        return
    with rich.progress.Progress(
        rich.progress.SpinnerColumn(),
        rich.progress.TextColumn("{task.description}"),
        rich.progress.BarColumn(),
        rich.progress.TaskProgressColumn(),
        rich.progress.TimeElapsedColumn(),
        console=messages,
        transient=True,
    ) as bars:
        yield Bar(bars)
