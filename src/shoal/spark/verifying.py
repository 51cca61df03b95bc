"""The independent check on Spark, from released rows alone: `shoal.verify` for a table that no machine holds.

Rows are regrouped by their published values, in Spark's own words (groupBy, count). What a class reaches under a rule
is computed by the arithmetic of `shoal.verify`, where the class lies. Nothing is shared with what makes releases.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError, ParameterError, ShoalWarning
from shoal.privacy.requirements import Alpha, Diversity, PerColumn, Rule, check_k, make_rules
from shoal.schema import Role, Schema
from shoal.spark.arrow import arrow_schema, as_tables, quoted, spark_schema
from shoal.spark.sessions import check_frame, no_word_of_pandas
from shoal.verify import RuleFound, Verdict, check_value, foreign_columns
from shoal.verify.models import Counts, Values, published_values, reached, satisfied

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MOST_SHOWN = 1_000  # offending classes in a verdict
MOST_VALUES = 1_000_000  # different sensitive values: the driver holds them
PAIRS_PER_PARTITION = 500_000
COUNT, NUMBER, VALUE = "__count", "__number", "__value"


def verify(
    df: DataFrame,
    schema: Schema | str | Path | Mapping[str, object] | None = None,
    k: int = 2,
    *,
    l: PerColumn | None = None,  # noqa: E741  # the interface's name
    t: PerColumn | None = None,
    diversity: Diversity | None = None,
    c: float | None = None,
    alpha: Alpha | None = None,
    quasi_identifiers: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
) -> Verdict:
    """Check released rows against k, and against what is asked of their sensitive columns.

    The arguments and the verdict are those of `shoal.verify`; of offending classes it has at most 1 000.

    Guarantee: that of `shoal.verify`.
    """
    k = check_k(k)
    df = check_frame(df)
    if schema is not None and (quasi_identifiers or sensitive):
        raise ParameterError("give a schema, or quasi_identifiers and sensitive, not both.")
    if schema is not None and not isinstance(schema, Schema):
        schema = Schema.load(schema)
    names = schema.quasi_identifiers if schema is not None else list(quasi_identifiers or ())
    protected = schema.names(Role.SENSITIVE) if schema is not None else list(sensitive or ())
    if not names:
        raise ParameterError("there is no quasi-identifier to verify.", hint="Give a schema, or name the columns.")
    others = [name for name in (schema.columns if schema else names) if name not in protected]
    rules = make_rules(protected, l=l, t=t, diversity=diversity, c=c, alpha=alpha, others=others)
    for name in [*names, *(rule.column for rule in rules)]:
        if name not in df.columns:
            raise DataError(f"the table has no column {name!r}: it is no release.", column=name)
    if schema is not None and schema.names(Role.PERSON):
        _about_people(rules)
    bounds = [name + end for name in names for end in ("_lo", "_hi") if name + end in df.columns]
    bounds = [name for name in bounds if not (schema and name in schema.columns)]
    keys = [*names, *bounds]
    return _verdict(df, _classes(df, keys), schema, k, names, keys, bounds, rules)


def _about_people(rules: Sequence[Rule]) -> None:
    if rules:
        raise ParameterError(
            "what is asked of sensitive columns counts people here, and a release does not say whose its rows are.",
            hint="Only the holder can check it, with shoal.verify and `people`.",
        )
    note = "one person may have several rows here, and a release does not say whose they are: rows are counted."
    warnings.warn(note, ShoalWarning, stacklevel=3)


def _classes(df: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Each different combination of published values, and how many rows have it."""
    from pyspark.sql import functions as F

    columns = [_as_published(df, name).alias(f"k{j}") for j, name in enumerate(keys)]
    return df.select(*columns).groupBy(*[f"k{j}" for j in range(len(keys))]).agg(F.count("*").alias(COUNT))


