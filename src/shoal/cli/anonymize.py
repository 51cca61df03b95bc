"""`shoal anonymize`: a table and its schema in, a verified release out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import shoal
from shoal.cli import on_spark
from shoal.cli.bars import progress
from shoal.cli.files import (
    Encoding,
    NeutralizeFormulas,
    Sheet,
    Strict,
    TableOrStore,
    file_path,
    files_of,
    path_or_store,
)
from shoal.cli.privacy_options import Alpha, C, Diversity, L, T, asked
from shoal.cli.screen import AsJson, ShowValues, command, number, plural, print_json, screen
from shoal.cli.workers import Workers
from shoal.cluster import ALL_MEASURES, DEFAULT_METHOD, METHODS
from shoal.errors import ParameterError, one_of
from shoal.optimize import OPTIMIZERS
from shoal.release.write import check_target, manifest_path

ENGINES = ("here", "spark")


@command
def anonymize(
    data: TableOrStore,
    schema: Annotated[
        Path,
        typer.Option(
            "--schema", "-s", metavar="FILE", parser=file_path, help="The schema (TOML): what each column is."
        ),
    ],
    k: Annotated[int, typer.Option("-k", "--k", help="Every record looks like at least k − 1 others.")],
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE", parser=path_or_store, help="Where to write: .csv or .parquet."),
    ],
    l: L = None,  # noqa: E741  # the interface's name
    t: T = None,
    diversity: Diversity = None,
    c: C = None,
    alpha: Alpha = None,
    method: Annotated[str, typer.Option(help=f"How groups are found: {', '.join(METHODS)}.")] = DEFAULT_METHOD,
    measure: Annotated[
        str, typer.Option(help=f"What the method tries to lose least of: {', '.join(ALL_MEASURES)}.")
    ] = "il",
    effort: Annotated[
        str | None, typer.Option(help="How long the method shoal looks for less loss: fast, balanced or thorough.")
    ] = None,
    max_seconds: Annotated[
        float | None, typer.Option(help="The method shoal stops after so many seconds, with the best it has.")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="An option of the method, e.g. relaxed=true."),
    ] = None,
    optimize: Annotated[str | None, typer.Option(help=f"Lower the loss afterwards: {', '.join(OPTIMIZERS)}.")] = None,
    suppress: Annotated[
        float, typer.Option(help="The share of records that may be withheld where that lowers the loss, e.g. 0.01.")
    ] = 0.0,
    seed: Annotated[
        int | None, typer.Option(help="Repeat the random choices of a method; the order of the rows is always new.")
    ] = None,
    bounds: Annotated[bool, typer.Option("--bounds", help="Add _lo and _hi columns to numbers and dates.")] = False,
    encoding: Encoding = None,
    sheet: Sheet = None,
    strict: Strict = False,
    neutralize_formulas: NeutralizeFormulas = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output if it exists.")] = False,
    engine: Annotated[
        str, typer.Option(help="Where the work is done: here, or on spark (docs/spark.md; the next three are for it).")
    ] = "here",
    master: Annotated[
        str | None, typer.Option(help="Spark's master, e.g. local[2]; default: as Spark is configured.")
    ] = None,
    max_region: Annotated[int | None, typer.Option(help="Records that a task of Spark holds at most.")] = None,
    rounds: Annotated[
        int | None, typer.Option(help="How often groups are divided anew; default: while a round gains 1 %.")
    ] = None,
    workers: Workers = None,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Make a k-anonymous release of a table: read, group, generalize, verify, write.

    Nothing is written unless the independent verifier agrees that every combination of quasi-identifier values occurs
    at least k times, and that every class has the diversity and closeness that were asked for.
    """
    described = shoal.Schema.load(schema).reading(encoding=encoding, sheet=sheet)
    if engine not in ENGINES:
        raise ParameterError(one_of("--engine", engine, ENGINES))
    if engine == "spark":
        on_spark.refuse_others(
            {
                "--optimize": optimize, "--suppress": suppress, "--bounds": bounds, "--sheet": sheet,
                "--strict": strict, "--neutralize-formulas": neutralize_formulas, "--max-seconds": max_seconds,
            }
        )  # fmt: skip
        rules = asked(l, t, diversity, c, alpha, described.names(shoal.Role.SENSITIVE))
        given = _given(effort=effort, max_region=max_region, rounds=rounds)
        options = {"k": k, **rules, "method": method, "measure": measure, "seed": seed, **given}
        options |= _options(method, option or [])
        on_spark.run(data, described, output, master=master, force=force, as_json=as_json, options=options)
        return
    on_spark.refuse_without({"--master": master, "--max-region": max_region, "--rounds": rounds})
    on_spark.refuse_stores(data, output)
    target = Path(output)
    check_target(target, force=force, sources=files_of(data, *described.files))
    with progress(as_json=as_json) as bar:
        release = shoal.anonymize(
            data,
            described,
            k=k,
            **asked(l, t, diversity, c, alpha, described.names(shoal.Role.SENSITIVE)),
            method=method,
            measure=measure,
            seed=seed,
            optimize=optimize,
            suppress=suppress,
            bounds=bounds,
            strict=strict,
            progress=bar,
            **_options(method, option or []) | _given(effort=effort, max_seconds=max_seconds),
        )
        bar.stage("writing")
        release.write(target, force=force, neutralize_formulas=neutralize_formulas)
    if as_json:
        print_json({"output": str(target), "manifest": str(manifest_path(target)), **release.manifest})
    else:
        show(release, target, budget=suppress > 0)


