"""`shoal anonymize --engine spark`: files that Spark reads and writes, in as many parts as it likes."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from shoal.addresses import is_store
from shoal.cli.bars import progress
from shoal.cli.screen import number, plural, print_json, screen
from shoal.errors import DataError, OutputError, ParameterError
from shoal.schema import Schema
from shoal.sources.databases import is_table_address


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


def refuse_stores(*places: str | Path) -> None:
    """Places that only Spark knows."""
    for place in places:
        if is_store(place):
            raise ParameterError(
                f"{place} is a place for --engine spark.", hint="Without it, files and databases are read here."
            )


@contextmanager
def interruption() -> Iterator[Callable[[], None]]:
    """Who interrupts Python interrupts Java as well, and what that says of it then is no other fault.

    Spark listens to SIGINT itself; so whoever has started it says that we listen again.
    """
    heard: list[int] = []

    def interrupt(number: int, frame: object) -> NoReturn:
        heard.append(number)
        raise KeyboardInterrupt

    def listen() -> None:
        for number in before:
            signal.signal(number, interrupt)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    listen()
    try:
        yield listen
    except Exception:
        if heard:
            raise KeyboardInterrupt from None
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run(
    data: str,
    schema: Schema,
    output: str | Path,
    *,
    master: str | None,
    force: bool,
    as_json: bool,
    options: Mapping[str, Any],
) -> None:
    """Read, anonymize, write, and say what came of it."""
    from shoal import spark  # needs the extra
    from shoal.spark.stores import Place, check_output

    check_output(output, [data, *schema.files])
    if is_table_address(data):
        raise DataError("tables of databases are for --engine here; with Spark they are read by a program.")
    names = list(schema.columns) if schema.header is False else None
    with progress(as_json=as_json) as bar, interruption() as listen:
        bar.stage("starting Spark")
        session = spark.session(master)
        listen()
        session.sparkContext.setLogLevel("ERROR")
        place = Place(session, output)
        if place.exists() and not force:
            raise OutputError("this exists already.", hint="Overwrite it with --force.", file=str(output))
        rows = Place(session, data).read(schema.encoding, names)
        released = spark.anonymize(rows, schema, progress=bar, **options)
        bar.stage("writing")
        place.write(released)
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
