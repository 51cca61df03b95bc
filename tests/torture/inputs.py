"""Broken inputs to every command that reads some: it does its work or says what is wrong, and never a value."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import sqlite3
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app
from tests.torture.attacks import BROKEN, Size, Tally
from tests.torture.children import Say, in_child
from tests.torture.mutations import MUTATIONS
from tests.torture.worlds import sha256

CANARY = "Qx"  # in keys, names and diagnoses; towns are named by the hierarchy, which is the steward's, not a record's
MEMORY = 12 << 30  # bytes: a file that claims to be huge must not take the machine
SCHEMA = """
missing = ["?"]
[columns.id]
role = "key"
[columns.name]
role = "identifier"
[columns.income]
role = "quasi-identifier"
type = "numeric"
[columns.born]
role = "quasi-identifier"
type = "date"
[columns.town]
role = "quasi-identifier"
hierarchy = "towns.csv"
[columns.zip]
role = "quasi-identifier"
type = "prefix"
[columns.ill]
role = "sensitive"
"""
TOWNS = "".join(f"Town{number};Land{number // 3};*\n" for number in range(7))
HEADER = "id,name,income,born,town,zip,ill"

# The command, and the files that it reads. Of the last file there is one in every format.
COMMANDS: dict[str, tuple[str, list[str]]] = {
    "anonymize": ("anonymize {people} -s schema.toml -k 3 -o new.csv", ["towns.csv", "schema.toml", "people"]),
    "verify": ("verify {release} -s schema.toml -k 3", ["towns.csv", "schema.toml", "release"]),
    "audit": ("audit release.csv {release} -s schema.toml -k 3", ["towns.csv", "schema.toml", "release"]),
    "audit of people": (
        "audit release.csv release.parquet -s schema.toml -k 3 --population {members}",
        ["towns.csv", "schema.toml", "members"],
    ),
    "measure": ("measure {release} -s schema.toml", ["schema.toml", "release"]),
    "schema infer": ("schema infer {people} -o new.toml", ["people"]),
    "schema infer --explain": ("schema infer {people} --explain", ["people"]),
    "hierarchy": ("hierarchy town --in {people} -o new-towns.csv", ["people"]),
    "schema check": ("schema check schema.toml {people}", ["towns.csv", "schema.toml", "people"]),
    "init": ("init new.vault -s schema.toml -k 3 --data {people}", ["towns.csv", "schema.toml", "people"]),
    "insert": ("insert vault {new}", ["new"]),
    "update": ("update vault {now}", ["now"]),
    "delete": ("delete vault {leaving}", ["leaving"]),
    "apply": ("apply vault {changes}", ["changes"]),
    "apply --snapshot": ("apply vault --snapshot {tonight}", ["tonight"]),
    "erase": ("erase vault {leaving}", ["leaving"]),
    "schema-change": ("schema-change vault -s wider.toml --data {wards}", ["towns.csv", "wider.toml", "wards"]),
}
FORMATS = (".csv", ".jsonl", ".parquet", ".xlsx", ".sqlite")


def row(number: int, town: int | None = None) -> str:
    place = number % 7 if town is None else town
    born = f"19{50 + number % 40}-0{1 + number % 9}-1{number % 9}"
    return f"QxKey{number:03},QxName{number},{1000 + number % 40},{born},Town{place},4790{number % 9},QxIll{number % 3}"


class Desk:
    """A folder with good files of every kind, and a vault."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.aside = folder / "desk", folder / "desk-aside"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self._write("schema.toml", SCHEMA)
        self._write("towns.csv", TOWNS)
        self._tables("people", [HEADER, *map(row, range(60))])
        self._tables("new", [HEADER, *map(row, range(60, 66))])
        self._tables("now", [HEADER, row(3, town=1), row(4, town=2)])
        self._tables("leaving", ["id", "QxKey010", "QxKey011"])
        changes = [f"insert,{row(70)}", f"update,{row(5, town=6)}", "delete,QxKey012,,,,,,"]
        self._tables("changes", [f"op,{HEADER}", *changes])
        self._write("wider.toml", f'{SCHEMA}[columns.ward]\nrole = "insensitive"\n')
        self._tables("tonight", [HEADER, row(2, town=1), *map(row, range(3, 62))])
        self._tables("wards", ["id,ward", *(f"QxKey{number:03},QxWard{number % 3}" for number in range(60))])
        release = shoal.anonymize(self.folder / "people.csv", self.folder / "schema.toml", k=3)
        for ending in (".csv", ".parquet"):
            release.write(self.folder / f"release{ending}")
        rows = [[str(cell) for cell in one.values()] for one in release.table.to_pylist()]
        self._other_formats("release", release.table.column_names, rows)
        self._tables("members", [f"{HEADER},from,until", *(f"{row(number)},1,2" for number in range(60))])
        vault = shoal.Vault.create(
            self.folder / "vault", self.folder / "schema.toml", k=3, data=self.folder / "people.csv"
        )
        vault.close()
        shutil.rmtree(self.aside, ignore_errors=True)
        shutil.copytree(self.folder, self.aside)
        self.good = {
            path.name: path.read_bytes() for path in self.folder.iterdir() if not path.name.startswith("vault")
        }

    def _write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def _tables(self, name: str, lines: list[str]) -> None:
        self._write(f"{name}.csv", "\n".join(lines) + "\n")
        names, *rows = (line.split(",") for line in lines)
        records = [dict(zip(names, cells, strict=False)) for cells in rows]
        table = pa.table({name: [record.get(name) for record in records] for name in names})
        pq.write_table(table, self.folder / f"{name}.parquet")
        self._other_formats(name, names, rows)

    def _other_formats(self, name: str, names: list[str], rows: list[list[str]]) -> None:
        """Neither CSV nor Parquet, in which releases are written."""
        records = [dict(zip(names, cells, strict=False)) for cells in rows]
        self._write(f"{name}.jsonl", "".join(json.dumps(record) + "\n" for record in records))
        book = openpyxl.Workbook(write_only=True)
        sheet = book.create_sheet(name)
        for cells in (names, *rows):
            sheet.append(cells)
        book.save(self.folder / f"{name}.xlsx")
        with sqlite3.connect(self.folder / f"{name}.sqlite") as database:
            quoted = ", ".join(f'"{column}"' for column in names)
            database.execute(f"CREATE TABLE people ({quoted})")
            places = ", ".join("?" * len(names))
            database.executemany(
                f"INSERT INTO people VALUES ({places})",
                [[record.get(column) for column in names] for record in records],
            )
        database.close()

    def complaints(self, words: list[str], broken: str, content: bytes) -> list[str]:
        """Run the command, with this in the place of a good file."""
        shutil.rmtree(self.folder)
        shutil.copytree(self.aside, self.folder)
        (self.folder / broken).write_bytes(content)
        before = self._files()
        version = self._version()

        def work(mouth: int, say: Say) -> None:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            os.chdir(self.folder)
            result = CliRunner().invoke(app, words)
            said = result.stdout + result.stderr
            if result.exception is not None and not isinstance(result.exception, SystemExit):
                raise result.exception
            if result.exit_code not in (0, 1, 2):
                say(complaint=f"exit code {result.exit_code}")
            if "a bug in shoal" in said:
                say(complaint=" ".join(result.stderr.split()))
            if CANARY in said:
                say(complaint=f"it says a value: {' '.join(said.split())[:300]}")
            if result.exit_code != 0 and not result.stderr.strip() and not result.stdout.strip():
                say(complaint="it fails and says nothing")
            if result.exit_code != 0 and self._files() != before:
                say(complaint=f"left behind: {sorted(self._files().items() - before.items())}")
            say(code=result.exit_code)

        ended = in_child(work)
        found = [line["complaint"] for line in ended.said if "complaint" in line]
        if ended.told("code") is None:
            found.append(f"a raw error or crash: {ended.told('raw') or ended.told('message') or ended.signal}")
        if ended.told("code") != 0 and self._version() != version:
            found.append("the vault has changed, but the command failed")
        return found

    def _files(self) -> dict[str, str | None]:
        own = {f"vault{ending}" for ending in ("", "-wal", "-shm", ".lock", ".head")}
        return {path.name: sha256(path) for path in self.folder.iterdir() if path.name not in own}

    def _version(self) -> int:
        with shoal.Vault.open(self.folder / "vault") as vault:
            return vault.status().version


def broken_inputs(folder: Path, size: Size, *, command: str) -> Tally:
    desk, tally = Desk(folder), Tally()
    chance = random.Random(f"{command} {size.seed}")
    pattern, files = COMMANDS[command]
    for number in range(size.inputs):
        ending = chance.choice(FORMATS)
        names = {name: name if "." in name else name + ending for name in files}
        broken = chance.choice([*names.values(), names[files[-1]]])
        if chance.random() < 0.1:
            other = chance.choice(sorted(desk.good))
            how, content = f"{other} in its place", desk.good[other]
        else:
            mutation = chance.choice(MUTATIONS)
            how, content = mutation.__name__, mutation(desk.good[broken], chance)
        words = pattern.format(**{name: found for name, found in names.items() if "." not in name}).split()
        tally.count(BROKEN, f"{command}, {broken}, {how}, try {number}", desk.complaints(words, broken, content))
    return tally
