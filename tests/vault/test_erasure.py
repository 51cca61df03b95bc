"""What is left of people who have been deleted, in releases that showed them and in the vault's own tables."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app
from shoal.vault.lifecycle.migrations import _name
from shoal.vault.store import tables
from shoal.vault.store.checksums import checksum_of_rows
from shoal.vault.store.parts import ChecksumChanges
from shoal.vault.store.rows import as_json, digest
from tests.support.vault_places import Place

SCHEMA = shoal.Schema(
    {
        "id": {"role": "key"},
        "age": {"role": "quasi-identifier", "type": "numeric"},
        "city": {"role": "quasi-identifier", "type": "categorical", "generalize": "set"},
        "ill": {"role": "sensitive"},
    }
)
CITIES = ["Atlantis", "Brigadoon", "Camelot", "Dis", "El Dorado"]


def people(count: int = 50) -> list[dict[str, Any]]:
    """Ten of each city: groups are cities."""
    ills = ["flu", "gout", "mumps"]
    return [
        {"id": f"p{i}", "age": 20 * (1 + i // 10 % 5), "city": CITIES[i // 10 % 5], "ill": ills[i % 3]}
        for i in range(count)
    ]


def make(where: str, **options: Any) -> shoal.Vault:
    return shoal.Vault.create(
        where, SCHEMA, **{"republication": "none", "k": 4, "data": people(), "seed": 1, **options}
    )


def stored(vault: shoal.Vault) -> bytes:
    """Everything that the tables hold, Arrow's streams unpacked."""
    found: list[bytes] = []
    with vault._store.read() as connection:
        for table in tables.ALL:
            for row in connection.execute(sa.select(table)):
                found += [cell if isinstance(cell, bytes) else str(cell).encode() for cell in row if cell is not None]
        for cells in connection.scalars(sa.select(tables.classes.c.cells)):
            with pa.ipc.open_stream(cells) as stream:
                snapshot = stream.read_all()
                for column in snapshot.columns:
                    for chunk in column.chunks:  # what a dictionary holds, not only what is shown of it
                        found += [str(label).encode() for label in chunk.dictionary.to_pylist()]
    return b"\n".join(found)


def test_a_release_with_erased_rows_is_not_written_again(place: Place, tmp_path: Path) -> None:
    where = place()
    with make(where) as vault:
        first = vault.publish(tmp_path / "first.csv")
        vault.delete(["p3", "p17"])
        with pytest.raises(shoal.VaultError, match="2 of its rows are of people who have been deleted") as refused:
            vault.release(1)
        assert "p3" not in str(refused.value)
        left = vault.release_rows(1)
        assert isinstance(left, pa.Table)
        assert left.num_rows == first.table.num_rows - 2
    done = CliRunner().invoke(app, ["release", where, "1", "-o", str(tmp_path / "again.csv")])
    assert done.exit_code == 2
    assert not (tmp_path / "again.csv").exists()
    done = CliRunner().invoke(app, ["release", where, "1", "-o", str(tmp_path / "mine.csv"), "--for-holder"])
    assert done.exit_code == 0, done.output
    assert stat.S_IMODE((tmp_path / "mine.csv").stat().st_mode) == 0o600
    assert not (tmp_path / "mine.csv.manifest.json").exists()
    assert shoal.read(tmp_path / "mine.csv").num_rows == 48


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_what_is_written_again_is_byte_for_byte_what_was_published(place: Place, tmp_path: Path, ending: str) -> None:
    (tmp_path / "again").mkdir()
    with make(place()) as vault:
        vault.publish(tmp_path / f"r.{ending}")
        vault.insert([{"id": "new", "age": 80, "city": "Dis", "ill": "flu"}])
        vault.update([{"id": "p1", "age": 80, "city": "Dis", "ill": "gout"}])
        vault.release(1).write(tmp_path / "again" / f"r.{ending}")
    for name in (f"r.{ending}", f"r.{ending}.manifest.json"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / name).read_bytes()


