"""Several methods on one table: what each loses, and how long it takes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from shoal.cluster import METHODS, check_parameters, cluster
from shoal.errors import ParameterError
from shoal.measures import least_loss
from shoal.partition import Partition
from shoal.privacy import Privacy, Rule, warn_of_several_records
from shoal.privacy.requirements import Alpha, Diversity, PerColumn, Requirements
from shoal.progress import SILENT, Progress
from shoal.records.encode import Records, encode
from shoal.records.reading import read_for
from shoal.release.making import released
from shoal.schema import Schema
from shoal.views import counted, table_html

WORTH_REPEATING = 2.0  # seconds: what takes less is run twice, because the first run loads the kernels


class Trial(NamedTuple):
    """One method at one k."""

    method: str
    k: int
    seconds: float  # of the method alone: reading, recoding and measuring are the same for all
    groups: int
    largest: int
    measures: Mapping[str, float]  # the holder's: see docs/measures.md


@dataclass(frozen=True, repr=False)
class Comparison:
    """All trials, by k and then in the order of the methods."""

    records: int
    measure: str
    trials: tuple[Trial, ...]

    def facts(self) -> dict[str, object]:
        """The same for a program."""
        return {
            "records": self.records,
            "measure": self.measure,
            "trials": [{**trial._asdict(), "measures": dict(trial.measures)} for trial in self.trials],
        }

    def __repr__(self) -> str:
        best = {k: min((one for one in self.trials if one.k == k), key=self._loss) for k in self._ks}
        told = "; ".join(f"k = {k}: {one.method} loses least" for k, one in best.items())
        return f"<Comparison of {counted(len(self.trials), 'trial')} on {counted(self.records, 'record')}; {told}>"

    def _repr_html_(self) -> str:
        """For notebooks."""
        rows = [
            (one.method, one.k, f"{one.measures['il_share']:.2%}", one.groups, one.largest, f"{one.seconds:.2f}")
            for one in self.trials
        ]
        heads = ("method", "k", "loss", "groups", "largest", "seconds")
        return table_html(repr(self).strip("<>"), heads, rows)

    @property
    def _ks(self) -> list[int]:
        return list(dict.fromkeys(one.k for one in self.trials))

    def _loss(self, one: Trial) -> float:
        return one.measures.get(self.measure, one.measures["il"])


def compare(
    data: object,
    schema: Schema | str | Path | Mapping[str, object],
    *,
    k: int | Iterable[int],
    methods: str | Iterable[str] | None = None,
    l: PerColumn | None = None,  # noqa: E741  # the interface's name
    t: PerColumn | None = None,
    diversity: Diversity | None = None,
    c: float | None = None,
    alpha: Alpha | None = None,
    measure: str = "il",
    seed: int | None = None,
    progress: Progress = SILENT,
) -> Comparison:
    """Run several methods on one table, each for every k, and measure what they give.

    Nothing is published; every result has passed the verifier all the same, so that the losses are those of releases.
    `methods`: all that can aim at the measure, if nothing is said. The other arguments are those of `anonymize`.
    """
    ks = list(dict.fromkeys(k)) if isinstance(k, Iterable) else [k]
    if methods is None:
        methods = [name for name, method in METHODS.items() if measure in method.measures] or list(METHODS)
    names = [methods] if isinstance(methods, str) else list(dict.fromkeys(methods))
    if not ks or not names:
        raise ParameterError("compare needs one k and one method at least.")
    for name in names:
        for wanted in ks:
            check_parameters(wanted, name, measure, {}, seed)
    schema = schema if isinstance(schema, Schema) else Schema.load(schema)
    asked = [Requirements(wanted, l, t, diversity, c, alpha) for wanted in ks]
    rules = asked[0].rules(schema)
    progress.stage("reading")
    table, file = read_for(schema, data)
    records = encode(table, schema, file)
    del table
    warn_of_several_records(records)
    progress.stage("loading the kernels")
    for requirements in asked:  # what cannot be done is said before anything is
        Privacy.of(records, requirements.k, rules).check_feasible()
    least = cache(lambda wanted: least_loss(records, wanted))  # the same for all methods
    trials = []
    for requirements in asked:
        wanted = requirements.k
        for name in names:
            told = _Told(progress, f"{name}, k = {wanted}")
            seconds, partition = _timed(records, wanted, rules, name, measure, seed, told)
            release = released(
                records, partition, requirements, method=name, measure=measure, progress=told, least=least
            )
            sizes = np.asarray(partition.sizes)
            trials.append(Trial(name, wanted, seconds, len(sizes), int(sizes.max()), release.measures()))
    return Comparison(len(records), measure, tuple(trials))


def _timed(
    records: Records, k: int, rules: Sequence[Rule], method: str, measure: str, seed: int | None, progress: _Told
) -> tuple[float, Partition]:
    """How long a method takes, and what it finds."""
    seed = int(np.random.default_rng().integers(2**62)) if seed is None else seed
    times: list[float] = []
    while not times or (len(times) == 1 and (progress.compiled or times[0] < WORTH_REPEATING)):
        start = time.perf_counter()
        partition = cluster(records, k, rules, method=method, measure=measure, seed=seed, progress=progress)
        times.append(time.perf_counter() - start)
    return min(times), partition


class _Told(Progress):
    """Progress that says for which method, and notes whether something was compiled."""

    def __init__(self, progress: Progress, name: str) -> None:
        self._progress, self._name, self.compiled = progress, name, False

    def stage(self, name: str, total: int | None = None) -> None:
        self.compiled |= name.startswith("compiling")
        self._progress.stage(f"{self._name}: {name}", total)

    def advance(self, steps: int) -> None:
        self._progress.advance(steps)

    def note(self, text: str) -> None:
        self._progress.note(text)