def _as_published(df: DataFrame, name: str) -> Column:
    """A column as a reader sees it. Spark takes −0.0 for 0.0 when it groups, and A for a with some collations."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import DoubleType, FloatType

    column = F.col(quoted(name))
    if isinstance(df.schema[name].dataType, DoubleType | FloatType):
        return column.cast("string")
    return F.collate(column, "UTF8_BINARY") if _collated(df, name) else column


def _collated(df: DataFrame, name: str) -> bool:
    from pyspark.sql.types import StringType

    kind = df.schema[name].dataType
    return isinstance(kind, StringType) and kind != StringType()


def _verdict(
    df: DataFrame,
    classes: DataFrame,
    schema: Schema | None,
    k: int,
    names: Sequence[str],
    keys: Sequence[str],
    bounds: Sequence[str],
    rules: Sequence[Rule],
) -> Verdict:
    from pyspark.sql import functions as F

    small = F.col(COUNT) < k
    starred = _all_starred(df, names)
    n_classes, rows, smallest, n_small, rows_small, suppressed = classes.agg(
        F.count("*"),
        F.sum(COUNT),
        F.min(COUNT),
        F.count_if(small),
        F.sum(F.when(small, F.col(COUNT)).otherwise(0)),
        F.sum(F.when(starred, F.col(COUNT)).otherwise(0)),
    ).collect()[0]
    if not n_classes:
        raise DataError("the table has no rows.")
    reasons = []
    if n_small:
        reasons.append(
            f"{n_small} of {n_classes} equivalence classes have fewer than {k} rows "
            f"({rows_small} rows in all; the smallest class has {smallest})"
        )
    found: list[RuleFound] = []
    bad = [classes.where(small).limit(MOST_SHOWN if n_small else 0).toArrow()]
    for name in dict.fromkeys(rule.column for rule in rules):
        mine = [rule for rule in rules if rule.column == name]
        values, overall, spelled = _values(df, name, schema)
        for rule in mine:
            if rule.value is not None:
                check_value(rule, values)
        worst, wrong, shown = _reached(spelled, keys, mine, values, overall, n_classes)
        bad.append(shown)
        found += [RuleFound(rule, *facts) for rule, facts in zip(mine, zip(worst, wrong, strict=True), strict=True)]
    found.sort(key=lambda one: list(rules).index(one.rule))
    reasons += [
        f"{one.offending} of {n_classes} equivalence classes do not have {one.rule}" for one in found if one.offending
    ]
    if 0 < suppressed < k:
        reasons.append(f"{suppressed} rows are wholly suppressed (`*` everywhere) and too few: leave them out")
    if schema is not None:
        reasons += foreign_columns(df.columns, schema, bounds)
    offending = pa.concat_tables([table.cast(bad[0].schema) for table in bad])
    offending = offending.group_by(offending.column_names).aggregate([]).slice(0, MOST_SHOWN)
    offending = offending.rename_columns([*keys, "count_all"])
    return Verdict(smallest, k, "rows", rows, n_classes, suppressed, found, reasons, offending)


def _all_starred(df: DataFrame, names: Sequence[str]) -> Column:
    """Whether nothing is published of a class; only texts can say so."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StringType

    texts = all(isinstance(df.schema[name].dataType, StringType) for name in names)
    condition = F.lit(texts)
    for j in range(len(names) if texts else 0):
        condition = condition & (F.coalesce(F.col(f"k{j}"), F.lit("")) == "*")
    return condition


def _values(df: DataFrame, name: str, schema: Schema | None) -> tuple[Values, NDArray[np.float64], DataFrame]:
    """The different values of a sensitive column, how many rows have each, and the rows with its number."""
    from pyspark.sql import functions as F

    column = schema.columns[name] if schema else None
    missing = column.texts_missing(schema.missing) if schema and column else ("",)
    value = F.collate(F.col(quoted(name)), "UTF8_BINARY") if _collated(df, name) else F.col(quoted(name))
    table = df.groupBy(value.alias("value")).agg(F.count("*").alias("n")).limit(MOST_VALUES + 1).toArrow()
    if table.num_rows > MOST_VALUES:
        raise DataError(f"column {name!r} has more than {MOST_VALUES:,} different values.", column=name)
    values = published_values(name, table["value"], column, missing)
    overall = np.bincount(values.numbers, table["n"].to_numpy(), minlength=len(values.names) + 1)
    numbers = pa.table({VALUE: table["value"], NUMBER: pa.array(values.numbers)})
    with no_word_of_pandas():
        lookup = F.broadcast(df.sparkSession.createDataFrame(numbers))
    joined = df.join(lookup, value.eqNullSafe(lookup[VALUE]), "left")
    return values, overall.astype(np.float64), joined


