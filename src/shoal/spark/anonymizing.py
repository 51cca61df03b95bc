"""A release of a table that no single machine holds."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.cluster import DEFAULT_METHOD, check_parameters
from shoal.errors import DataError, ParameterError, SchemaError, VerificationError, one_of, whole_number
from shoal.privacy.requirements import Alpha, Diversity, PerColumn, Requirements
from shoal.progress import SILENT, Progress
from shoal.records.reading import check_names
from shoal.regions.asked import Wanted
from shoal.regions.books import book_of, distribution, sensitive_values
from shoal.regions.rounds import check_rounds
from shoal.regions.work import START, Asked
from shoal.release.shuffle import new_shuffle_key
from shoal.schema import Role, Schema
from shoal.spark import kernels
from shoal.spark.arrow import arrow_schema, quoted
from shoal.spark.cutting import find_regions, take_sample
from shoal.spark.encoding import Layout, encode
from shoal.spark.faults import of_executors
from shoal.spark.grouping import group_all
from shoal.spark.releasing import published
from shoal.spark.sessions import check_frame
from shoal.spark.values import read_values
from shoal.spark.verifying import verify

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MAX_REGION = 200_000


@of_executors()
def anonymize(
    df: DataFrame,
    schema: Schema | str | Path | Mapping[str, object],
    k: int = 5,
    *,
    l: PerColumn | None = None,  # noqa: E741  # the interface's name
    t: PerColumn | None = None,
    diversity: Diversity | None = None,
    c: float | None = None,
    alpha: Alpha | None = None,
    method: str = DEFAULT_METHOD,
    measure: str = "il",
    effort: str | None = None,
    seed: int | None = None,
    max_region: int = MAX_REGION,
    rounds: int | None = None,
    progress: Progress = SILENT,
    **options: object,
) -> DataFrame:
    """Publish a Spark DataFrame so that every record looks like at least k − 1 others.

    The table is cut into regions of at most `max_region` records, each is grouped by itself, and then the groups are
    divided anew and refined, `rounds` times or until a round gains less than 1 % (with methods of the papers: not at
    all). All else is as in `shoal.anonymize`; docs/spark.md tells what it costs.

    The frame that is returned is kept on the executors' disks: write it, then call its `unpersist()`.

    Guarantee: the rows have passed `shoal.spark.verify` for k and all that was asked. If they had not,
    VerificationError is raised instead. The same rows, arguments and seed give the same groups, however the rows are
    partitioned and in whatever order they come; the order of the released rows is always new.
    """
    from pyspark import StorageLevel

    df = check_frame(df)
    effort = "balanced" if effort is None else effort
    if effort not in START:
        raise ParameterError(one_of("effort", effort, START))
    check_parameters(k, method, measure, options, seed)
    rounds = check_rounds(rounds, method, measure)
    max_region = whole_number("max_region", max_region, least=2 * int(k))
    if not isinstance(schema, Schema):
        schema = Schema.load(schema)
    requirements = Requirements(int(k), l, t, diversity, c, alpha)
    rules = requirements.rules(schema)
    _refuse_people(schema)
    _refuse_twins(df.columns)
    arrow = arrow_schema(df)
    check_names(schema, list(arrow.names))
    _check_key(df, schema)

    context = df.sparkSession.sparkContext
    progress.stage("loading the kernels")
    name_of_kernels = kernels.send(context, progress)
    progress.stage("reading values")
    protected = list(dict.fromkeys(rule.column for rule in rules))
    found = read_values(df, arrow, schema, schema.quasi_identifiers + protected)
    if found.rows == 0:
        raise DataError("the table has no records.")
    books = [
        book_of(name, schema.columns[name], found.columns[name].values, found.columns[name].counts, schema.missing)
        for name in schema.quasi_identifiers
    ]
    sensitive = {name: sensitive_values(name, schema, found.columns[name].values) for name in protected}
    reference = {name: distribution(column, found.columns[name].counts) for name, column in sensitive.items()}
    wanted = Wanted(int(k), rules, sensitive, reference)
    chosen = secrets.randbits(62) if seed is None else int(seed)
    asked = Asked(int(k), rules, reference, method, measure, effort, options, chosen)
    order = [name for name in arrow.names if name in schema.published]
    layout = context.broadcast(Layout(schema, books, found.carried, order))

    progress.stage("encoding")
    encoded = encode(df, layout).persist(StorageLevel.DISK_ONLY)
    sample = take_sample(encoded, layout, found.rows, max_region, chosen)
    progress.stage("cutting")
    regions = find_regions(encoded, layout, sample, wanted, asked, max_region)
    kept = group_all(encoded, layout, regions, asked, max_region, rounds, name_of_kernels, progress)
    encoded.unpersist()
    progress.stage("recoding")
    partitions = max(-(-found.rows // max_region), min(context.defaultParallelism, found.rows // 1000), 1)
    released = published(kept.parcels, layout, int(k), new_shuffle_key(), partitions).persist(StorageLevel.DISK_ONLY)
    progress.stage("verifying")
    verdict = verify(released, schema, int(k), **requirements.options())
    kept.parcels.unpersist()
    if not verdict.ok:
        released.unpersist()
        raise VerificationError(f"the release was not made: {'; '.join(verdict.reasons)}.")
    if verdict.records != found.rows:
        raise VerificationError(f"the release was not made: it has {verdict.records} rows, the table {found.rows}.")
    return released


def _refuse_people(schema: Schema) -> None:
    if not schema.quasi_identifiers:
        raise SchemaError(
            "the schema has no quasi-identifier: there is nothing to anonymize.",
            hint='Give the columns that an attacker may know the role "quasi-identifier".',
            file=schema.source,
        )
    if schema.names(Role.PERSON):
        raise SchemaError(
            "one person may have several records here, and on Spark k counts records only.",
            hint="Make one record of each person, or use shoal.anonymize on one machine.",
            file=schema.source,
        )


def _refuse_twins(names: list[str]) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            hint = "Give every column a name of its own."
            raise DataError(f"the table has column {name!r} twice.", hint=hint, column=name)


def _check_key(df: DataFrame, schema: Schema) -> None:
    """A key is there once: a table with the same record twice would count it for two."""
    from pyspark.sql import functions as F

    for name in schema.names(Role.KEY):
        key = F.col(quoted(name))
        lacks = key.isNull() | (F.trim(key.cast("string")) == "")
        keys = df.groupBy(key.alias("key")).agg(F.count("*").alias("n"), F.bool_or(lacks).alias("lacks"))
        missing, most = keys.agg(F.bool_or("lacks"), F.max("n")).collect()[0]
        if missing:
            raise DataError(f"column {name!r}: the key is missing in some rows.", column=name)
        if (most or 0) > 1:
            raise DataError(
                f"column {name!r}: the key is not unique.",
                hint="Remove the duplicates, or choose another key.",
                column=name,
            )
