"""Truta & Campan 2007, Figures 4 to 6: I3M beside starting again, and what IL_Optimization adds to both."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.inputs import adult_records
from experiments.changing import Change, broken, deleting, inserting, maintained, static, total_il
from experiments.looks import SECONDS, lines
from experiments.study import (
    Cell,
    Claim,
    Figure,
    Judge,
    Paper,
    Row,
    Study,
    Verdict,
    pick,
    pivot,
    ratios,
    values,
    verdict,
)
from shoal.report.lines import Axis

STATIC, I3M, ANEW, FOLLOWED = "k-member", "I3M", "shoal", "shoal, maintained"
BASE, QUICK_BASE = 10_000, 1_000
SHARES, QUICK_SHARES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5), (0.01, 0.5)
KS, QUICK_KS = (3, 5, 10), (5,)
SMALL = 0.025  # changes that the paper would call small, as a share
LOSS = Axis("loss_optimized", "Total-IL")


def cells(quick: bool) -> list[Cell]:
    base = QUICK_BASE if quick else BASE
    return [
        {"k": k, "base": base, "changes": round(share * base), "method": method}
        for k in (QUICK_KS if quick else KS)
        for share in (QUICK_SHARES if quick else SHARES)
        for method in (STATIC, I3M, ANEW, FOLLOWED)
    ]


def _measure(change_of: Callable[..., Change]) -> Callable[[Cell], list[Row]]:
    def measure(cell: Cell) -> list[Row]:
        records, k = adult_records(), cell["k"]
        change = change_of(records, cell["base"], cell["changes"], seed=1)
        match cell["method"]:
            case "I3M":
                found = maintained(records, change, k, "i3m", "k-member")
            case "shoal, maintained":
                found = maintained(records, change, k, "shoal", "shoal")
            case method:
                found = static(records, change.after, k, method)
        broken(records, change.after[: 10 * k], found.labels, k)  # compiles
        better = broken(records, change.after, found.labels, k)
        return [
            {
                "seconds": found.seconds,
                "loss": total_il(records, change.after, found.labels),
                "optimizing_seconds": better.seconds,
                "loss_optimized": total_il(records, change.after, better.labels),
            }
        ]

    return measure


def _ratios(rows: Sequence[Row], field: str, of: str, to: str) -> list[tuple[float, float]]:
    """One method's measurement as a share of another's: (share of records changed, ratio)."""
    shares = [row["changes"] / row["base"] for row in pick(rows, method=of)]
    return list(zip(shares, ratios(rows, field, of, to, ("k", "changes")), strict=True))


def _same_level(rows: Sequence[Row]) -> tuple[Verdict, str]:
    found = _ratios(rows, "loss_optimized", I3M, STATIC)
    small = [ratio for share, ratio in found if share <= SMALL]
    large = [ratio for share, ratio in found if share >= 0.5]
    words = (
        f"up to {SMALL:.1%} changed: {min(small):.2f} to {max(small):.2f} × starting again; "
        f"50%: {min(large):.2f} to {max(large):.2f}."
    )
    return verdict(max(small) <= 1.05, in_part=min(small) <= 1.05), words


def _deteriorates(rows: Sequence[Row]) -> tuple[Verdict, str]:
    words, worse = [], []
    for k in values(rows, "k"):
        found = sorted(_ratios(pick(rows, k=k), "loss_optimized", I3M, STATIC))
        worse.append(found[-1][1] > found[0][1])
        words.append(f"k = {k}: {found[0][1]:.2f} at {found[0][0]:.1%}, {found[-1][1]:.2f} at {found[-1][0]:.0%}")
    return verdict(all(worse), in_part=any(worse)), "; ".join(words) + "."


def _faster(rows: Sequence[Row]) -> tuple[Verdict, str]:
    found = _ratios(rows, "seconds", I3M, STATIC)
    small, large = [r for share, r in found if share <= SMALL], [r for share, r in found if share >= 0.5]
    below = sum(ratio < 0.5 for _, ratio in found)
    words = (
        f"up to {SMALL:.1%} changed: {min(small):.2f} to {max(small):.2f} × the time of starting again; 50%: "
        f"{min(large):.2f} to {max(large):.2f}; less than half at {below} of {len(found)}."
    )
    return verdict(below == len(found), in_part=max(small) < 0.5), words


def _improves(rows: Sequence[Row]) -> tuple[Verdict, str]:
    gains = [1 - row["loss_optimized"] / row["loss"] for row in rows if row["method"] in (STATIC, I3M)]
    return verdict(min(gains) > 0, in_part=max(gains) > 0), f"the loss falls by {min(gains):.1%} to {max(gains):.1%}."


def _little_time(rows: Sequence[Row]) -> tuple[Verdict, str]:
    shares = [row["optimizing_seconds"] / row["seconds"] for row in pick(rows, method=STATIC)]
    return verdict(max(shares) < 0.1, in_part=min(shares) < 0.1), (
        f"{min(shares):.2f} to {max(shares):.2f} × the time of static k-member."
    )


def _drifts_less(rows: Sequence[Row]) -> tuple[Verdict, str]:
    ours = [ratio for _, ratio in _ratios(rows, "loss", FOLLOWED, ANEW)]
    theirs = [ratio for _, ratio in _ratios(rows, "loss", I3M, STATIC)]
    return verdict(max(ours) < max(theirs)), f"at most {max(ours):.2f} × starting again; I3M at most {max(theirs):.2f}."


FAST = "The trees have made static k-member fast: there is less to save than in the paper, where it took minutes."


def _same_claims(figure: str, chart: str) -> tuple[Claim, ...]:
    judges: tuple[tuple[str, Judge, str, str], ...] = (
        ("For small changes the loss stays at about the level of starting again.", _same_level, "", "loss"),
        ("It deteriorates as the change grows.", _deteriorates, "", "loss"),
        ("The time is significantly below that of starting again.", _faster, FAST, "time"),
    )
    return tuple(
        Claim(figure, text, judge, why, chart=f"truta-campan-figure-{chart}-{what}")
        for text, judge, why, what in judges
    )


def _figures(number: int, k: int, words: str) -> tuple[Figure, ...]:
    def shown(rows: Sequence[Row]) -> list[Row]:
        ks = values(rows, "k")
        return pick(rows, k=k if k in ks else ks[0])

    x = Axis("changes", f"records {words}")
    caption = f"Figure {number}, k = {k}: records {words},"
    return (
        Figure(
            f"truta-campan-figure-{number}-loss", f"{caption} loss.", lambda rows: lines({"": shown(rows)}, x, LOSS)
        ),
        Figure(
            f"truta-campan-figure-{number}-time", f"{caption} time.", lambda rows: lines({"": shown(rows)}, x, SECONDS)
        ),
    )


def _before_and_after(rows: Sequence[Row]) -> object:
    panels = {}
    for k in values(rows, "k"):
        panels[f"k = {k}"] = [
            {"method": f"{row['method']}{when}", "changes": row["changes"], "loss": row[field]}
            for row in rows
            if row["k"] == k and row["method"] in (STATIC, I3M)
            for when, field in (("", "loss"), (", optimized", "loss_optimized"))
        ]
    return lines(panels, Axis("changes", "records inserted"), Axis("loss", "Total-IL"))


INTRODUCTION = """
T. M. Truta, A. Campan: *K-Anonymization Incremental Maintenance and Optimization Techniques* (SAC 2007). They keep a
k-anonymous table up to date as records come (I3M+) and go (I3M−), instead of starting again with k-member, and break up
groups that others cover (IL_Optimization).

