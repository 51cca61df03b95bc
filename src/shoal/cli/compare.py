"""`shoal compare`: several methods on one table, in a table and a chart."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

import shoal
from shoal.cli.bars import progress
from shoal.cli.files import Encoding, Sheet, TableIn, file_path, files_of
from shoal.cli.privacy_options import Alpha, C, Diversity, L, T, asked
from shoal.cli.screen import AsJson, ShowValues, command, number, plural, print_json, screen
from shoal.cli.workers import Workers
from shoal.cluster import ALL_MEASURES, METHODS
from shoal.errors import ParameterError
from shoal.files import refuse_sources
from shoal.measures import MEANINGS
from shoal.report import comparison_chart, save_chart
from shoal.report.charts import check_chart

SHOWN = ("lm", "tree", "mi", "cm", "dm")  # beside IL; --json has all
BAR, WIDE = 16, 100  # characters of the longest bar; of a screen that has room for it


@command
def compare(
    data: TableIn,
    schema: Annotated[
        Path,
        typer.Option(
            "--schema", "-s", metavar="FILE", parser=file_path, help="The schema (TOML): what each column is."
        ),
    ],
    k: Annotated[str, typer.Option("-k", "--k", help="One k or several: 5,10,50.")] = "5,10,50",
    methods: Annotated[
        str | None, typer.Option(metavar="NAME,…", help=f"Which: {', '.join(METHODS)}. Default: all.")
    ] = None,
    l: L = None,  # noqa: E741  # the interface's name
    t: T = None,
    diversity: Diversity = None,
    c: C = None,
    alpha: Alpha = None,
    measure: Annotated[str, typer.Option(help=f"What they try to lose least of: {', '.join(ALL_MEASURES)}.")] = "il",
    seed: Annotated[int | None, typer.Option(help="Repeat the random choices of the methods.")] = None,
    chart: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", parser=file_path, help="Draw loss against k and against time: .svg, .png, .html or .json."
        ),
    ] = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    workers: Workers = None,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Run several methods on a table and show what each loses, and how long it takes. Nothing is published."""
    described = shoal.Schema.load(schema).reading(encoding=encoding, sheet=sheet)
    if chart is not None:
        check_chart(chart)
        refuse_sources(chart, files_of(data, *described.files))
    with progress(as_json=as_json) as bar:
        comparison = shoal.compare(
            data,
            described,
            k=_numbers(k),
            methods=[name.strip() for name in methods.split(",")] if methods else None,
            **asked(l, t, diversity, c, alpha, described.names(shoal.Role.SENSITIVE)),
            measure=measure,
            seed=seed,
            progress=bar,
        )
    if as_json:
        print_json(comparison.facts())
    else:
        _show(comparison)
    if chart is not None:
        save_chart(comparison_chart(comparison), chart)
        if not as_json:
            screen.print(f"Written: {chart}", soft_wrap=True, markup=False)


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError(f"-k takes whole numbers with commas between them, as 5,10,50. Got {text!r}.") from None


def _short(value: float) -> str:
    """Three digits: 0.047, 2.28M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3f}" if value < 1 else f"{value:.3g}"


def _bound(comparison: shoal.Comparison, k: int) -> str:
    """What no method can go below, in the words of a title; it is the same for all trials of a k."""
    for trial in comparison.trials:
        if trial.k == k and trial.measures["il"] > 0 and "il_gap" in trial.measures:
            return f"; no grouping has an IL below {trial.measures['il_share'] / trial.measures['il_gap']:.2%}"
    return ""


def _show(comparison: shoal.Comparison) -> None:
    worst = max(trial.measures["il_share"] for trial in comparison.trials) or 1.0
    shown = [name for name in SHOWN if all(name in trial.measures for trial in comparison.trials)]
    for k in dict.fromkeys(trial.k for trial in comparison.trials):
        title = f"k = {k}, {plural(comparison.records, 'record')}{_bound(comparison, k)}"
        table = Table(title=title, title_justify="left", box=None, padding=(0, 2 if screen.width >= WIDE else 1, 0, 0))
        table.add_column("method", no_wrap=True)
        table.add_column("IL", no_wrap=True)
        for name in shown:
            table.add_column(MEANINGS[name].title, justify="right", no_wrap=True)
        for heading in ("groups", "largest", "time"):
            table.add_column(heading, justify="right", no_wrap=True)
        for trial in comparison.trials:
            if trial.k == k:
                share = trial.measures["il_share"]
                bar = f" [blue]{'█' * max(1, round(BAR * share / worst))}[/]" if screen.width >= WIDE else ""
                table.add_row(
                    trial.method,
                    f"{share:6.2%}{bar}",
                    *(_short(trial.measures[name]) for name in shown),
                    number(trial.groups),
                    number(trial.largest),
                    f"{trial.seconds:.2f} s",
                )
        screen.print(table)
    screen.print("IL: 0% is the original table, 100% nothing but `*`. `shoal measure` explains the other measures.")
