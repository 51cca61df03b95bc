"""Measurements on disk: a CSV for each study, which grows by one cell at a time and is whole at every moment."""

from __future__ import annotations

import csv
import io
import json
import platform
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from experiments.study import Cell, Row, Study
from shoal.errors import InputError, OutputError
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
    fields = list(rows[0])
    if any(row.keys() != rows[0].keys() for row in rows):
        raise InputError(
            "measurements of another version of this study are here.",
            file=f"{study.name}.csv",
            hint="remove it, or choose another folder",
        )
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fields, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _text(value) for name, value in row.items()} for row in rows)
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
    """A folder for measurements. Small and full sizes do not share one."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise OutputError(f"the folder could not be made: {problem.strerror}.", file=str(folder)) from problem
    if not (folder / ABOUT).exists():
        _keep(folder, About(quick, {}))
    elif about(folder).quick != quick:
        there, asked = ("full", "--quick") if quick else ("--quick", "full")
        raise InputError(
            f"the folder has the measurements of a {there} run; this is a {asked} one.",
            file=str(folder),
            hint="choose another folder with -o",
        )


def sign(folder: Path, study: Study) -> None:
    """Say what machine goes on with a study, and when. One that was interrupted may be measured on several."""
    from shoal.compiling.marks import sources_digest  # loads Numba

    facts = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": _processor(),
        "system": platform.system(),
        "python": platform.python_version(),
        "shoal": __version__,
        "kernels": sources_digest()[:8],  # what is measured may change before there is another version
    }
    known = about(folder)
    if facts not in known.machines.setdefault(study.name, []):
        known.machines[study.name].append(facts)
        _keep(folder, known)


class About(NamedTuple):
    """What is known of a folder of measurements."""

    quick: bool
    machines: dict[str, list[dict[str, str]]]  # of each study


def about(folder: Path) -> About:
    try:
        return About(**json.loads((folder / ABOUT).read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise InputError(
            "no experiment has been run here.", file=str(folder), hint="run `shoal papers` first"
        ) from None
    except (TypeError, ValueError):
        raise InputError(
            "it does not say what was measured here.", file=ABOUT, hint="choose another folder with -o"
        ) from None


def _keep(folder: Path, known: About) -> None:
    replace_file(folder / ABOUT, json.dumps(known._asdict(), indent=2) + "\n")


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
