"""The first cohorts of a table that has been published otherwise before: the atoms of its history.

An atom is a set of people whom no release tells apart. One that lacks what is asked of a class is joined with others:
that mends nothing of what the releases so far say together, but the next ones add nothing to it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shoal.boxes.geometry import group_boxes
from shoal.cohorts.places import TAINTED, Bools, Longs, Places, Table


def first_cohorts(table: Table, places: Places, groups: Longs) -> Places:
    """Places whose cohorts are atoms, in cohorts that have what is asked; tainted where atoms had to be joined.

    `groups`: a group of each record, as a partition of the same records has it: atoms of one group are joined first.
    """
    places = places.without_dead_cohorts()
    if not len(places):
        return places
    numbers, holds = table.holds(places)
    small = np.isin(places.cohorts, numbers[~holds])
    if not small.any():
        return places
    cohorts, tainted = places.cohorts.copy(), np.where(small, TAINTED, places.tainted)
    places = replace(places, people=_people(table, places))
    _join_by_group(cohorts, small, places, groups)
    while True:
        now = replace(places, cohorts=cohorts, tainted=tainted)
        numbers, holds = table.holds(now)
        if holds.all() or len(numbers) == 1:
            return now
        cohorts = _join_nearest(table, now, numbers, holds)
        tainted = np.where(np.isin(cohorts, np.unique(cohorts[tainted == TAINTED])), TAINTED, tainted)


def _people(table: Table, places: Places) -> Longs:
    """Numbers that hold across atoms: of holders whose records they are; of ghosts those of their atom."""
    people = table.records.people
    if people is None:
        return np.arange(len(places))
    pairs = np.stack([places.cohorts, places.people])
    own = np.unique(pairs, axis=1, return_inverse=True)[1].reshape(-1) + int(people.max(initial=0)) + 1
    return np.where(places.held, people[np.maximum(places.holders, 0)], own)


def _join_by_group(cohorts: Longs, small: Bools, places: Places, groups: Longs) -> None:
    """Small atoms whose first holders are in one group become one."""
    held = np.flatnonzero(small & places.held)
    atoms, first = np.unique(cohorts[held], return_index=True)
    of_atom = groups[places.holders[held[first]]]
    order = np.argsort(of_atom, kind="stable")
    heads = atoms[order[np.searchsorted(of_atom[order], of_atom)]]  # of each atom: the first of its group
    at = np.searchsorted(atoms, cohorts[small])
    cohorts[small] = heads[at]


def _join_nearest(table: Table, places: Places, numbers: Longs, holds: Bools) -> Longs:
    """Each cohort that lacks something joins the one where that costs least; once for every other."""
    label = np.searchsorted(numbers, places.cohorts)
    lo, hi, sizes = group_boxes(table.codes_of(places), label.astype(np.int32), len(numbers))
    losses = table.losses(lo, hi)
    joins = np.arange(len(numbers))
    busy = np.zeros(len(numbers), bool)
    for one in np.flatnonzero(~holds).tolist():
        if busy[one]:
            continue
        wide = table.losses(np.minimum(lo, lo[one]), np.maximum(hi, hi[one]))
        costs = sizes * (wide - losses) + sizes[one] * (wide - losses[one])
        costs[busy] = np.inf
        costs[one] = np.inf
        other = int(np.argmin(costs))
        if not np.isfinite(costs[other]):
            continue
        joins[one] = other
        busy[[one, other]] = True
    return numbers[joins][label]
