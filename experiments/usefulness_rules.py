"""Goldberger & Tassa's conjecture, second half: association rules mined from releases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from experiments.cells_of_records import CellsOfRecords
from experiments.rule_mining import Items, Rule, confidences, items_of, mine
from experiments.study import Cell, Claim, Figure, Row, Study, pick
from experiments.usefulness_setting import (
    METHODS,
    SHOAL,
    averages,
    chart,
    earns_more,
    pmi_is_ahead,
    released,
    releases,
    split,
)
from shoal.hierarchies import IntervalLevels
from shoal.report.lines import Axis

LEVELS = {"age": IntervalLevels((10, 20, 40)), "education-num": IntervalLevels((4, 8), origin=1)}
SUPPORT, CERTAINTY, MOST_ITEMS = 0.02, 0.5, 3
CLOSER, TRUER = 0.02, 0.01  # what counts as better, in Jaccard's index and in confidence
SURER = (
    "Records of the other class are where a cell is wider, and have no such item: the rules that are left look surer "
    "than they are (optimism)."
)
JACCARD = Axis("jaccard", "rules in common (Jaccard)", format=".2f")
ERROR = Axis("error", "error of confidence", format=".2f")


@cache
def _original(rows: int, seed: int) -> tuple[Items, dict[Rule, float]]:
    training = split(rows, seed).training
    items = items_of(CellsOfRecords.of_originals(training), LEVELS)
    return items, mine(items, earns_more(training), SUPPORT, CERTAINTY, MOST_ITEMS)


def measure(cell: Cell) -> list[Row]:
    """The rules of a release beside those of the original rows, and how true they are of these."""
    originals, known = _original(cell["records"], cell["seed"])
    positive = earns_more(split(cell["records"], cell["seed"]).training)
    found = mine(items_of(released(cell), LEVELS), positive, SUPPORT, CERTAINTY, MOST_ITEMS)
    common, either = len(known.keys() & found.keys()), len(known.keys() | found.keys())
    beyond = np.array(list(found.values())) - np.array(list(confidences(originals, positive, found)))
    return [
        {
            "rules": len(found),
            "original_rules": len(known),
            "jaccard": common / either if either else 1.0,
            "precision": common / len(found) if found else math.nan,
            "recall": common / len(known) if known else math.nan,
            "error": float(np.abs(beyond).mean()) if found else math.nan,
            "optimism": float(beyond.mean()) if found else math.nan,
        }
    ]


def _chart(rows: Sequence[Row], y: Axis) -> Any:
    return chart({f"method {method}": pick(rows, method=method) for method in METHODS}, y)


def table(rows: Sequence[Row]) -> str:
    """What was found for each method, k and measure, averaged over the splits."""
    heads = [
        "method",
        "k",
        "measure",
        "rules",
        "of the original",
        "Jaccard",
        "precision",
        "recall",
        "error",
        "optimism",
    ]
    lines = ["| " + " | ".join(heads) + " |", "| --- " * len(heads) + "|"]
    for method in METHODS:
        for row in averages(pick(rows, method=method)):
            whole = f"{row['rules']:.0f} | {row['original_rules']:.0f}"
            shares = " | ".join(f"{row[name]:.3f}" for name in ("jaccard", "precision", "recall", "error"))
            lines.append(f"| {method} | {row['k']} | {row['measure']} | {whole} | {shares} | {row['optimism']:+.3f} |")
    return "\n".join(lines)


STUDY = Study(
    name="usefulness-rules",
    title="Association rules mined from releases",
    setting=f"""
Rules tell a salary class by up to {MOST_ITEMS} items of different columns. At least {100 * SUPPORT:g} % of all records
have the items and the class, and the confidence goes at least half of the way from the class's share in the table to 1
(a certainty factor of {CERTAINTY:g}), so that both classes, which differ in size, are treated alike.

An item is a node of a hierarchy, other than its root. Numbers are mined as single values and in fixed intervals,
because the intervals of a release overlap and hardly one of them is frequent: ages by 10, 20 and 40 years, education by
4 and 8 of its 16 steps. A record has an item if everything that its cell may mean lies in the item. An original value
therefore has the items of all levels above it, a generalized cell those from its own level on, a suppressed cell none.
So an item means the same set of original values in a release and in the original rows, which are mined in the same way,
and two rules are the same if they have the same items and class.

*Jaccard*: rules that both have, of those that either has; *precision* and *recall*: the same, of the release's rules
and of the original's. *Error*: how far the confidence of a release's rule is from that of the same rule in the original
rows, on average over the release's rules; *optimism*: how much it is above it.

Every claim is judged for averages over the splits. PMI must be better than each of the other measures by more than
{CLOSER:g} (Jaccard) or {TRUER:g} (error), averaged over all k; the verdict is "differs" where that is so for some of
the measures, or at some k. Claims and bounds were fixed before anything was measured; the reason that
the table gives was not.
""",
    cells=releases,
    measure=measure,
    figures=(
        Figure(
            "usefulness-rules-in-common",
            "Rules that release and original rows have in common, of those that either has (Jaccard), against k.",
            lambda rows: _chart(rows, JACCARD),
        ),
        Figure(
            "usefulness-rules-error",
            "How far the confidence of the release's rules is from the truth in the original rows, against k.",
            lambda rows: _chart(rows, ERROR),
        ),
    ),
    table=table,
    claims=(
        Claim(
            "Section 9",
            "The rules of a release for PMI are closer to the original's than those of one for another measure.",
            pmi_is_ahead("jaccard", CLOSER),
            SURER,
        ),
        Claim(
            "(ours)",
            "The rules of a release for PMI are truer: their confidence is nearer to that in the original rows.",
            pmi_is_ahead("error", TRUER, lower_is_better=True),
            SURER,
            chart="usefulness-rules-error",
        ),
        Claim(
            "(ours)",
            "They are closer with the method `shoal` too.",
            pmi_is_ahead("jaccard", CLOSER, SHOAL),
            SURER,
        ),
    ),
)
