"""What releases cost that are safe together: a vault that people join and leave, by how long newcomers may wait.

Truta & Campan's paper leaves releases that an attacker holds side by side to future work; so do the others. Everything
here goes through `shoal.Vault`, as a steward would do it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import shoal
from benchmarks.inputs import spaced
from experiments.study import Cell, Claim, Figure, Paper, Row, Study, Verdict, pick, values, verdict
from shoal.errors import ShoalWarning
from shoal.report.charts import PALETTE
from shoal.report.lines import Axis, line_charts

K, ELL = 5, 2
KEY, SECRET = "id", "secret"
VALUES = (2, 30)


class Pace(NamedTuple):
    """How a table changes."""

    start: int
    releases: int  # after the first
    joining: int  # before each
    leaving: int

    @property
    def name(self) -> str:
        return f"{self.releases} releases, {self.joining} in and {self.leaving} out before each"


PACES = (Pace(10_000, 50, 100, 50), Pace(10_000, 12, 800, 400))
QUICK_PACES = (Pace(400, 4, 40, 20),)
NO_LIMIT = 0
HOLDS = (1, 3, 10)  # and all releases, which nobody reaches: but who has waited longer goes out at a higher price


@cache
def people(different: int) -> pa.Table:
    """Adult in a random order, with a key, and with a sensitive column of so many values.

    Two: the salary class. More: drawn, each value as often as its rank says (1, 1/2, 1/3, …).
    """
    rng = np.random.default_rng(different)
    table = shoal.datasets.adult(complete=True)
    table = table.take(pa.array(rng.permutation(table.num_rows)))
    shares = 1 / np.arange(1, different + 1)
    drawn = rng.choice(different, table.num_rows, p=shares / shares.sum())
    secret = table["salary-class"] if different == 2 else pa.array(np.char.add("value ", drawn.astype(str)))
    names = shoal.datasets.adult_schema().quasi_identifiers
    return table.select(names).append_column(SECRET, secret).append_column(KEY, pa.array(np.arange(len(drawn))))


@cache
def schema(different: int) -> shoal.Schema:
    """Adult's, on the domains of the whole table, whoever is in the vault."""
    known, table = shoal.datasets.adult_schema(), people(different)
    columns: dict[str, Any] = {name: known.columns[name] for name in known.quasi_identifiers}
    for name in ("age", "education-num"):
        every = table[name].to_numpy()
        domain = [int(every.min()), int(every.max())]
        columns[name] = {"role": "quasi-identifier", "type": "numeric", "domain": domain}
    return shoal.Schema(columns={KEY: {"role": "key"}, **columns, SECRET: {"role": "sensitive"}})


def cells(quick: bool) -> list[Cell]:
    return [
        {**pace._asdict(), "values": different, "max_hold": hold}
        for pace in (QUICK_PACES if quick else PACES)
        for different in VALUES
        for hold in (*(hold for hold in HOLDS if hold < pace.releases), pace.releases, NO_LIMIT)
    ]


