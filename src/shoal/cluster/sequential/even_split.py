"""An ℓ-diverse split into groups of nearly equal size, by integer programming (Goldberger & Tassa 2010, Section 7).

The paper's program has one variable per group and value, and no solver gets far with it: groups can be exchanged for
one another. Groups of one size are therefore counted together. With `a_s` groups of size s and `x_sj` records of value
j in them:

    Σ_s a_s = t,   Σ_s x_sj = p_j,   Σ_j x_sj = s·a_s,   x_sj ≤ a_s·⌊s/ℓ⌋.

Dealing the records of one size in turn, value by value, gives every group ⌊x_sj/a_s⌋ or ⌈x_sj/a_s⌉ of value j, which
is at most ⌊s/ℓ⌋: so the two programs have the same solutions. Windows of sizes are tried from the narrowest, and the
first that has a solution has the smallest difference between the largest and the smallest group.

scipy is the extra `milp`, and is loaded when it is asked for.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.geometry import without_gaps
from shoal.errors import ParameterError

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


def even_split(values: Ints, groups: int, diversity: float, rng: np.random.Generator) -> Ints | None:
    """The group of each record; None if so many groups cannot be diverse. `values`: the sensitive value of each."""
    counts = np.bincount(values)
    counts, values = counts[counts > 0], without_gaps(values)
    usual = len(values) // groups
    for spread in range(usual + 1):
        for smallest in range(usual, max(0, usual - spread - 1), -1):
            sizes = np.arange(smallest, smallest + spread + 1)
            if sizes[-1] * groups >= len(values) and (found := _solved(counts, groups, sizes, diversity)):
                return _dealt(values, sizes, *found, rng)
    return None


def _solved(counts: Longs, groups: int, sizes: Longs, diversity: float) -> tuple[Longs, Longs] | None:
    """How many groups of each size, and how many of each value go to them; None if that is not possible."""
    solver = _scipy()
    n_sizes, kinds = len(sizes), len(counts)
    # A tiny allowance, so that a group of 6 may have 5 of a value where ℓ = 1.2.
    caps = np.array([math.floor(size / diversity + 1e-9) for size in sizes])
    variables = n_sizes + n_sizes * kinds  # a_s, then x_sj
    rows, least, most = [], [], []

    def constrain(row: NDArray[np.float64], low: float, high: float) -> None:
        rows.append(row)
        least.append(low)
        most.append(high)

    all_groups = np.zeros(variables)
    all_groups[:n_sizes] = 1
    constrain(all_groups, groups, groups)
    for kind in range(kinds):
        row = np.zeros(variables)
        row[n_sizes + kind :: kinds] = 1
        constrain(row, counts[kind], counts[kind])
    for i, size in enumerate(sizes):
        row = np.zeros(variables)
        row[i] = -size
        row[n_sizes + i * kinds : n_sizes + (i + 1) * kinds] = 1
        constrain(row, 0, 0)
        for kind in range(kinds):
            row = np.zeros(variables)
            row[i], row[n_sizes + i * kinds + kind] = -caps[i], 1
            constrain(row, -np.inf, 0)
    found = solver.milp(
        np.zeros(variables),
        constraints=solver.LinearConstraint(np.array(rows), least, most),
        integrality=np.ones(variables),
        bounds=solver.Bounds(0, np.inf),
    )
    if found.x is None:
        return None
    whole = np.round(found.x).astype(np.int64)
    return whole[:n_sizes], whole[n_sizes:].reshape(n_sizes, kinds)


def _dealt(values: Ints, sizes: Longs, groups: Longs, shares: Longs, rng: np.random.Generator) -> Ints:
    """Records of each value, at random, to the groups of each size in turn."""
    labels = np.zeros(len(values), np.int32)
    waiting = [rng.permutation(np.flatnonzero(values == kind)) for kind in range(shares.shape[1])]
    first = 0
    for i in range(len(sizes)):
        turn = 0
        for kind, share in enumerate(shares[i]):
            mine, waiting[kind] = waiting[kind][:share], waiting[kind][share:]
            labels[mine] = first + (turn + np.arange(share)) % max(1, groups[i])
            turn += int(share)
        first += int(groups[i])
    return labels


def _scipy() -> Any:
    try:
        from scipy import optimize
    except ImportError as missing:
        raise ParameterError(
            "an initial split by integer programming needs scipy.", hint="pip install 'shoal[milp]'"
        ) from missing
    return optimize
