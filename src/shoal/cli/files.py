"""Files on the command line, and what releases in them are held to: a path is never the URL of a database.

A table to read may be in one; what is written never is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.addresses import A_PATH, is_store, may_be_address
from shoal.sources.databases import is_table_address

Strict = Annotated[
    bool, typer.Option("--strict", help="Refuse columns that would act as keys; otherwise a note says so.")
]
NeutralizeFormulas = Annotated[
    bool,
    typer.Option(
        "--neutralize-formulas", help="Put ' before texts of a .csv that a spreadsheet would run: =, +, - or @ first."
    ),
]


def file_path(text: str) -> Path:
    """A path. A message about a missing file would show the password of a URL that was given by mistake."""
    if may_be_address(text):
        raise typer.BadParameter(
            f"a file is wanted here, and this looks like a URL. Are the arguments in the right order? {A_PATH}"
        )
    return Path(text)


def table_place(text: str) -> str:
    """Where a table is read from: a path, or a table or query of a database."""
    return text if is_table_address(text) else str(file_path(text))


def path_or_store(text: str) -> Path | str:
    """A path, or a place that Spark may know."""
    return text if is_store(text) else file_path(text)


def table_or_store(text: str) -> str:
    """Where a table is read from, here or by Spark."""
    return text if is_store(text) else table_place(text)


def files_of(*places: str | Path) -> list[str | Path]:
    """Those that are files, which must not be overwritten."""
    return [place for place in places if not is_table_address(place)]


A_TABLE = (
    "The table: CSV, Excel, Parquet (also a folder), JSON lines, Stata, SPSS, SAS, DuckDB, SQLite, or an address "
    "such as postgresql://…?table=NAME."
)
TableOrStore = Annotated[str, typer.Argument(metavar="IN", parser=table_or_store, help=A_TABLE)]
TableIn = Annotated[str, typer.Argument(metavar="IN", parser=table_place, help=A_TABLE)]
Encoding = Annotated[
    str | None, typer.Option("--encoding", metavar="NAME", help="How a text file is written; default: as it is found.")
]
Sheet = Annotated[str | None, typer.Option("--sheet", metavar="NAME", help="The sheet of a workbook that has several.")]
