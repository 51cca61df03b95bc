"""Static methods: a table of codes in, a Partition out. One file each; this one knows their names.

A method's module is loaded when it is asked for, because its kernels load Numba. To add one, write
`cluster/<name>.py` with a function `run(task, **options) -> labels`, and register it here: the shared tests, the
command line and the documentation find it by its registration.
"""

from __future__ import annotations

import importlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import MEASURES, CostTables, cost_tables
from shoal.errors import InternalError, ParameterError, one_of, whole_number
from shoal.partition import Partition
from shoal.progress import SILENT, Progress
from shoal.records.encode import Records


@dataclass(frozen=True)
class Method:
    """What is known of a method without loading it."""

    module: str
    summary: str
    options: Mapping[str, type] = field(default_factory=dict)


METHODS: dict[str, Method] = {
    "mondrian": Method(
        module="shoal.cluster.mondrian",
        summary="cut the widest column at its median, as long as both halves keep k records (LeFevre et al. 2006)",
        options={"relaxed": bool, "cut": str},
    ),
}
DEFAULT_METHOD = "mondrian"


@dataclass(frozen=True)
class Task:
    """What every method is given."""

    codes: NDArray[np.int32]
    costs: CostTables
    k: int
    rng: np.random.Generator
    progress: Progress


def cluster(
    records: Records,
    k: int,
    *,
    method: str = DEFAULT_METHOD,
    measure: str = "il",
    seed: int | None = None,
    progress: Progress = SILENT,
    options: Mapping[str, object] | None = None,
) -> Partition:
    """Partition the records into groups of at least k.

    Guarantee: the partition that is returned is publishable (every group has at least k records), and the same
    records, arguments and seed give the same partition.
    """
    options = dict(options or {})
    check_parameters(k, method, measure, options, seed)
    k = int(k)
    if k > len(records):
        raise ParameterError(
            f"k must be at most the number of records, {len(records)}. Got {k} instead.",
            hint="Choose a smaller k, or bring more records.",
        )
    rng = np.random.default_rng(secrets.randbits(128) if seed is None else seed)
    progress.stage("loading the kernels")
    module = importlib.import_module(METHODS[method].module)
    task = Task(records.codes, cost_tables(records.books, measure), k, rng, progress)
    partition = Partition.from_labels(records.codes, module.run(task, **options), k)
    if not partition.publishable:
        raise InternalError(f"method {method!r} broke its promise: {'; '.join(partition.obstacles())}.")
    return partition


def check_parameters(k: int, method: str, measure: str, options: Mapping[str, object], seed: int | None = None) -> None:
    """Refuse what can be refused before any data is read."""
    whole_number("k", k, least=2)
    if seed is not None:
        whole_number("seed", seed, least=0)
    if method not in METHODS:
        raise ParameterError(one_of("method", method, METHODS))
    if measure not in MEASURES:
        raise ParameterError(one_of("measure", measure, MEASURES))
    known = METHODS[method].options
    for name, value in options.items():
        if name not in known:
            raise ParameterError(one_of(f"an option of {method}", name, known))
        if not isinstance(value, known[name]):
            raise ParameterError(f"{name} must be of type {known[name].__name__}. Got {value!r} instead.")
