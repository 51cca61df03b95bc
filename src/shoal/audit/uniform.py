"""Atoms with one value, in classes that have several.

Where no diversity is asked, a class may have one value only: whoever is in it is known to have it, and a release may
say so. But where a class has several, and all of those who are told apart from the others have the same, the releases
say together what none of them says alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.audit.history import History, Members

Bools = NDArray[np.bool_]


def uniform(history: History, members: Members) -> Bools:
    """The atoms with one value of a sensitive column, of which every class they are in has more."""
    found = np.zeros(members.n_atoms, bool)
    forgotten = np.zeros(members.n_atoms, bool)
    forgotten[history.atoms[~history.known]] = True
    for values in history.values.values():
        first = values.numbers[members.units[members.starts[:-1]]]
        alike = np.ones(members.n_atoms, bool)
        alike[history.atoms[values.numbers != first[history.atoms]]] = False
        alike &= ~forgotten
        for shown in history.releases:
            # A class all of whose units have the value of its first one says so itself.
            n_classes = int(shown.classes.max(initial=-1)) + 1
            there = np.flatnonzero(shown.classes >= 0)
            of_class = np.zeros(n_classes, np.int64)
            of_class[shown.classes[there]] = values.numbers[there]
            several = np.zeros(n_classes + 1, bool)
            several[-1] = True  # absent: says nothing
            several[shown.classes[there[values.numbers[there] != of_class[shown.classes[there]]]]] = True
            alike &= several[shown.classes[members.units[members.starts[:-1]]]]
        found |= alike
    return found
