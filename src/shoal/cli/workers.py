"""`--workers`: how many threads a command uses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import pyarrow as pa
import typer

from shoal.workers import using


@contextmanager
def _all_of_it(workers: int) -> Iterator[None]:
    """What Arrow does for the command keeps to it, too."""
    before = pa.cpu_count()
    pa.set_cpu_count(workers)
    try:
        with using(workers):
            yield
    finally:
        pa.set_cpu_count(before)


def _use(context: typer.Context, workers: int | None) -> int | None:
    if workers is not None:
        context.with_resource(_all_of_it(workers))
    return workers


Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        metavar="N",
        callback=_use,
        show_default="all cores",
        help="Threads that work side by side. What comes out is the same for any number.",
    ),
]
