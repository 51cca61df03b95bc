"""Byun et al. 2007, Figures 6 to 11: k-member beside Mondrian, by k and by the size of the table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from benchmarks.inputs import adult_records
from experiments.looks import SECONDS, TOTAL_IL, lines
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
    verdict,
)
from experiments.trials import sample, trial
from shoal.privacy.requirements import Requirements
from shoal.records.encode import Records
from shoal.release.making import released
from shoal.report.lines import Axis

MEDIAN, MONDRIAN, K_MEMBER = "mondrian, median cuts", "mondrian", "k-member"
PENALTY, SHOAL = "k-member, class penalty", "shoal"
METHODS: dict[str, tuple[str, dict[str, object]]] = {
    MEDIAN: ("mondrian", {"cut": "median"}),
    MONDRIAN: ("mondrian", {}),
    K_MEMBER: ("k-member", {}),
    PENALTY: ("k-member", {"class_penalty": 1.0}),
    SHOAL: ("shoal", {}),
}
GREEDY = (K_MEMBER, PENALTY)
KS, QUICK_KS = (2, 5, 10, 25, 50, 100, 200, 350, 500), (5, 25)
SIZES, QUICK_SIZES = (1_000, 2_500, 5_000, 10_000, 15_000, 20_000, 25_000, 30_000), (500, 1_000)
ALL, QUICK_ALL = 30_162, 1_500
K = 5  # where the size varies
SAME = ("records", "k")  # where two methods are compared

BY_K = Axis("k", "k", log=True, format="d")
BY_SIZE = Axis("records", "records")
DM = Axis("dm", "DM", log=True, format="~s")
CM = Axis("cm", "CM", format="%")


@cache
def _table(rows: int) -> Records:
    return sample(adult_records(), rows)


def by_k(quick: bool) -> list[Cell]:
    rows = QUICK_ALL if quick else ALL
    return [{"records": rows, "k": k, "method": method} for k in (QUICK_KS if quick else KS) for method in METHODS]


def by_size(quick: bool) -> list[Cell]:
    sizes = QUICK_SIZES if quick else SIZES
    return [{"records": rows, "k": K, "method": method} for rows in sizes for method in METHODS]


def measure(cell: Cell) -> list[Row]:
    """What one method loses, by the paper's three measures, and the seconds that it took."""
    records = _table(cell["records"])
    method, options = METHODS[cell["method"]]
    partition, seconds = trial(records, cell["k"], method, options=options)
    requirements = Requirements(cell["k"])
    release = released(
        records, partition, requirements, method=method, measure="il", options=options, least=lambda k: 1.0
    )
    found = release.measures()
    sizes = partition.sizes
    return [
        {
            "il": found["il"],
            "dm": found["dm"],
            "cm": found["cm"],
            "seconds": seconds,
            "groups": len(sizes),
            "mean_size": len(records) / len(sizes),
        }
    ]


def _below(field: str, lower: Sequence[str], than: str) -> Judge:
    """The first methods are below the other at every setting."""

    def judge(rows: Sequence[Row]) -> tuple[Verdict, str]:
        found = {method: ratios(rows, field, method, than, SAME) for method in lower}
        fewer = {method: sum(ratio < 1 for ratio in mine) for method, mine in found.items()}
        words = "; ".join(
            f"{method}: below at {fewer[method]} of {len(mine)}, {min(mine):.2f} to {max(mine):.2f} × {than}"
            for method, mine in found.items()
        )
        everywhere = all(fewer[method] == len(mine) for method, mine in found.items())
        return verdict(everywhere, in_part=any(fewer.values())), words + "."

    return judge


def _penalty_costs_little(rows: Sequence[Row]) -> tuple[Verdict, str]:
    found = ratios(rows, "il", PENALTY, K_MEMBER, SAME)
    return verdict(max(found) < 1.1, in_part=min(found) < 1.1), (
        f"{min(found):.2f} to {max(found):.2f} × the Total-IL without the penalty (very close: below 1.1)."
    )


def _sizes_near_k(rows: Sequence[Row]) -> tuple[Verdict, str]:
    shares = [float(row["mean_size"]) / float(row["k"]) for row in rows if row["method"] in GREEDY]
    return verdict(max(shares) < 1.1, in_part=min(shares) < 1.1), (
        f"classes have {min(shares):.2f} to {max(shares):.2f} × k records on average (very close: below 1.1)."
    )


def _slower(rows: Sequence[Row]) -> tuple[Verdict, str]:
    found = ratios(rows, "seconds", K_MEMBER, MEDIAN, SAME)
    longest = max(float(row["seconds"]) for row in pick(rows, method=K_MEMBER))
    return verdict(min(found) > 1, in_part=max(found) > 1), (
        f"k-member takes {min(found):.1f} to {max(found):.1f} × Mondrian's time; the longest is {longest:.2f} s."
    )


