"""One method on one table: its groups, and how long it took, with nothing compiled or loaded while the clock ran."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.cluster import cluster
from shoal.partition import Partition
from shoal.privacy.requirements import Rule
from shoal.progress import Progress
from shoal.records.encode import Records


class Trial(NamedTuple):
    partition: Partition
    seconds: float  # of one core


_loaded: set[tuple[object, ...]] = set()  # the kinds of trials that have been run here


class _Compiled(Progress):
    """Notes whether something was compiled."""

    seen = False

    def stage(self, name: str, total: int | None = None) -> None:
        self.seen |= name.startswith("compiling")


def trial(
    records: Records,
    k: int,
    method: str,
    *,
    measure: str = "il",
    rules: Sequence[Rule] = (),
    options: Mapping[str, Any] | None = None,
    seed: int = 1,
) -> Trial:
    """Cluster, and again if something was compiled the first time, or the method's kernels may have been loaded."""
    kind = (method, measure, bool(rules), *(options or ()))
    while True:
        told = _Compiled()
        start = time.process_time()
        partition = cluster(
            records, k, rules, method=method, measure=measure, seed=seed, options=options, progress=told
        )
        seconds = time.process_time() - start
        if kind in _loaded and not told.seen:
            return Trial(partition, seconds)
        _loaded.add(kind)


def some(records: Records, rows: NDArray[np.int64]) -> Records:
    """These records of a table, on its domains."""
    return replace(records, codes=records.codes[rows], passthrough=records.passthrough.take(rows))


def sample(records: Records, rows: int, seed: int = 1) -> Records:
    """So many records, drawn at random. A larger sample has all records of a smaller one."""
    return some(records, np.random.default_rng(seed).permutation(len(records))[:rows])