Adult with 8 quasi-identifiers, 10 000 rows before the insertions or after the deletions, random records. Losses are
shown after IL_Optimization, as in the paper; the data has both. Both sides are compiled and go by the same trees, so
times compare the algorithms. Beside them: `shoal` from nothing, and its maintainer from `shoal`'s own groups.
"""

PLUS = Study(
    name="truta-campan-inserted",
    title="Records come (Figures 4 and 6)",
    setting="Static k-member on all records, beside I3M+ that goes on from k-member's groups of the first 10 000.",
    cells=cells,
    measure=_measure(inserting),
    figures=(
        *_figures(4, 3, "inserted"),
        Figure("truta-campan-figure-6", "Figure 6: before and after IL_Optimization.", _before_and_after),
    ),
    table=lambda rows: pivot(pick(rows, k=values(rows, "k")[0]), "changes", "method", "loss_optimized", "{:.0f}"),
    claims=(
        *_same_claims("Fig. 4", "4"),
        Claim("Fig. 6", "IL_Optimization improves every solution.", _improves, chart="truta-campan-figure-6"),
        Claim(
            "Fig. 6",
            "It needs very little time beside the clustering.",
            _little_time,
            FAST,
            chart="truta-campan-figure-6",
        ),
        Claim(
            "(ours)",
            "The maintainer `shoal` drifts less from starting again than I3M does.",
            _drifts_less,
            chart="truta-campan-figure-4-loss",
        ),
    ),
)
MINUS = Study(
    name="truta-campan-deleted",
    title="Records go (Figure 5)",
    setting="Static k-member on the 10 000 that are left, beside I3M− that goes on from k-member's groups of all.",
    cells=cells,
    measure=_measure(deleting),
    figures=_figures(5, 5, "deleted"),
    claims=_same_claims("Fig. 5", "5"),
)
PAPER = Paper("truta-campan", "Truta & Campan: incremental maintenance", INTRODUCTION, (PLUS, MINUS))
