"""Measures: what a release has lost. Each has one sentence for somebody who has never heard of it."""

from shoal.measures.loss import losses

MEANINGS: dict[str, str] = {
    "il": "Total information loss: how wide the published cells are, added up over all records and columns (Byun).",
    "il_share": "The same as a share of the worst case: 0 is the original table, 1 a table of nothing but `*`.",
    "lm": "Loss metric: the average share of a column's values that a published cell leaves open (0 to 1).",
}

__all__ = ["MEANINGS", "losses"]
