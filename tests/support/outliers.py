"""A table with records far from all others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import shoal


def outlier_table(records: int = 200, far: int = 1) -> pa.Table:
    """People of 20 to 39 in five places, and some who are unlike all of them and unlike each other."""
    rng = np.random.default_rng(1)
    age, place = rng.integers(20, 40, records), rng.integers(100, 105, records)
    age[:far] = 90 + np.arange(far)
    place[:far] = 900 + 50 * np.arange(far)
    ill = rng.choice(["flu", "cancer", "none"], records)
    return pa.table({"age": age, "place": place, "ill": ill, "who": [str(i // 2) for i in range(records)]})


def outlier_schema(**more: dict[str, object]) -> shoal.Schema:
    number: dict[str, object] = {"role": "quasi-identifier", "type": "numeric", "domain": [0, 1000]}
    columns: dict[str, Any] = {
        "age": number,
        "place": number,
        "ill": {"role": "sensitive"},
        "who": {"role": "identifier"},
    }
    return shoal.Schema(columns=columns | more)
