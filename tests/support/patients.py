"""A table of people with secrets, for tests of what gets out."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa

import shoal

PATIENTS = pa.table(
    {
        "patient": [f"KEY-{i:04d}" for i in range(200)],
        "name": [f"Name{i}Surname" for i in range(200)],
        "born": [dt.date(1950, 1, 1) + dt.timedelta(days=97 * i) for i in range(200)],
        "income": [30_000.125 + 17.375 * i for i in range(200)],
        "zip": [f"z9{(7919 * i) % 10_000:04d}" for i in range(200)],
        "town": pa.array([f"Town{i:03d}" for i in range(200)]).dictionary_encode(),
        "ill": pa.array([["flu", "cancer", "gout"][i % 3] for i in range(200)]).dictionary_encode(),
        "note": pa.array([["blue", "green"][i % 2] for i in range(200)]),
    },
    metadata={"pandas": "KEY-0007 in the metadata"},
)
PATIENTS_SCHEMA = shoal.Schema(
    columns={
        "patient": {"role": "key"},
        "name": {"role": "identifier"},
        "born": {"role": "quasi-identifier", "type": "date"},
        "income": {"role": "quasi-identifier", "type": "numeric"},
        "zip": {"role": "quasi-identifier", "type": "prefix"},
        "town": {"role": "quasi-identifier", "type": "categorical"},
        "ill": {"role": "sensitive"},
        "note": {"role": "insensitive"},
    }
)


def small_release() -> shoal.Release:
    return shoal.anonymize(PATIENTS, PATIENTS_SCHEMA, k=50)
