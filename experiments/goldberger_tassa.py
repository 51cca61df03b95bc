"""Goldberger & Tassa 2010, Section 8: sequential clustering beside four other methods, with diversity, and with PMI."""

from __future__ import annotations

from experiments import goldberger_tassa_diversity, goldberger_tassa_utility
from experiments.study import Paper

INTRODUCTION = """
J. Goldberger, T. Tassa: *Efficient Anonymizations with Enhanced Utility* (Transactions on Data Privacy 3, 2010). They
start from random groups and move each record to the group where the loss falls most: *sequential clustering*. They
compare it with agglomerative clustering, k-member, Mondrian and a Hilbert curve, keep ℓ-diversity with it, and let it
aim at PMI, which keeps what the public columns tell about the private one.

Here as there: the 45 222 complete rows of Adult, all 14 attributes as quasi-identifiers, and suppression alone (a cell
is published as it is, or not at all). LM is then the share of cells that are suppressed. Salary is the sensitive
column. Their times are those of a C program on a Pentium 4. Beside the paper's methods there is `shoal`, the default
method.
"""

PAPER = Paper(
    "goldberger-tassa",
    "Goldberger & Tassa: sequential clustering",
    INTRODUCTION,
    (*goldberger_tassa_utility.STUDIES, *goldberger_tassa_diversity.STUDIES),
)
