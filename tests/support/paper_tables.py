"""Tables that papers print."""

from __future__ import annotations

import pyarrow as pa

import shoal

# Truta & Campan (2007), Table 1: three clusters of seven tuples.
TABLE_1 = pa.table(
    {
        "age": [25, 40, 35, 55, 33, 42, 38],
        "zip": ["41076", "41935", "12345", "33333", "41733", "41076", "41933"],
        "gender": ["Male", "Female", "Male", "Male", "Female", "Male", "Male"],
    }
)
TABLE_1_SCHEMA = shoal.Schema(
    columns={
        "age": {"role": "quasi-identifier", "type": "numeric"},
        "zip": {"role": "quasi-identifier", "type": "prefix"},
        "gender": {"role": "quasi-identifier", "type": "categorical"},
    }
)
