"""`shoal bench`: how fast, how large, against what, in one run on this machine."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from benchmarks import BENCHMARKS, run
from shoal.cli.screen import AsJson, ShowValues, command, messages, print_json, screen
from shoal.errors import ParameterError, one_of


@command
def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help=f"Which: {', '.join(BENCHMARKS)}. Default: all."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes, for a first look.")] = False,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Measure shoal against plain versions of the same work. Read the ratios: times depend on the machine."""
    for name in names or []:
        if name not in BENCHMARKS:
            raise ParameterError(one_of("a benchmark", name, BENCHMARKS))
    findings = []
    for name in names or BENCHMARKS:
        if not as_json:
            messages.print(f"[dim]{name} …[/]")
        findings += run(name, quick=quick)
    if as_json:
        print_json({"findings": [finding._asdict() for finding in findings]})
        return
    table = Table(title="One run; on one core, where no workers are named")
    for heading in ("what", "measured", "beside", "ratio", "wanted"):
        table.add_column(heading, justify="left" if heading in ("what", "wanted") else "right")
    for finding in findings:
        table.add_row(*finding.cells())
    screen.print(table)
