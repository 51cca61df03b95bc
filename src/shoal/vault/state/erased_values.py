"""Names of values go with the last one who had them, from what the epoch froze and what releases were said to be.

Closeness is measured against the distribution that sensitive columns had when the epoch began, value by value. A value
that nobody has any more keeps its share there, but not its name: where all values are equally far apart, any name does;
where they have an order, the share goes to the value beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from shoal.maintain.live import LivePartition
from shoal.privacy.sensitive import Distribution, by_number, distance_of, on_axis
from shoal.records.spelling import one_spelling
from shoal.release.manifest import Manifest
from shoal.schema import Column
from shoal.sources.normalize import as_text
from shoal.vault.state.dictionary import declared_values
from shoal.vault.state.epoch import Epoch
from shoal.vault.store.rows import as_json

ERASED = "erased value "


def erased(epoch: Epoch, live: LivePartition, gone: Sequence[str]) -> dict[str, Distribution] | None:
    """The epoch's reference when records with these passthrough values (as JSON) have gone from the live partition."""
    reference = epoch.reference
    if not gone or not reference:
        return reference
    changed = dict(reference)
    for name, known in reference.items():
        column = epoch.schema.columns[name]
        if column.bins is not None:
            continue  # only bins are named, not values
        values = {value for value in (json.loads(text).get(name) for text in gone) if value}
        lost = _lost(values, live.table.passthrough_column(name), known, column)
        if lost:
            changed[name] = without(known, lost, in_order=distance_of(column) != "equal")
    return reference if changed == reference else changed


def _lost(values: set[str], there: pa.ChunkedArray, known: Distribution, column: Column) -> list[str]:
    """The names of these values, where nobody has them any more. A value may be named in any of its spellings."""
    there = there.unique()
    if on_axis(column):
        values = {value for value in values if value in known}
    gone = pa.array(sorted(values), pa.string())
    gone = gone.filter(pc.invert(pc.is_in(gone.cast(there.type), value_set=there))).to_pylist()
    if on_axis(column) or not gone:
        return gone
    numbers = by_number(column)
    spelled = {one_spelling(value, numbers=numbers) for value in gone}
    spelled -= {one_spelling(value, numbers=numbers) for value in as_text("", there, ()).to_pylist() if value}
    # What the schema itself lists is no secret, and a hierarchy would not know it by another name.
    spelled -= {one_spelling(value, numbers=numbers) for value in declared_values(column)}
    return [name for name in known if name and one_spelling(name, numbers=numbers) in spelled]


def without(known: Distribution, lost: Iterable[str], *, in_order: bool) -> Distribution:
    """A distribution in which some values have no name any more. The shares add up as before."""
    lost = set(lost)
    if not in_order:
        number = sum(str(value).startswith(ERASED) for value in known)
        names = {value: f"{ERASED}{number + i}" for i, value in enumerate(sorted(lost), start=1)}
        return {value if value is None else names.get(value, value): share for value, share in known.items()}
    shares: dict[str | None, float] = {}
    waiting, last = 0.0, None
    for value, share in known.items():
        if value is not None and value in lost:
            if last is None:
                waiting += share  # nobody before it: to the first one after
            else:
                shares[last] += share
            continue
        shares[value] = share + waiting
        waiting = 0.0
        last = value if value is not None else last
    if not shares:
        return {}
    if waiting:
        shares[next(iter(shares))] += waiting
    return shares


def without_domains(manifest: str) -> str:
    """An end of a published domain may have been the value of somebody who is erased."""
    return as_json(Manifest.from_json(json.loads(manifest)).without_domains().to_json())
