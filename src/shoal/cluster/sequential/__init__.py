"""Sequential clustering (Goldberger & Tassa 2010, Algorithms 1, 2 and 3).

Start with random groups of about k0 = αk records. Go through the records again and again; each moves to the group
where the loss falls most, if it falls. After a pass, groups above ωk are split at random. When no move is left, groups
below k are merged, the two closest first, and the last one joins the closest of all.

Decisions. k0 = max(1, ⌊αk⌋), sizes as even as possible; splits only after a pass, and until no group is above ωk (the
paper allows no larger ones; one split per pass leaves groups of thousands, and at k = 100 loses 1 % more on Adult); a
singleton moves on its own turn; the end is a pass without a move, one that gains less than 1e-4 of the loss, or the
hundredth, but a pass that only split is followed by another; ties go to the smaller group, then to the lower number, as
far as the tree comes by them. Under mi, too, the cost of a record alone is left out: it is the same wherever the record
is. Which groups are closest Algorithm 1 does not say. dist(A, B) of Section 6.2.1, what a merger adds to the loss,
grows with the groups, so the smallest would merge with the smallest, however far. Here it is what a merger adds per
record, dist(A, B) / |A ∪ B|: on Adult that loses 3 to 4 % less, and comes as near to the paper's Table 2.

With rules (Algorithm 2, for any of the privacy models): the random groups follow the distribution of the sensitive
values (Algorithm 3), and no record moves where a rule would break, at either end. Where the random groups do not
satisfy the rules, the paper gives the trivial clustering; with small k0 that is the normal case, so larger k0 are tried
first. A group that empties breaks nothing.

What the loss is, and how the group with the least is found, is the business of an `Engine`: `through_tree.py` asks the
group tree for il, lm, tree and mi, `by_scan.py` looks at every group for pmi, as the paper does for all.

Guarantee: every group has at least k records, given k ≤ n; the rules hold from the first groups on.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.geometry import without_gaps
from shoal.cluster import Task
from shoal.cluster.sequential.by_scan import ByScan
from shoal.cluster.sequential.even_split import even_split
from shoal.cluster.sequential.through_tree import ThroughTree
from shoal.compiling import ZERO, entered
from shoal.errors import ParameterError, whole_number
from shoal.privacy import counts
from shoal.privacy.rules import rules_of

Ints = NDArray[np.int32]
may_split = entered(counts.may_split)
MOST_PASSES = 100
LEAST_GAIN = 1e-4


class Engine(Protocol):
    """How records move and groups merge under one measure. Labels have no gaps."""

    def total(self, labels: Ints) -> float:
        """What all records cost together."""

    def one_pass(self, labels: Ints, name: str) -> tuple[Ints, int, float]:
        """Ask every record once whether it moves: the labels, how many moved, what that saved."""

    def merge_small(self, labels: Ints) -> Ints:
        """Merge groups below k, the closest first, until all have k; the last one joins its closest among all."""


def run(
    task: Task,
    *,
    start_share: float = 0.5,
    split_share: float = 1.5,
    restarts: int = 1,
    integer_split: bool = False,
    mi_weight: float = 0.0,
) -> Ints:
    """The group of each record.

    `start_share` and `split_share`: the paper's α and ω. `restarts`: so many random starts, of which the best result is
    kept. `integer_split`: the first groups come from an integer program (`even_split.py`), for frequency ℓ-diversity of
    one column. `mi_weight`: the w of w·MI + (1 − w)·PMI, for measure "pmi".
    """
    if not 0 < start_share <= 1:
        raise ParameterError(f"start_share must be above 0 and at most 1. Got {start_share!r} instead.")
    if not 1 < split_share <= 2:
        raise ParameterError(f"split_share must be above 1 and at most 2. Got {split_share!r} instead.")
    if not 0 <= mi_weight <= 1:
        raise ParameterError(f"mi_weight must be from 0 to 1. Got {mi_weight!r} instead.")
    if mi_weight and task.measure != "pmi":
        raise ParameterError("mi_weight mixes MI into PMI: it goes with measure 'pmi'.")
    rules = task.privacy.rules
    if integer_split and (len(rules) != 1 or rules[0].model != "frequency"):
        raise ParameterError("integer_split is for frequency ℓ-diversity of one sensitive column, and nothing else.")
    whole_number("restarts", restarts, least=1)
    engine: Engine = ByScan(task, mi_weight) if task.measure == "pmi" else ThroughTree(task)
    best, least = None, np.inf
    for _ in range(restarts):
        labels = search(task, engine, start_share, split_share, integer_split=integer_split)
        loss = engine.total(labels)
        if best is None or loss < least:
            best, least = labels, loss
    assert best is not None
    return best


def search(
    task: Task, engine: Engine, start_share: float = 0.5, split_share: float = 1.5, *, integer_split: bool = False
) -> Ints:
    """Algorithm 1, once."""
    labels = _start(task, max(1, int(start_share * task.k)), integer_split)
    for turn in range(MOST_PASSES):
        before = engine.total(labels)
        labels, moved, gained = engine.one_pass(labels, f"moving records, pass {turn + 1}")
        labels = without_gaps(labels)
        if moved and gained < LEAST_GAIN * abs(before):
            break  # halves of a split that nobody refines would be merged with whatever is near
        labels, splits = split_at_random(task, labels, split_share * task.k)
        if not moved and not splits:
            break
    return without_gaps(engine.merge_small(labels))


def _start(task: Task, k0: int, integer_split: bool) -> Ints:
    """Random groups of k0 records or a few more that satisfy the rules; one group of all if none do."""
    records = len(task.codes)
    while True:
        n_groups = max(1, records // k0)
        labels = _integer(task, n_groups) if integer_split else _spread(task, np.arange(records), n_groups)
        if not task.privacy.rules or n_groups == 1:
            return np.zeros(records, np.int32) if labels is None else labels
        if labels is not None and task.privacy.facts_of(labels, n_groups).fine.all():
            return labels
        k0 *= 2


def _integer(task: Task, n_groups: int) -> Ints | None:
    return even_split(task.privacy.tables.values[:, 0], n_groups, task.privacy.rules[0].bound, task.rng)


def _spread(task: Task, rows: NDArray[np.integer], parts: int) -> Ints:
    """Deal records to so many parts at random; with rules, every sensitive value evenly to all (Algorithm 3)."""
    if not task.privacy.rules:
        dealt = np.empty(len(rows), np.int32)
        dealt[task.rng.permutation(len(rows))] = np.arange(len(rows)) % parts
        return dealt
    values = task.privacy.tables.values[rows].astype(np.int64)
    kinds = np.zeros(len(rows), np.int64)
    for j in range(values.shape[1]):  # several sensitive columns: the values that occur together
        kinds = np.unique(kinds * (values[:, j].max() + 1) + values[:, j], return_inverse=True)[1]
    dealt = np.empty(len(rows), np.int32)
    for kind in range(int(kinds.max()) + 1):
        here = task.rng.permutation(np.flatnonzero(kinds == kind))
        order = task.rng.permutation(parts)  # which parts get one more (eq. 25)
        dealt[here] = order[np.arange(len(here)) % parts]
    return without_gaps(dealt)


def split_at_random(task: Task, labels: Ints, most: float) -> tuple[Ints, int]:
    """Groups of more than `most` records in two, at random, where the rules allow it; until none is that large."""
    labels = labels.copy()
    used, splits = int(labels.max()) + 1, 0
    rules = rules_of(task.privacy.tables)
    sizes = np.bincount(labels)
    order = np.argsort(labels, kind="stable").astype(np.int32)
    ends = np.cumsum(sizes)
    large = [order[ends[group] - sizes[group] : ends[group]] for group in np.flatnonzero(sizes > most)]
    while large:
        rows = large.pop()
        second = rows[_spread(task, rows, 2) == 1]
        if task.privacy.rules and not may_split(rules, rows, second, ZERO):
            continue
        labels[second] = used
        used += 1
        splits += 1
        large += [half for half in (second, np.setdiff1d(rows, second)) if len(half) > most]
    return labels, splits
