"""What a record costs at least in any group of k, by the boxes that k records need: who keeps it company at best.

Points are different records, each with its count. `measures/bound.py` says what the numbers are good for.

Guarantee, for costs that grow with the interval, given k ≤ records: never above what trying all sets finds, but for
rounding; and just that, while there is room and effort left.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs.kernels import cell_cost
from shoal.boxes.heap import HEAP, pop, push
from shoal.boxes.record_tree.build import RecordTree
from shoal.compiling import allocating, inner, kernel
from shoal.compiling.structs import Struct, struct
from shoal.workers import side_by_side

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Rows = NDArray[np.void]  # of named fields
POINTS_PER_TURN = 2_000
ROOM = 256  # points whose boxes are looked at, and k more; of those further away only pairs are
DEPTH = 24  # how often a box grows, at most
EFFORT = 100_000  # points looked at in boxes for one record, times k


@struct
class Company(Struct):
    """What is looked for, and room to look: see `company_costs`."""

    tree: RecordTree
    counts: Longs
    k: int
    own_weight: float
    effort: int
    least: Floats
    most: Floats  # of each node: the largest `least` of its points
    heap: Rows  # HEAP: room for all nodes and points
    met: Rows  # HEAP: the best company so far, `least` and how many records
    inside: Rows  # HEAP: the same, in a box
    points: Longs  # (DEPTH, room): who may be in the set, the nearest first; each row is of a box within the next
    reach: Floats  # (DEPTH, room): what the box costs with it
    bounds: Floats  # (DEPTH, room): what a set costs at least, of which it is the furthest
    lo: Ints  # (DEPTH, columns): the box
    hi: Ints


def company_costs(
    tree: RecordTree, counts: Longs, k: int, least: Floats, own_weight: float, effort: int = EFFORT
) -> Floats:
    """Of each point r: the smallest c(S) − y(S) over all sets S of k − 1 other records; k is 2 or more.

    c(S): the cost of the box around r and S. y(S): the mean of `least` over S, and that of r itself with weight
    `own_weight`. Given that no box around k records costs less than `least` of any of them.
    """
    found, most = np.zeros(len(counts)), largest_below(tree, least)
    order = np.argsort(tree.leaves, kind="stable")  # those who look at the same nodes come one after the other

    def look(first: int, last: int) -> None:
        company = room_to_look(tree, counts, k, least, most, own_weight, effort // k)
        for begin in range(first, last, POINTS_PER_TURN):
            look_for_company(company, order[begin : min(last, begin + POINTS_PER_TURN)], found)

    side_by_side(look, len(order), least=POINTS_PER_TURN)
    return found


def room_to_look(
    tree: RecordTree, counts: Longs, k: int, least: Floats, most: Floats, own_weight: float, effort: int
) -> Company:
    """For one worker."""
    room, columns = min(ROOM + k, len(counts)), tree.codes.shape[1]
    return Company(
        tree=tree,
        counts=counts,
        k=k,
        own_weight=own_weight,
        effort=effort,
        least=least,
        most=most,
        heap=np.empty(len(counts) + len(most), HEAP),
        met=np.empty(k + 1, HEAP),
        inside=np.empty(k + 1, HEAP),
        points=np.empty((DEPTH, room), np.int64),
        reach=np.empty((DEPTH, room)),
        bounds=np.empty((DEPTH, room)),
        lo=np.empty((DEPTH, columns), np.int32),
        hi=np.empty((DEPTH, columns), np.int32),
    )


@kernel
def largest_below(tree: RecordTree, values: Floats) -> Floats:
    """Of each node: the largest value of its points."""
    nodes, entries = tree.nodes, tree.entries
    most = np.full(len(nodes), -np.inf)
    for node in range(len(most) - 1, -1, -1):  # children come after the node above them
        for entry in range(nodes[node].count):
            below = entries[node, entry]
            most[node] = max(most[node], values[below] if nodes[node].leaf else most[below])
    return most


@inner
def joined(
    met: Rows, size: int, total: int, together: float, value: float, records: int, most: int
) -> tuple[int, int, float]:
    """The `most` records with the largest values, after these: points, records, what their values add up to."""
    size = push(met, size, value, records)
    total += records
    together += records * value
    while total > most:  # the smallest leave
        leaving = min(met[0].entry, total - most)
        total -= leaving
        together -= leaving * met[0].key
        met[0].entry -= leaving
        if met[0].entry == 0:
            size = pop(met, size)
    return size, total, together


@kernel
def look_for_company(company: Company, some: Longs, found: Floats) -> None:
    """`company_costs` of some points, into `found`.

    Nodes and points are met in the order of the smallest cost that lets them in, which is that of the pair, and no
    `least` of the two: a point is item −1 − point. A set is looked at when its last point, the furthest, is met. The
    best company for a cost is the k − 1 with the largest `least` among those met. Where that says too little, `deeper`
    looks at the boxes; and when there is no room left for that, who is below all of the company is passed over.
    """
    tree, counts, k, own_weight = company.tree, company.counts, company.k, company.own_weight
    least, most, waiting, met = company.least, company.most, company.heap, company.met
    points, reach, lo, hi = company.points, company.reach, company.lo, company.hi
    costs, codes, entries, tree_nodes = tree.costs, tree.codes, tree.entries, tree.nodes
    node_lo, node_hi = tree.lo, tree.hi
    columns, room = codes.shape[1], points.shape[1]
    for point in some:
        here, own = codes[point], least[point]
        lo[0], hi[0] = here, here
        size, total, together = 0, 0, 0.0  # points of the company, their records, what these add up to
        best, floor, n_met, effort = np.inf, -np.inf, 0, company.effort
        n_waiting = push(waiting, 0, own, 0)
        while n_waiting > 0:
            v, item = waiting[0].key, waiting[0].entry
            if own_weight * (v - own) >= best:  # nobody's `least` is above v: the others take nothing away
                break
            n_waiting = pop(waiting, n_waiting)
            if item >= 0:
                leaf = tree_nodes[item].leaf
                for entry in range(tree_nodes[item].count):
                    below = entries[item, entry]
                    if (least[below] if leaf else most[below]) <= floor:
                        continue
                    cost = 0.0
                    for j in range(columns):
                        low, high = (
                            (codes[below, j], codes[below, j]) if leaf else (node_lo[below, j], node_hi[below, j])
                        )
                        cost += cell_cost(costs, j, min(here[j], high), max(here[j], low))
                    if leaf:
                        n_waiting = push(waiting, n_waiting, max(cost, own, least[below]), -1 - below)
                    else:
                        n_waiting = push(waiting, n_waiting, max(cost, own), below)
                continue
            other = -1 - item
            records = counts[other] - (1 if other == point else 0)
            if records == 0 or least[other] <= floor:
                continue
            size, total, together = joined(met, size, total, together, least[other], min(records, k - 1), k - 1)
            among = together
            if n_met < room:
                points[0, n_met], reach[0, n_met] = other, v
                n_met += 1
                among -= max(0.0, met[0].key - least[other])  # it is one of them
            elif total == k - 1:
                floor = met[0].key
            if total == k - 1:
                bound = v - own_weight * own - (1.0 - own_weight) * among / (k - 1)
                if bound < best and floor == -np.inf and effort > 0:
                    bound, effort = deeper(company, point, n_met - 1, bound, best, effort)
                best = min(best, bound)
        found[point] = max(0.0, best)  # never below, but for rounding


@allocating
def grown(company: Company, point: int, level: int, i: int, now: float, best: float) -> tuple[int, int, float]:
    """The box of a level takes in the i-th of its points: the next level. `now`: the bound of sets that have both.

    How many points are left in the next level, how many of them, the first, are in its box, and `best`, or what the
    best company in the box costs if that is less.
    """
    tree, counts, least, k = company.tree, company.counts, company.least, company.k
    points, reach, inside, own_weight = company.points, company.reach, company.inside, company.own_weight
    costs, codes = tree.costs, tree.codes
    lo, hi = company.lo[level + 1], company.hi[level + 1]
    columns, added = codes.shape[1], points[level, i]
    cost = 0.0
    for j in range(columns):
        lo[j] = min(company.lo[level, j], codes[added, j])
        hi[j] = max(company.hi[level, j], codes[added, j])
        cost += cell_cost(costs, j, lo[j], hi[j])
    left, within, size, total, together = 0, 0, 0, 0, 0.0
    for at in range(i + 1):
        other = points[level, at]
        with_it = 0.0
        for j in range(columns):
            with_it += cell_cost(costs, j, min(lo[j], codes[other, j]), max(hi[j], codes[other, j]))
        if with_it <= cost:
            records = min(counts[other] - (1 if other == point else 0), k - 1)
            size, total, together = joined(inside, size, total, together, least[other], records, k - 1)
            within += 1
        elif now + with_it - reach[level, i] >= best:  # no set with it is better
            continue
        points[level + 1, left], reach[level + 1, left] = other, with_it
        left += 1
    if total == k - 1:
        best = min(best, cost - own_weight * least[point] - (1.0 - own_weight) * together / (k - 1))
    order = np.argsort(reach[level + 1, :left])
    points[level + 1, :left] = points[level + 1, :left][order]
    reach[level + 1, :left] = np.maximum(reach[level + 1, :left][order], reach[level, i])
    return left, within, best


@inner
def bounded(company: Company, point: int, level: int, n: int, within: int) -> None:
    """Of each of n points outside the box of a level: a bound of all sets of which it is the furthest."""
    counts, least, k, own_weight = company.counts, company.least, company.k, company.own_weight
    points, reach, bounds, inside = company.points, company.reach, company.bounds, company.inside
    own, size, total, together = least[point], 0, 0, 0.0
    for i in range(n):
        other = points[level, i]
        records = min(counts[other] - (1 if other == point else 0), k - 1)
        size, total, together = joined(inside, size, total, together, least[other], records, k - 1)
        bounds[level, i] = np.inf
        if total == k - 1 and i >= within:
            among = together - max(0.0, inside[0].key - least[other])  # it is one of them
            bounds[level, i] = reach[level, i] - own_weight * own - (1.0 - own_weight) * among / (k - 1)


@allocating
def deeper(company: Company, point: int, i: int, now: float, best: float, effort: int) -> tuple[float, int]:
    """The least of all sets whose furthest is the i-th point met, or `best` if that is less; the effort left.

    `now`: a bound of these sets, which is below `best`. A set is found by its furthest point, then by the one that is
    furthest from the box around both, and so on: whoever is further than that is not in it. Ends when all others
    are in the box, or a bound says that they are not worth it; without effort or levels, with the bound that is left.
    """
    bounds = company.bounds
    sizes = np.zeros(DEPTH, np.int64)
    open_bound, level, first, lowest = np.inf, 0, i, now
    while True:
        left, within, best = grown(company, point, level, first, lowest, best)
        effort -= first + 1
        if left > within:
            level += 1
            sizes[level] = left
            bounded(company, point, level, left, within)
        first = -1
        while first < 0 and level > 0:
            lowest = best
            for at in range(sizes[level]):
                if bounds[level, at] < lowest:
                    first, lowest = at, bounds[level, at]
            if first >= 0 and (effort <= 0 or level == DEPTH - 1):
                open_bound = min(open_bound, lowest)
                first = -1
            if first < 0:
                level -= 1
        if level == 0:
            break
        bounds[level, first] = np.inf
    return max(now, min(best, open_bound)), effort
