"""Running the papers' experiments: cell by cell, so that an interrupted run goes on where it ended."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path

from experiments import results
from experiments.pages import write_pages
from experiments.study import Cell, Paper, Study
from shoal.errors import ParameterError
from shoal.progress import SILENT, Progress
from shoal.report.charts import altair


def run(
    papers: Sequence[Paper],
    folder: Path,
    names: Sequence[str] = (),
    *,
    quick: bool = False,
    progress: Progress = SILENT,
) -> list[Path]:
    """Measure what has not been measured of some papers (of all, if none is named), then write figures and pages."""
    studies = [study for paper in papers if not names or paper.name in names for study in paper.studies]
    altair()  # hours of work must not end in a library that is missing
    for study in studies:
        if results.missing(results.read(folder, study), study.cells(quick)):
            _check_libraries(study)
    results.begin(folder, quick=quick)
    for study in studies:
        _measure(study, folder, quick, progress)
    return write_pages(papers, folder, progress)


def _check_libraries(study: Study) -> None:
    for name in study.needs:
        try:
            importlib.import_module(name)
        except ImportError as missing:
            raise ParameterError(
                f"the study {study.title!r} needs one more library ({name}).",
                hint="pip install 'shoal[papers]', or name the papers to run",
            ) from missing


def _measure(study: Study, folder: Path, quick: bool, progress: Progress) -> None:
    rows = results.read(folder, study)
    cells = study.cells(quick)
    left = results.missing(rows, cells)
    if not left:
        return
    results.sign(folder, study)
    progress.stage(study.title, len(cells))
    progress.advance(len(cells) - len(left))
    for cell in left:
        progress.note(_in_words(cell))
        rows += [{**cell, **row} for row in study.measure(cell)]
        results.write(folder, study, rows)
        progress.advance(1)


def _in_words(cell: Cell) -> str:
    return ", ".join(f"{name} {value}" for name, value in cell.items())
