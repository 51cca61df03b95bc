"""The history of a vault as an attacker has it, for `shoal.audit`.

What depends on the values of people who have been deleted is undecided: see `units.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from shoal.audit import Audit, History, Shown, audit_history
from shoal.progress import Progress
from shoal.schema import Role
from shoal.vault.releases.audited_places import places_history
from shoal.vault.releases.looks import Looks
from shoal.vault.releases.prepare import Publication
from shoal.vault.releases.units import FOREVER, Held, Units, in_memory, stored
from shoal.vault.state.epoch import Epoch, read_epoch
from shoal.vault.state.republication import SAFE
from shoal.vault.store import tables
from shoal.vault.store.integrity import check_part
from shoal.vault.store.queries import chunks, rows_of
from shoal.vault.store.vault_row import vault_row

Longs = NDArray[np.int64]


def audit_vault(
    connection: sa.Connection, where: str, progress: Progress, candidate: Publication | None = None
) -> Audit:
    """What the releases of a vault say together; with one more, if it is given.

    Releases that show records are held against each other, and so are those that show cohorts. Both together say no
    more: the first cohorts are made of the atoms of the releases before.
    """
    for part in ("releases", "memberships", "classes", "past", "places"):
        check_part(connection, part, where)
    epoch = read_epoch(connection, vault_row(connection, where)["epoch"], where)
    releases = tables.releases
    rows = rows_of(connection, sa.select(releases).where(releases.c.done.is_(True)).order_by(releases.c.number))
    safe = [row for row in rows if row["republication"] == SAFE]
    others = [row for row in rows if row["republication"] != SAFE]
    next_is_safe = candidate is not None and candidate.row["republication"] == SAFE
    if not safe and not next_is_safe:
        return _audit_records(connection, epoch, rows, where, progress, candidate)
    history, keys, doubtful = places_history(connection, epoch, safe, where, candidate if next_is_safe else None)
    by_places = audit_history(history, None, progress).doubting(doubtful).told(keys)
    if not others and (candidate is None or next_is_safe):
        return by_places
    next_one = None if next_is_safe else candidate
    by_records = _audit_records(connection, epoch, others, where, progress, next_one, [row["version"] for row in safe])
    return by_places.and_also(by_records)


def _audit_records(
    connection: sa.Connection,
    epoch: Epoch,
    rows: Sequence[Mapping[str, Any]],
    where: str,
    progress: Progress,
    candidate: Publication | None,
    safe: Sequence[int] = (),
) -> Audit:
    """What releases that show records say together.

    `safe`: versions of releases that show places. What they say with later ones that show records is not known here.
    """
    row = vault_row(connection, where)
    progress.stage("reading releases", len(rows))
    state = None if candidate is None else candidate.state
    if state is not None and state.version == row["version"]:
        first = min([state.version, *(one["version"] for one in rows)])
        held = in_memory(connection, state, first)
    else:
        held = stored(connection, epoch, where)
    stays = _stays(connection, held)
    units = Units(connection, held, np.unique(stays.ids[len(held.ids) :]), epoch, where)
    groups, at_group = _numbered(stays.groups)
    at_unit = units.of(stays.ids)
    looks = Looks(connection, groups, where)
    history = History(
        epoch.k,
        epoch.requirements.rules(epoch.schema),
        people=units.people,
        values=units.values,
        known=units.known,
        references=_references(epoch),
        by_people=bool(epoch.schema.names(Role.PERSON)),
        successors=units.successors,
        nameless=~units.known,
    )

    def show(number: int, version: int, numbers: Longs) -> None:
        there = stays.at(version)
        # Of a group that nobody is left of it is forgotten what it looked like: a class of its own.
        numbers = np.where(numbers < 0, int(numbers.max(initial=-1)) + 1 + np.arange(len(numbers)), numbers)
        classes = np.full(len(units), -1, np.int64)
        classes[at_unit[there]] = numbers[at_group[there]]
        history.show(Shown(number, classes))

    for one in rows:
        show(one["number"], one["version"], looks.numbers_at(one["version"]))
        progress.advance(1)
    if candidate is not None:
        show(candidate.row["number"], candidate.row["version"], looks.numbers_in(candidate.labels))
    found = audit_history(history, units.combinations, progress)
    versions = [*(row["version"] for row in rows), *([] if candidate is None else [candidate.row["version"]])]
    for version in safe:  # who was in the next one that shows records may have been in that of cohorts as well
        later = min((one for one in versions if one > version), default=None)
        if later is not None:
            there = np.setdiff1d(at_unit[stays.at(later)], found.in_doubt)
            found = found.doubting(there, "in releases of cohorts and in later ones of another kind")
    return found.told([] if found.ok else units.keys())


def _numbered(groups: Longs) -> tuple[Longs, Longs]:
    """All groups, each once by rising number, and which one each is."""
    highest = int(groups.max(initial=0))
    if highest > 8 * len(groups) + 1_000 or int(groups.min(initial=0)) < 0:
        return np.unique(groups, return_inverse=True)
    there = np.zeros(highest + 1, bool)
    there[groups] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[groups]


def _references(epoch: Epoch) -> dict[str, dict[str, float]]:
    """Distributions by the text of a value; missing is an empty one."""
    known = epoch.reference or {}
    return {name: {value or "": share for value, share in shares.items()} for name, shares in known.items()}


class _Stays(NamedTuple):
    """Which records were in which groups, from which version on and before which; first the records that are held."""

    ids: Longs
    groups: Longs
    since: Longs
    until: Longs

    def at(self, version: int) -> NDArray[np.bool_]:
        return (self.since <= version) & (self.until > version)


def _stays(connection: sa.Connection, held: Held) -> _Stays:
    memberships, names = tables.memberships, ["record_id", "group_id", "since", "until"]
    found = [np.stack([held.ids, held.groups, held.since, np.full(len(held.ids), FOREVER)])]
    found += [
        np.array(columns, np.int64)
        for columns in chunks(connection, memberships, names, memberships.c.record_id > 0)  # others are places
    ]
    return _Stays(*np.concatenate(found, axis=1))
