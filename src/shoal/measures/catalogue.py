"""What each measure is, in one sentence for somebody who has never heard of it. Used by the command line, the
notebook view and `docs/measures.md`."""

from __future__ import annotations

from typing import NamedTuple


class Meaning(NamedTuple):
    """One measure: its title, one sentence, and whether it can be told from the published rows."""

    title: str
    sentence: str
    public: bool


MEANINGS: dict[str, Meaning] = {
    "il": Meaning(
        "Total-IL",
        "How wide the published cells are, as a share of their columns, added up over all records and columns.",
        True,
    ),
    "il_share": Meaning(
        "IL, share", "The same as a share of the worst case: 0 is the original table, 1 nothing but `*`.", True
    ),
    "il_bound": Meaning(
        "IL, bound", "A Total-IL that no way to put these records into groups of k can go below.", False
    ),
    "il_gap": Meaning(
        "IL, gap", "Total-IL as a multiple of that bound: at 2, no other groups could lose less than half of it.", False
    ),
    "lm": Meaning("LM", "The share of a column's values that a published cell leaves open, on average.", True),
    "tree": Meaning("Tree", "How far up its hierarchy a published cell stands, on average, from 0 to 1.", True),
    "am": Meaning("AM", "How many different original records a published row could stand for, on average.", True),
    "withheld": Meaning("Withheld", "How many records are not in the release.", True),
    "suppressed_cells": Meaning("Suppressed", "How many cells say nothing at all.", True),
    "dm": Meaning("DM", "The number of rows that look like a row, added up over all rows.", True),
    "average_class_size": Meaning("Class size", "How many rows look the same, on average over the classes.", True),
    "cm": Meaning(
        "CM", "The share of rows whose sensitive value is not the most common one among those that look the same.", True
    ),
    "diameter": Meaning(
        "Diameter", "The distance of the two most different records of a group, added up over all records.", False
    ),
    "mi": Meaning("MI", "How many bits of an original cell are lost, on average.", False),
    "pmi": Meaning(
        "PMI", "How many bits it takes, on average, to say a sensitive value once a published cell is known.", False
    ),
    "pmi_relative": Meaning(
        "PMI, relative",
        "The same, less what it takes if the original cell is known; below 0 the release predicts better.",
        False,
    ),
    "pmi_l2": Meaning(
        "PMI utility, ℓ2",
        "How much published columns tell of the sensitive one, with weight on those that tell most.",
        False,
    ),
    "pmi_max": Meaning(
        "PMI utility, ℓ∞", "How much the most telling published column tells of the sensitive one.", False
    ),
    "kl": Meaning(
        "KL",
        "How far the table that a reader would reconstruct by spreading each row evenly is from the original, in bits.",
        False,
    ),
}

RISKS: dict[str, str] = {
    "prosecutor": "Somebody looks for a person who is known to be in the table: 1 / the number of rows that fit.",
    "journalist": "Somebody looks for a person who may or may not be in the table: 1 / the number of people who fit.",
    "marketer": "Somebody tries to find everybody: the share of records that would be matched rightly, on average.",
}
