"""On a full disk, or with a closed output, every command ends with 2 and a sentence; nothing is said by a traceback.

In a bare environment: Python keeps output back until it ends there, and would end with 120.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

import shoal
from shoal.cli.app import app
from tests.support.commands import bare_environment
from tests.support.person import HEADER, SCHEMA, row, table

# Every command, at what prints a result.
AT_WORK = {
    "demo": "demo -k 50",
    "warmup": "warmup",
    "anonymize": "anonymize people.csv -s schema.toml -k 3 -o new.csv --method mondrian",
    "verify": "verify release.csv -s schema.toml -k 3",
    "measure": "measure release.csv -s schema.toml",
    "schema infer": "schema infer people.csv",
    "schema check": "schema check schema.toml people.csv",
    "schema show": "schema show vault",
    "schema-change": "schema-change vault -s schema.toml",
    "hierarchy": "hierarchy town --in people.csv",
    "erase": "erase vault leaving.csv",
    "compare": "compare people.csv -s schema.toml -k 3 --methods mondrian",
    "init": "init new.vault -s schema.toml -k 3 --data people.csv",
    "status": "status vault",
    "insert": "insert vault new-people.csv",
    "update": "update vault now.csv",
    "delete": "delete vault leaving.csv",
    "apply": "apply vault changes.csv",
    "optimize": "optimize vault",
    "publish": "publish vault -o new.csv",
    "releases": "releases vault",
    "log": "log vault",
    "release": "release vault 1 -o new.csv",
    "diff": "diff vault 1 2",
    "audit": "audit vault",
    "groups": "groups vault -o new.csv",
    "export": "export vault -o new.csv",
    "check": "check vault",
    "compact": "compact vault",
    "rebase": "rebase vault -k 4",
    "backup": "backup vault new.vault",
    "restore": "restore vault new.vault",
    "bench": "bench mondrian --quick",
    "papers": "papers nonsense",  # the least of them takes minutes
}


def commands() -> list[str]:
    program: Any = typer.main.get_command(app)  # a group of click, or of what typer brings instead
    parts = {name: getattr(command, "commands", {}) for name, command in program.commands.items()}
    return [f"{name} {part}".strip() for name in parts for part in parts[name] or [""]]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything that the commands read."""
    folder = tmp_path_factory.mktemp("desk")
    for name, text in (
        ("schema.toml", SCHEMA),
        ("people.csv", table(range(60))),
        ("new-people.csv", table(range(60, 66))),
        ("now.csv", f"{HEADER}\n{row(3, town=1)}\n"),
        ("leaving.csv", "id\nQxKey010\n"),
        ("changes.csv", f"op,{HEADER}\ninsert,{row(70)}\ndelete,QxKey012,,,,\n"),
    ):
        (folder / name).write_text(text)
    schema = folder / "schema.toml"
    shoal.anonymize(folder / "people.csv", schema, k=3, method="mondrian").write(folder / "release.csv")
    with shoal.Vault.create(folder / "vault", schema, republication="none", k=3, data=folder / "people.csv") as vault:
        vault.publish()
        vault.insert(table_of(range(80, 86)))
        vault.publish()
        vault.insert(table_of(range(90, 96)))
    return folder


def table_of(numbers: range) -> list[dict[str, str]]:
    return [dict(zip(HEADER.split(","), row(number).split(","), strict=True)) for number in numbers]


@pytest.fixture
def folder(desk: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(desk, tmp_path / "desk"))


def ends(words: str, where: str, folder: Path, **environment: str) -> tuple[int, str]:
    """The exit code, and what was said on standard error."""
    command = f"{sys.executable} -c 'from shoal.cli import main; main()' {words} {where}"
    environment |= bare_environment()
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    assert "bug" not in done.stderr
    return done.returncode, " ".join(done.stderr.split())


@pytest.mark.parametrize("name", commands())
def test_every_command_says_that_the_disk_is_full(name: str, folder: Path) -> None:
    assert name in AT_WORK, "a new command: how is it called?"
    code, said = ends(AT_WORK[name], "> /dev/full", folder)
    assert code == 2
    assert said.count("Error: ") == 1
    if name not in ("papers", "audit"):  # the answer of `audit` is no here: then nothing is said of work
        assert said.endswith(
            "Error: standard output could not be written: No space left on device. "
            "Only what the command had to say is lost: its work is done."
        )


def test_what_was_to_be_done_is_done(folder: Path) -> None:
    ends(AT_WORK["insert"], ">&-", folder)
    with shoal.Vault.open(folder / "vault") as vault:
        assert vault.status().records == 78
    ends(AT_WORK["release"], "> /dev/full", folder)
    assert shoal.verify(folder / "new.csv", folder / "schema.toml", 3).ok


@pytest.mark.parametrize(
    ("words", "code"),
    [
        pytest.param("verify release.csv -s schema.toml -k 3", 0, marks=pytest.mark.slow),
        pytest.param("verify release.csv -s schema.toml -k 50", 1, marks=pytest.mark.slow),
        ("verify release.csv -s schema.toml -k 50 --json", 1),
        pytest.param("verify --help", 0, marks=pytest.mark.slow),
        ("--version", 0),
    ],
)
def test_whatever_the_answer_it_is_2_if_nobody_can_be_told(words: str, code: int, folder: Path) -> None:
    assert ends(words, "> /dev/null 2> /dev/full", folder) == (code, "")  # all that was said was written
    for where in ("> /dev/full", ">&-"):
        ended, said = ends(words, where, folder)
        assert ended == 2
        message = json.loads(said)["message"] if "--json" in words else said
        assert "standard output could not be written: " in message
    for where in ("> /dev/full 2> /dev/full", "<&- >&- 2>&-"):
        assert ends(words, where, folder) == (2, "")


def test_it_is_the_same_when_python_keeps_nothing_back(folder: Path) -> None:
    for words in (AT_WORK["verify"], "--help"):
        code, said = ends(words, "> /dev/full", folder, PYTHONUNBUFFERED="1")
        assert code == 2
        assert "standard output could not be written: No space left on device." in said


@pytest.mark.parametrize("words", ["verify nowhere.csv -q age", "verify nowhere.csv -q age --json", "verify"])
def test_an_error_is_an_error_wherever_it_is_said(words: str, folder: Path) -> None:
    code, said = ends(words, "> /dev/full", folder)
    assert code == 2
    assert said
    assert "could not be written" not in said  # there was no result
    for where in ("2> /dev/full", "2>&-"):
        assert ends(words, where, folder) == (2, "")


def test_a_warning_that_cannot_be_said_is_not_passed_over(folder: Path) -> None:
    (folder / "unique.csv").write_text("income\n" + "".join(f"{number}.5\n" for number in range(30)))
    code, said = ends("schema infer unique.csv", "> /dev/null", folder)
    assert (code, said.count("Warning: ")) == (0, 1)
    assert ends("schema infer unique.csv", "> /dev/null 2> /dev/full", folder) == (2, "")
