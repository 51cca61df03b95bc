"""`shoal bench` and `shoal papers`: what was measured, and how to measure it again. They lie beside the source.

They are for those who work on shoal, so help does not list them, and a wheel does not have them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import typer

import shoal
from shoal.cli.screen import AsJson, ShowValues, command
from shoal.errors import ParameterError

FOLDERS = ("benchmarks", "experiments")


def checkout() -> Path | None:
    """The folder that has the source shoal runs from and what lies beside it; None where shoal is installed alone."""
    root = Path(shoal.__file__).resolve().parents[2]
    return root if all((root / folder / "command.py").is_file() for folder in FOLDERS) else None


def register(app: typer.Typer) -> None:
    root = checkout()
    if root is None:
        whatever = {"allow_extra_args": True, "ignore_unknown_options": True}
        app.command("bench", hidden=True, context_settings=whatever)(elsewhere)
        app.command("papers", hidden=True, context_settings=whatever)(elsewhere)
        return
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))  # first: other packages bring their benchmarks along, too
    from benchmarks.command import bench
    from experiments.command import papers

    app.command("bench", hidden=True)(bench)
    app.command("papers", hidden=True)(papers)


@command
def elsewhere(as_json: AsJson = False, show_values: ShowValues = False) -> None:
    """In a checkout of the source only."""
    raise ParameterError(
        "benchmarks and the papers' experiments come with the source of shoal, and are not installed with it.",
        hint="In a clone of the repository: make bench, make papers.",
    )
