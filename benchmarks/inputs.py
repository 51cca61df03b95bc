"""What the benchmarks run on: Adult as the papers use it, and the made-up census."""

from __future__ import annotations

from functools import cache

import shoal
from shoal.records.encode import Records, encode
from shoal.schema import Role


@cache
def adult_records() -> Records:
    """30 162 complete rows, 8 quasi-identifiers."""
    schema = shoal.datasets.adult_schema()
    return encode(shoal.datasets.adult("train", complete=True).drop_columns(schema.names(Role.IDENTIFIER)), schema)


def census_records(rows: int) -> Records:
    schema = shoal.datasets.census_schema()
    return encode(shoal.datasets.census(rows, 1).drop_columns(schema.names(Role.IDENTIFIER)), schema)


def spaced(number: int) -> str:
    """1234567 as 1 234 567."""
    return f"{number:,}".replace(",", " ")
