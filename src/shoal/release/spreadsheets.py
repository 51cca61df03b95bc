"""Cells that a spreadsheet would run: a text in a CSV file that begins with =, +, -, @, a tab or a carriage return.

A release says what the records said, so such texts are published as they are, with a warning; on request an apostrophe
before them tells spreadsheets that they are texts.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import ShoalWarning
from shoal.sources.normalize import is_text

# What has apostrophes already gets one more, so that different texts stay different.
RUN = r"^'*[=+\-@\t\r]"
NEUTRALIZED = "neutralized_formulas"  # in the manifest
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def for_spreadsheets(
    table: pa.Table, facts: Mapping[str, object], path: Path, *, neutralize: bool
) -> tuple[pa.Table, Mapping[str, object]]:
    """The table and the manifest to write. Of a CSV, texts that would be run are neutralized, or warned of.

    What was neutralized when it was published (as its manifest says) is so whenever it is written again.
    """
    neutralize = neutralize or NEUTRALIZED in facts
    facts = {name: fact for name, fact in facts.items() if name != NEUTRALIZED}
    if path.suffix.lower() != ".csv":
        return table, facts
    run = {name: would_run(table[name]) for name in table.column_names if is_text(table[name].type)}
    run = {name: bad for name, bad in run.items() if pc.any(bad).as_py()}
    if neutralize:
        for name, bad in run.items():
            apostrophe, between = (pa.scalar(sign, table[name].type) for sign in ("'", ""))
            texts = pc.if_else(bad, pc.binary_join_element_wise(apostrophe, table[name], between), table[name])
            table = table.set_column(table.column_names.index(name), name, texts)
        return table, {**facts, NEUTRALIZED: True}
    if run:
        note = (
            f"a spreadsheet would run texts of {', '.join(map(repr, run))} as formulas (=, +, - or @ first). Put an "
            "apostrophe before them with --neutralize-formulas (in Python, neutralize_formulas=True)."
        )
        warnings.warn(note, ShoalWarning, stacklevel=3)
    return table, facts


def would_run(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Which texts a spreadsheet would take for a formula; a number is none."""
    return pc.and_(pc.match_substring_regex(texts, RUN), pc.invert(pc.match_substring_regex(texts, NUMBER)))
