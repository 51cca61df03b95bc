"""`shoal anonymize --engine spark`: files that Spark reads and writes, in as many parts as it likes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.cli.bars import progress
from shoal.cli.screen import number, plural, print_json, screen
from shoal.errors import DataError, OutputError, ParameterError
from shoal.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SUFFIXES = (".parquet", ".csv")
SEPARATORS = ",;\t|"


def refuse_others(given: Mapping[str, object]) -> None:
    """Options that only the engine of one machine has."""
    for option, value in given.items():
        if value:
            raise ParameterError(f"{option} is not possible with --engine spark.")


def refuse_without(given: Mapping[str, object]) -> None:
    """Options that only Spark has."""
    for option, value in given.items():
        if value is not None:
            raise ParameterError(f"{option} is for --engine spark.")


def check_place(output: Path, sources: Sequence[str | Path], *, force: bool) -> None:
    """Spark writes a folder; one that is there is overwritten by those who insist, and what was read is never."""
    if output.suffix not in SUFFIXES:
        raise OutputError(f"Spark writes {' or '.join(SUFFIXES)} here.", file=str(output))
    if any(Path(source).resolve() == output.resolve() for source in sources):
        raise OutputError("the release would overwrite what it is made from.", file=str(output))
    if output.exists() and not force:
        raise OutputError("this exists already.", hint="Overwrite it with --force.", file=str(output))


def run(
    data: str,
    schema: Schema,
    output: Path,
    *,
    master: str | None,
    force: bool,
    as_json: bool,
    options: Mapping[str, Any],
) -> None:
    """Read, anonymize, write, and say what came of it."""
    check_place(output, [data, *schema.files], force=force)
    from shoal import spark  # needs the extra

    with progress(as_json=as_json) as bar:
        bar.stage("starting Spark")
        session = spark.session(master)
        session.sparkContext.setLogLevel("ERROR")
        released = spark.anonymize(read(session, data, schema), schema, progress=bar, **options)
        bar.stage("writing")
        write(released, output)
        bar.stage("measuring")
        report = spark.measure(released, schema)
        released.unpersist()
    if as_json:
        print_json({"output": str(output), "k": options["k"], **report.facts()})
        return
    classes = plural(report.classes, "class", "classes")
    screen.print(
        f"[bold green]✓[/] {plural(report.records, 'record')} in {classes} of at least {report.smallest_class} "
        "that look the same, verified."
    )
    screen.print(
        f"Loss: {report.totals['il_share']:.1%} (Total-IL {number(report.totals['il'])}); "
        "0% is the original table, 100% nothing but `*`."
    )
    screen.print(f"Written: {output}, a folder of parts", soft_wrap=True, markup=False)


def read(session: SparkSession, data: str, schema: Schema) -> DataFrame:
    """A Parquet file or folder, or CSV. Cells of a CSV stay texts: the schema says what they are."""
    path = Path(data)
    if not path.exists():
        raise DataError("there is no such file.", file=data)
    if path.suffix != ".csv":
        return session.read.parquet(data)
    first = path if path.is_file() else next(iter(sorted(path.glob("*.csv"))), path)
    head = first.open(encoding=schema.encoding or "utf-8").readline() if first.is_file() else ""
    separator = max(SEPARATORS, key=head.count)
    reader = session.read.option("quote", '"').option("escape", '"').option("multiLine", "true")
    reader = reader.option("sep", separator).option("encoding", schema.encoding or "UTF-8")
    if schema.header is False:
        return reader.csv(data).toDF(*schema.columns)
    return reader.option("header", "true").csv(data)


def write(released: DataFrame, output: Path) -> None:
    writer = released.write.mode("overwrite")
    if output.suffix == ".csv":
        writer.option("header", "true").option("escape", '"').csv(str(output))
    else:
        writer.parquet(str(output))
