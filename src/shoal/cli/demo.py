"""`shoal demo`: what shoal does, on a real table that ships with it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
import typer
from rich.table import Table

import shoal
from shoal.cli.anonymize import show
from shoal.cli.screen import AsJson, ShowValues, command, number, print_json, progress, screen
from shoal.release.write import manifest_path


@command
def demo(
    k: Annotated[int, typer.Option("-k", "--k", help="Every record looks like at least k − 1 others.")] = 5,
    folder: Annotated[Path, typer.Option("--folder", help="Where to write the release.")] = Path("shoal-demo"),
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Anonymize the Adult census table (48 842 people) and show what became of it."""
    table, schema = shoal.datasets.adult(), shoal.datasets.adult_schema()
    output = folder / f"adult-k{k}.csv"
    with progress(as_json=as_json) as bar:
        release = shoal.anonymize(table, schema, k=k, progress=bar)
        bar.stage("writing")
        folder.mkdir(parents=True, exist_ok=True)
        release.write(output, force=True)
    verdict = shoal.verify(output, schema, k)
    if as_json:
        print_json(
            {
                "output": str(output),
                "manifest": str(manifest_path(output)),
                **release.manifest,
                "verdict": verdict.facts(),
            }
        )
        return
    screen.print(f"\nThe Adult table: {number(table.num_rows)} people of the 1994 US census. One group of them,")
    rows = _telling_group(release)
    _show_rows("[bold]before[/]: what the holder has", table.take(pa.array(rows)).select(schema.published))
    _show_rows("[bold]after[/]: what the release says of the same people", release.trace(rows))
    screen.print(
        "Whoever knows these people's age, work, schooling, family, race, sex and country finds "
        f"{len(rows)} rows that all look the same, and cannot tell which is whose.\n"
    )
    show(release, output)
    screen.print(
        f"\nVerified again from the written file alone: "
        f"{'[bold green]ok[/]' if verdict.ok else '[bold red]not ok[/]'}, the smallest class has {verdict.k} rows."
        "\nYour own table: [bold]shoal anonymize TABLE.csv --schema SCHEMA.toml -k 5 -o RELEASE.csv[/]"
    )


def _telling_group(release: shoal.Release) -> list[int]:
    """The rows of a smallest group in which something, but not everything, was generalized."""
    labels = release.labels
    sizes = np.bincount(labels)
    smallest = np.flatnonzero(sizes == sizes.min())
    firsts = {int(label): row for row, label in reversed(list(enumerate(labels.tolist())))}
    names = [name for name, facts in _columns(release).items() if facts["role"] == "quasi-identifier"]
    cells = release.trace([firsts[int(group)] for group in smallest]).select(names).to_pylist()
    changed = [sum(str(cell).startswith(("[", "*")) for cell in row.values()) for row in cells]
    chosen = smallest[min(range(len(smallest)), key=lambda i: abs(changed[i] - 2))]
    return [int(row) for row in np.flatnonzero(labels == chosen)]


def _columns(release: shoal.Release) -> dict[str, dict[str, str]]:
    return release.manifest["columns"]  # type: ignore[return-value]  # the manifest is JSON


def _show_rows(title: str, rows: pa.Table) -> None:
    table = Table(title=title, title_justify="left")
    for name in rows.column_names:
        table.add_column(name, overflow="fold")
    for row in rows.to_pylist():
        table.add_row(*("[dim]missing[/]" if cell is None else str(cell).replace("[", r"\[") for cell in row.values()))
    screen.print(table)
