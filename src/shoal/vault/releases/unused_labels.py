"""Labels live as long as somebody is in the class: what a class looked like goes with the last of its members.

A label may be a value as it was (a city, a postal code, a set of them). Who else was in a group when a release showed
it is known from records and memberships; where that is nobody who could still be shown, the group is taken out of the
snapshot that says what it looked like. Unless another group looked the same, and somebody is left of that: both were
one class, and an audit has to know.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from shoal.vault.releases.looks import Looks
from shoal.vault.releases.snapshots import Snapshot, make_snapshot
from shoal.vault.state.save import Saving
from shoal.vault.store import tables
from shoal.vault.store.queries import chunks, rows_among
from shoal.vault.store.store import Store

Longs = NDArray[np.int64]
NOBODY = np.zeros(0, np.int64)
FOREVER = np.iinfo(np.int64).max


class Stays(NamedTuple):
    """Who was in which group from which version on, and before which."""

    groups: Longs
    since: Longs
    until: Longs

    def at(self, version: int) -> Longs:
        """The groups that somebody was in."""
        return np.unique(self.groups[(self.since <= version) & (self.until > version)])

    @classmethod
    def of(cls, rows: Sequence[tuple[int, int, int]]) -> Stays:
        return cls(*np.array(rows, np.int64).reshape(-1, 3).T)


def forget_unused(saving: Saving, members_now: Callable[[Longs], Longs]) -> None:
    """Called when people have been erased. `members_now`: the numbers of the records that are in some groups."""
    gone = Stays.of(saving.erased)
    shown = _shown_versions(saving.connection)
    if not len(gone.groups) or not shown:
        return
    groups = np.unique(gone.groups)
    staying = _staying(saving.connection, groups, members_now(groups))
    left = {version: np.setdiff1d(gone.at(version), staying.at(version)) for version in shown}
    if not any(map(len, left.values())):
        return
    snapshots = _snapshot_groups(saving.connection)
    every = np.unique(np.concatenate([named for _, named in snapshots.values()]))
    looks = Looks(saving.connection, every, saving.store.where)
    classes = {version: looks.numbers_at(version).copy() for version in shown}
    emptied = np.unique(np.concatenate(list(left.values())))
    alike = _alike(every, classes, emptied)  # some of them may be there for the sake of one that is emptied now
    around = _alike(every, classes, alike)
    staying = _for_their_class(every, classes, _staying(saving.connection, around, members_now(around)))
    needed = _needed(snapshots, staying, shown)
    for version, (_, named) in snapshots.items():
        unused = np.isin(named, alike) & ~np.isin(named, needed[version])
        if unused.any():
            _rewrite(saving.store, saving.connection, version, ~unused)


def _alike(every: Longs, classes: Mapping[int, Longs], groups: Longs) -> Longs:
    """These groups, and those that looked like one of them in some release. `classes`: of `every`, by version."""
    found = np.isin(every, groups)
    wanted = found.copy()
    for numbers in classes.values():
        found |= np.isin(numbers, np.unique(numbers[wanted & (numbers >= 0)]))
    return np.union1d(every[found], groups)


def _for_their_class(every: Longs, classes: Mapping[int, Longs], staying: Stays) -> Stays:
    """Those who stay; and in each release, as if somebody were in them, groups that look like one with somebody."""
    kept = [staying]
    for version, numbers in classes.items():
        there = np.unique(numbers[np.isin(every, staying.at(version)) & (numbers >= 0)])
        same = every[np.isin(numbers, there)]
        kept.append(Stays(same, np.full(len(same), version), np.full(len(same), version + 1)))
    return Stays(*map(np.concatenate, zip(*kept, strict=True)))


def forget_all_unused(store: Store, connection: sa.Connection) -> None:
    """The same for the whole history; and snapshots of format 1 had labels beside those of their own groups."""
    records, memberships = tables.records, tables.memberships
    now = [row for some in chunks(connection, records, tables.GROUP) for row in zip(*some, strict=True)]
    there = {row[0] for row in now}
    there.update(number for some in chunks(connection, tables.past_records, ["id"]) for number in some[0])
    past = [row for some in chunks(connection, memberships, tables.MEMBERSHIP) for row in zip(*some, strict=True)]
    stays = [(group, since, FOREVER) for _, group, since in now]
    stays += [(group, since, until) for number, since, until, group in past if number in there]
    snapshots = _snapshot_groups(connection)
    needed = _needed(snapshots, Stays.of(stays), _shown_versions(connection))
    for version, (_, named) in snapshots.items():
        _rewrite(store, connection, version, np.isin(named, needed[version]))


def _shown_versions(connection: sa.Connection) -> list[int]:
    releases = tables.releases
    found = connection.scalars(sa.select(releases.c.version).where(releases.c.done.is_(True)).distinct()).all()
    return sorted(int(version) for version in found)


def _staying(connection: sa.Connection, groups: Longs, now: Longs) -> Stays:
    """Those who were, or are (`now`), in these groups and can still be shown."""
    current = rows_among(connection, tables.records, tables.GROUP, "id", now)
    stays = [(group, since, FOREVER) for _, group, since in current]
    past = rows_among(connection, tables.memberships, tables.MEMBERSHIP, "group_id", groups)
    ids = np.unique(np.array([row[0] for row in past], np.int64))
    tables_of_values = tables.records, tables.past_records
    there = {row[0] for table in tables_of_values for row in rows_among(connection, table, ["id"], "id", ids)}
    stays += [(group, since, until) for number, since, until, group in past if number in there]
    return Stays.of(stays)


def _snapshot_groups(connection: sa.Connection) -> dict[int, tuple[int, Longs]]:
    """Of each snapshot, by its version: the one it builds on, and the groups that it names."""
    return {
        version: (base, np.frombuffer(groups, "<i8").astype(np.int64))
        for some in chunks(connection, tables.classes, ("version", "base", "groups"))
        for version, base, groups in zip(*some, strict=True)
    }


def _needed(snapshots: Mapping[int, tuple[int, Longs]], staying: Stays, shown: Sequence[int]) -> dict[int, Longs]:
    """Of each snapshot, the groups in which somebody is left whom a release shows by it (as `labels_at` finds it)."""
    found: dict[int, list[Longs]] = {version: [] for version in snapshots}
    for version in shown:
        until = [number for number in snapshots if number <= version]
        unseen = staying.at(version)
        for number in reversed([one for one in until if one >= snapshots[until[-1]][0]]):
            here = np.intersect1d(unseen, snapshots[number][1])
            found[number].append(here)
            unseen = np.setdiff1d(unseen, here)
    return {version: np.unique(np.concatenate([NOBODY, *some])) for version, some in found.items()}


def _rewrite(store: Store, connection: sa.Connection, version: int, keep: NDArray[np.bool_]) -> None:
    """Store a snapshot with some of its groups only."""
    (row,) = store.delete(connection, tables.classes, "version", np.array([version]))
    old = Snapshot(*row)
    new = make_snapshot(old.version, old.base, old.labels(store.where).only(keep))
    store.insert(connection, tables.classes, tables.CLASSES, [new])


def forget_groups(store: Store, connection: sa.Connection, groups: Longs) -> None:
    """What these groups looked like, in every release: nobody is left of them."""
    for version, (_, named) in _snapshot_groups(connection).items():
        keep = ~np.isin(named, groups)
        if not keep.all():
            _rewrite(store, connection, version, keep)
