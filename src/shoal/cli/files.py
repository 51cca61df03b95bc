"""Files on the command line: a path, and never the URL of a database in its place."""

from __future__ import annotations

from pathlib import Path

import typer

from shoal.addresses import A_PATH, may_be_address


def file_path(text: str) -> Path:
    """A path. A message about a missing file would show the password of a URL that was given by mistake."""
    if may_be_address(text):
        raise typer.BadParameter(
            f"looks like a URL, and a file is wanted here. Are the arguments in the right order? {A_PATH}"
        )
    return Path(text)
