"""The one-shot job: read → encode → cluster → recode → verify."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.cluster import DEFAULT_METHOD, check_parameters, cluster
from shoal.cluster.withholding import check_suppress, withhold
from shoal.errors import VerificationError
from shoal.fit import warn_of_keys
from shoal.measures import column_numbers, holder_report, public_report
from shoal.partition import Partition
from shoal.privacy import Rule, make_rules, warn_of_several_records
from shoal.privacy.requirements import PerColumn
from shoal.progress import SILENT, Progress
from shoal.records.encode import Records, encode
from shoal.records.reading import read_for
from shoal.release import Release
from shoal.release.manifest import describe_columns, manifest
from shoal.release.recode import plain_table, recode
from shoal.release.shuffle import new_shuffle_key, shuffled
from shoal.schema import Role, Schema
from shoal.verify import verify


def anonymize(
    data: object,
    schema: Schema | str | Path,
    *,
    k: int,
    l: PerColumn | None = None,  # noqa: E741  # the interface's name
    t: PerColumn | None = None,
    diversity: str | Sequence[str] | Mapping[str, str | Sequence[str]] | None = None,
    c: float | None = None,
    alpha: float | Mapping[str, float | Mapping[str, float]] | None = None,
    method: str = DEFAULT_METHOD,
    measure: str = "il",
    seed: int | None = None,
    optimize: str | None = None,
    suppress: float = 0.0,
    bounds: bool = False,
    strict: bool = False,
    progress: Progress = SILENT,
    **options: object,
) -> Release:
    """Publish a table so that every record looks like at least k − 1 others.

    Where the schema says whose record it is (role `person`), k people look alike, and ℓ counts people too.

    What a group gives away of the sensitive columns is bounded by `l` (with `diversity`: "frequency", the default,
    "entropy", "distinct" or "recursive", which needs `c`), `t` and `alpha`; each is a number for all sensitive columns
    or one per column: `l={"diagnosis": 3}`; `alpha` may name values: `alpha={"diagnosis": {"HIV": 0.2}}`. All that are
    given hold together; docs/privacy.md explains them.

    `data` is a path (CSV, Parquet, JSON lines), a pyarrow table, or any frame with `__arrow_c_stream__`; `method` how
    groups are found, with its own `options`; `measure` what it tries to lose least of; `seed` makes the grouping (not
    the order of the rows) repeatable; `optimize` ("refine" or "breaking") lowers the loss afterwards; `suppress` is the
    share of records that may be withheld where that saves the others more than it costs, each counted as a row of
    nothing but `*`; `bounds` adds `_lo` and `_hi` columns beside numbers and dates; `strict` refuses columns that would
    act as keys, where otherwise a warning says so.

    Guarantee: the release has passed `shoal.verify` for k and all that was asked. If it had not, VerificationError is
    raised instead.
    """
    check_parameters(k, method, measure, options, seed, optimize)
    suppress = check_suppress(suppress, measure)
    k = int(k)
    if not isinstance(schema, Schema):
        schema = Schema.load(schema)
    asked = {"l": l, "t": t, "diversity": diversity, "c": c, "alpha": alpha}
    rules = rules_for(schema, asked)
    progress.stage("reading")
    table, file = read_for(schema, data)
    progress.stage("encoding")
    records = encode(table, schema, file)
    del table
    warn_of_several_records(records)
    warn_of_keys(records, strict=strict)
    partition = cluster(
        records,
        k,
        rules,
        method=method,
        measure=measure,
        seed=seed,
        progress=progress,
        options=options,
        optimize=optimize,
    )
    kept = None
    if suppress:
        kept, partition = withhold(records, partition, suppress, measure=measure, seed=seed, progress=progress)
    given = {"optimize": optimize, "suppress": suppress or None}
    return released(
        records,
        partition,
        asked,
        kept=kept,
        method=method,
        measure=measure,
        bounds=bounds,
        progress=progress,
        options={**options, **{name: value for name, value in given.items() if value is not None}},
        file=file,
    )


def rules_for(schema: Schema, asked: Mapping[str, Any]) -> tuple[Rule, ...]:
    """What was asked of the sensitive columns of a schema, as rules."""
    sensitive = schema.names(Role.SENSITIVE)
    return make_rules(sensitive, **asked, others=[name for name in schema.columns if name not in sensitive])


def released(
    records: Records,
    partition: Partition,
    asked: Mapping[str, Any],
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
    """Recode a partition, verify it for k and what was `asked`, and measure it.

    `kept`: which records the partition is of, where some are withheld; they are measured, and nothing else is made of
    them.
    `shuffle_key` repeats the order of the rows for whoever has it; `facts` go into the manifest as well; `least` gives
    the bound of Total-IL for a k, which is the same for every release of these records.
    """
    schema, k, rules = records.schema, partition.k, partition.privacy.rules
    kept = np.ones(len(records), bool) if kept is None else kept
    some = records if kept.all() else records.only(kept)
    progress.stage("recoding")
    order = shuffled(len(some), shuffle_key or new_shuffle_key())
    recoded = recode(some, partition, order, bounds=bounds)
    published = plain_table(recoded)
    progress.stage("verifying")
    people = None if some.people is None else some.people[order]
    verdict = verify(published, schema, k, people=people, **asked)
    if not verdict.ok:
        raise VerificationError(f"the release was not made: {'; '.join(verdict.reasons)}.")
    progress.stage("measuring")
    public, _ = public_report(recoded, schema, withheld=len(records) - len(some))
    del recoded
    first = schema.names(Role.SENSITIVE)[:1]
    sensitive = column_numbers(first[0], records.carried[first[0]]) if first else None
    labels = np.full(len(records), -1, np.int32)
    labels[kept] = partition.labels
    return Release(
        published,
        manifest=manifest(
            columns=describe_columns(schema, some, partition),
            rows=published.num_rows,
            withheld=public.withheld,
            k=k,
            counted=partition.privacy.counted,
            rules=[rule.facts() for rule in rules],
            method=method,
            measure=measure,
            options=options or {},
            measures=public.totals,
            classes=verdict.classes,
            smallest_class=public.smallest_class,
        )
        | dict(facts or {}),
        labels=labels,
        order=np.flatnonzero(kept)[order],
        public=public,
        holder=cache(lambda: holder_report(records, partition, public, sensitive, least, kept)),
        sources=[str(Path(one).resolve()) for one in [*schema.files, *([] if file is None else [file])]],
    )
