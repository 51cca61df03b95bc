"""The similar-B-tree's Figures 4 to 8: it and I3M beside starting again with Mondrian, by size and by share changed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import shoal
from experiments.changing import deleting, inserting, maintained, static, total_il
from experiments.looks import SECONDS, lines
from experiments.study import (
    Cell,
    Claim,
    Figure,
    Paper,
    Row,
    Study,
    Verdict,
    pick,
    ratios,
    values,
    verdict,
)
from shoal.records.encode import Records, encode
from shoal.report.lines import Axis

STATIC, I3M, SIMILAR, FOLLOWED = "mondrian", "I3M", "similar-B-tree", "shoal, maintained"
K = 5
SAME = ("records", "changes", "change")  # where two methods are compared
SIZES, QUICK_SIZES = (5_000, 10_000, 15_000, 20_000, 25_000, 30_000, 35_000, 40_000, 44_500), (1_000, 2_000)
TABLE, QUICK_TABLE = 20_000, 2_000
PARTS, QUICK_PARTS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5), (0.05, 0.5)
FIXED, QUICK_FIXED = 500, 100
LOSS = Axis("loss", "Total-IL")


@cache
def similar_records() -> Records:
    """The similar-B-tree's table: education as a category instead of its number, capital gain sensitive."""
    folder = Path(shoal.datasets.__file__).parent / "adult" / "hierarchies"
    categories = ("workclass", "education", "marital-status", "occupation", "race", "sex", "native-country")
    columns: dict[str, dict[str, object]] = {"age": {"role": "quasi-identifier", "type": "numeric"}}
    columns |= {
        name: {"role": "quasi-identifier", "hierarchy": shoal.Hierarchy.tree(folder / f"{name}.csv")}
        for name in categories
    }
    columns["capital-gain"] = {"role": "sensitive", "type": "numeric"}
    return encode(shoal.datasets.adult("all", complete=True).select(list(columns)), shoal.Schema(columns=columns))


def _cells(sizes: Sequence[tuple[int, int]]) -> list[Cell]:
    return [
        {"records": records, "changes": changes, "change": change, "method": method}
        for records, changes in sizes
        for change in ("insert", "delete")
        for method in (STATIC, I3M, SIMILAR, FOLLOWED)
    ]


def by_size(quick: bool) -> list[Cell]:
    sizes, fixed = (QUICK_SIZES, QUICK_FIXED) if quick else (SIZES, FIXED)
    return _cells([(size, fixed) for size in sizes])


def by_part(quick: bool) -> list[Cell]:
    parts, table = (QUICK_PARTS, QUICK_TABLE) if quick else (PARTS, TABLE)
    return _cells([(table, round(part * table)) for part in parts])


def measure(cell: Cell) -> list[Row]:
    """All begin with Mondrian's groups of the table before; `records` is its size."""
    records, size, changes = similar_records(), cell["records"], cell["changes"]
    if cell["change"] == "insert":
        change = inserting(records, size, changes, seed=1)
    else:
        change = deleting(records, size - changes, changes, seed=1)
    maintainers = {I3M: "i3m", SIMILAR: "similar-b-tree", FOLLOWED: "shoal"}
    if cell["method"] == STATIC:
        found = static(records, change.after, K, "mondrian")
    else:
        found = maintained(records, change, K, maintainers[cell["method"]], "mondrian")
    return [{"seconds": found.seconds, "loss": total_il(records, change.after, found.labels)}]


def _faster(rows: Sequence[Row]) -> tuple[Verdict, str]:
    words, below = [], []
    for change in values(rows, "change"):
        for other in (I3M, STATIC):
            found = ratios(pick(rows, change=change), "seconds", SIMILAR, other, SAME)
            below += [ratio < 1 for ratio in found]
            words.append(f"{change}: {min(found):.2f} to {max(found):.2f} × {other}")
    return verdict(all(below), in_part=any(below)), "; ".join(words) + "."


