"""Hierarchies that lie beside a table: TABLE_hierarchy_COLUMN.csv, as with ARX's examples, hierarchies/COLUMN.csv."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from shoal.errors import HierarchyError
from shoal.hierarchies.declared import from_csv
from shoal.inference.columns import Guess, Sure
from shoal.roles import ColumnType, Role


def hierarchies_beside(table: Path, guesses: list[Guess]) -> None:
    """Take the hierarchy of each column that has one, if it knows every value of the column."""
    folder = table.parent
    for guess in guesses:
        if guess.role not in (Role.QUASI_IDENTIFIER, Role.SENSITIVE):
            continue
        for path in _candidates(table, guess.name):
            if path.is_file():
                _take(guess, path, path.relative_to(folder).as_posix())
                break


def _candidates(table: Path, column: str) -> Iterator[Path]:
    if Path(column).name != column:  # a name with slashes is no name of a file
        return
    stems = {table.stem, table.name.partition(".")[0]}
    for name in dict.fromkeys((column, column.replace(" ", "_"), column.replace("_", "-"), column.replace("-", "_"))):
        for stem in sorted(stems):
            yield table.parent / f"{stem}_hierarchy_{name}.csv"
        yield table.parent / "hierarchies" / f"{name}.csv"
        yield table.parent / "hierarchy" / f"{name}.csv"


def _take(guess: Guess, path: Path, shown: str) -> None:
    try:
        known = {cells[-1] for cells in from_csv(path).paths}
    except HierarchyError as error:
        guess.warning = f"{shown} lies beside the table, and cannot be used: {error.message}"
        return
    values = {*guess.profile.texts, *guess.profile.unread} if guess.profile else set()
    lacking = len(values - known)
    if lacking:
        guess.warning = f"{shown} lies beside the table, and lacks {lacking} of the column's {len(values)} values"
        return
    guess.hierarchy, guess.type, guess.reads = shown, ColumnType.CATEGORICAL, ColumnType.CATEGORICAL
    guess.suggested_levels = guess.format = guess.decimal = guess.thousands = None
    guess.sure = Sure.SURE
    guess.why += "; its hierarchy lies beside the table"