def test_a_release_without_a_column_is_verified_anew_with_a_manifest_of_its_own(place: Place) -> None:
    alike = [{**row, "age": min(row["age"], 60)} for row in people()]
    with make(place(), l=1.4, data=alike) as vault:
        first = vault.publish()
        columns = {**SCHEMA.columns, "city": shoal.Column(role="identifier")}
        vault.rebase(schema=shoal.Schema(columns))
        again = vault.release(1)
        assert again.table.column_names == ["age", "ill"]
        sizes = again.table.group_by("age").aggregate([([], "count_all")])["count_all"].to_pylist()
        assert again.manifest["equivalence_classes"] == len(sizes) < int(str(first.manifest["equivalence_classes"]))
        assert again.manifest["smallest_class"] == min(sizes)
        assert vault.check().ok


def test_labels_live_as_long_as_somebody_is_in_the_class(place: Place, tmp_path: Path) -> None:
    with make(place()) as vault:
        vault.publish()
        assert b"Camelot" in stored(vault)
        vault.delete([f"p{i}" for i in range(20, 29)])
        assert b"Camelot" in stored(vault)  # one is left
        vault.delete(["p29"])
        left = stored(vault)
        assert b"Camelot" not in left
        assert all(city.encode() in left for city in CITIES if city != "Camelot")
        vault.publish()
        vault.delete([f"p{i}" for i in range(40, 50)])  # shown by two releases, named by the first snapshot alone
        assert b"El Dorado" not in stored(vault)
        assert vault.release_rows(1).num_rows == 30
        found = vault.diff(1, 2)
        assert (found.rows_before, found.rows_after, found.stayed, found.left) == (50, 40, 40, 10)
        assert vault.check().ok
        vault.insert([{"id": f"n{i}", "age": 100, "city": "El Dorado", "ill": "flu"} for i in range(6)])
        vault.publish()
        assert vault.release(3).table.num_rows == 36
        vault.backup(tmp_path / "copy", force=True)
        assert b"Camelot" not in (tmp_path / "copy").read_bytes()
        assert vault.check().ok


def test_labels_of_a_class_stay_for_those_who_have_moved_on(place: Place) -> None:
    """Who is elsewhere now was in the class when it was published, and can still be shown there."""
    with make(place()) as vault:
        first = vault.publish()
        vault.update([{"id": "p20", "age": 80, "city": "Dis", "ill": "flu"}])
        vault.delete([f"p{i}" for i in range(21, 30)])
        assert b"Camelot" in stored(vault)
        shown = [row for row in first.table.to_pylist() if row["city"] == "Camelot"]
        assert [row["city"] for row in vault.release_rows(1).to_pylist()].count("Camelot") == 1 <= len(shown)
        vault.delete(["p20"])
        assert b"Camelot" not in stored(vault)
        assert vault.check().ok


def test_a_vault_of_format_2_is_brought_up_to_date(place: Place) -> None:
    where = place()
    with make(where) as vault:
        first = vault.publish().table
        vault.insert([{"id": "new", "age": 33, "city": "Dis", "ill": "flu"}])
        downgrade(vault, 2)
    with shoal.Vault.open(where) as vault:
        assert vault.status().republication == "audit"  # what a vault is that has not been asked
        assert vault.release(1).table.equals(first)
        assert [(one.what, one.who, one.release) for one in vault.log()] == [
            ("create", None, None),
            ("publish", None, 1),
            ("apply", None, None),
        ]
        assert vault.check().ok
        vault.insert([{"id": "newer", "age": 34, "city": "Dis", "ill": "flu"}], batch_id="tuesday")
        vault.publish(republication="safe", accept_findings=True)
        assert [one.batch_id for one in vault.log()][3:] == ["tuesday", None]
        assert vault.check().ok


def test_a_vault_of_format_1_is_brought_up_to_date(place: Place) -> None:
    where = place()
    with make(where) as vault:
        vault.publish()
        vault.delete(["p1"])
        assert b"domain" not in manifests(vault)
        downgrade(vault, 1)
        assert b"domain" in manifests(vault)
    with shoal.Vault.open(where) as vault:
        assert vault.status().records == 49
        assert vault.check().ok
        assert b"domain" not in manifests(vault)
        vault.delete([f"p{i}" for i in range(20, 30)])
        assert b"Camelot" not in stored(vault)
        assert vault.check().ok
    if "://" not in where:
        assert Path(f"{where}.head").exists()


