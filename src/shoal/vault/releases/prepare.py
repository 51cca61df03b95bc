"""A release that can be published: recoded and verified, with the row and the labels that will be stored."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import sqlalchemy as sa
from numpy.typing import NDArray

from shoal.errors import ShoalWarning, Unchanged, VerificationError
from shoal.fit import warn_of_keys
from shoal.partition import Partition
from shoal.privacy.requirements import Requirements
from shoal.progress import Progress
from shoal.records.encode import Records
from shoal.release import Release
from shoal.release.making import released
from shoal.release.manifest import Manifest
from shoal.release.shuffle import new_shuffle_key
from shoal.vault.releases.history import last_release
from shoal.vault.releases.placed import Placed, placed
from shoal.vault.releases.republish import Placement, audited_places, safe_places
from shoal.vault.releases.snapshots import GroupLabels, class_numbers
from shoal.vault.state.passthrough import typed_by_values
from shoal.vault.state.republication import SAFE, Republication
from shoal.vault.state.state import State
from shoal.vault.store import tables
from shoal.vault.store.checksums import content_checksum
from shoal.vault.store.rows import as_json, now
from shoal.vault.store.store import Store


@dataclass
class Publication:
    """A release on its way."""

    release: Release
    row: dict[str, Any]
    labels: GroupLabels
    shown: Shown
    state: State  # what it was made from
    choice: Republication
    placement: Placement | None  # of the places, where they are kept


def prepare(
    store: Store,
    state: State,
    choice: Republication,
    progress: Progress,
    *,
    even_if_unchanged: bool,
    strict: bool,
    switching: bool = False,
) -> Publication:
    """Recode and verify; nothing is stored yet.

    `choice`: what is made of releases that follow others; `switching`: from now on, it was something else before.
    """
    live = state.live
    with store.read() as connection:
        last = last_release(connection)
        highest = connection.scalar(sa.select(sa.func.max(tables.releases.c.number)))  # another machine's, too
        unchanged = last is not None and last["version"] == state.version
        if unchanged and last is not None and not even_if_unchanged and not switching:
            raise Unchanged(
                f"nothing has changed since release {last['number']}.",
                hint="Publish it again all the same with --even-if-unchanged (in Python, even_if_unchanged=True).",
                file=store.where,
            )
        number = 1 if highest is None else int(highest) + 1
        published = now()
        warn_of_keys(live.records(), strict=strict)
        kept = placed(connection, live, state.epoch, choice, store.where) if choice.keeps_places else None
        if choice.mode != SAFE or kept is None:
            shown = _records(state, connection, store.where)
            placement = None
        else:
            placement = safe_places(
                connection,
                state,
                kept,
                choice,
                number,
                published,
                progress,
                switching=switching,
                unchanged=unchanged and not switching,
            )
            shown = _places(state, kept, placement, store.where)
    key = new_shuffle_key()
    release = released(
        shown.records,
        shown.partition,
        shown.requirements,
        method=shown.method,
        measure=state.epoch.measure,
        progress=progress,
        shuffle_key=key,
        facts={
            "release": number,
            "published": published,
            "created": published,
            "previous": None if last is None else {"release": last["number"], "sha256": last["sha256"]},
            "republication": _told(choice, placement, state),
        },
    )
    release.number, release.loss, manifest = number, shown.loss, Manifest.from_json(release.manifest)
    row = {
        "number": number,
        "version": state.version,
        "epoch": state.epoch.number,
        "done": True,
        "published": published,
        "shuffle_key": key,
        "manifest": as_json(release.manifest),
        "layout": as_json(replace(state.epoch, passthrough=shown.records.passthrough.schema).layout()),
        "sha256": "",
        "content": content_checksum(release.table),
        "rows": release.table.num_rows,
        "classes": manifest.equivalence_classes,
        "smallest_class": manifest.smallest_class,
        "k": manifest.k,
        "loss": shown.loss,
        "erased": 0,
        "file": None,
        "host": None,
        "part": None,
        "overwrites": False,
        "republication": choice.mode,
    }
    labels = _labels(release, np.unique(shown.groups), state.epoch.schema.quasi_identifiers)
    if kept is not None and placement is None:
        (classes,) = class_numbers(labels)
        placement = audited_places(kept, classes[labels.at(shown.groups)], choice, state.version)
    return Publication(release, row, labels, shown, state, choice, placement)


class Shown(NamedTuple):
    """What a release is made of: records or places, in the order of their numbers."""

    ids: NDArray[np.int64]
    records: Records
    partition: Partition
    groups: NDArray[np.int64]  # or cohorts
    people: NDArray[np.int64]  # of places: whose each was at first
    tainted: NDArray[np.int64]  # of places: see `shoal.cohorts.places`
    keys: list[str | None]  # of who holds each place
    requirements: Requirements
    method: str
    loss: float

    @property
    def cohorts(self) -> NDArray[np.int64]:
        return self.groups


def refuse_obstacles(obstacles: Sequence[str], where: str) -> None:
    if obstacles:
        raise VerificationError(
            f"the vault cannot be published now: {'; '.join(obstacles)}.",
            hint="Bring more records, or ask for less with shoal rebase.",
            file=where,
        )


def _records(state: State, connection: sa.Connection, where: str) -> Shown:
    """Every record, in the group that it has."""
    live, epoch, log = state.live, state.epoch, tables.batches.c
    loss = float(connection.scalar(sa.select(log.loss).where(log.version == state.version)) or 0.0)
    records = live.records()
    groups = live.labels[live.alive()].astype(np.int64)
    method = f"{live.settings.static_method}, then {epoch.maintainer}"
    ids = live.ids[live.alive()].astype(np.int64)
    nobody, partition = np.zeros(0, np.int64), live.partition(records)
    refuse_obstacles(partition.obstacles(), where)
    return Shown(ids, records, partition, groups, nobody, nobody, [], epoch.requirements, method, loss)


def _places(state: State, kept: Placed, placement: Placement, where: str) -> Shown:
    """Every place of a cohort that somebody is left of. How close it is to the table was seen to when it began."""
    places = placement.places
    if kept.unknown_past:
        note = (
            "there are releases from before: what they and cohorts say together is not known. "
            "From here on releases are safe together."
        )
        warnings.warn(note, ShoalWarning, stacklevel=5)
    if not len(places):
        refuse_obstacles(state.live.partition().obstacles() or ["nobody may go out yet"], where)
    partition = kept.table.partition(places)
    loss = float(partition.sizes @ kept.table.losses(partition.lo, partition.hi))
    requirements = replace(state.epoch.requirements, t=None)
    method = f"{state.live.settings.static_method}, in cohorts"
    keys = [None if holder < 0 else kept.keys[holder] for holder in places.holders.tolist()]
    records = kept.table.shown(places)
    records = replace(records, passthrough=typed_by_values(records.passthrough))
    whose = places.people, places.tainted, keys
    return Shown(places.ids, records, partition, places.cohorts, *whose, requirements, method, loss)


def _told(choice: Republication, placement: Placement | None, state: State) -> dict[str, object]:
    """What the recipient is told of releases that follow each other."""
    if placement is None:
        return {"mode": choice.mode}
    told: dict[str, object] = {"mode": choice.mode, **placement.counts._asdict()}
    if state.epoch.requirements.t is not None:
        told["closeness"] = "of each cohort to the table as it was when the cohort began"
    return told


def _labels(release: Release, groups: NDArray[np.int64], names: list[str]) -> GroupLabels:
    """What each group looks like in the release: as any of its rows does."""
    row_of_group = np.empty(len(groups), np.int64)
    row_of_group[release.groups_of_rows()] = np.arange(release.table.num_rows)
    shown = release.table.select(names).take(pa.array(row_of_group)).combine_chunks()
    return GroupLabels(groups, pa.table({name: shown[name].combine_chunks().dictionary_encode() for name in names}))
