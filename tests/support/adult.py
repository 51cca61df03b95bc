"""Adult's complete rows as records."""

from __future__ import annotations

import shoal
from shoal.records.encode import Records, encode


def adult_records(rows: int | None = None) -> Records:
    schema = shoal.datasets.adult_schema()
    table = shoal.datasets.adult("train", complete=True).drop_columns(schema.names(shoal.Role.IDENTIFIER))
    return encode(table.slice(0, rows), schema)
