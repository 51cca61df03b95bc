"""One person, several records: where nobody has said so, but it looks like it.

k records of two people hide nobody. The role `person` says whose record is whose; without it a table whose records
repeat as those of one person do deserves a question.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ShoalWarning
from shoal.records.encode import Records

ALIKE = 0.2  # the share of the records that agree with another in every quasi-identifier
AGREE = 0.5  # of the pairs that agree in all columns but one, how many agree in that one too
TELLING = 0.1  # two records agree in a telling column less often than this


def warn_of_several_records(records: Records) -> None:
    """Warn if records look as if several were of one person.

    Records of one person agree in everything. Records of different people who agree in all columns but one seldom agree
    in that one too, if it tells people apart: of two people with the same town, sex and job few are of the same age.
    So the question is asked of every column, and one that says no is enough.
    """
    if records.people is not None or len(records) < 2 or not len(records.books):
        return
    # A hash of each record: sorting one number per record instead of all of its codes. A clash among a million records
    # has a chance of one in ten million, and costs a wrong count by one.
    factors = np.random.default_rng(0).integers(1, 2**63, records.codes.shape[1], dtype=np.uint64)
    parts = records.codes.astype(np.uint64) * factors
    hashes = parts.sum(axis=1, dtype=np.uint64)
    _, counts = np.unique(hashes, return_counts=True)
    alike = int(counts[counts > 1].sum())
    by_chance = [float(((book.counts / len(records)) ** 2).sum()) for book in records.books]
    if alike < ALIKE * len(records) or min(by_chance) > TELLING:
        return
    agreeing = _pairs(counts)
    for j in range(parts.shape[1]):
        _, but_one = np.unique(hashes - parts[:, j], return_counts=True)
        if agreeing < AGREE * _pairs(but_one):
            return
    note = (
        f"{alike} of {len(records)} records agree with another in every quasi-identifier, few in all but one. "
        'If one person may have several records, give the column that says whose they are the role "person": '
        "k then counts people."
    )
    warnings.warn(note, ShoalWarning, stacklevel=3)


def _pairs(counts: NDArray[np.int64]) -> float:
    return float((counts * (counts - 1.0)).sum()) / 2
