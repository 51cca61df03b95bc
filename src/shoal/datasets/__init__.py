"""Data to try things on: the Adult table and its schemas ship with the package."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from shoal.datasets.census import census, census_changes, census_schema
from shoal.errors import ParameterError, one_of
from shoal.schema import Schema

ADULT = Path(__file__).parent / "adult"
TRAINING_ROWS = 32_561
PARTS = {"all": slice(None), "train": slice(0, TRAINING_ROWS), "test": slice(TRAINING_ROWS, None)}
SCHEMAS = ("papers", "suppression")


def adult(part: str = "all", *, complete: bool = False) -> pa.Table:
    """The Adult table: 48 842 people, 15 columns (CC BY 4.0, see `datasets/adult/README.md`).

    `part` is `all`, `train` (32 561 rows) or `test` (16 281); `complete` leaves out rows with a missing value, as the
    papers do (30 162 rows of the training part).
    """
    if part not in PARTS:
        raise ParameterError(one_of("part", part, PARTS))
    table = pq.read_table(ADULT / "adult.parquet")
    start, stop, _ = PARTS[part].indices(table.num_rows)
    table = table.slice(start, stop - start)
    if complete:
        for name in table.column_names:
            table = table.filter(pc.is_valid(table[name]))
    return table.combine_chunks()


def adult_schema(name: str = "papers") -> Schema:
    """Adult's schema: `papers` (8 quasi-identifiers, hierarchies) or `suppression` (all 14, suppression only)."""
    if name not in SCHEMAS:
        raise ParameterError(one_of("the schema", name, SCHEMAS))
    return Schema.load(ADULT / f"{name}.toml")


__all__ = ["adult", "adult_schema", "census", "census_changes", "census_schema"]
