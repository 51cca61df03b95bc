"""`shoal groups` and `shoal export`: what the holder alone may see. Keys and values go to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.cli.screen import AsJson, ShowValues, command, number, plural, print_json, screen
from shoal.cli.vault.options import Force, MaybeOutput, Output, VaultPlace, named, opened

GROUP = "group"


@command
def groups(
    vault: VaultPlace,
    output: MaybeOutput = None,
    force: Force = False,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Tell how large the groups are; with -o, write which key is in which.

    That file is the holder's alone: whoever has it can undo the releases. It is made so that only you can read it.
    """
    with opened(vault) as held:
        sizes = _sizes(held.groups(output, force=force))
    if as_json:
        print_json({**sizes, "output": None if output is None else str(output)})
        return
    if sizes["groups"]:
        smallest, median, largest = (number(sizes[name]) for name in ("smallest", "median", "largest"))
        screen.print(
            f"{plural(sizes['records'], 'record')} in {plural(sizes['groups'], 'group')}: "
            f"the smallest has {smallest}, the median {median}, the largest {largest}."
        )
    else:
        screen.print("No groups: the vault is empty.")
    if output is None:
        screen.print(
            f"Which key is in which group: shoal groups {named(vault)} -o FILE (for the holder alone)",
            soft_wrap=True,
            markup=False,
        )
    else:
        say_private(output, "which key is in which group: whoever has it can undo the release")


@command
def export(
    vault: VaultPlace,
    output: Output,
    force: Force = False,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Write the originals that the vault holds, to a file that its owner alone can read."""
    with opened(vault) as held:
        table = held.export(output, force=force)
    if as_json:
        print_json({"records": table.num_rows, "columns": table.column_names, "output": str(output)})
    else:
        screen.print(f"[bold green]✓[/] {plural(table.num_rows, 'record')} as they are, not anonymized.")
        say_private(output, "the originals")


def _sizes(table: pa.Table) -> dict[str, Any]:
    counted = table.group_by(GROUP).aggregate([([], "count_all")])["count_all"].to_numpy()
    if not len(counted):
        return {"records": 0, "groups": 0, "smallest": None, "median": None, "largest": None}
    return {
        "records": table.num_rows,
        "groups": len(counted),
        "smallest": int(counted.min()),
        "median": float(np.median(counted)),
        "largest": int(counted.max()),
    }


def say_private(output: Path, holds: str) -> None:
    """Where a file is that is for the holder's eyes alone, and what is in it."""
    screen.print(f"Written: {output} ({holds}; only you can read it)", soft_wrap=True, markup=False)
