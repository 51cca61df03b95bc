"""Making a release of a partition: recode → verify → measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shoal.errors import VerificationError
from shoal.measures import column_numbers, holder_report, public_report
from shoal.partition import Partition
from shoal.privacy.requirements import Requirements
from shoal.progress import SILENT, Progress
from shoal.records.encode import Records
from shoal.release.manifest import Manifest, describe_columns, rounded
from shoal.release.notes import notes_on
from shoal.release.recode import plain_table, recode
from shoal.release.release import Release
from shoal.release.shuffle import new_shuffle_key, shuffled
from shoal.schema import Role
from shoal.verify import verify


def released(
    records: Records,
    partition: Partition,
    requirements: Requirements,
    *,
    method: str,
    measure: str,
    kept: NDArray[np.bool_] | None = None,
    bounds: bool = False,
    progress: Progress = SILENT,
    options: Mapping[str, object] | None = None,
    file: str | Path | None = None,
    shuffle_key: bytes | None = None,
    facts: Mapping[str, object] | None = None,
    least: Callable[[int], float] | None = None,
) -> Release:
    """Recode a partition, verify it for what is asked, and measure it.

    `kept`: which records the partition is of, where some are withheld; they are measured, and nothing else is made of
    them.
    `shuffle_key` repeats the order of the rows for whoever has it; `facts` go into the manifest as well; `least` gives
    the bound of Total-IL for a k, which is the same for every release of these records.
    """
    schema = records.schema
    kept = np.ones(len(records), bool) if kept is None else kept
    some = records if kept.all() else records.only(kept)
    progress.stage("recoding")
    order = shuffled(len(some), shuffle_key or new_shuffle_key())
    recoded = recode(some, partition, order, bounds=bounds)
    published = plain_table(recoded)
    progress.stage("verifying")
    people = None if some.people is None else some.people[order]
    verdict = verify(published, schema, requirements.k, people=people, **requirements.options())
    if not verdict.ok:
        raise VerificationError(f"the release was not made: {'; '.join(verdict.reasons)}.")
    progress.stage("measuring")
    public, _ = public_report(recoded, schema, withheld=len(records) - len(some))
    notes = notes_on(schema, recoded, partition.labels[order], partition.privacy.rules, public)
    del recoded
    first = schema.names(Role.SENSITIVE)[:1]
    sensitive = column_numbers(first[0], records.passthrough[first[0]]) if first else None
    labels = np.full(len(records), -1, np.int32)
    labels[kept] = partition.labels
    manifest = Manifest(
        rows=published.num_rows,
        withheld=public.withheld,
        k=partition.k,
        counted=partition.privacy.counted,
        rules=partition.privacy.rules,
        method=method,
        measure=measure,
        options=options or {},
        columns=describe_columns(schema, some, partition),
        equivalence_classes=verdict.classes,
        smallest_class=public.smallest_class,
        measures={name: rounded(value) for name, value in public.totals.items()},
        more=facts or {},
    )
    return Release(
        published,
        manifest=manifest.to_json(),
        labels=labels,
        order=np.flatnonzero(kept)[order],
        public=public,
        holder=cache(lambda: holder_report(records, partition, public, sensitive, least, kept)),
        notes=notes,
        sources=[str(Path(one).resolve()) for one in [*schema.files, *([] if file is None else [file])]],
    )
