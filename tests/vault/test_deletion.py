"""What a vault forgets: a deleted person, byte by byte, and nothing that another still has."""

from __future__ import annotations

from typing import Any

import shoal
from tests.support import live_tables
from tests.support.live_tables import as_table
from tests.support.vault_places import Place, by_key
from tests.support.vaults import everything_stored, make, rows_of


def test_a_deleted_person_is_erased(place: Place) -> None:
    where = place()
    person = {
        **rows_of(1, first=900)[0],
        "id": "Rumpelstiltskin",
        "name": "Grimm",
        "zip": "987",
        "country": "Erewhon",
        "diagnosis": "lycanthropy",
        "cost": 424242,
        "note": "spins straw",
    }
    earlier = {**person, "diagnosis": "vampirism", "note": "earlier", "country": "Laputa"}
    marks = [b"Rumpelstiltskin", b"Erewhon", b"lycanthropy", b"vampirism", b"424242", b"spins"]
    with make(where) as vault:
        vault.insert([earlier])
        vault.publish()
        vault.update([person])
        vault.publish()
        vault.update([{**person, "note": "spins gold"}])
        assert b"Grimm" not in everything_stored(where)  # identifiers never enter
        assert all(mark in everything_stored(where) for mark in marks)
        vault.delete(["Rumpelstiltskin"])
        vault.compact()
        left = everything_stored(where)
        assert [mark for mark in marks if mark in left] == []
        assert vault.check().ok
        first, second = vault.releases()
        assert (first.rows, first.erased, second.rows, second.erased) == (61, 1, 61, 1)
        assert vault.release_rows(1).num_rows == 60
        assert vault.diff(1, 2).left == 1
        vault.insert([person])  # the same key may come again
        assert vault.check().ok
        assert vault.releases()[0].erased == 1


def test_erased_values_are_not_named_by_the_epoch_either(place: Place) -> None:
    """The distribution that closeness is measured against lists values with their shares."""
    where = place()
    rows = [*rows_of(60), {**rows_of(1, first=100)[0], "diagnosis": "lycanthropy", "cost": 424242}]
    options: dict[str, Any] = {"k": 3, "t": {"diagnosis": 0.9, "cost": 0.9}, "l": {"diagnosis": 1.1}, "seed": 1}
    with shoal.Vault.create(
        where, live_tables.schema(), data=as_table(rows), **{"republication": "none", **options}
    ) as vault:
        vault.publish()
        assert b"lycanthropy" in everything_stored(where)
        vault.delete(["key-100"])
        vault.compact()
        stored = everything_stored(where)
        assert b"lycanthropy" not in stored
        assert b"424242" not in stored
        vault.insert(as_table(rows_of(5, first=200, wild=True)))
    with shoal.Vault.open(where) as vault:
        vault.insert(as_table(rows_of(5, first=300, wild=True)))
        assert vault.check().ok
        vault.publish()


def test_a_value_that_another_still_has_stays(place: Place) -> None:
    with make(place()) as vault:
        twins = [{**row, "country": "Erewhon"} for row in rows_of(2, first=100)]
        vault.insert(twins)
        vault.delete(["key-100"])
        assert by_key(vault.export())["key-101"]["country"] == "Erewhon"
        vault.update([{**twins[1], "country": "USA"}])
        assert vault.check().ok
