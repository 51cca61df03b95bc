"""Cost tables: what an interval of codes costs in each column, under one measure.

One form for numbers and categories: `c_j(lo, hi)`, the cost of publishing the codes lo..hi of column j for a record.
Guarantee, for il, lm, tree and mi: c_j ≥ 0, and c_j grows with the interval. Branch and bound relies on both.

| measure | a category's cell                        | a number's or date's cell                        |
| ------- | ---------------------------------------- | ------------------------------------------------ |
| il      | subtree height / tree height (Byun, 5)   | interval width / domain width (Byun, 5)          |
| lm      | (leaves − 1) / (all leaves − 1) (G&T, 3) | the same; whole numbers and days are counted     |
| tree    | level / height (G&T, Section 3)          | as lm, which is how the papers combine them      |
| mi      | log₂ P(X ∈ cell), shifted to be ≥ 0      | the same                                         |

Decisions: missing is code 0 and alone costs as a single value does; mixed with anything else it becomes `*` at full
cost. Values outside a frozen domain are clamped at full cost. A constant column costs 0. In a tree with levels
(`min_level`) a cell costs what is published for it. The part of MI that depends on the record alone, −log₂ P(value),
is left out: it is the same in every partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import row_type
from shoal.boxes.costs.chains import Chains, column_chains, join_chains
from shoal.errors import ParameterError, one_of
from shoal.hierarchies.tree import lowest_common
from shoal.records.codebook import CodeBook

MEASURES = ("il", "lm", "tree", "mi")
DENSE_SIZE = 256  # up to so many codes a column's table is kept whole; beyond, a cost is computed from its parts

DENSE, STEPS, LOG_STEPS, NODES = 0, 1, 2, 3

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]


class ColumnCosts(NamedTuple):
    """The cost of intervals in one column, in the parts it is computed from."""

    kind: int  # STEPS, LOG_STEPS or NODES
    size: int  # codes, missing included
    full: float  # the cost of the whole domain, and of a mix with missing
    single_missing: float  # the cost of missing alone
    steps: Floats  # STEPS: the place of each code. LOG_STEPS: how many records have a smaller code; one entry more
    paths: Ints  # NODES: the path of each code (root first, −1 beyond); row 0 is unused
    node_costs: Floats  # NODES: the cost of each node
    shift: float  # LOG_STEPS: added to the logarithm

    def of(self, lo: Ints, hi: Ints) -> Floats:
        """The cost of each interval lo..hi (elementwise)."""
        if self.kind == STEPS:
            cost = np.minimum(self.steps[hi] - self.steps[lo], self.full)
        elif self.kind == LOG_STEPS:
            with np.errstate(divide="ignore"):
                cost = np.log2(self.steps[hi + 1] - self.steps[lo]) + self.shift
            cost = np.maximum(cost, 0.0)
        else:
            cost = self.node_costs[lowest_common(self.paths, lo, hi)]
        return np.where(lo > 0, cost, np.where(hi > 0, self.full, self.single_missing))


COLUMN = row_type(
    [
        ("kind", np.int32),
        ("n_codes", np.int32),
        ("offset", np.int64),  # in `numbers`, or (NODES) in the rows of `chains`
        ("weight", np.float64),  # in all that is said of a column already, but for logarithms
        ("full", np.float64),
        ("single_missing", np.float64),
        ("shift", np.float64),
    ]
)


class CostTables(NamedTuple):
    """All columns' costs as flat arrays, for kernels: see `kernels.py`."""

    columns: NDArray[np.void]  # COLUMN, of each
    numbers: Floats  # dense tables and steps, one after the other
    chains: Chains  # of all columns with a tree, also those that have a dense table

    @property
    def full(self) -> float:
        """What a record costs of which nothing is published but `*`."""
        return float(self.columns["full"].sum())


def column_costs(book: CodeBook, measure: str) -> ColumnCosts:
    """The costs of one column under a measure, unweighted."""
    if measure not in MEASURES:
        raise ParameterError(one_of("measure", measure, MEASURES))
    if measure == "mi":
        return _mutual_information(book)
    if book.tree is None:
        assert book.axis is not None
        assert book.domain is not None
        width = book.domain[1] - book.domain[0]
        # In a domain of one value every cell of two values lies outside, at full cost.
        steps = (book.axis - book.domain[0]) / width if width > 0 else np.arange(len(book.axis), dtype=np.float64)
        return _costs(STEPS, book, 1.0, steps=np.concatenate([[0.0], steps]))
    tree = book.tree
    costs = tree.breadths if measure == "lm" else tree.heights / max(1, tree.height)
    costs = costs[tree.published]
    return _costs(NODES, book, 1.0, node_costs=costs)


