"""Several handles on one vault: each follows the others by what has changed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa

import shoal
from shoal.vault.state import record_cache
from shoal.vault.state.record_cache import RecordCache
from tests.support.live_tables import as_table
from tests.support.vault_places import Place, by_key
from tests.support.vaults import make, rows_of, same_records


def test_a_vault_in_memory_is_safe_from_threads() -> None:
    with make(":memory:") as vault, ThreadPoolExecutor(6) as threads:
        done = [threads.submit(vault.insert, as_table(rows_of(2, first=100 + 2 * i))) for i in range(10)]
        seen = [threads.submit(vault.groups) for _ in range(20)]
        assert sorted(one.result().version for one in done) == list(range(2, 12))
        assert {one.result().num_rows for one in seen} <= set(range(60, 81, 2))
        assert vault.check().ok


def test_two_handles_follow_each_other_by_what_has_changed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a table so large that five who come change less than a fourth of it."""
    where = place()
    rows = rows_of(290)
    with make(where, 290) as one, shoal.Vault.open(where) as two:
        two.insert(as_table(rows_of(1, first=300)))
        for name in ("shoal.vault.state.follow.load", "shoal.vault.vault.load_state"):
            monkeypatch.setattr(name, lambda *given: pytest.fail("everything was read again"))
        one.update(as_table([{**rows_of(1, first=400, wild=True)[0], "id": "key-300"}]))
        two.delete(["key-300", "key-0"])
        one.insert(as_table(rows_of(5, first=500, wild=True)))
        two.insert(as_table(rows_of(5, first=600, wild=True)))
        one.delete([f"key-{i}" for i in range(500, 505)])
        two.update(as_table([{**rows_of(1, first=700, wild=True)[0], "id": "key-1"}]))
        one.optimize()
        monkeypatch.undo()
        assert same_records(
            two, [{**rows_of(1, first=700, wild=True)[0], "id": "key-1"}, *rows[2:], *rows_of(5, first=600, wild=True)]
        )
        assert one.check().ok
        assert one.publish().table.num_rows == 294


def test_readers_read_what_has_changed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    where = place()
    whole: list[RecordCache] = []
    read_all = RecordCache._read_all

    def noticed(followed: RecordCache, connection: sa.Connection, where: str) -> None:
        whole.append(followed)
        read_all(followed, connection, where)

    monkeypatch.setattr(RecordCache, "_read_all", noticed)
    with make(where, 200) as writer, shoal.Vault.open(where) as reader:
        first = reader.groups(), reader.export()
        assert whole == [reader._groups, reader._originals]
        for change in (
            lambda: writer.insert(as_table(rows_of(5, first=300, wild=True))),
            lambda: writer.delete(["key-301", "key-7"]),
            lambda: writer.update(as_table([{**rows_of(1, first=400, wild=True)[0], "id": "key-0"}])),
            writer.optimize,
            writer.publish,
        ):
            change()
            with shoal.Vault.open(where) as fresh:
                assert reader.groups().to_pylist() == fresh.groups().to_pylist()
                assert reader.export().to_pylist() == fresh.export().to_pylist()
        assert [whole.count(reader._groups), whole.count(reader._originals)] == [1, 1]
        assert (first[0].num_rows, first[1].num_rows) == (200, 200)  # what was handed out stays what it was
        writer.rebase(k=4)
        assert reader.groups().to_pylist() == writer.groups().to_pylist()
        writer.compact()  # forgets who was touched
        writer.insert(as_table(rows_of(1, first=500)))
        assert reader.groups().num_rows == 204
        assert whole.count(reader._groups) > 1


def test_a_reader_whose_reading_failed_begins_anew(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*given: object) -> None:
        raise MemoryError

    where = place()
    with make(where, 200) as writer, shoal.Vault.open(where) as reader:
        reader.groups()
        writer.insert(as_table(rows_of(3, first=300)))
        monkeypatch.setattr(record_cache, "rows_among", fails)
        with pytest.raises(MemoryError):
            reader.groups()
        monkeypatch.undo()
        assert reader.groups().to_pylist() == writer.groups().to_pylist()


def test_numbers_of_values_are_not_used_again(place: Place) -> None:
    """A handle that has not followed yet knows a number by a value that is forgotten meanwhile."""
    where = place()
    with make(where, 200) as one:
        one.insert([{**rows_of(1, first=300)[0], "country": "Laputa"}])
        with shoal.Vault.open(where) as two:
            two.delete(["key-300"])
        with shoal.Vault.open(where) as three:
            three.insert([{**rows_of(1, first=301)[0], "country": "Erewhon"}])
        one.insert(as_table(rows_of(1, first=302)))
        one.update([{**rows_of(1, first=303)[0], "id": "key-302", "country": "Erewhon"}])
        kept = by_key(one.export())
        assert kept["key-301"]["country"] == kept["key-302"]["country"] == "Erewhon"
        state = one._state
        assert state is not None
        record = state.live.keys["key-301"]
        at = state.epoch.schema.quasi_identifiers.index("country")
        assert state.live.books[at].decode(state.live.codes[record : record + 1, at]) == ["Erewhon"]
        assert one.check().ok


def test_masks_are_as_wide_as_the_codes_that_are_left(tmp_path: Path) -> None:
    """Who knew the long code of somebody who has been deleted publishes what whoever opens the vault now does."""
    columns = {"id": {"role": "key"}, "code": {"role": "quasi-identifier", "type": "prefix"}}
    people = [{"id": str(i), "code": f"1{i}"} for i in range(4)] + [{"id": "x", "code": "12345"}]
    with (
        shoal.Vault.create(
            tmp_path / "v", shoal.Schema(columns=columns), data=people, k=2, seed=1, republication="none"
        ) as vault,
        shoal.Vault.open(tmp_path / "v") as other,
    ):
        assert "1****" in vault.publish().table["code"].to_pylist()
        vault.delete(["x"])
        labels = [
            sorted(one.publish(even_if_unchanged=True).table["code"].to_pylist())
            for one in (vault, other, shoal.Vault.open(tmp_path / "v"))
        ]
        assert labels[0] == labels[1] == labels[2] == ["1*"] * 4


def test_whoever_opens_or_follows_a_vault_knows_what_its_records_have_lost(place: Place) -> None:
    """The maintainer compares with it."""
    where = place()

    def past(vault: shoal.Vault) -> list[tuple[int, float]]:
        vault.status(drift=True)  # reads what has changed
        assert vault._state is not None
        return [(records, round(loss, 9)) for records, loss in vault._state.live.ageing.past]

    with make(where, 290) as one, shoal.Vault.open(where) as two:
        for i in range(3):
            one.insert(as_table(rows_of(2 + i, first=300 + 10 * i)))
        one.optimize()
        known = past(one)
        assert [records for records, _ in known] == [290, 292, 295, 299, 299]
        assert past(two) == known
        with shoal.Vault.open(where) as third:
            assert past(third) == known
        one.rebase()
        assert [records for records, _ in past(one)] == [299]
        assert past(two) == past(one)
        with shoal.Vault.open(where) as third:
            assert past(third) == past(one)
