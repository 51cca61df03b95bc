"""What files say beside their rows: each with a file that has it and one that has not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.audit.released import read_releases
from shoal.audit.traces import Trace, traces

SCHEMA = shoal.Schema(
    {
        "age": {"role": "quasi-identifier", "type": "numeric"},
        "pay": {"role": "insensitive", "type": "numeric"},
        "ill": {"role": "sensitive"},
    }
)


def release(order: np.ndarray[tuple[int], np.dtype[np.int64]] | None = None, **columns: list[object]) -> pa.Table:
    """Twenty rows, of which no two are alike."""
    pay = [str(one) for one in columns.get("pay", range(100, 120))]
    found = pa.table({"age": ["[30..39]"] * 20, "pay": pay, "ill": ["flu", "gout"] * 10})
    return found if order is None else found.take(pa.array(order))


def of(*sources: object) -> list[Trace]:
    return traces(read_releases(sources, SCHEMA), SCHEMA)


def test_rows_in_the_same_order() -> None:
    rng = np.random.default_rng(1)
    mixed, other = rng.permutation(20), rng.permutation(20)
    found = of(release(mixed), release(mixed))
    assert [trace.kind for trace in found] == ["order"]
    assert "release 1 and release 2" in found[0].words
    assert [trace.kind for trace in of(release(mixed), release(mixed[::-1]))] == ["order"]
    assert of(release(mixed), release(other)) == []
    assert of(release(), release()) == []  # sorted by what is published: the order says nothing more
    assert of(release(mixed[:9]), release(mixed[:9])) == []  # too few to tell


def test_one_value_spelled_in_two_ways() -> None:
    rng = np.random.default_rng(2)
    pay: list[object] = ["100.0", "100", *range(102, 120)]
    found = of(release(rng.permutation(20), pay=pay), release(rng.permutation(20)))
    assert [trace.kind for trace in found] == ["spelling"]
    assert "1 value is spelled in several ways in column 'pay'" in found[0].words
    assert of(release(rng.permutation(20), pay=[100.5, *range(101, 120)]), release(rng.permutation(20))) == []


def test_labels_that_no_row_has(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    made = release(rng.permutation(20))
    ill = pa.DictionaryArray.from_arrays(
        made["ill"].combine_chunks().dictionary_encode().indices, ["flu", "gout", "HIV"]
    )
    pq.write_table(made.set_column(2, "ill", ill), tmp_path / "1.parquet")
    pq.write_table(made.set_column(2, "ill", made["ill"].dictionary_encode()), tmp_path / "2.parquet")
    other = release(rng.permutation(20))
    found = of(tmp_path / "1.parquet", other)
    assert [trace.kind for trace in found] == ["labels"]
    assert "column 'ill' has 1 that no row has" in found[0].words
    assert of(tmp_path / "2.parquet", other) == []


@pytest.mark.parametrize("index", [False, True])
def test_what_pandas_leaves_behind(tmp_path: Path, index: bool) -> None:
    rng = np.random.default_rng(4)
    frame = release(rng.permutation(20)).to_pandas()
    frame.index = rng.permutation(20) if index else frame.index
    frame.to_parquet(tmp_path / "1.parquet")
    found = of(tmp_path / "1.parquet", release(rng.permutation(20)))
    assert [trace.kind for trace in found] == (["metadata"] if index else [])


def test_notes_of_whoever_wrote_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    made = release(rng.permutation(20)).replace_schema_metadata({"author": "somebody", "source": "a path"})
    pq.write_table(made, tmp_path / "1.parquet")
    found = of(tmp_path / "1.parquet", release(rng.permutation(20)))
    assert [trace.kind for trace in found] == ["metadata"]
    assert "2 notes of whoever wrote it" in found[0].words
    assert "somebody" not in found[0].words
