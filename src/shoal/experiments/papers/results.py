"""Measurements on disk: a CSV for each study, which grows by one cell at a time and is whole at every moment."""

from __future__ import annotations

import csv
import io
import json
import os
import platform
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shoal.errors import InputError, OutputError
from shoal.experiments.papers.study import Cell, Row, Study
from shoal.version import __version__

ABOUT = "machine.json"


def read(folder: Path, study: Study) -> list[Row]:
    """What has been measured so far."""
    path = folder / f"{study.name}.csv"
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [{name: _value(text) for name, text in row.items()} for row in csv.DictReader(file)]


def missing(rows: Sequence[Row], cells: Iterable[Cell]) -> list[Cell]:
    """The cells that have not been measured."""
    done = [{name: _text(value) for name, value in row.items()} for row in rows]
    return [
        cell
        for cell in cells
        if not any(all(row.get(name) == _text(value) for name, value in cell.items()) for row in done)
    ]


def write(folder: Path, study: Study, rows: Sequence[Row]) -> None:
    """All rows of a study, in place of what was there."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    try:
        writer.writerows({name: _text(value) for name, value in row.items()} for row in rows)
    except ValueError:
        raise InputError(
            "measurements of another version of this study are here.",
            file=f"{study.name}.csv",
            hint="remove it, or choose another folder",
        ) from None
    replace_file(folder / f"{study.name}.csv", text.getvalue())


def replace_file(path: Path, text: str) -> None:
    """The file has the new text or the old one, whatever happens."""
    new = path.with_name(f".{path.name}.new")
    try:
        new.write_text(text, encoding="utf-8")
        new.replace(path)
    except OSError as problem:
        raise OutputError(f"it could not be written: {problem.strerror}.", file=str(path)) from problem


def begin(folder: Path, *, quick: bool) -> None:
    """Say what machine measures. Small and full sizes do not share a folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise OutputError(f"the folder could not be made: {problem.strerror}.", file=str(folder)) from problem
    if (folder / ABOUT).exists() and bool(about(folder)["quick"]) != quick:
        there, asked = ("full", "--quick") if quick else ("--quick", "full")
        raise InputError(
            f"the folder has the measurements of a {there} run; this is a {asked} one.",
            file=str(folder),
            hint="choose another folder with -o",
        )
    facts = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": _processor(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "shoal": __version__,
        "quick": quick,
    }
    replace_file(folder / ABOUT, json.dumps(facts, indent=2) + "\n")


def about(folder: Path) -> dict[str, Any]:
    """When the last run was, and on what."""
    try:
        return dict(json.loads((folder / ABOUT).read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise InputError(
            "no experiment has been run here.", file=str(folder), hint="run `shoal papers` first"
        ) from None


def _processor() -> str:
    """The name of the processor, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
