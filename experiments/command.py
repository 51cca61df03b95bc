"""`shoal papers`: the experiments of the papers that shoal's methods come from, from one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from experiments import NAMES
from shoal.cli.bars import progress
from shoal.cli.files import file_path
from shoal.cli.screen import AsJson, ShowValues, command, messages, print_json, screen
from shoal.errors import ParameterError, one_of


@command
def papers(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help=f"Which: {', '.join(NAMES)}. Default: all.")
    ] = None,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="DIR", parser=file_path, help="Where measurements, figures and pages go."
        ),
    ] = Path("papers"),
    quick: Annotated[bool, typer.Option("--quick", help="Few and small sizes, for a first look.")] = False,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Measure again what the papers report on Adult, and hold it against what they claim.

    In full it takes hours. It can be interrupted: the same command goes on where it ended.
    """
    for name in names or []:
        if name not in NAMES:
            raise ParameterError(one_of("a paper", name, NAMES))
    import experiments
    from experiments.pages import judged
    from experiments.running import run

    every = experiments.papers()
    try:
        with progress(as_json=as_json) as bar:
            written = run(every, output, names or [], quick=quick, progress=bar)
    except KeyboardInterrupt:
        messages.print("What has been measured is kept: the same command goes on where it ended.")
        raise
    claims = judged(every, output)
    if as_json:
        print_json({"files": [path.name for path in written], "claims": claims})
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("paper", "where", "claim", ""):
        table.add_column(heading)
    for claim in claims:
        table.add_row(claim["paper"], claim["where"], claim["claim"], claim["verdict"])
    screen.print(table)
    if quick:
        screen.print("Measured on few and small sizes: read it as a trial.")
    screen.print(f"Written: {output / 'README.md'}, and {len(written) - 1} more files beside it.", markup=False)
