"""Files on the command line, and what releases in them are held to: a path is never the URL of a database."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.addresses import A_PATH, may_be_address

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