def _linear(rows: Sequence[Row]) -> tuple[Verdict, str]:
    """By the exponent of the size."""
    found = {}
    for method in (MEDIAN, K_MEMBER):
        mine = pick(rows, method=method)
        slope = np.polyfit(np.log([row["records"] for row in mine]), np.log([row["il"] for row in mine]), 1)[0]
        found[method] = float(slope)
    words = ", ".join(f"{method} with the power {slope:.2f}" for method, slope in found.items())
    return verdict(all(0.8 <= slope <= 1.2 for slope in found.values()), in_part=True), f"grows: {words}."


INTRODUCTION = """
J.-W. Byun, A. Kamra, E. Bertino, N. Li: *Efficient k-Anonymization Using Clustering Techniques* (DASFAA 2007). They see
k-anonymity as clustering with groups of at least k, and build the groups greedily: *k-member*. On Adult they compare it
with Mondrian, which cuts the table at medians, and with a variant that pays a penalty for mixing salary classes.

Here as there: the complete training rows of Adult, 8 quasi-identifiers (age and education as numbers), hierarchies for
the other six, salary as the class. The paper does not give its hierarchies; ours are those that ship with ARX. The
paper's "median partitioning" is Mondrian with median cuts. Beside the paper's three methods there are Mondrian as shoal
has it (it cuts where the groups are divided best) and `shoal`, the default method.
"""

BY_K_STUDY = Study(
    name="byun-k",
    title="Loss, classes and time against k (Figures 6 to 9)",
    setting="""
All 30 162 rows. Total-IL is what each record loses, added up; DM adds up how many records look like a record; CM is the
share of records whose salary class is not that of most in their class.
""",
    cells=by_k,
    measure=measure,
    figures=(
        Figure("byun-figure-6", "Figure 6: Total-IL against k.", lambda rows: lines({"": rows}, BY_K, TOTAL_IL)),
        Figure("byun-figure-7", "Figure 7: discernibility (DM) against k.", lambda rows: lines({"": rows}, BY_K, DM)),
        Figure(
            "byun-figure-8", "Figure 8: classification metric (CM) against k.", lambda rows: lines({"": rows}, BY_K, CM)
        ),
        Figure("byun-figure-9", "Figure 9: seconds against k.", lambda rows: lines({"": rows}, BY_K, SECONDS)),
    ),
    table=lambda rows: pivot(rows, "k", "method", "il", "{:.0f}"),
    claims=(
        Claim(
            "Fig. 6",
            "k-member has the lowest Total-IL for all k, well below median partitioning.",
            _below("il", GREEDY, MEDIAN),
        ),
        Claim(
            "Fig. 6",
            "The class penalty hardly raises k-member's Total-IL.",
            _penalty_costs_little,
            "The paper does not say how large its penalty is; ours is 1, as much as one column can lose.",
        ),
        Claim(
            "Fig. 7",
            "Both k-members have a lower DM than median partitioning.",
            _below("dm", GREEDY, MEDIAN),
            chart="byun-figure-7",
        ),
        Claim("Fig. 7", "k-member's classes are always very close to k.", _sizes_near_k, chart="byun-figure-7"),
        Claim(
            "Fig. 8",
            "With the class penalty, k-member has the lowest CM of all.",
            _below("cm", (PENALTY,), K_MEMBER),
            chart="byun-figure-8",
        ),
        Claim(
            "Fig. 8",
            "Even without it, k-member has a lower CM than median partitioning for every k.",
            _below("cm", (K_MEMBER,), MEDIAN),
            "In classes of hundreds most people earn little, whoever makes them: CM nears the share of the others.",
            chart="byun-figure-8",
        ),
        Claim(
            "Fig. 9",
            "k-member is slower than median partitioning, but acceptable in practice.",
            _slower,
            "Through the tree over the records k-member gets faster as k grows; the paper's scans all records.",
            chart="byun-figure-9",
        ),
    ),
)

BY_SIZE_STUDY = Study(
    name="byun-size",
    title="Loss and time against the size of the table (Figures 10 and 11)",
    setting=f"Random samples of the same table, k = {K}; a larger sample has all records of a smaller one.",
    cells=by_size,
    measure=measure,
    figures=(
        Figure(
            "byun-figure-10",
            "Figure 10: Total-IL against the number of records.",
            lambda rows: lines({"": rows}, BY_SIZE, TOTAL_IL),
        ),
        Figure(
            "byun-figure-11",
            "Figure 11: seconds against the number of records.",
            lambda rows: lines({"": rows}, BY_SIZE, SECONDS),
        ),
    ),
    claims=(
        Claim(
            "Fig. 10",
            "Total-IL grows almost linearly with the size, for both.",
            _linear,
            "More records of the same kind lie closer to each other: what one of them loses falls with the size.",
        ),
        Claim("Fig. 10", "k-member has the lower Total-IL for any size.", _below("il", (K_MEMBER,), MEDIAN)),
        Claim("Fig. 11", "k-member is slower, but acceptable.", _slower, chart="byun-figure-11"),
    ),
)

PAPER = Paper("byun", "Byun et al.: k-member clustering", INTRODUCTION, (BY_K_STUDY, BY_SIZE_STUDY))
