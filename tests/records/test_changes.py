"""Batches of changes: what is refused, how it is said, and how code books grow."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.boxes.costs import MEASURES, column_costs, same_costs
from shoal.errors import BatchError, DataError, ParameterError, SchemaError
from shoal.maintain.live import LivePartition, Settings
from shoal.privacy import make_rules
from shoal.records.changes import ChangeBatch
from shoal.records.codebook import make_codebook
from shoal.records.growing import grow, restart
from tests.support.live_tables import as_table, make_row, schema
from tests.support.tables import MadeTable, tables


@pytest.fixture
def live() -> LivePartition:
    rng = np.random.default_rng(7)
    rows = [make_row(rng, f"old {i}", wild=False) for i in range(12)]
    return LivePartition.start(as_table(rows), schema(), Settings(k=3, seed=1))


def refused(live: LivePartition, batch: ChangeBatch) -> BatchError:
    before = live.labels.tobytes(), live.codes.tobytes(), dict(live.keys), live.books
    with pytest.raises(BatchError) as caught:
        live.apply(batch)
    assert (live.labels.tobytes(), live.codes.tobytes(), live.keys, live.books) == before
    return caught.value


def new_rows(*keys: str, **changed: list[object]) -> pa.Table:
    rng = np.random.default_rng(3)
    table = as_table([make_row(rng, key, wild=False) for key in keys])
    for name, values in changed.items():
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    return table


def test_every_fault_of_a_batch_is_listed(live: LivePartition) -> None:
    rows = new_rows("a", "old 1", "c", "a", age=["3", "old", "7", "x"], zip=["123", "1*3", "1*4", "111"])
    table = rows.append_column("op", pa.array(["insert", "insert", "update", "delete"]))
    error = refused(live, ChangeBatch.from_table(table, schema()))
    found = {(offence.row, offence.column, offence.fault) for offence in error.offences}
    assert found == {
        (2, "id", "insert of a key that a record has already"),
        (2, "age", "not a number"),
        (2, "zip", "holds '*', which stands for generalized values"),
        (3, "zip", "holds '*', which stands for generalized values"),
        (3, "id", "update of a key that no record has"),
        (4, "id", "the same key as row 1 (delete and insert)"),
    }
    assert error.count == 6
    assert "6 faults" in str(error)
    assert error.facts()["count"] == 6
    for text in (str(error), repr(error), str(error.facts()), str(pickle.loads(pickle.dumps(error)))):
        assert "old 1" not in text
        assert "1*3" not in text
    assert "old 1" in error.reveal()


def test_faults_are_told_by_kind_with_the_first_rows(live: LivePartition) -> None:
    keys = [f"key {i}" for i in range(50)]
    error = refused(live, ChangeBatch.of(schema(), inserts=new_rows(*keys, age=["old"] * 50), deletes=["nobody"]))
    assert [offence.row for offence in error.offences] == [1, 2, 3, 4, 5, 1]
    assert error.count == 51
    assert [(kind.column, kind.part, count) for kind, count in error.kinds.items()] == [
        ("age", "inserts", 50),
        ("id", "deletes", 1),
    ]
    assert str(error).count("not a number") == 1
    assert "inserts, rows 1, 2, 3, 4, 5 and 45 more, column 'age': not a number; deletes, row 1" in str(error)
    assert str(error.offences[0]) == "inserts, row 1, column 'age': not a number"
    assert [kind["count"] for kind in error.facts()["kinds"]] == [50, 1]  # type: ignore[attr-defined]
    twice = refused(live, ChangeBatch.of(schema(), inserts=new_rows("a", "a", "b", "b")))
    assert "rows 2 and 4, column 'id': the same key as another row (insert twice)" in str(twice)


@pytest.mark.parametrize(
    ("batch", "fault"),
    [
        (
            lambda: ChangeBatch.of(schema(), deletes=["nobody"]),
            "row 1, column 'id': delete of a key that no record has",
        ),
        (lambda: ChangeBatch.of(schema(), deletes=["old 1", "old 1"]), "the same key as row 1 (delete twice)"),
        (lambda: ChangeBatch.of(schema(), inserts=new_rows("a", "a")), "the same key as row 1 (insert twice)"),
        (lambda: ChangeBatch.of(schema(), inserts=new_rows("a", id=[None])), "column 'id': the key is missing"),
        (
            lambda: ChangeBatch.of(schema(), inserts=new_rows("a").drop_columns(["zip"])),
            "column 'zip': the batch does not have this column",
        ),
        (
            lambda: ChangeBatch.of(schema(), updates=new_rows("old 1").drop_columns(["id"])),
            "column 'id': the batch has no such column, and it names the records",
        ),
        (
            lambda: ChangeBatch.of(schema(), inserts=new_rows("a").append_column("iq", pa.array([1]))),
            "column 'iq': the schema does not name this column",
        ),
        (lambda: ChangeBatch.of(schema(), inserts=new_rows("a", age=[True])), "column 'age'"),
        (lambda: ChangeBatch.of(schema(), inserts=new_rows("a", height=[float("inf")])), "'height': infinite"),
        (lambda: ChangeBatch.of(schema(), inserts=new_rows("a", born=["yesterday"])), "not a date of the form"),
        (lambda: ChangeBatch.of(schema(), inserts=new_rows("a", cost=["dear"])), "column 'cost': not a number"),
        (
            lambda: ChangeBatch.of(schema(), inserts=new_rows("a", country=["Asia"])),
            "has the name of a group of the hierarchy",
        ),
        (
            lambda: ChangeBatch.from_table(new_rows("a").append_column("op", pa.array(["merge"])), schema()),
            "column 'op': must be one of insert, update, upsert, delete",
        ),
        (
            lambda: ChangeBatch.of(schema(), updates=new_rows("old 1"), deletes=["old 1"]),
            "deletes, row 1, column 'id': the same key as row 1 of the updates (delete and update)",
        ),
    ],
)
def test_what_is_refused(live: LivePartition, batch: object, fault: str) -> None:
    assert fault in str(refused(live, batch()))  # type: ignore[operator]


def test_unknown_categories_are_refused_where_the_schema_says_so() -> None:
    strict = shoal.Schema(
        columns={
            "id": {"role": "key"},
            "country": {"role": "quasi-identifier", "hierarchy": {"Asia": ["Iran"], "America": ["Peru"]}},
        }
    )
    table = pa.table({"id": ["1", "2", "3"], "country": ["Iran", "Peru", "Iran"]})
    live = LivePartition.start(table, strict, Settings(k=2, seed=1))
    new = pa.table({"id": ["4"], "country": ["Thule"]})
    assert "not in the hierarchy" in str(refused(live, ChangeBatch.of(strict, inserts=new)))


def test_a_batch_needs_a_key_and_an_op() -> None:
    keyless = shoal.Schema(columns={"age": {"role": "quasi-identifier", "type": "numeric"}})
    with pytest.raises(SchemaError, match="has no key"):
        ChangeBatch.of(keyless, deletes=["a"])
    with pytest.raises(DataError, match="no column 'op'"):
        ChangeBatch.from_table(new_rows("a"), schema())


def test_a_table_of_changes(live: LivePartition) -> None:
    """Deletes need the key alone, and whole numbers beside fractions are both kept."""
    rows = pa.concat_tables(
        [
            new_rows("a").append_column("op", pa.array(["insert"])),
            new_rows("old 2", cost=[2.5]).append_column("op", pa.array(["Update"])),
            pa.table({"id": ["old 3"], "op": ["delete"]}),
        ],
        promote_options="permissive",
    )
    applied = live.apply(ChangeBatch.from_table(rows, schema()))
    assert (applied.inserted, applied.updated, applied.deleted) == (1, 1, 1)
    assert sorted(live.keys) == sorted({f"old {i}" for i in range(12)} - {"old 3"} | {"a"})
    assert 2.5 in live.records().passthrough["cost"].to_pylist()


def test_settings_are_checked() -> None:
    with pytest.raises(ParameterError, match="must be one of shoal, i3m, similar-b-tree"):
        Settings(k=3, maintainer="I3M")
    with pytest.raises(ParameterError, match="cannot aim at 'pmi'"):
        Settings(k=3, measure="pmi", method="sequential")
    rules = make_rules(["diagnosis"], l=2, t=None, diversity=None, c=None, alpha=None, others=[])
    with pytest.raises(ParameterError, match="These keep rules: shoal, i3m"):
        Settings(k=3, rules=rules, maintainer="similar-b-tree")


@settings(max_examples=150)
@given(made=tables(min_rows=2, max_rows=30), measure=st.sampled_from(MEASURES), data=st.data())
def test_books_grow_and_old_costs_stay(made: MadeTable, measure: str, data: st.DataObject) -> None:
    """The first rows make the books, the others grow them: codes decode back, and old intervals cost what they did."""
    first = data.draw(st.integers(1, made.rows))
    for name, column in made.schema.columns.items():
        if column.role != shoal.Role.QUASI_IDENTIFIER:
            continue
        values = made.table[name]
        old, codes = make_codebook(name, column, values.slice(0, first), made.schema.missing)
        grown = grow(old, values.slice(first), made.schema.missing)
        moved = np.arange(old.size, dtype=np.int32) if grown.moved is None else grown.moved
        assert (np.diff(moved) > 0).all()
        whole, all_codes = make_codebook(name, column, values, made.schema.missing)
        texts = [*(grown.book.decode(moved[codes])), *grown.book.decode(grown.codes)]
        assert texts == whole.decode(all_codes)
        assert sorted(grown.book.texts) == sorted(whole.texts)
        before, after = column_costs(old, measure), column_costs(grown.book, measure)
        lo, hi = np.divmod(np.arange(old.size**2), old.size)
        lo, hi = lo[lo <= hi].astype(np.int32), hi[lo <= hi].astype(np.int32)
        unchanged = np.array_equal(before.of(lo, hi), after.of(moved[lo], moved[hi]))
        same = same_costs([old], [grown.book], [grown.moved], measure)
        assert unchanged or not same
        one_value = old.domain is not None and old.domain[0] == old.domain[1]
        assert same or one_value or column.type == shoal.schema.ColumnType.PREFIX
        # A cost grows with its interval for new codes too.
        codes_now = np.arange(grown.book.size, dtype=np.int32)
        for low in codes_now:
            costs = after.of(np.full(len(codes_now) - low, low, np.int32), codes_now[low:])
            assert (np.diff(costs) >= -1e-12).all()
        again = restart(grown.book, np.concatenate([moved[codes], grown.codes]).astype(np.int32))
        assert column_costs(again, measure).of(codes_now[:1], codes_now[-1:]) >= 0


def test_a_number_with_too_many_digits_beside_fractions() -> None:
    column = shoal.Schema(columns={"n": {"role": "quasi-identifier", "type": "numeric"}}).columns["n"]
    book, _ = make_codebook("n", column, pa.chunked_array([[0.5, 1.0]]), ())
    with pytest.raises(DataError, match="too many digits"):
        grow(book, pa.chunked_array([[2**60 + 1]]), ())
    book, _ = make_codebook("n", column, pa.chunked_array([[2**60 + 1, 5]]), ())
    with pytest.raises(DataError, match="too many digits"):
        grow(book, pa.chunked_array([[0.5]]), ())
