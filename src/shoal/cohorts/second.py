"""People who have been in a cohort before, and enter another.

Whoever has *moved* has stayed in the table and changed the sensitive value: an attacker knows that the old value and
the new one differ. Whoever has *returned* was away, and found the place taken or has other values: an attacker may
assume that nothing has changed. Either takes possible worlds away. This rule leaves enough of them (`docs/safe.md`):

1. without them, a cohort has what is asked of a class;
2. of a cohort with one of them, every sensitive column has two values (and two that are not the only one of an earlier
   cohort); and if that one has returned, it has all values of the earlier cohorts; and if that one's row is another one
   now, it and the earlier cohorts say the same in all columns but one sensitive one: nobody is followed by what has not
   changed, nor by what is known to have;
3. of a cohort with r who returned and s who moved, r + s > 1: every value of the returners' earlier cohorts occurs at
   least r + 1 times, and for every sensitive value at least r + s + 1 places have another;
4. who comes from places of which earlier releases say more than their cohort (or from a cohort that is no more) enters
   none after an absence; and after a move one whose sensitive columns have three values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from shoal.cohorts.places import Floats, Longs, Past, Places, Table
from shoal.records.codebook import Codes

MOST_TRIED = 20  # cohorts, for each who enters a second one


@dataclass
class _Cohort:
    """A new cohort, as people with a past join it."""

    records: list[int]
    lo: Codes
    hi: Codes
    loss: float
    returned: list[Past] = field(default_factory=list)
    moved: list[Past] = field(default_factory=list)


def join_again(
    table: Table, places: Places, waiting: Longs, labels: Longs, pasts: dict[int, Past], limits: Floats
) -> dict[int, int]:
    """The new cohorts that people with a past may join, by record: the cheapest that the rule allows.

    `labels`: the new cohort of each waiting record, or −1. `limits`: what each may cost at most: what it loses, and
    what the others lose more.
    """
    numbers = np.unique(labels[labels >= 0])
    if not len(numbers) or not pasts:
        return {}
    codes = table.records.codes
    boxes = table.boxes(codes[waiting[labels >= 0]], labels[labels >= 0], len(numbers))
    cohorts = [
        _Cohort(waiting[labels == number].tolist(), boxes.lo[number], boxes.hi[number], float(boxes.losses[number]))
        for number in numbers.tolist()
    ]
    found = {}
    for record, limit in zip(waiting[labels < 0].tolist(), limits[labels < 0].tolist(), strict=True):
        past = pasts.get(record)
        if past is None:
            continue
        lo, hi = np.stack([one.lo for one in cohorts]), np.stack([one.hi for one in cohorts])
        wide = table.losses(np.minimum(lo, codes[record]), np.maximum(hi, codes[record]))
        sizes = np.array([len(one.records) for one in cohorts])
        costs = wide + sizes * (wide - np.array([one.loss for one in cohorts]))
        for number in np.argsort(costs, kind="stable")[:MOST_TRIED].tolist():
            if costs[number] > limit:
                break
            cohort = cohorts[number]
            if _allowed(table, places, cohort, record, past):
                cohort.records.append(record)
                (cohort.moved if past.moved else cohort.returned).append(past)
                cohort.lo, cohort.hi = np.minimum(cohort.lo, codes[record]), np.maximum(cohort.hi, codes[record])
                cohort.loss = float(wide[number])
                found[record] = number
                break
    return found


def _allowed(table: Table, places: Places, cohort: _Cohort, record: int, past: Past) -> bool:
    records = np.array([*cohort.records, record])
    pasts = [*cohort.returned, *cohort.moved, past]
    if not past.known and not past.moved:
        return False
    if not _has_what_is_asked(table, records):
        return False
    sensitive = table.sensitive[records]
    for one in pasts:
        if (one.moved or one.changed) and not _leaves_two(table, places, records, one):
            return False
    returned = [*cohort.returned, *([] if past.moved else [past])]
    earlier = _values_of(table, places, returned)
    values, counts = np.unique(table.values[records], return_counts=True)
    if not np.isin(earlier, values).all():
        return False
    if any(len(np.unique(column)) < 2 for column in sensitive.T):
        return False
    if len(pasts) == 1:
        return True
    often = counts[np.searchsorted(values, earlier)]
    if (often < len(returned) + 1).any():
        return False
    return all(len(records) - np.bincount(column).max() >= len(pasts) + 1 for column in sensitive.T)


def _has_what_is_asked(table: Table, records: Longs) -> bool:
    alone = Places.none().begun_with(records, np.zeros(len(records), np.int64), _people(table, records))
    return bool(table.holds(alone)[1].all())


def _people(table: Table, records: Longs) -> Longs | None:
    return None if table.records.people is None else table.records.people[records].astype(np.int64)


def _leaves_two(table: Table, places: Places, records: Longs, past: Past) -> bool:
    """Whether somebody whose row is another one now can have two values, whatever is known of the earlier one."""
    sensitive = table.sensitive[records]
    if not past.known:
        return table.contents.num_columns == 1 and all(len(np.unique(column)) >= 3 for column in sensitive.T)
    for number in past.cohorts:
        before = places.shows[places.cohorts == number]
        if not _differ_in_one_column(table, np.concatenate([before, records])):
            return False
        for old, new in zip(table.sensitive[before].T, sensitive.T, strict=True):
            only = np.unique(old)
            if len(only) == 1 and len(np.setdiff1d(new, only)) < 2:
                return False
    return True


def _differ_in_one_column(table: Table, rows: Longs) -> bool:
    """Whether rows say the same in all columns but one, which is sensitive."""
    return any(len(np.unique(rest[rows])) == 1 for rest in table.beside)


def _values_of(table: Table, places: Places, pasts: Sequence[Past]) -> Longs:
    """All values of the cohorts where these people were."""
    cohorts = {number for past in pasts for number in past.cohorts}
    return np.unique(table.values[places.shows[np.isin(places.cohorts, list(cohorts))]])
