"""What releases are good for: the conjecture with which Goldberger & Tassa 2010 end, tested."""

from __future__ import annotations

from benchmarks.inputs import spaced
from experiments import usefulness_classifiers, usefulness_rules
from experiments.study import Paper
from experiments.usefulness_setting import ROWS, SEEDS

INTRODUCTION = f"""
J. Goldberger, T. Tassa: *Efficient Anonymizations with Enhanced Utility* (Transactions on Data Privacy 3, 2010). Their
measure PMI counts what the published columns tell about the private one. They end with a plan that they did not carry
out: to make releases of one table for different measures, and to mine association rules and train classifiers on each.
They conjecture that the rules of the release for PMI would be closer to the original table's, and its classifier more
accurate.

Here: {spaced(ROWS)} of the 30 162 complete training rows of Adult, drawn at random, are released, and the others are
there to ask a classifier about. That is done {len(SEEDS)} times, with other rows each time; all releases of one such
split are made of the same rows. There are 8 quasi-identifiers (age and education as numbers, ARX's hierarchies for the
others), and salary is the private column. Releases are made for `il` (what Byun et al. count), `lm`, `mi` and `pmi`, by
sequential clustering, which is the paper's method, and by `shoal` (which for `pmi` is sequential clustering too, with
some more moves: no pools are known for it).
"""

PAPER = Paper(
    "usefulness",
    "What releases are good for: Goldberger & Tassa's conjecture",
    INTRODUCTION,
    (usefulness_classifiers.STUDY, usefulness_rules.STUDY),
)
