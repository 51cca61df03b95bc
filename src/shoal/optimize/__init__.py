"""Moves that lower the loss of a partition and never break privacy. One file each; this one knows their names.

A module is imported when it is asked for, because its kernels load Numba. It has a function
`run(codes, labels, costs, privacy, progress, max_seconds) -> labels`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import CostTables
from shoal.errors import ParameterError, one_of
from shoal.privacy import Privacy
from shoal.progress import SILENT, Progress

Ints = NDArray[np.int32]
Optimizer = Callable[[Ints, Ints, CostTables, Privacy, Progress, float | None], Ints]


def _refine(
    codes: Ints, labels: Ints, costs: CostTables, privacy: Privacy, progress: Progress, max_seconds: float | None
) -> Ints:
    if max_seconds is not None:
        from shoal.optimize.refine import upkeep

        return upkeep.run(codes, labels, costs, privacy, progress, max_seconds)
    from shoal.optimize.refine.refiner import run

    return run(codes, labels, costs, privacy, progress)


def _breaking(
    codes: Ints, labels: Ints, costs: CostTables, privacy: Privacy, progress: Progress, max_seconds: float | None
) -> Ints:
    from shoal.optimize.breaking import run

    return run(codes, labels, costs, privacy, progress, max_seconds)


OPTIMIZERS: dict[str, Optimizer] = {"refine": _refine, "breaking": _breaking}
DEFAULT_OPTIMIZER = "refine"


def check_optimizer(name: str | None, *, needed: bool = False) -> None:
    """`needed`: None, which is to leave groups as they are, is no answer."""
    known = isinstance(name, str) and name in OPTIMIZERS
    if not known and (needed or name is not None):
        raise ParameterError(one_of("optimize", name, OPTIMIZERS))


def check_seconds(name: str, seconds: float | None) -> None:
    """None: as long as it takes."""
    known = isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds >= 0
    if seconds is not None and not known:
        raise ParameterError(f"{name} must be a number of at least 0. Got {seconds!r} instead.")


def optimized(
    name: str,
    codes: Ints,
    labels: Ints,
    costs: CostTables,
    privacy: Privacy,
    progress: Progress = SILENT,
    max_seconds: float | None = None,
) -> Ints:
    """The labels of a partition with no more loss, in which every group still has what is asked.

    `max_seconds`: no longer than that, and then what comes of it depends on the machine.
    """
    check_optimizer(name, needed=True)
    check_seconds("max_seconds", max_seconds)
    return OPTIMIZERS[name](codes, labels, costs, privacy, progress, max_seconds)
