"""The certificate of a release: what no grouping can go below."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import cost_tables
from shoal.records.encode import Records

OWN_WEIGHT = 0.2  # any number from 0 to 1 gives a bound; from here down it hardly grows, and takes longer
MOST_COMPANY = 2_000_000  # different records, times k: beyond, looking at boxes and company is not worth its time


def least_loss(records: Records, k: int, withheld: int = 0) -> float:
    """A Total-IL that no partition of these records into groups of k or more goes below, given k ≤ records.

    `withheld`: nor one of fewer records, where so many at most are in no group and each of them counts in full.

    Write c(G) for the cost of the box around a group G and d(r, s) for that of the box around two records. A partition
    loses c of its own group for each record, and c grows with the box (`boxes/costs.py`: for hierarchies and missing
    values, too).

    *Boxes.* Beside r its group G has k − 1 others at least, and the box of G contains the box around r and any k − 1 of
    them. So c(G) ≥ m(r), the least cost of a box around r and k − 1 other records: Σ m(r) is a bound. Where that takes
    too long to find, m(r) is something between it and the (k − 1)-th smallest d(r, s) over all other records s, which
    is never above it: the box contains the one around r and any of them.

    *Company.* A record in a thin place makes those who share its group lose more than their own m. Choose k − 1 others
    S of r's group at random, and let y = w · m(r) + (1 − w) · mean of m over S. The expected y, added up over the
    members r of G, is Σ m(r): w of it because each counts itself, 1 − w because the mean over the others of the group
    counts each member |G| − 1 times, by 1 / (|G| − 1). So

        |G| · c(G) = Σ m(r) + Σ (c(G) − expected y) ≥ Σ m(r) + Σ min (c(G) − y)

    with the minimum over all S. All members of S are in G, so c(G) is at least the cost of the box around r and S. Let
    a(r) be the smallest such cost less y, over any k − 1 other records S of the table: it is never below 0, as the cost
    is at least m(r), and m of each in S. Where that takes too long to find, a(r) is something between 0 and it.
    Σ m(r) + a(r) is a bound, whatever w is.

    *Withholding.* A group of records that are kept has k members, all of this table: it loses Σ m(r) + a(r) over its
    members, with m and a over the whole table, which are not above those over the records kept. A withheld record loses
    f, the full cost of all columns. f is not below m(r), but may be below m(r) + a(r): who is in no group makes nobody
    lose more. So the loss is at least Σ m(r) + a(r) over all records, less m(r) + a(r) − f for those withheld; and at
    most as much is taken off as by those of whom m(r) + a(r) − f is largest, where it is above 0.

    Whatever else is asked of groups leaves fewer partitions, and the bound holds. Where k counts people it holds as
    well: k people have k records at least. Unweighted, as Total-IL is. Rounding is all that could lift it above a loss.
    """
    from shoal.boxes.record_tree.bounds import neighbour_costs  # loads Numba
    from shoal.boxes.record_tree.build import record_tree
    from shoal.boxes.record_tree.company import company_costs

    points, counts = np.unique(records.codes, axis=0, return_counts=True)
    costs = cost_tables(records.books, "il", weighted=False)
    tree = record_tree(np.ascontiguousarray(points), np.zeros(len(points)), costs, far=False)
    least = neighbour_costs(tree, counts, k)
    if k > 1 and len(points) * k <= MOST_COMPANY:
        boxes = company_costs(tree, counts, k, np.zeros(len(points)), 1.0)  # the cost of the box alone
        least = np.maximum(least, boxes)
        least = least + company_costs(tree, counts, k, least, OWN_WEIGHT)
    bound = float(counts @ least)
    return bound - _most(least - costs.full, counts, withheld) if withheld else bound


def _most(values: NDArray[np.float64], counts: NDArray[np.int64], count: int) -> float:
    """The largest values, so many at most, added up; each occurs as often as it is counted. Those below 0 are not."""
    order = np.argsort(-values)
    before = np.cumsum(counts[order]) - counts[order]
    taken = np.clip(count - before, 0, counts[order])
    return float(np.maximum(0.0, values[order]) @ taken)
