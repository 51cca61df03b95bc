"""Who has changed: what an attacker knows who knows that, and when that is certain to give nothing away.

Somebody whose sensitive value changes is one unit before and another one after (`History.successors`). In a column
where the two differ the attacker knows that they do; where they are equal (another column has changed, or somebody
holds another place with the same value) that they are.

Any permutation of the values within each atom is a world in which all releases are the same. The pairs take some of
these worlds away. Draw an edge between two atoms for each pair: if the atoms and edges are a *forest*, nothing is lost.
Give any unit any value of its atom and go from atom to atom: each is entered by one edge only. Where the two values
differ, an atom with two values has one that differs from the given one, whatever that is; where they are equal, the
later atom must have every value of the earlier one, and be entered by one such edge only: then one of these values is
left for the unit, whichever other unit of the atom had been given a value. So every value of an atom stays possible for
each of its units.

Guarantee: outside what `tangled` returns, the values that are possible for a unit are those that are possible without
knowing who has changed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import runs
from shoal.audit.history import History, Members
from shoal.verify.models import Values

Longs = NDArray[np.int64]
Bools = NDArray[np.bool_]


def shown_successors(history: History) -> Longs:
    """The pairs of which releases show both."""
    if not len(history.successors):
        return history.successors
    found: Longs = history.successors[history.seen()[history.successors].all(axis=1)]
    return found


def tangled(history: History, members: Members) -> Bools:
    """The atoms of which it is not certain that knowing who has changed says nothing."""
    found = np.zeros(members.n_atoms, bool)
    pairs = shown_successors(history)
    if not len(pairs):
        return found
    atoms = history.atoms[pairs]
    ends = np.unique(atoms)
    component = _components(atoms, members.n_atoms)
    n_edges = np.bincount(component[atoms[:, 0]], minlength=members.n_atoms)
    n_ends = np.bincount(component[ends], minlength=members.n_atoms)
    bad = n_edges > n_ends - 1  # there is a way round
    for values in history.values.values():
        bad[component[atoms[_narrowing(history, members, values, pairs, atoms), 0]]] = True
    units = members.of(ends)[0]
    bad[component[history.atoms[units[~history.known[units]]]]] = True
    found[ends] = bad[component[ends]]
    return found


def _narrowing(history: History, members: Members, values: Values, pairs: Longs, atoms: Longs) -> Bools:
    """The pairs that take values away, in one column."""
    width = len(values.names) + 1
    ends = np.unique(atoms)
    units, at = members.of(ends)
    keys = np.unique(ends[at] * width + values.numbers[units])
    n_values = np.bincount(keys // width, minlength=members.n_atoms)
    earlier, later = atoms.T
    # Values of the earlier atom that the later one has, too.
    starts = np.searchsorted(keys, earlier * width)
    entry, pair = runs(starts, n_values[earlier])
    wanted = later[pair] * width + keys[entry] % width
    there = keys[np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)] == wanted
    common = np.bincount(pair, there, minlength=len(atoms))
    equal = values.numbers[pairs[:, 0]] == values.numbers[pairs[:, 1]]
    entered = np.bincount(later[equal], minlength=members.n_atoms)
    several = (n_values[earlier] > 1) & (n_values[later] > 1)
    keeps = np.where(equal, (common == n_values[earlier]) & (entered[later] == 1) & several, several | (common == 0))
    # An atom with one value, in a column in which all of its classes have one, has nothing to lose.
    return ~(keeps | (equal & (n_values[earlier] == 1) & (n_values[later] == 1)))


def _components(edges: Longs, size: int) -> Longs:
    """The smallest number in the connected component of each."""
    labels = np.arange(size)
    while True:
        before = labels
        low = labels[edges].min(axis=1)
        labels = labels.copy()
        np.minimum.at(labels, before[edges[:, 0]], low)
        np.minimum.at(labels, before[edges[:, 1]], low)
        labels = labels[labels]
        if np.array_equal(labels, before):
            return labels