def _close_to_i3m(rows: Sequence[Row]) -> tuple[Verdict, str]:
    found = ratios(rows, "loss", SIMILAR, I3M, SAME)
    return verdict(max(found) < 1.1, in_part=sum(ratio < 1.1 for ratio in found) > len(found) / 2), (
        f"{min(found):.2f} to {max(found):.2f} × I3M's loss (close: below 1.1)."
    )


def _near_static(rows: Sequence[Row]) -> tuple[Verdict, str]:
    least = min(row["changes"] for row in rows)
    few = pick(rows, changes=least)
    found = ratios(few, "loss", I3M, STATIC, SAME) + ratios(few, "loss", SIMILAR, STATIC, SAME)
    near = [abs(ratio - 1) < 0.1 for ratio in found]
    return verdict(all(near), in_part=max(found) < 1.1), (
        f"with {least} changes {min(found):.2f} to {max(found):.2f} × the static loss (near: within 10%)."
    )


def _panels(rows: Sequence[Row]) -> dict[str, list[Row]]:
    return {f"{change}d".replace("insertd", "inserted"): pick(rows, change=change) for change in values(rows, "change")}


INTRODUCTION = f"""
The similar-B-tree keeps groups as balls around a centre, their records in the order of their distance from it, and
follows inserts, deletes and updates without looking at the whole table. Its authors compare it with I3M and with static
Mondrian.

Adult, age and seven categories as quasi-identifiers, capital gain sensitive, k = {K}. All maintainers begin with the
groups of Mondrian with median cuts; so does the maintainer `shoal` beside them. The paper goes to 50 000 records; only
45 222 are complete. Both sides are compiled.
"""
TREES = "I3M here looks its groups up in a tree, where the paper's scans them all; and Mondrian is compiled."
CORE = "It splits a group into its core and its shell, and a shell surrounds the core: its box is no smaller."
MEDIANS = (
    "Maintainers split groups of 2k and more before they begin, and median cuts leave many of them: both lose less."
)

BY_SIZE_STUDY = Study(
    name="similar-b-tree-sizes",
    title="Time against the size of the table (Figure 4)",
    setting=f"{FIXED} records come to a table of each size, or go from it.",
    cells=by_size,
    measure=measure,
    figures=(
        Figure(
            "similar-b-tree-figure-4",
            "Figure 4: seconds against the size of the table.",
            lambda rows: lines(_panels(rows), Axis("records", "records in the table"), SECONDS),
        ),
    ),
    claims=(Claim("Fig. 4", "The similar-B-tree is clearly faster than I3M and than starting again.", _faster, TREES),),
)
BY_PART_STUDY = Study(
    name="similar-b-tree-parts",
    title="Time and loss against how much changes (Figures 5 to 8)",
    setting=f"From 1 % to 50 % of a table of {TABLE} records come, or go.",
    cells=by_part,
    measure=measure,
    figures=(
        Figure(
            "similar-b-tree-figures-5-7",
            "Figures 5 and 7: seconds against the number of changes.",
            lambda rows: lines(_panels(rows), Axis("changes", "records changed"), SECONDS),
        ),
        Figure(
            "similar-b-tree-figures-6-8",
            "Figures 6 and 8: loss against the number of changes.",
            lambda rows: lines(_panels(rows), Axis("changes", "records changed"), LOSS),
        ),
    ),
    claims=(
        Claim("Figs. 5, 7", "It is clearly faster than I3M and than starting again.", _faster, TREES),
        Claim("Figs. 6, 8", "Its loss is close to I3M's.", _close_to_i3m, CORE, chart="similar-b-tree-figures-6-8"),
        Claim(
            "Figs. 6, 8",
            "For few changes both stay near the static loss.",
            _near_static,
            MEDIANS,
            chart="similar-b-tree-figures-6-8",
        ),
    ),
)
PAPER = Paper("similar-b-tree", "The similar-B-tree", INTRODUCTION, (BY_SIZE_STUDY, BY_PART_STUDY))
