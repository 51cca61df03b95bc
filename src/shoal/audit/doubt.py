"""What is undecided: where no way was found to tell somebody's values, and it is not certain that there is none."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from shoal.audit.changes import tangled
from shoal.audit.equations import classes_of_atoms
from shoal.audit.history import History, Members

Bools = NDArray[np.bool_]
LACKING, ERASED, CHANGED, BACK = "lacking", "erased", "changed", "back"
WORDS = {
    LACKING: "told apart from others, in sets too small or too alike for a class; no sum of published counts was found "
    "that gives them away",
    ERASED: "told apart from others; what values they have together depends on people who have been erased",
    CHANGED: "in classes with others who have changed, so that knowing who has may tell more",
    BACK: "here since others were erased; whether they are the same people, who have come back, nobody can say",
}


def doubts(history: History, members: Members, lacking: Bools, undecided: Bools) -> Mapping[str, Bools]:
    """The atoms in doubt, by cause. `lacking`: without what is asked of a class; `undecided`: of those, the ones of
    which it is not known whether they come out."""
    return {
        LACKING: undecided,
        ERASED: ~lacking & _erased(history, members),
        CHANGED: tangled(history, members),
        BACK: _perhaps_back(history, members),
    }


def _erased(history: History, members: Members) -> Bools:
    """Atoms with values that are not known any more; unless one was a class of its own once, and so was verified."""
    erased = np.zeros(members.n_atoms, bool)
    if not history.rules and not history.values:
        return erased
    erased[history.atoms[~history.known]] = True
    for of_atoms in classes_of_atoms(history, members):
        present = np.flatnonzero(of_atoms >= 0)
        sizes = np.bincount(of_atoms[present], minlength=1)
        erased[present[sizes[of_atoms[present]] == 1]] = False
    return erased


def _perhaps_back(history: History, members: Members) -> Bools:
    """Atoms that came after somebody had left whom nobody can name any more. An attacker would know who has come back,
    and may take their values for unchanged."""
    found = np.zeros(members.n_atoms, bool)
    if not history.nameless.any():
        return found
    first = np.full(members.n_atoms, len(history.releases))
    last = np.full(members.n_atoms, -1)
    for at, of_atoms in enumerate(classes_of_atoms(history, members)):
        first[(of_atoms >= 0) & (first > at)] = at
        last[of_atoms >= 0] = at
    gone = last[np.unique(history.atoms[history.nameless])]
    gone = gone[gone >= 0]
    if len(gone):
        found = (first > int(gone.min())) & (last >= 0)
    return found
