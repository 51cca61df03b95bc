"""A plausible stream of changes to a census: people arrive, move, marry, earn, and leave."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.datasets.census.people import TODAY, people, zips
from shoal.errors import ParameterError, whole_number

INSERTS, UPDATES, DELETES = 0.35, 0.40, 0.25
NEWBORN = 0.4  # of those who arrive; the others move in


def census_changes(table: pa.Table, batches: int, size: int, seed: int = 0) -> Iterator[pa.Table]:
    """Batches of about `size` changes each: a table with `op` (insert, update, delete) and the columns of a census.

    Deletes favour the old (deaths) and have the key alone. Updates are moves (within the area more often than away),
    marriages and new incomes. Inserts are newborn children and people who move in, with keys that were never used.
    """
    whole_number("batches", batches, least=0)
    whole_number("size", size, least=1)
    whole_number("seed", seed, least=0)
    if not table.num_rows:
        raise ParameterError("the table has nobody who could change.")
    rng = np.random.default_rng(seed)
    living = table.combine_chunks()
    next_id = 1 + int(pc.max(pc.cast(pc.utf8_slice_codeunits(living["person_id"], 1), pa.int64())).as_py())
    for _ in range(batches):
        fresh = _arrivals(max(1, round(size * INSERTS)), rng, next_id)
        next_id += fresh.num_rows
        leaving = _draw(living, round(size * DELETES), _mortality(living), rng)
        staying = np.setdiff1d(np.arange(living.num_rows), leaving, assume_unique=True)
        changing = rng.choice(staying, min(len(staying), round(size * UPDATES)), replace=False)
        changed = _updated(living.take(pa.array(changing)), rng)
        gone = living.take(pa.array(leaving)).select(["person_id"])
        yield pa.concat_tables(
            [
                fresh.add_column(0, "op", pa.array(["insert"] * fresh.num_rows)),
                changed.add_column(0, "op", pa.array(["update"] * changed.num_rows)),
                gone.add_column(0, "op", pa.array(["delete"] * gone.num_rows, pa.string())),
            ],
            promote_options="default",
        ).combine_chunks()
        same = np.setdiff1d(staying, changing, assume_unique=True)
        living = pa.concat_tables([living.take(pa.array(same)), changed, fresh]).combine_chunks()


def _arrivals(n: int, rng: np.random.Generator, first_id: int) -> pa.Table:
    fresh = people(n, rng, first_id)
    newborn = rng.random(n) < NEWBORN
    recent = TODAY - rng.integers(0, 30, n).astype("timedelta64[D]")
    values = {
        "born": pa.array(recent, pa.date32()),
        "marital_status": "never married",
        "education": "none",
        "occupation": "child",
        "income": pa.scalar(0, pa.int64()),
    }
    for name, value in values.items():
        column = pc.if_else(pa.array(newborn), value, fresh[name])
        fresh = fresh.set_column(fresh.column_names.index(name), name, column)
    return fresh.combine_chunks()


def _mortality(living: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    years = (TODAY - living["born"].to_numpy().astype("datetime64[D]")).astype(np.int64) / 365.25
    weights = 0.3 + np.exp(years / 14)  # some leave the country, most who leave are old
    return weights / weights.sum()


def _draw(
    living: pa.Table, n: int, weights: np.ndarray[tuple[int], np.dtype[np.float64]], rng: np.random.Generator
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return rng.choice(living.num_rows, min(n, living.num_rows - 1), replace=False, p=weights)


def _updated(chosen: pa.Table, rng: np.random.Generator) -> pa.Table:
    n = chosen.num_rows
    kind = rng.random(n)
    codes, shares, _ = zips()
    anywhere = pa.array(codes).take(pa.array(rng.choice(len(codes), n, p=shares)))
    near = _neighbours(chosen["zip"], rng)
    moved = pc.if_else(pa.array(kind < 0.35), near, pc.if_else(pa.array(kind < 0.5), anywhere, chosen["zip"]))
    grown = (TODAY - chosen["born"].to_numpy().astype("datetime64[D]")).astype(np.int64) > 18 * 365
    married = pc.if_else(pa.array((kind >= 0.5) & (kind < 0.65) & grown), "married", chosen["marital_status"])
    raised = pc.cast(pc.round(pc.multiply(chosen["income"], 1.05), -2), pa.int64())
    income = pc.if_else(pa.array(kind >= 0.65), raised, chosen["income"])
    for name, column in (("zip", moved), ("marital_status", married), ("income", income)):
        chosen = chosen.set_column(chosen.column_names.index(name), name, column)
    return chosen.combine_chunks()


def _neighbours(column: pa.ChunkedArray, rng: np.random.Generator) -> pa.Array:
    """Another code of the same area; those without a code stay without."""
    codes = np.array(zips()[0])
    areas = codes.astype("U3")
    result: list[str | None] = []
    for code in column.to_pylist():
        if code is None:
            result.append(None)
            continue
        first, last = np.searchsorted(areas, code[:3], "left"), np.searchsorted(areas, code[:3], "right")
        result.append(str(codes[rng.integers(first, last)]))
    return pa.array(result, pa.string())