def _reached(
    spelled: DataFrame,
    keys: Sequence[str],
    rules: Sequence[Rule],
    values: Values,
    overall: NDArray[np.float64],
    n_classes: int,
) -> tuple[list[float], list[int], pa.Table]:
    """Of each rule what the worst class reaches, and how many classes are wrong; and some of those that are."""
    from pyspark.sql import functions as F

    columns = [f"k{j}" for j in range(len(keys))]
    named = [_as_published(spelled, name).alias(column) for column, name in zip(columns, keys, strict=True)]
    pairs = spelled.select(*named, NUMBER).groupBy(*columns, NUMBER).agg(F.count("*").alias(COUNT))
    partitions = max(1, n_classes * 4 // PAIRS_PER_PARTITION, spelled.sparkSession.sparkContext.defaultParallelism)
    kinds = [(f"k{j}", kind) for j, kind in enumerate(arrow_schema(pairs.select(*columns)).types)]
    facts = [(f"{what}{i}", kind) for i in range(len(rules)) for what, kind in (("w", pa.float64()), ("n", pa.int64()))]
    out = pa.schema([("row", pa.bool_()), *facts, *kinds, (COUNT, pa.int64())])
    sent = (values.names, values.column, values.spellings)

    def look(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in as_tables(batches, 1 << 62):  # a partition: classes are whole in it
            yield from _looked_at(table, columns, rules, sent, overall, out).to_batches()

    with no_word_of_pandas():
        looked = pairs.repartition(partitions, *columns).mapInArrow(look, spark_schema(out)).persist()
    try:
        summary = looked.where(~F.col("row")).select(*[name for name, _ in facts]).toArrow()
        shown = looked.where("row").select(*columns, COUNT).limit(MOST_SHOWN).toArrow()
    finally:
        looked.unpersist()
    worst, wrong = [], []
    for i, rule in enumerate(rules):
        of_all = summary[f"w{i}"].to_numpy()
        worst.append(float(of_all.min() if rule.symbol == "l" and rule.model != "recursive" else of_all.max()))
        wrong.append(int(summary[f"n{i}"].to_numpy().sum()))
    return worst, wrong, shown


def _looked_at(
    table: pa.Table,
    columns: Sequence[str],
    rules: Sequence[Rule],
    sent: tuple[Any, ...],
    overall: NDArray[np.float64],
    out: pa.Schema,
) -> pa.Table:
    """On an executor: one row with what the worst of these classes reach, and one for each class that is wrong."""
    names, column, spellings = sent
    classes = np.zeros(table.num_rows, np.int64)
    for name in columns:
        codes = table[name].combine_chunks().dictionary_encode(null_encoding="encode")
        classes = classes * len(codes.dictionary) + codes.indices.to_numpy()
        classes = np.unique(classes, return_inverse=True)[1]
    order = np.lexsort((table[NUMBER].to_numpy(), classes))
    classes, numbers = classes[order], table[NUMBER].to_numpy()[order].astype(np.int64)
    counted = table[COUNT].to_numpy()[order].astype(np.float64)
    starts = np.flatnonzero(np.diff(classes, prepend=-1))
    sizes = np.add.reduceat(counted, starts).astype(np.int64)
    counts = Counts(classes, numbers, counted, starts, sizes, overall)
    values = Values(numbers, names, column, spellings)
    bad = np.zeros(len(starts), bool)
    facts: dict[str, list[object]] = {}
    for i, rule in enumerate(rules):
        found = reached(rule, counts, values, False, None)
        wrong = ~satisfied(rule, found)
        bad |= wrong
        worst = found.min() if rule.symbol == "l" and rule.model != "recursive" else found.max()
        facts |= {f"w{i}": [float(worst)], f"n{i}": [int(wrong.sum())]}
    first = table.select(columns).take(pa.array(order[starts[bad]][:MOST_SHOWN]))
    rows = {**{name: first[name] for name in columns}, COUNT: pa.array(sizes[bad][:MOST_SHOWN])}
    rows |= {"row": pa.array(np.ones(first.num_rows, bool))}
    rows |= {name: pa.nulls(first.num_rows, out.field(name).type) for name in facts}
    top = {**facts, "row": [False], **{name: pa.nulls(1, out.field(name).type) for name in [*columns, COUNT]}}
    return pa.concat_tables(
        [pa.table([pa.array(made[f.name], f.type) if isinstance(made[f.name], list) else made[f.name] for f in out],
                  schema=out) for made in (top, rows)]
    )  # fmt: skip