def test_a_value_that_a_hierarchy_lists_keeps_its_name_in_the_reference(place: Place) -> None:
    """Under another name the hierarchy would not know it, and the vault could not be loaded."""
    ills = {"*": {"lung": ["flu", "cold"], "skin": ["rash", "mumps"]}}
    columns: dict[str, dict[str, object]] = {
        "id": {"role": "key"},
        "age": {"role": "quasi-identifier", "type": "numeric"},
        "ill": {"role": "sensitive", "hierarchy": ills, "distance": "equal"},
    }
    rows = [{"id": f"p{i}", "age": i, "ill": ["flu", "cold", "rash"][i % 3]} for i in range(30)]
    rows.append({"id": "last", "age": 7, "ill": "mumps"})
    where = place()
    with shoal.Vault.create(where, shoal.Schema(columns), republication="none", k=3, t=0.9, data=rows, seed=1) as vault:
        vault.delete(["last"])
    with shoal.Vault.open(where) as vault:
        vault.insert([{"id": "new", "age": 9, "ill": "flu"}])
        assert vault.check().ok


def manifests(vault: shoal.Vault) -> bytes:
    with vault._store.backend.engine.connect() as connection:
        return "".join(connection.scalars(sa.select(tables.releases.c.manifest))).encode()


def downgrade(vault: shoal.Vault, to: int) -> None:
    """Make a vault what an earlier shoal would have left."""
    columns = {tables.releases: ["republication"], tables.batches: ["who", "batch_id", "content"]}
    of_vault = ["republication", *(("uid", "commits") if to == 1 else ())]
    with vault._store.backend.engine.connect() as connection, connection.begin():
        if to == 1:
            (manifest,) = connection.scalars(sa.select(tables.releases.c.manifest))
            facts = json.loads(manifest)
            facts["columns"]["age"]["domain"] = [20, 100]
            connection.execute(sa.update(tables.releases).values(manifest=as_json(facts)))
        sums = ChecksumChanges()
        for part, summed in (("releases", tables.RELEASE), ("batches", tables.BATCH)):
            table = tables.metadata.tables[part]
            old = [table.c[name] for name in summed if name not in columns[table]]
            sums.clear(part)
            sums.add(part, checksum_of_rows([tuple(row) for row in connection.execute(sa.select(*old))]))
        sums.clear("events")
        stored = connection.scalar(sa.select(tables.vault.c.sums)) or ""
        connection.execute(sa.update(tables.vault).values(sums=sums.applied_to(stored)))
        row = dict(connection.execute(sa.select(tables.vault)).mappings().one())
        row = {name: value for name, value in row.items() if name not in of_vault} | {"format": to}
        connection.execute(sa.update(tables.vault).values(format=to, sha256=digest(row)))
        for table, names in {**columns, tables.vault: of_vault}.items():
            for name in names:
                connection.exec_driver_sql(f"ALTER TABLE {_name(connection, table)} DROP COLUMN {name}")
        gone = [tables.places, tables.waiting, tables.formers, tables.events]
        if to == 1:
            gone.append(tables.drafts)
            for index in tables.memberships.indexes:
                index.drop(connection)
        for table in gone:
            table.drop(connection)
    if "://" not in vault.where and to == 1:
        Path(f"{vault.where}.head").unlink()


def test_the_ends_of_a_domain_do_not_outlive_their_owner_in_manifests(place: Place, tmp_path: Path) -> None:
    rows = [*people(), *({"id": f"x{i}", "age": 8675309, "city": "Xanadu", "ill": "flu"} for i in range(4))]
    with make(place(), data=rows) as vault:
        vault.publish(tmp_path / "r.csv")
        assert b"8675309" in (tmp_path / "r.csv.manifest.json").read_bytes()
        vault.delete([f"x{i}" for i in range(4)])
        vault.rebase()  # what the epoch froze
        assert b"8675309" not in stored(vault)
        assert b"Xanadu" not in stored(vault)
        assert vault.check().ok
