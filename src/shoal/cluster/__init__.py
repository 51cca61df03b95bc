"""Static methods: a table of codes in, a Partition out. One file or folder each; this one knows their names.

A method's module is imported when it is asked for, because its kernels load Numba. To add one, write
`cluster/<name>.py` with a function `run(task, **options) -> labels`, and register it here: the shared tests, the
command line and the documentation find it by its registration.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import MEASURES, CostTables, cost_tables
from shoal.errors import InternalError, ParameterError, one_of, whole_number
from shoal.optimize import check_optimizer, optimized
from shoal.partition import Partition
from shoal.privacy import Privacy, Rule, check_k
from shoal.privacy.sensitive import Distribution, sensitive_column
from shoal.progress import SILENT, Progress, announced
from shoal.records.encode import Records
from shoal.schema import Role

Ints = NDArray[np.int32]


@dataclass(frozen=True)
class Method:
    """What is known of a method without loading it."""

    run: Callable[..., Ints]
    summary: str
    options: Mapping[str, type] = field(default_factory=dict)
    measures: tuple[str, ...] = MEASURES


def _shoal(task: Task, **options: Any) -> Ints:
    from shoal.cluster.shoal import run

    return run(task, **options)


def _mondrian(task: Task, **options: Any) -> Ints:
    from shoal.cluster.mondrian import run

    return run(task, **options)


def _k_member(task: Task, **options: Any) -> Ints:
    from shoal.cluster.k_member import run

    return run(task, **options)


def _sequential(task: Task, **options: Any) -> Ints:
    from shoal.cluster.sequential import run

    return run(task, **options)


def _agglomerative(task: Task, **options: Any) -> Ints:
    from shoal.cluster.agglomerative import run

    return run(task, **options)


def _hilbert(task: Task, **options: Any) -> Ints:
    from shoal.cluster.hilbert import run

    return run(task, **options)


METHODS: dict[str, Method] = {
    "shoal": Method(
        run=_shoal,
        summary="a sequential start, then moves, swaps and small pools partitioned anew, as long as the loss falls",
        options={"effort": str, "max_seconds": float},
        measures=(*MEASURES, "pmi"),
    ),
    "mondrian": Method(
        run=_mondrian,
        summary="cut the widest column at its median, as long as both halves keep k records (LeFevre et al. 2006)",
        options={"relaxed": bool, "cut": str},
    ),
    "k-member": Method(
        run=_k_member,
        summary="grow each group from its seed by the record that costs least (Byun et al. 2007)",
        options={"class_penalty": float},
    ),
    "sequential": Method(
        run=_sequential,
        summary="move each record to the group where the loss falls most, until none helps (Goldberger & Tassa 2010)",
        options={
            "start_share": float,
            "split_share": float,
            "restarts": int,
            "integer_split": bool,
            "mi_weight": float,
        },
        measures=(*MEASURES, "pmi"),
    ),
    "agglomerative": Method(
        run=_agglomerative,
        summary="merge the two closest groups until all have k records (Goldberger & Tassa 2010)",
    ),
    "hilbert": Method(
        run=_hilbert,
        summary="order the records along a space-filling curve and cut it at the least loss (Ghinita et al. 2007)",
        options={"rescale": bool},
    ),
}
DEFAULT_METHOD = "shoal"
ALL_MEASURES = tuple(dict.fromkeys(name for method in METHODS.values() for name in method.measures))


@dataclass(frozen=True)
class Task:
    """What every method is given."""

    records: Records
    measure: str
    costs: CostTables
    privacy: Privacy
    rng: np.random.Generator
    progress: Progress

    @property
    def codes(self) -> Ints:
        return self.records.codes

    @property
    def k(self) -> int:
        return self.privacy.k

    def classes(self, what: str, *, missing: bool = False) -> Ints:
        """A number for the label of each record, which `what` needs: the first sensitive column.

        `missing`: no label is a label too.
        """
        names = self.records.schema.names(Role.SENSITIVE)
        if not names:
            raise ParameterError(f"{what} needs a sensitive column for its labels, and the schema has none.")
        column = self.records.passthrough[names[0]]
        if column.null_count and not missing:
            raise ParameterError(
                f"{what} needs a label for every record, and {column.null_count} of {names[0]!r} are missing.",
                hint="Fill them in, or do without.",
            )
        labels: Ints = sensitive_column(names[0], self.records).codes
        return labels


def cluster(
    records: Records,
    k: int,
    rules: Sequence[Rule] = (),
    *,
    method: str = DEFAULT_METHOD,
    measure: str = "il",
    seed: int | None = None,
    progress: Progress = SILENT,
    options: Mapping[str, object] | None = None,
    optimize: str | None = None,
    reference: Mapping[str, Distribution] | None = None,
) -> Partition:
    """Partition the records into groups of at least k that satisfy the rules; `optimize` it afterwards, if asked to.

    A method keeps the rules as far as its paper says how; groups that do not satisfy them are mended afterwards (see
    `repair.py`), and k is counted in people where the schema says whose record it is. `reference`: what closeness is
    measured against, by column; unsaid, these records' own distribution.

    Guarantee: the partition that is returned is publishable (every group has at least k records or people, and
    satisfies every rule), and the same records, arguments and seed give the same partition.
    """
    options = dict(options or {})
    check_parameters(k, method, measure, options, seed, optimize)
    privacy = Privacy.of(records, k, rules, reference=reference, quiet=reference is not None)
    progress.stage("loading the kernels")
    with announced(progress):
        privacy.check_feasible()
        rng = np.random.default_rng(secrets.randbits(128) if seed is None else seed)
        costs = cost_tables(records.books, "mi" if measure == "pmi" else measure)  # mending under pmi goes by mi
        task = Task(records, measure, costs, privacy, rng, progress)
        partition = Partition.from_labels(records.codes, METHODS[method].run(task, **options), privacy)
        if privacy.people is not None or not partition.publishable:
            labels = _mended(task, partition.labels)
            partition = Partition.from_labels(records.codes, labels, privacy)
        if optimize is not None:
            labels = optimized(optimize, records.codes, partition.labels, costs, privacy, progress)
            if privacy.people is not None:  # groups that are published alike now
                labels = _mended(task, labels)
            partition = Partition.from_labels(records.codes, labels, privacy)
    if not partition.publishable:
        raise InternalError(f"method {method!r} broke its promise: {'; '.join(partition.obstacles())}.")
    return partition


def _mended(task: Task, labels: Ints) -> Ints:
    from shoal.cluster.repair import mended

    return mended(task, labels)


def check_parameters(
    k: int,
    method: str,
    measure: str,
    options: Mapping[str, object],
    seed: int | None = None,
    optimize: str | None = None,
) -> None:
    """Refuse what can be refused before any data is read."""
    check_k(k)
    check_optimizer(optimize)
    if seed is not None:
        whole_number("seed", seed, least=0)
    if method not in METHODS:
        raise ParameterError(one_of("method", method, METHODS))
    if measure not in ALL_MEASURES:
        raise ParameterError(one_of("measure", measure, ALL_MEASURES))
    if measure not in METHODS[method].measures:
        able = ", ".join(name for name, known in METHODS.items() if measure in known.measures)
        raise ParameterError(f"method {method!r} cannot aim at {measure!r}. These can: {able}.")
    known = METHODS[method].options
    for name, value in options.items():
        if name not in known:
            raise ParameterError(one_of(f"an option of {method}", name, known))
        fits = isinstance(value, known[name]) or (known[name] is float and isinstance(value, int))
        if not fits or (isinstance(value, bool) and known[name] is not bool):
            raise ParameterError(f"{name} must be of type {known[name].__name__}. Got {value!r} instead.")
