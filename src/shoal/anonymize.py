"""The one-shot job: read → encode → cluster → recode → verify."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from shoal.cluster import DEFAULT_METHOD, check_parameters, cluster
from shoal.errors import VerificationError
from shoal.measures import column_numbers, holder_report, public_report
from shoal.progress import SILENT, Progress
from shoal.records.encode import encode
from shoal.records.reading import read_for
from shoal.release import Release
from shoal.release.manifest import describe_columns, manifest
from shoal.release.recode import recode
from shoal.release.shuffle import new_shuffle_key, shuffled
from shoal.schema import Role, Schema
from shoal.verify import verify


def anonymize(
    data: object,
    schema: Schema | str | Path,
    *,
    k: int,
    method: str = DEFAULT_METHOD,
    measure: str = "il",
    seed: int | None = None,
    bounds: bool = False,
    progress: Progress = SILENT,
    **options: object,
) -> Release:
    """Publish a table so that every record looks like at least k − 1 others.

    `data` is a path (CSV, Parquet, JSON lines), a pyarrow table, or any frame with `__arrow_c_stream__`; `method` how
    groups are found, with its own `options`; `measure` what it tries to lose least of; `seed` makes the grouping (not
    the order of the rows) repeatable; `bounds` adds `_lo` and `_hi` columns beside numbers and dates.

    Guarantee: the release has passed `shoal.verify` for k. If it had not, VerificationError is raised instead.
    """
    check_parameters(k, method, measure, options, seed)
    k = int(k)
    if not isinstance(schema, Schema):
        schema = Schema.load(schema)
    progress.stage("reading")
    table, file = read_for(schema, data)
    progress.stage("encoding")
    records = encode(table, schema, file)
    del table
    partition = cluster(records, k, method=method, measure=measure, seed=seed, progress=progress, options=options)
    progress.stage("recoding")
    order = shuffled(len(records), new_shuffle_key())
    published = recode(records, partition, order, bounds=bounds)
    progress.stage("verifying")
    verdict = verify(published, schema, k)
    if not verdict.ok:
        raise VerificationError(f"the release was not made: {'; '.join(verdict.reasons)}.")
    progress.stage("measuring")
    public, _ = public_report(published, schema)
    names = schema.names(Role.SENSITIVE)
    sensitive = column_numbers(names[0], records.carried[names[0]]) if names else None
    return Release(
        published,
        manifest=manifest(
            columns=describe_columns(schema, records, partition),
            rows=published.num_rows,
            k=k,
            method=method,
            measure=measure,
            options=options,
            measures=public.totals,
            classes=verdict.classes,
            smallest_class=verdict.k,
        ),
        labels=partition.labels,
        order=order,
        public=public,
        holder=cache(lambda: holder_report(records, partition, public, sensitive)),
        source=None if file is None else str(Path(file).resolve()),
    )
