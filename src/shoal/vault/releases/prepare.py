"""A release that can be published: recoded and verified, with the row and the labels that will be stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import sqlalchemy as sa
from numpy.typing import NDArray

from shoal.errors import Unchanged, VerificationError
from shoal.fit import warn_of_keys
from shoal.progress import Progress
from shoal.release import Release
from shoal.release.making import released
from shoal.release.manifest import Manifest
from shoal.release.shuffle import new_shuffle_key
from shoal.vault.releases.history import last_release
from shoal.vault.releases.snapshots import GroupLabels
from shoal.vault.state.state import State
from shoal.vault.store import tables
from shoal.vault.store.checksums import content_checksum
from shoal.vault.store.rows import as_json, now
from shoal.vault.store.store import Store


class Publication:
    """A release on its way."""

    def __init__(self, release: Release, row: dict[str, Any], labels: GroupLabels, state: State | None = None) -> None:
        """`state`: what it was made from, for those who would load it again otherwise."""
        self.release, self.row, self.labels, self.state = release, row, labels, state


def prepare(store: Store, state: State, progress: Progress, *, even_if_unchanged: bool, strict: bool) -> Publication:
    """Recode and verify; nothing is stored yet."""
    with store.read() as connection:
        last = last_release(connection)
        log = tables.batches.c
        loss = float(connection.scalar(sa.select(log.loss).where(log.version == state.version)) or 0.0)
        highest = connection.scalar(sa.select(sa.func.max(tables.releases.c.number)))  # another machine's, too
    if last is not None and last["version"] == state.version and not even_if_unchanged:
        raise Unchanged(
            f"nothing has changed since release {last['number']}.",
            hint="Publish it again all the same with --even-if-unchanged (in Python, even_if_unchanged=True).",
            file=store.where,
        )
    live, epoch = state.live, state.epoch
    records = live.records()
    warn_of_keys(records, strict=strict)
    partition = live.partition(records)
    obstacles = partition.obstacles()
    if obstacles:
        raise VerificationError(
            f"the vault cannot be published now: {'; '.join(obstacles)}.",
            hint="Bring more records, or ask for less with shoal rebase.",
            file=store.where,
        )
    number = 1 if highest is None else int(highest) + 1
    published, key = now(), new_shuffle_key()
    release = released(
        records,
        partition,
        epoch.requirements,
        method=f"{live.settings.static_method}, then {epoch.maintainer}",
        measure=epoch.measure,
        progress=progress,
        shuffle_key=key,
        facts={
            "release": number,
            "published": published,
            "created": published,
            "previous": None if last is None else {"release": last["number"], "sha256": last["sha256"]},
        },
    )
    release.number, manifest = number, Manifest.from_json(release.manifest)
    row = {
        "number": number,
        "version": state.version,
        "epoch": epoch.number,
        "done": True,
        "published": published,
        "shuffle_key": key,
        "manifest": as_json(release.manifest),
        "layout": as_json(epoch.layout()),
        "sha256": "",
        "content": content_checksum(release.table),
        "rows": release.table.num_rows,
        "classes": manifest.equivalence_classes,
        "smallest_class": manifest.smallest_class,
        "k": manifest.k,
        "loss": loss,
        "erased": 0,
        "file": None,
        "host": None,
        "part": None,
        "overwrites": False,
    }
    groups = np.unique(live.labels[live.alive()])
    labels = _labels(release, groups.astype(np.int64), epoch.schema.quasi_identifiers)
    return Publication(release, row, labels, state)


def _labels(release: Release, groups: NDArray[np.int64], names: list[str]) -> GroupLabels:
    """What each group looks like in the release: as any of its rows does."""
    row_of_group = np.empty(len(groups), np.int64)
    row_of_group[release.groups_of_rows()] = np.arange(release.table.num_rows)
    shown = release.table.select(names).take(pa.array(row_of_group)).combine_chunks()
    return GroupLabels(groups, pa.table({name: shown[name].combine_chunks().dictionary_encode() for name in names}))
