"""What is done while the process is killed or a call fails: one function for each promise to be broken."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app
from tests.support.patients import PATIENTS, PATIENTS_SCHEMA
from tests.torture.worlds import SCRIPT, STEPS, World

Done = Callable[[], None]  # called when the caller has been told that it has worked


class Refused(shoal.ShoalError):
    """What a command said when it failed."""


@dataclass(frozen=True)
class Scenario:
    name: str
    do: Callable[[World, Done], None]
    prepare: Callable[[World], None] = lambda world: None  # besides the vault
    vault: bool = True  # there is one before
    release: str | None = None  # the file that a release is written to
    backup: str | None = None  # the file that a backup is written to
    private: str | None = None  # the file that the holder's own table is written to
    server: bool = False  # done with a vault on a server as well
    finish: Callable[[World], None] = lambda world: None  # what its error says to do, where half of it lasts


def create(world: World, done: Done) -> None:
    with SCRIPT.create(world.where):
        done()


def on_vault(work: Callable[[shoal.Vault, World], object]) -> Callable[[World, Done], None]:
    def do(world: World, done: Done) -> None:
        with shoal.Vault.open(world.where) as vault:
            work(vault, world)
            done()

    return do


def by_command(*words: str) -> Callable[[World, Done], None]:
    """Through the command line; "{vault}" and "{out}" stand for the places."""

    def do(world: World, done: Done) -> None:
        given = [word.format(vault=world.where, out=world.out) for word in words]
        result = CliRunner().invoke(app, [*given, "--json"])
        if result.exit_code == 0:
            done()
            return
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        said = json.loads(result.stderr)
        if said["error"] == "InternalError":
            raise shoal.InternalError(said["message"])
        raise Refused(said["message"], file=said["file"])

    return do


@cache
def one_shot(k: int) -> shoal.Release:
    """Made before anybody is killed: it is its writing that is attacked."""
    return shoal.anonymize(PATIENTS, PATIENTS_SCHEMA, k=k)


def write(k: int, name: str, *, force: bool = False) -> Callable[[World, Done], None]:
    def do(world: World, done: Done) -> None:
        one_shot(k).write(world.out / name, force=force)
        done()

    return do


def older(name: str) -> Callable[[World], None]:
    return lambda world: write(20, name)(world, lambda: None)


def older_backup(world: World) -> None:
    """Of the vault before its last change."""
    with shoal.Vault.open(world.where) as vault:
        vault.backup(world.out / "copy")
    world.go_on(STEPS + 1, STEPS + 1)


def published_beside_an_older_one(world: World) -> None:
    """The third release is in no file yet, and where it will go there is another."""
    with shoal.Vault.open(world.where) as vault:
        vault.publish()
    older("again.csv")(world)


def only_a_backup(world: World) -> None:
    """Of a vault that is no more."""
    with SCRIPT.create(":memory:") as vault:
        SCRIPT.step(1).do(vault, world.out)
        vault.publish()
        vault.backup(world.folder / "source")


def only_a_table(world: World) -> None:
    """With a schema that was proposed for another one."""
    pa_csv.write_csv(PATIENTS, world.out / "people.csv")
    (world.out / "schema.toml").write_text("# written by hand\n")


def restore(world: World, done: Done) -> None:
    with shoal.Vault.restore(world.folder / "source", world.where):
        done()


def older_private(name: str, *, of: str) -> Callable[[World], None]:
    def prepare(world: World) -> None:
        by_command(of, "{vault}", "-o", f"{{out}}/{name}")(world, lambda: None)
        world.go_on(STEPS + 1, STEPS + 1)

    return prepare


def safely(world: World) -> None:
    """Published so that releases are safe together."""
    with shoal.Vault.open(world.where) as vault:
        vault.publish(republication="safe", accept_findings=True)


def extract_of(vault: shoal.Vault) -> pa.Table:
    """The records of a vault one night later: two are gone, and some are a year older."""
    table = vault.export().sort_by("id")
    ages = [age if age is None or i % 7 else age + 1 for i, age in enumerate(table["age"].to_pylist())]
    return table.set_column(table.column_names.index("age"), "age", pa.array(ages)).slice(2)


def leaving(world: World) -> None:
    """A list of who is to be forgotten."""
    with shoal.Vault.open(world.where) as vault:
        keys = sorted(vault.groups()["key"].to_pylist())
    pa_csv.write_csv(pa.table({"id": keys[:2]}), world.out / "leaving.csv")


def erase_again(world: World) -> None:
    with shoal.Vault.open(world.where) as vault:
        receipt = vault.erase(world.out / "leaving.csv", ignore_unknown=True)
        assert (receipt.erased, receipt.ignored, receipt.compacted) == (0, 2, True)


def measured_otherwise(vault: shoal.Vault) -> shoal.Schema:
    """Its schema with a domain: groups stay, losses are measured anew."""
    age = replace(vault.schema.columns["age"], domain=[-100, 200])
    return shoal.Schema(columns={**vault.schema.columns, "age": age}, missing=vault.schema.missing)


def unpublished(world: World) -> None:
    world.go_on(STEPS + 1, STEPS + 1)


CSV, PARQUET = SCRIPT.step(2).file or "", SCRIPT.step(5).file or ""  # of the releases that the vault has
assert (Path(CSV).suffix, Path(PARQUET).suffix) == (".csv", ".parquet")

ALL = [
    Scenario("create", create, vault=False, server=True),
    Scenario("apply", on_vault(lambda v, w: SCRIPT.step(STEPS + 1).do(v, w.out)), server=True),
    Scenario("apply --snapshot", on_vault(lambda v, w: v.replace(extract_of(v))), server=True),
    Scenario("erase", on_vault(lambda v, w: v.erase(w.out / "leaving.csv")), leaving, server=True, finish=erase_again),
    Scenario("schema-change", on_vault(lambda v, w: v.change_schema(measured_otherwise(v))), server=True),
    Scenario("rebase", on_vault(lambda v, w: v.rebase(k=5)), server=True),
    Scenario("optimize", on_vault(lambda v, w: v.optimize()), server=True),
    Scenario("compact", on_vault(lambda v, w: v.compact()), unpublished),
    Scenario("publish without a file", on_vault(lambda v, w: v.publish())),
    Scenario("publish", on_vault(lambda v, w: v.publish(w.out / "new.csv")), release="new.csv", server=True),
    Scenario(
        "publish, safe from now on",
        on_vault(lambda v, w: v.publish(w.out / "new.csv", republication="safe", accept_findings=True)),
        release="new.csv",
        server=True,
    ),
    Scenario(
        "apply, releases are safe", on_vault(lambda v, w: SCRIPT.step(STEPS + 1).do(v, w.out)), safely, server=True
    ),
    Scenario("publish --force", on_vault(lambda v, w: v.publish(w.out / CSV, force=True)), release=CSV, server=True),
    Scenario(
        "publish --force, Parquet", on_vault(lambda v, w: v.publish(w.out / PARQUET, force=True)), release=PARQUET
    ),
    Scenario("backup", on_vault(lambda v, w: v.backup(w.out / "copy")), backup="copy", server=True),
    Scenario(
        "backup --force", on_vault(lambda v, w: v.backup(w.out / "copy", force=True)), older_backup, backup="copy"
    ),
    Scenario("export", by_command("export", "{vault}", "-o", "{out}/all.csv"), private="all.csv"),
    Scenario(
        "export --force",
        by_command("export", "{vault}", "-o", "{out}/all.parquet", "--force"),
        older_private("all.parquet", of="export"),
        private="all.parquet",
    ),
    Scenario("groups", by_command("groups", "{vault}", "-o", "{out}/groups.csv"), private="groups.csv"),
    Scenario(
        "groups --force",
        by_command("groups", "{vault}", "-o", "{out}/groups.csv", "--force"),
        older_private("groups.csv", of="groups"),
        private="groups.csv",
    ),
    Scenario("anonymize", write(40, "one.csv"), vault=False, release="one.csv"),
    Scenario("anonymize, Parquet", write(40, "one.parquet"), vault=False, release="one.parquet"),
    Scenario("anonymize --force", write(40, "one.csv", force=True), older("one.csv"), vault=False, release="one.csv"),
    Scenario(
        "anonymize --force, Parquet",
        write(40, "one.parquet", force=True),
        older("one.parquet"),
        vault=False,
        release="one.parquet",
    ),
    Scenario(
        "release --force",
        on_vault(lambda v, w: v.release(3).write(w.out / "again.csv", force=True)),
        published_beside_an_older_one,
        release="again.csv",
    ),
    Scenario("restore", restore, only_a_backup, vault=False),
    Scenario(
        "schema infer --force",
        by_command("schema", "infer", "{out}/people.csv", "-o", "{out}/schema.toml", "--force"),
        only_a_table,
        vault=False,
        private="schema.toml",
    ),
]