def measure(cell: Cell) -> list[Row]:
    """One vault from its first release to its last; what the last ones were like."""
    pace = Pace(*(cell[name] for name in Pace._fields))
    different = cell["values"]
    asked: dict[str, Any] = {"k": K, "l": ELL, "diversity": "distinct", "seed": 1}
    waiting = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShoalWarning)
        start = people(different).slice(0, pace.start)
        safe: dict[str, Any] = {"republication": "safe", "max_hold": cell["max_hold"] or None}
        with shoal.Vault.create(":memory:", schema(different), data=start, **asked, **safe) as vault:
            release = vault.publish()
            for leaving, joining in _changes(people(different), pace):
                vault.delete(leaving)
                vault.insert(joining)
                release = vault.publish()
                waiting.append(vault.status().waiting)
            status, everybody = vault.status(), vault.export()
        again = shoal.anonymize(everybody, schema(different), **asked)
    shown, anew = (_loss_of_a_row(one) for one in (release, again))
    settled = waiting[len(waiting) // 2 :]  # the first newcomers have nobody to wait with
    return [
        {
            "loss": shown / anew,
            "waiting": float(np.mean(settled)) / everybody.num_rows,
            "waited": float(np.mean(settled)) / pace.joining,  # releases: Little's law
            "ghosts": status.ghosts / everybody.num_rows,
        }
    ]


def _loss_of_a_row(release: shoal.Release) -> float:
    measures: Any = release.manifest["measures"]
    return float(measures["il"]) / release.table.num_rows


def _changes(table: pa.Table, pace: Pace) -> Iterator[tuple[list[int], pa.Table]]:
    """Who leaves and who joins, before each release."""
    rng = np.random.default_rng(1)
    here, next_one = np.arange(pace.start), pace.start
    for _ in range(pace.releases):
        leaving = rng.choice(here, pace.leaving, replace=False)
        joining = np.arange(next_one, next_one + pace.joining)
        here, next_one = np.concatenate([np.setdiff1d(here, leaving), joining]), next_one + pace.joining
        yield leaving.tolist(), table.slice(int(joining[0]), pace.joining)


def _pace(row: Row) -> Pace:
    return Pace(*(int(row[name]) for name in Pace._fields))


def _limitless(rows: Sequence[Row]) -> list[Row]:
    return pick(rows, max_hold=NO_LIMIT)


def _each(rows: Sequence[Row], field: str) -> str:
    return ", ".join(f"{row[field]:.2f}" for row in rows)


def _cheap(rows: Sequence[Row]) -> tuple[Verdict, str]:
    found = _limitless(pick(rows, values=2))
    limits = [1.11 if row["releases"] > 12 else 1.09 for row in found]
    below = [row["loss"] <= limit for row, limit in zip(found, limits, strict=True)]
    return verdict(bool(below) and all(below), in_part=any(below)), f"{_each(found, 'loss')} × starting again."


def _held(rows: Sequence[Row]) -> tuple[Verdict, str]:
    found = [row for row in rows if row["max_hold"] == 10 and row["releases"] > 10]
    limits = [1.6 if row["releases"] > 12 else 1.35 for row in found]
    below = [row["loss"] <= limit for row, limit in zip(found, limits, strict=True)]
    return verdict(bool(below) and all(below), in_part=any(below)), f"{_each(found, 'loss')} × starting again."


def _worth_waiting(rows: Sequence[Row]) -> tuple[Verdict, str]:
    pairs = []
    for row in _limitless(rows):
        (at_once,) = [
            other
            for other in rows
            if _pace(other) == _pace(row) and (other["values"], other["max_hold"]) == (row["values"], 1)
        ]
        pairs.append((row["loss"], at_once["loss"]))
    fell = [patient < at_once for patient, at_once in pairs]
    said = ", ".join(f"{patient:.2f} instead of {at_once:.2f}" for patient, at_once in pairs)
    return verdict(all(fell), in_part=any(fell)), said + "."


def _lines(rows: Sequence[Row], y: Axis) -> Any:
    """No limit stands at the right end, as if it were twice as many releases as there are."""
    names = {different: f"{different} values" for different in values(rows, "values")}
    colours = dict(zip(names.values(), PALETTE, strict=False))
    shown = [
        {**row, "series": names[row["values"]], "max_hold": row["max_hold"] or 2 * row["releases"]} for row in rows
    ]
    paces = list(dict.fromkeys(_pace(row) for row in rows))
    panels = [(pace.name, [row for row in shown if _pace(row) == pace]) for pace in paces]
    return line_charts(panels, Axis("max_hold", "max_hold (releases); last: no limit", log=True), y, colours)


def _table(rows: Sequence[Row]) -> str:
    lines = ["| changes | values | max_hold | loss × | waiting | releases waited | ghosts |", "| --- " * 7 + "|"]
    for row in rows:
        hold = row["max_hold"] or "none"
        shares = f"{row['waiting']:.1%} | {row['waited']:.1f} | {row['ghosts']:.1%}"
        lines.append(f"| {_pace(row).name} | {row['values']} | {hold} | {row['loss']:.2f} | {shares} |")
    return "\n".join(lines)


INTRODUCTION = f"""
The papers publish a table once, or again and again as it changes; what somebody learns who holds two of these releases
they leave to future work. Under `republication="safe"` ([how](../safe.md)) all releases together say no more than one
k-anonymous, ℓ-diverse table. Its price is that newcomers wait for company, that rows of people who have left stay
(ghosts), and that cohorts cannot be made anew.

A vault begins with {spaced(PACES[0].start)} people of Adult, k = {K}, distinct ℓ = {ELL}, and is published after every
batch. The sensitive column has two values (the salary class) or thirty (drawn; the n-th is n times as rare as the
first).
"""
STUDY = Study(
    name="republication",
    title="Loss, waiting and ghosts against how long newcomers may wait",
    setting="""
Loss: what a row of the last release loses, against what a row loses when everybody who is in the vault then is
partitioned anew, without regard to earlier releases. Waiting: the share of the vault that no release has shown yet, and
how many releases somebody waits, on average over the second half. Ghosts: rows of people who have left, as a share of
the vault.
""",
    cells=cells,
    measure=measure,
    figures=(
        Figure(
            "republication-loss",
            "Loss, against starting again.",
            lambda rows: _lines(rows, Axis("loss", "loss ×", format=".2f")),
        ),
        Figure(
            "republication-waiting",
            "Who waits.",
            lambda rows: _lines(rows, Axis("waiting", "share waiting", format=".0%")),
        ),
        Figure("republication-waited", "How long.", lambda rows: _lines(rows, Axis("waited", "releases waited"))),
        Figure("republication-ghosts", "Ghosts.", lambda rows: _lines(rows, Axis("ghosts", "ghosts", format=".0%"))),
    ),
    table=_table,
    claims=(
        Claim("(ours)", "Without a limit of waiting, two values: at most 1.11 × and 1.09 ×.", _cheap),
        Claim("(ours)", "With `max_hold=10` at most 1.6 × and 1.35 ×.", _held),
        Claim("(ours)", "Waiting pays: who publishes newcomers after one release loses more.", _worth_waiting),
    ),
)
PAPER = Paper("republication", "Releases that are safe together: the price", INTRODUCTION, (STUDY,))