def show(release: shoal.Release, output: Path, *, budget: bool = False) -> None:
    """The release in a few lines, for a person. `budget`: records might be withheld."""
    measures = release.measures(public=True)
    classes = plural(int(str(release.manifest["equivalence_classes"])), "class", "classes")
    people = " people" if release.manifest["counted"] == "people" else ""
    screen.print(
        f"[bold green]✓[/] {plural(release.table.num_rows, 'record')} in {classes} of at least {release.k}{people} "
        "that look the same, verified."
    )
    for rule in release.rules:
        screen.print(f"  Every class has {rule}.", markup=False)
    withheld = release.report(public=True).withheld
    if withheld:
        screen.print(f"  {plural(withheld, 'record')} withheld; each counts as a row of nothing but `*`.", markup=False)
    elif budget:
        screen.print("  No record was withheld: none would save the others more than it costs.", markup=False)
    screen.print(
        f"Loss: {measures['il_share']:.1%} (Total-IL {number(measures['il'])}); "
        "0% is the original table, 100% nothing but `*`."
    )
    for note in release.notes:
        screen.print(f"  {note[0].upper()}{note[1:]}.", soft_wrap=True, markup=False)
    screen.print(f"Written: {output} and {manifest_path(output)}", soft_wrap=True, markup=False)


def _given(**options: object) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _options(method: str, given: list[str]) -> dict[str, Any]:
    """`relaxed=true` as a value of the type that the method's option has."""
    known = METHODS[method].options if method in METHODS else {}
    options: dict[str, object] = {}
    for pair in given:
        name, equals, text = pair.partition("=")
        if not equals:
            raise ParameterError(f"--option takes NAME=VALUE. Got {pair!r} instead.")
        if name not in known:
            raise ParameterError(one_of(f"an option of {method}", name, known))
        options[name] = _value(name, text, known[name])
    return options


def _value(name: str, text: str, kind: type) -> object:
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    try:
        return words[text.lower()] if kind is bool else kind(text)
    except (KeyError, ValueError):
        wanted = "true or false" if kind is bool else f"a value of type {kind.__name__}"
        raise ParameterError(f"{name} must be {wanted}. Got {text!r} instead.") from None
