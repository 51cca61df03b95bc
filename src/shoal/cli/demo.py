"""`shoal demo`: what shoal does, on a real table that ships with it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
import typer
from rich.markup import escape
from rich.table import Table

import shoal
from shoal.cli.anonymize import show
from shoal.cli.bars import progress
from shoal.cli.files import file_path
from shoal.cli.screen import AsJson, ShowValues, command, number, print_json, screen
from shoal.release.write import manifest_path


@command
def demo(
    k: Annotated[int, typer.Option("-k", "--k", help="Every record looks like at least k − 1 others.")] = 5,
    folder: Annotated[
        Path, typer.Option("--folder", metavar="DIR", parser=file_path, help="Where to write the release.")
    ] = Path("shoal-demo"),
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Anonymize the Adult census table (48 842 people), and keep up with a town that changes."""
    from shoal.cli.town import one_day, show_day  # loads the vault

    table, schema = shoal.datasets.adult(), shoal.datasets.adult_schema()
    output = folder / f"adult-k{k}.csv"
    with progress(as_json=as_json) as bar:
        release = shoal.anonymize(table, schema, k=k, progress=bar)
        bar.stage("writing")
        folder.mkdir(parents=True, exist_ok=True)
        release.write(output, force=True)
        day = one_day(k, folder, bar)
    verdict = shoal.verify(output, schema, k)
    if as_json:
        print_json(
            {
                "output": str(output),
                "manifest": str(manifest_path(output)),
                **release.manifest,
                "verdict": verdict.facts(),
                "day": day.facts(),
            }
        )
        return
    rows = _telling_group(release)
    before, after = table.take(pa.array(rows)).select(schema.published), release.trace(rows)
    shown = _telling_columns(after)
    screen.print()
    screen.print(f"The Adult table: {number(table.num_rows)} people of the 1994 US census. {len(rows)} of them,")
    _show_rows("[bold]before[/]: what the holder has", before.select(shown))
    _show_rows("[bold]after[/]: what the release says of the same people", after.select(shown))
    screen.print(
        f"The release has {len(rows)} rows that look like this, in no order: whoever knows one of these people finds "
        f"all {len(rows)} and cannot tell which row is whose. No name and no key is in it."
    )
    screen.print()
    show(release, output)
    answer = "[bold green]ok[/]" if verdict.ok else "[bold red]not ok[/]"
    screen.print(f"Verified again from the written file alone: {answer}, the smallest class has {verdict.k} rows.")
    screen.print()
    show_day(day)
    screen.print()
    screen.print("Your own table: [bold]shoal anonymize TABLE.csv --schema SCHEMA.toml -k 5 -o RELEASE.csv[/]")
    screen.print("One that changes: [bold]shoal init TABLE.vault --schema SCHEMA.toml -k 5 --data TABLE.csv[/]")


def _telling_group(release: shoal.Release) -> list[int]:
    """The rows of a smallest group in which two cells were generalized, and the sensitive values differ."""
    labels = release.labels
    sizes = np.bincount(labels)
    best: tuple[int, list[int]] | None = None
    for group in np.flatnonzero(sizes == sizes.min())[:500]:
        rows = [int(row) for row in np.flatnonzero(labels == group)]
        published = release.trace(rows)
        cells = published.slice(0, 1).to_pylist()[0]
        generalized = sum(str(cell).startswith("[") for cell in cells.values())
        unclear = sum(cell is None or cell == "*" for cell in cells.values())
        same_answer = len(set(published["salary-class"].to_pylist())) == 1
        dullness = abs(generalized - 2) + 2 * unclear + 2 * same_answer
        if best is None or dullness < best[0]:
            best = dullness, rows
    assert best is not None
    return best[1]


def _telling_columns(published: pa.Table) -> list[str]:
    """As many columns as fit on the screen, the generalized ones first of all; in the table's order."""
    cells = published.slice(0, 1).to_pylist()[0]
    by_interest = sorted(cells, key=lambda name: (name != "salary-class", not str(cells[name]).startswith("["), name))
    room, chosen = screen.width, set()
    for name in by_interest:
        width = 3 + max(len(name), *(len(str(cell)) for cell in published[name].to_pylist()))
        if width < room:
            chosen.add(name)
            room -= width
    return [name for name in published.column_names if name in chosen]


def _show_rows(title: str, rows: pa.Table) -> None:
    table = Table(title=title, title_justify="left", title_style="")
    for name in rows.column_names:
        table.add_column(name, no_wrap=True)
    for row in rows.to_pylist():
        table.add_row(*("[dim]missing[/]" if cell is None else escape(str(cell)) for cell in row.values()))
    screen.print(table)