def _mutual_information(book: CodeBook) -> ColumnCosts:
    """log₂ P(X ∈ cell) − log₂ (smallest P): the rarest value costs 0, the whole domain the most."""
    counts = book.counts.astype(np.float64)
    if not counts.any():  # no records yet: a domain of one value
        counts = np.append(1.0, counts[1:])
    total, rarest = counts.sum(), counts[counts > 0].min()
    shift = -np.log2(rarest)
    full = float(np.log2(total / rarest))
    missing = float(np.log2(max(counts[0], rarest) / rarest))
    if book.tree is None:
        steps = np.concatenate([[0.0], np.cumsum(counts)])
        return _costs(LOG_STEPS, book, full, single_missing=missing, steps=steps, shift=shift)
    tree = book.tree
    below = np.zeros(len(tree.labels))
    for depth in range(tree.paths.shape[1]):
        reached = tree.paths[:, depth] >= 0
        np.add.at(below, tree.paths[reached, depth], counts[1:][reached])
    costs = np.log2(np.maximum(below, rarest)) + shift
    return _costs(NODES, book, full, single_missing=missing, node_costs=costs[tree.published])


def _costs(
    kind: int,
    book: CodeBook,
    full: float,
    *,
    single_missing: float = 0.0,
    steps: Floats | None = None,
    node_costs: Floats | None = None,
    shift: float = 0.0,
) -> ColumnCosts:
    paths = np.zeros((1, 1), np.int32)
    if kind == NODES:
        assert book.tree is not None
        paths = np.concatenate([np.full((1, book.tree.paths.shape[1]), -1, np.int32), book.tree.paths])
    return ColumnCosts(
        kind=kind,
        size=book.size,
        full=full,
        single_missing=single_missing,
        steps=np.zeros(0) if steps is None else steps,
        paths=paths,
        node_costs=np.zeros(0) if node_costs is None else node_costs.astype(np.float64),
        shift=float(shift),
    )


def cost_tables(
    books: Sequence[CodeBook], measure: str, *, dense_size: int = DENSE_SIZE, weighted: bool = True
) -> CostTables:
    """The weighted costs of all columns, for kernels. Small domains get a whole table, large ones never do."""
    columns = [column_costs(book, measure) for book in books]
    weights = np.array([book.column.weight if weighted else 1.0 for book in books], np.float64)
    chains = _chains(columns, weights)
    rows = dict(chains.columns.tolist())
    kinds, offsets, numbers = [], [], [np.zeros(0)]
    for j, (costs, weight) in enumerate(zip(columns, weights, strict=True)):
        kind, part = costs.kind, costs.steps
        if costs.size <= dense_size:
            lo, hi = np.divmod(np.arange(costs.size**2, dtype=np.int32), np.int32(costs.size))
            kind, part = DENSE, np.where(lo <= hi, costs.of(np.minimum(lo, hi), hi), 0.0)
        kinds.append(kind)
        offsets.append(rows[j] if kind == NODES else sum(map(len, numbers)))
        numbers.append(part if kind == LOG_STEPS else weight * part)
    described = np.zeros(len(columns), COLUMN)
    described["kind"], described["offset"] = kinds, offsets
    described["n_codes"], described["weight"] = [costs.size for costs in columns], weights
    described["full"] = weights * np.array([costs.full for costs in columns])
    described["single_missing"] = weights * np.array([costs.single_missing for costs in columns])
    described["shift"] = [costs.shift for costs in columns]
    return CostTables(described, np.concatenate(numbers), chains)


def _chains(columns: Sequence[ColumnCosts], weights: Floats) -> Chains:
    trees = [j for j, costs in enumerate(columns) if costs.kind == NODES]
    parts = []
    for j in trees:
        costs, weight = columns[j], weights[j]
        counts = float(weight > 0)  # in a column without weight every cell costs the same
        cells, prices = column_chains(
            costs.paths, counts * costs.node_costs, counts * costs.full, counts * costs.single_missing
        )
        if counts:
            prices["cost"] *= weight
            prices["step"] *= weight
        parts.append((cells, prices))
    return join_chains(trees, parts)


def same_costs(
    before: Sequence[CodeBook], after: Sequence[CodeBook], moved: Sequence[Ints | None], measure: str
) -> bool:
    """Whether every interval of the codes that there were costs the same to the last bit, now that books have grown."""
    for old_book, book, names in zip(before, after, moved, strict=True):
        if old_book is book:
            continue
        old, new = column_costs(old_book, measure), column_costs(book, measure)
        if (old.size <= DENSE_SIZE) != (new.size <= DENSE_SIZE):  # another way to compute them
            return False
        if (old.full, old.single_missing, old.shift) != (new.full, new.single_missing, new.shift):
            return False
        where = np.arange(old.size) if names is None else names
        if old.kind == NODES:
            if old.paths.shape[1] != new.paths.shape[1]:
                return False
            above, above_now = old.paths[1:], new.paths[where[1:]]
            ends = above < 0
            if not np.array_equal(ends, above_now < 0):
                return False
            if not np.array_equal(old.node_costs[above][~ends], new.node_costs[above_now][~ends]):
                return False
        elif not np.array_equal(old.steps[: old.size], new.steps[where]):
            return False
    return True


def box_costs(books: Sequence[CodeBook], measure: str, lo: Ints, hi: Ints) -> Floats:
    """The unweighted cost of each box in each column: `(boxes, columns)`. For reports; kernels use `CostTables`."""
    return np.stack([column_costs(book, measure).of(lo[:, j], hi[:, j]) for j, book in enumerate(books)], axis=1)
