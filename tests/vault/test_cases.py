"""Cases of the vault that once went wrong."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
import sqlalchemy as sa

import shoal
from shoal.release.write import _parts, manifest_path
from shoal.vault.releases import publish
from shoal.vault.store import tables
from shoal.vault.store.damage import Damaged
from shoal.vault.store.vault_row import update_vault_row
from tests.support.vault_places import Place, by_key

pytestmark = pytest.mark.versions

NUMBER = {"role": "quasi-identifier", "type": "numeric"}
CATEGORY = {"role": "quasi-identifier", "type": "categorical"}
SENSITIVE, INSENSITIVE, IDENTIFIER = {"role": "sensitive"}, {"role": "insensitive"}, {"role": "identifier"}
Rows = list[dict[str, Any]]


def schema(**columns: dict[str, Any]) -> shoal.Schema:
    return shoal.Schema({"id": {"role": "key"}, **columns})


PLAIN = schema(age=NUMBER, s=SENSITIVE)


def people(several: int, first: int = 0) -> Rows:
    return [{"id": f"p{i}", "age": i % 50, "s": "xyz"[i % 3]} for i in range(first, first + several)]


def make(where: str, **options: Any) -> shoal.Vault:
    return shoal.Vault.create(where, **{"schema": PLAIN, "k": 3, "data": people(30), "seed": 1, **options})


def test_many_threads_share_a_vault(place: Place) -> None:
    """More of them than a pool of connections has by default."""
    with make(place()) as vault, ThreadPoolExecutor(24) as threads:
        seen = [threads.submit(vault.status if i % 2 else vault.groups) for i in range(96)]
        assert len([one.result(timeout=60) for one in seen]) == 96


def test_a_callback_may_look_into_the_vault(place: Place) -> None:
    class Curious(shoal.Progress):
        def stage(self, name: str, total: int | None = None) -> None:
            seen.append(vault.status().records)

    seen: list[int] = []
    with make(place()) as vault:
        vault.insert(people(3, 100), progress=Curious())
        assert set(seen) == {30}


@pytest.mark.parametrize("seed", range(6))
def test_a_maintainer_that_splits_when_it_is_made(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)

    def row(i: int) -> dict[str, Any]:
        return {"id": f"p{i}", "age": rng.randint(0, 99), "h": rng.randint(140, 200), "s": rng.choice("xyz")}

    where, described = str(tmp_path / "v.vault"), schema(age=NUMBER, h=NUMBER, s=SENSITIVE)
    data = [row(i) for i in range(60)]
    with shoal.Vault.create(where, described, k=4, data=data, maintainer="similar-b-tree", seed=seed) as vault:
        vault.insert([row(100 + i) for i in range(15)])
        vault.optimize()
        release = vault.publish()
        assert vault.release(1).table.equals(release.table)
        assert vault.check().ok
    with shoal.Vault.open(where) as vault:
        vault.insert([row(200 + i) for i in range(15)])
        assert vault.check().ok


def test_a_column_in_which_nobody_has_a_value(place: Place) -> None:
    described = schema(age=NUMBER, x=INSENSITIVE, s=SENSITIVE)
    empty = [{**row, "x": None} for row in people(6)]
    first, second = place(), place()
    with shoal.Vault.create(first, described, k=2, data=empty) as vault:
        vault.publish()
    with shoal.Vault.create(second, described, k=2) as vault:
        vault.insert(empty)
    for where in (first, second):
        with shoal.Vault.open(where) as vault:
            vault.insert([{**row, "x": "at last"} for row in people(2, 10)])
        with shoal.Vault.open(where) as vault:
            assert by_key(vault.export())["p10"]["x"] == "at last"
            assert vault.check().ok


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[1], [2]]),
        pa.array([{"a": 1}, {"a": 2}]),
        pa.array([b"\xff\xfe", b"x"]),
        pa.array([1, 2], pa.duration("s")),
        pa.array([1, 2], pa.time64("us")),
    ],
    ids=["lists", "structs", "bytes", "durations", "times"],
)
def test_what_comes_to_an_empty_vault_can_be_read_back(tmp_path: Path, column: pa.Array) -> None:
    """It is refused, or it is there when the vault is opened again."""
    where = str(tmp_path / "v.vault")
    rows = pa.table({"id": ["a", "b"], "age": [1, 2], "x": column})
    with shoal.Vault.create(where, schema(age=NUMBER, x=INSENSITIVE), k=2) as vault:
        try:
            vault.insert(rows)
            kept = rows["x"].to_pylist()
        except shoal.DataError:
            kept = []
    with shoal.Vault.open(where) as vault:
        assert vault.export()["x"].to_pylist() == kept
        assert vault.check().ok


def test_a_writer_who_has_lost_his_turn_writes_nothing(postgres_url: str, tmp_path: Path) -> None:
    """The server ends the connection that holds the turn; another writes; the first must not write over it."""

    class Unlucky(shoal.Progress):
        def stage(self, name: str, total: int | None = None) -> None:
            if name in ("storing", "writing") and not self.done:
                self.done = True
                with psycopg.connect(postgres_url, autocommit=True) as server:
                    held = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
                    server.execute(held)
                with shoal.Vault.open(postgres_url) as other:
                    other.insert(people(5, next(first)))
                    other.delete([f"p{next(gone)}"])

        done = False

    first, gone = iter(range(100, 1000, 10)), iter(range(30))
    with make(postgres_url) as vault:
        for attempt in (
            lambda: vault.rebase(k=4, progress=Unlucky()),
            lambda: vault.publish(progress=Unlucky()),
            lambda: vault.publish(tmp_path / "x.csv", progress=Unlucky()),
        ):
            with pytest.raises(shoal.VaultError):
                attempt()
        assert vault.status().records == 30 + 3 * 4
        assert vault.status().k == 3
        assert vault.releases() == []
        assert vault.check().ok
        assert not list(tmp_path.iterdir())
        vault.publish()


def stored(where: str) -> bytes:
    return b"".join(path.read_bytes() for path in Path(where).parent.iterdir() if path.name.startswith("v.vault"))


def test_what_earlier_epochs_froze_is_forgotten(tmp_path: Path) -> None:
    where = str(tmp_path / "v.vault")
    described = schema(age=NUMBER, s=SENSITIVE, w={**SENSITIVE, "type": "numeric"})
    rows = [{**row, "w": 1.5 * i} for i, row in enumerate(people(30))]
    rows[0] |= {"age": 777123, "s": "LEPROSYX", "w": 987654.25}
    with shoal.Vault.create(where, described, k=3, data=rows, t=0.95, seed=1) as vault:
        vault.rebase()
        vault.delete(["p0"])
        vault.rebase()
        vault.compact()
        assert not [mark for mark in (b"777123", b"LEPROSYX", b"987654") if mark in stored(where)]
        assert vault.check().ok


def test_a_column_that_becomes_an_identifier_leaves_history(tmp_path: Path) -> None:
    where = str(tmp_path / "v.vault")
    described = schema(age=NUMBER, town=CATEGORY, s=SENSITIVE)
    rows = [
        {**row, "town": ["Springfield", "Shelbyville"][i % 2], "s": ["smallpox", "cowpox"][i % 2 ^ (i % 3 == 0)]}
        for i, row in enumerate(people(30))
    ]
    with shoal.Vault.create(where, described, k=3, data=rows, l=1.1, t=0.9, seed=1) as vault:
        vault.publish()
        vault.rebase(schema=schema(age=NUMBER, town=IDENTIFIER, s=IDENTIFIER), clear_rules=True)
        vault.compact()
        assert not [mark for mark in (b"pox", b"Springfield", b"Shelbyville") if mark in stored(where)]
        release = vault.release(1)
        assert release.table.column_names == ["age"]
        assert set(release.manifest["hidden"]) == {"s", "town"}  # type: ignore[call-overload]  # JSON
        vault.publish()
        assert vault.check().ok
        vault.backup(tmp_path / "copy")
        with shoal.Vault.restore(tmp_path / "copy", tmp_path / "again") as again:
            assert again.release(1).table.equals(release.table)


def interrupted(vault: shoal.Vault, target: Path, monkeypatch: pytest.MonkeyPatch, at: str, **options: Any) -> None:
    """A publisher who is no more when this function is about to be called."""
    with monkeypatch.context() as broken:
        broken.setattr(publish, at, lambda *given, **more: (_ for _ in ()).throw(SystemExit))
        if at in ("write_parts", "_enter"):
            broken.setattr(publish, "_withdraw", lambda *given: None)
        with pytest.raises(SystemExit):
            vault.publish(target, **options)


def test_recovery_takes_nothing_away(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where, target = place(), tmp_path / "x.csv"
    with make(where) as vault:
        interrupted(vault, target, monkeypatch, "_forget_mark")
        content = target.read_bytes()
        manifest_path(target).rename(tmp_path / "moved.json")  # the steward has filed it already
    with shoal.Vault.open(where) as vault:
        assert target.read_bytes() == content
        assert len(vault.releases()) == 1
        assert vault.check().ok


@pytest.mark.parametrize("at", ["write_parts", "_enter", "place_parts", "discard_parts", "_forget_mark"])
@pytest.mark.parametrize("force", [False, True])
def test_recovery_finishes_or_undoes(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str, force: bool
) -> None:
    where, target = place(), tmp_path / "x.csv"
    if force:
        target.write_text("what was there before")
    with make(where) as vault:
        interrupted(vault, target, monkeypatch, at, force=force)
    with shoal.Vault.open(where) as vault:
        done = at not in ("write_parts", "_enter")
        assert len(vault.releases()) == int(done)
        if done:
            assert shoal.verify(target, PLAIN, k=3).ok
            assert manifest_path(target).exists()
        else:
            assert target.exists() == force
        assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
        assert vault.publish(tmp_path / "next.csv", even_if_unchanged=True).number == int(done) + 1
        assert vault.check().ok


def test_files_of_another_machine_are_left_to_it(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = place()
    with make(where) as vault:
        interrupted(vault, tmp_path / "x.csv", monkeypatch, "place_parts")
        with vault._store.write() as connection:
            connection.execute(sa.update(tables.releases).values(host="elsewhere", file="/nowhere/x.csv"))
    with shoal.Vault.open(where) as vault:
        assert vault.publish(tmp_path / "y.csv", even_if_unchanged=True).number == 2
        assert len(_parts(tmp_path / "x.csv", "")) == 2
        with vault._store.read() as connection:
            marks = connection.scalars(sa.select(tables.releases.c.part)).all()
        assert [mark is None for mark in marks] == [False, True]


def test_a_backup_is_not_mixed_with_what_lay_beside_an_older_one(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    with make(str(tmp_path / "v.vault")) as vault:
        vault.backup(copy)
        code = (
            f"import os, sys, shoal\nvault = shoal.Vault.open({str(copy)!r})\nvault.delete(['p1', 'p2'])\nos._exit(0)"
        )
        subprocess.run([sys.executable, "-c", code], check=True)
        assert (tmp_path / "copy-wal").exists()
        with pytest.raises(shoal.OutputError, match="is a vault; it would be lost"):
            vault.backup(copy, force=True)  # it has been changed since it was made
        (tmp_path / "copy.head").unlink()
        vault.insert(people(10, 100))
        vault.backup(copy, force=True)
    with shoal.Vault.open(copy) as vault:
        assert vault.status().records == 40
        assert vault.check().ok


def test_a_schema_that_was_there_is_not_dropped(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute("CREATE SCHEMA mine")
        server.execute("CREATE VIEW mine.one AS SELECT 1 AS one")
        where = f"{postgres_url}?schema=mine"
        with pytest.raises(shoal.VaultError, match="zero byte"):
            make(where, data=[{**row, "id": f"{row['id']}\0"} for row in people(9)])
        assert server.execute("SELECT one FROM mine.one").fetchone() == (1,)
        make(where).close()


@pytest.mark.parametrize("measure", ["il", "lm", "tree", "mi"])
def test_losses_are_the_same_when_a_category_is_forgotten(place: Place, measure: str) -> None:
    where = place()
    rows = [{"id": f"p{i}", "a": "abcdefgh"[i % 8]} for i in range(60)]
    rows[0]["a"] = "zz"
    with shoal.Vault.create(where, schema(a=CATEGORY), k=3, data=rows, measure=measure, seed=1) as vault:
        vault.update([{"id": "p0", "a": "a"}])
        with shoal.Vault.open(where) as other, other._writing(shoal.Progress()) as state:
            assert state.live.loss() == pytest.approx(vault.status().loss)
        assert vault.check().ok


def test_an_epoch_that_begins_within_a_batch_is_followed(place: Place) -> None:
    where = place()
    rows = [{"id": f"p{i}", "a": "abc"[i % 3]} for i in range(7)]
    made = shoal.Vault.create(where, schema(a=CATEGORY), k=8, data=rows, measure="mi")
    with made as one, shoal.Vault.open(where) as two:
        with two._writing(shoal.Progress()):
            pass
        one.insert([{"id": "q", "a": "d"}])
        with two._writing(shoal.Progress()) as state:
            assert state.live.loss() == pytest.approx(one.status().loss)


def test_a_relative_path_stays_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, several in (("a", 30), ("b", 12)):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        make("v.vault", data=people(several)).close()
    monkeypatch.chdir(tmp_path / "a")
    with shoal.Vault.open("v.vault") as vault:
        monkeypatch.chdir(tmp_path / "b")
        found: list[int] = []
        thread = threading.Thread(target=lambda: found.append(vault.status().records))
        thread.start()
        thread.join()
        assert found == [30]
        vault.delete(["p1"])
    with shoal.Vault.open(tmp_path / "a" / "v.vault") as vault:
        assert vault.status().records == 29


DAMAGE: dict[str, sa.Update] = {
    "class": sa.update(tables.classes).values(cells=sa.func.substr(tables.classes.c.cells, 9)),
    "groups of classes": sa.update(tables.classes).values(groups=sa.func.substr(tables.classes.c.groups, 9)),
    "past record": sa.update(tables.past_records).values(carried='{"s":"q"}'),
    "record": sa.update(tables.records).where(tables.records.c.key == "p9").values(carried='{"s":"q"}'),
    "order": sa.update(tables.releases).values(shuffle_key=b"x" * 32),
    "manifest": sa.update(tables.releases).values(manifest="{"),
    "k of a release": sa.update(tables.releases).values(k=99),
    "log": sa.update(tables.batches).values(loss=1.5),
    "touched": sa.update(tables.touches).where(tables.touches.c.version == 2).values(records=b"\1" + b"\0" * 7),
    "version": sa.update(tables.vault).values(version=7),
    "next number": sa.update(tables.vault).values(next_id=1),
    "epoch": sa.update(tables.epochs).values(version=9),
    "group": sa.update(tables.records).where(tables.records.c.key == "p9").values(group_id=0),
    "key": sa.update(tables.records).where(tables.records.c.key == "p9").values(key="p99"),
    "value": sa.update(tables.dictionary).where(tables.dictionary.c.id == 2).values(value="3"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_never_served(place: Place, what: str) -> None:
    where = place()
    with make(where) as vault:
        vault.publish()
        vault.update([{"id": "p3", "age": 7, "s": "y"}])
        served: dict[str, Callable[[], object]] = {
            "groups": lambda: vault.groups().to_pylist(),
            "export": lambda: vault.export().to_pylist(),
            "release": lambda: (vault.release(1).table.to_pylist(), vault.release(1).manifest),
        }
        before = {name: serve() for name, serve in served.items()}
        with vault._store.write() as connection:
            connection.execute(DAMAGE[what])
        for name, serve in served.items():
            with suppress(Damaged):
                assert serve() == before[name], name
        with suppress(Damaged):
            assert not vault.check().ok, "the damage was not found"


def test_a_release_with_erased_rows_is_checked_part_by_part(place: Place) -> None:
    """Its content cannot be compared any more: where its rows come from must be what was stored."""
    with make(place()) as vault:
        vault.publish()
        vault.delete(["p3"])
        groups = vault.groups().to_pydict()
        here = dict(zip(groups["key"], groups["group"], strict=True))
        other = next(group for group in groups["group"] if group != here["p9"])
        with vault._store.write() as connection:
            records = tables.records
            connection.execute(sa.update(records).where(records.c.key == "p9").values(group_id=other))
        with pytest.raises(Damaged):
            vault.release_rows(1)


def test_a_damaged_log_does_not_lead_astray(place: Place) -> None:
    """Whoever follows the vault by a log that is not what it was reads everything, and that is checked."""
    where = place()
    with make(where) as one, shoal.Vault.open(where) as two:
        two.insert(people(1, 100))
        one.delete(["p5"])
        with one._store.write() as connection:
            last = tables.touches.c.version == one.status().version
            connection.execute(sa.update(tables.touches).where(last).values(records=b"\x63" + b"\0" * 7))
        two.insert(people(1, 101))
        assert two.publish().table.num_rows == 31


def test_errors_hold_no_rows(tmp_path: Path, postgres_url: str) -> None:
    """Nor does what Python hangs on them."""

    def chain(error: BaseException | None) -> list[BaseException]:
        return [] if error is None else [error, *chain(error.__context__), *chain(error.__cause__)]

    with pytest.raises(shoal.VaultError) as refused:
        make(postgres_url, data=[{**row, "id": f"SECRET{row['id']}\0"} for row in people(9)])
    for error in chain(refused.value):
        assert "SECRET" not in repr(error) + repr(vars(error))
        if not isinstance(error, shoal.ShoalError):
            assert error.__traceback__ is None


def test_a_secret_is_a_text_or_bytes(tmp_path: Path) -> None:
    with pytest.raises(shoal.ParameterError, match="a text or bytes"):
        make(str(tmp_path / "v.vault"), key_secret=64)
    with make(str(tmp_path / "v.vault"), key_secret="a secret that is long enough") as vault:
        assert vault.hashed(1.0) == vault.hashed(1) == vault.hashed(" 1 ")


def test_odd_arguments_are_refused_in_words(tmp_path: Path) -> None:
    where = str(tmp_path / "v.vault")
    with make(where) as vault:
        vault.publish()
        attempts: list[Callable[[], object]] = [
            lambda: vault.release(2**70),
            lambda: vault.release(True),
            lambda: vault.rebase(seed="x"),  # type: ignore[arg-type]
            lambda: vault.rebase(schema=5),  # type: ignore[arg-type]
            lambda: vault.publish(5, even_if_unchanged=True),  # type: ignore[arg-type]
            lambda: vault.backup(5),  # type: ignore[arg-type]
            lambda: vault.backup("a\0b"),
            lambda: vault.delete(["p1"], source_position="\ud800"),
            lambda: shoal.Vault.open(where, wait="x"),  # type: ignore[arg-type]
            lambda: shoal.Vault.open("a\0b"),
            lambda: shoal.Vault.open("postgresql://u:p@ss:Hunter2@localhost/db"),
        ]
        for attempt in attempts:
            with pytest.raises(shoal.ParameterError) as refused:
                attempt()
            assert "Hunter2" not in str(refused.value)
        (tmp_path / "link.csv").symlink_to(tmp_path / "nowhere" / "x.csv")
        with pytest.raises(shoal.OutputError, match="leads nowhere"):
            vault.publish(tmp_path / "link.csv", even_if_unchanged=True)
        with pytest.raises(shoal.OutputError, match="is a folder"):
            vault.backup(tmp_path, force=True)
        assert len(vault.releases()) == 1


def test_nothing_to_do_is_done(place: Place) -> None:
    with make(place()) as vault:
        assert vault.insert([]).version == vault.delete([]).version == vault.update([]).version == 1
        assert vault.apply(ChangeNothing, source_position="here").version == 1
        assert vault.source_position == "here"
        vault.publish()
        vault.insert([])
        with pytest.raises(shoal.Unchanged):
            vault.publish()


ChangeNothing = pa.table({"op": pa.array([], pa.string()), "id": pa.array([], pa.string())})


def test_an_empty_file_may_become_a_vault(tmp_path: Path) -> None:
    (tmp_path / "v.vault").touch()
    with pytest.raises(shoal.VaultError, match="never finished"):
        shoal.Vault.open(tmp_path / "v.vault")
    make(str(tmp_path / "v.vault")).close()


def test_where_a_vault_stands_is_sealed(tmp_path: Path) -> None:
    with make(str(tmp_path / "v.vault")) as vault:
        with vault._store.write() as connection:
            update_vault_row(connection, vault.where, source_position="moved")
        assert vault.source_position == "moved"
        assert vault.check().ok
