"""`shoal hierarchy`: a hierarchy for a column of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import shoal
from shoal.cli.files import Encoding, Sheet, file_path, files_of, table_place
from shoal.cli.screen import AsJson, ShowValues, command, messages, plural, print_json, screen
from shoal.errors import DataError, HierarchyError, ParameterError, row_list
from shoal.files import refuse_sources, refuse_vaults
from shoal.hierarchies.building import WAYS
from shoal.inference import Values, values_of
from shoal.roles import ColumnType
from shoal.toml_text import value_in_toml


@command
def hierarchy(
    column: Annotated[str, typer.Argument(metavar="COLUMN", help="The column that it is for.")],
    data: Annotated[
        str, typer.Option("--in", metavar="TABLE", parser=table_place, help="The table, as for `shoal anonymize`.")
    ],
    by: Annotated[str | None, typer.Option(help=f"How: {', '.join(WAYS)}. Default: as the values suggest.")] = None,
    widths: Annotated[
        str | None, typer.Option(metavar="W,W,…", help="Of intervals, each a multiple of the one before: 5,10,20.")
    ] = None,
    groups: Annotated[
        int | None, typer.Option(help="How many: intervals (quantiles), groups (order), values kept (frequency).")
    ] = None,
    order: Annotated[
        Path | None,
        typer.Option(metavar="FILE", parser=file_path, help="A text file with the values in order, in lines."),
    ] = None,
    missing: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="Means no value, besides the usual words. Repeatable.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", parser=file_path, help="Where to write it: a .csv, as ARX has it."
        ),
    ] = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output if it exists.")] = False,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Build a hierarchy for a column, show its tree, and write it as `leaf;…;root`.

    Groups are named after values, so the tree shows some of them: it is for the holder's eyes.
    """
    found = values_of(data, column, missing=missing or (), encoding=encoding, sheet=sheet)
    try:
        built = shoal.Hierarchy.suggest(
            found.texts,
            by=by,
            widths=_widths(widths),
            groups=groups,
            order=_lines(order) if order else None,
            type=found.type,
        )
    except HierarchyError as error:
        raise HierarchyError(
            f"column {column!r}: {error.message}", hint=error.hint, file=found.file, values=error.sealed()
        ) from None
    if output is not None:
        refuse_sources(output, files_of(data, *([order] if order else [])))
        refuse_vaults(output)
        built.save(output, force=force)
    rows = built.rows()
    if as_json:
        facts = {"values": len(rows), "levels": max(map(len, rows)), "type": str(found.type)}
        print_json({**facts, "output": str(output) if output else None})
        return
    for line in built.show(leaves=show_values).split("\n"):
        screen.print(line, markup=False, soft_wrap=True)
    if output is not None:
        screen.print(f"Written: {output}, {plural(len(rows), 'value')}.", markup=False, soft_wrap=True)
        screen.print(f"In the schema: {_entries(found, output)}.", markup=False, soft_wrap=True)
    if found.guess.profile and found.guess.profile.unread:
        rows_left = row_list(found.guess.profile.unread_rows)
        kind = "dates" if found.type == ColumnType.DATE else "numbers"
        messages.print(f"Warning: {column}: left out, for they do not read as {kind}: {rows_left}.", markup=False)


def _entries(found: Values, output: Path) -> str:
    """What the schema says of a column with this hierarchy, so that its values are read as the file lists them."""
    guess, kind = found.guess, found.type
    listed = kind if kind in (ColumnType.DATE, ColumnType.NUMERIC) else ColumnType.CATEGORICAL
    form = {"type": str(listed), "format": guess.format, "decimal": guess.decimal, "thousands": guess.thousands}
    given = {**form, "missing": guess.missing, "hierarchy": output.name}
    return ", ".join(f"{name} = {value_in_toml(value)}" for name, value in given.items() if value)


def _widths(given: str | None) -> list[float] | None:
    if given is None:
        return None
    try:
        return [float(part) for part in given.split(",")]
    except ValueError:
        raise ParameterError(f"--widths takes numbers, as in 5,10,20. Got {given!r} instead.") from None


def _lines(path: Path) -> list[str]:
    try:
        return [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError):
        raise DataError("the order cannot be read: a text file with a value in each line.", file=str(path)) from None
