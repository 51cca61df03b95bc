"""What an epoch takes from its records: domains and a reference when it begins, types of columns as they come."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from shoal.maintain.live import LivePartition
from shoal.privacy.requirements import CLOSENESS
from shoal.privacy.sensitive import Distribution
from shoal.vault.state.epoch import Epoch


def frozen(epoch: Epoch, live: LivePartition, version: int) -> Epoch:
    """The epoch with what the live partition has frozen when it began, with the batch of this version."""
    domains = {book.name: book.domain for book in live.books if book.domain is not None}
    return replace(epoch, version=version, domains=domains, reference=kept_reference(live))


def kept_reference(live: LivePartition) -> dict[str, Distribution] | None:
    """The distributions that closeness is measured against: no other rule asks for one."""
    columns = {rule.column for rule in live.settings.rules if rule.model == CLOSENESS}
    if not len(live) or not columns:
        return None
    found = live.privacy_of(live.records()).distributions()
    return {name: known for name, known in found.items() if name in columns}


def with_types(epoch: Epoch, arrivals: pa.Table) -> Epoch:
    """The epoch with the types that passthrough columns have with these records; itself if nothing differs."""
    if not arrivals.num_rows or arrivals.schema.equals(epoch.passthrough):
        return epoch
    types = pa.unify_schemas([epoch.passthrough, arrivals.schema], promote_options="permissive").remove_metadata()
    return epoch if types.equals(epoch.passthrough) else replace(epoch, passthrough=types)


def with_key_type(epoch: Epoch, given: pa.DataType | None) -> Epoch:
    """The epoch with the type that the first keys have: `export` gives them back as they came."""
    return epoch if given is None or epoch.key_type is not None else replace(epoch, key_type=given)


def outside(live: LivePartition) -> dict[str, float]:
    """Of each column with a domain: the share of records that lie outside it, if any do."""
    shares = {}
    codes = None
    for j, book in enumerate(live.books):
        if book.axis is None or book.domain is None or not len(live):
            continue
        beyond = np.flatnonzero((book.axis < book.domain[0]) | (book.axis > book.domain[1])) + 1
        if len(beyond):
            codes = live.codes[live.alive()] if codes is None else codes
            share = float(np.isin(codes[:, j], beyond).mean())
            if share:
                shares[book.name] = share
    return shares
