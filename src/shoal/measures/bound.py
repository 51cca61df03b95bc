"""The certificate of a release: what no grouping can go below."""

from __future__ import annotations

import importlib

import numpy as np

from shoal.boxes.costs import cost_tables
from shoal.records.encode import Records

OWN_WEIGHT = 0.2  # any number from 0 to 1 gives a bound; from here down it hardly grows, and takes longer
MOST_COMPANY = 2_000_000  # different records, times k: beyond, looking for company is not worth its time


def least_loss(records: Records, k: int) -> float:
    """A Total-IL that no partition of these records into groups of k or more goes below, given k ≤ records.

    Write c(G) for the cost of the box around a group G and d(r, s) for that of the box around two records. A partition
    loses c of its own group for each record, and c grows with the box (`boxes/costs.py`: for hierarchies and missing
    values, too).

    *Neighbours.* Beside r its group G has k − 1 others at least, and the box of G contains the box around r and any of
    them. So c(G) ≥ m(r), the (k − 1)-th smallest d(r, s) over all other records s: Σ m(r) is a bound.

    *Company.* A record in a thin place makes those who share its group lose more than their own m. Choose k − 1 others
    S of r's group at random, and let y = w · m(r) + (1 − w) · mean of m over S. The expected y, added up over the
    members r of G, is Σ m(r): w of it because each counts itself, 1 − w because the mean over the others of the group
    counts each member |G| − 1 times, by 1 / (|G| − 1). So

        |G| · c(G) = Σ m(r) + Σ (c(G) − expected y) ≥ Σ m(r) + Σ min (c(G) − y)

    with the minimum over all S. All members of S are in G, so c(G) is at least v(S), the largest of m(r), and of
    d(r, s) and m(s) for s in S. Let a(r) be the smallest v(S) − y over any k − 1 other records S of the table; it is
    never below 0. Σ m(r) + a(r) is a bound, whatever w is.

    Whatever else is asked of groups leaves fewer partitions, and the bound holds. Where k counts people it holds as
    well: k people have k records at least. Unweighted, as Total-IL is. Rounding is all that could lift it above a loss.
    """
    neighbours = importlib.import_module("shoal.boxes.neighbours")  # loads Numba
    trees = importlib.import_module("shoal.boxes.record_tree")
    points, counts = np.unique(records.codes, axis=0, return_counts=True)
    costs = cost_tables(records.books, "il", weighted=False)
    tree = trees.record_tree(np.ascontiguousarray(points), np.zeros(len(points)), costs, far=False)
    least = neighbours.neighbour_costs(tree, counts, costs, k)
    bound = float(counts @ least)
    if k > 1 and len(points) * k <= MOST_COMPANY:
        bound += float(counts @ neighbours.company_costs(tree, counts, costs, k, least, OWN_WEIGHT))
    return bound
