"""Writing a release: both files or none, and never over something else."""

from __future__ import annotations

import hashlib
import itertools
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal import files
from shoal.release import write as write_module
from tests.support.patients import PATIENTS, PATIENTS_SCHEMA, small_release

pytestmark = pytest.mark.versions


def test_an_existing_output_is_kept_unless_forced(tmp_path: Path) -> None:
    release = small_release()
    file = tmp_path / "release.csv"
    file.write_text("precious")
    with pytest.raises(shoal.OutputError, match="exists already"):
        release.write(file)
    assert file.read_text() == "precious"
    release.write(file, force=True)
    assert shoal.verify(file, PATIENTS_SCHEMA, 50).ok
    file.unlink()
    with pytest.raises(shoal.OutputError, match="exists already"):
        release.write(file)  # the manifest of the other release is still there


def test_the_source_is_never_overwritten(tmp_path: Path) -> None:
    source = tmp_path / "people.parquet"
    pq.write_table(PATIENTS, source)
    release = shoal.anonymize(source, PATIENTS_SCHEMA, k=50)
    with pytest.raises(shoal.OutputError, match="is made from"):
        release.write(source, force=True)
    assert pq.read_table(source).num_rows == 200


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("release.xlsx", "written as .csv or .parquet"),
        ("nowhere/release.csv", "does not exist"),
        ("folder.csv", "folder"),
    ],
)
def test_places_that_cannot_be_written_to(target: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(shoal.OutputError, match=message):
        small_release().write(tmp_path / target)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.csv"]


@pytest.mark.parametrize(
    ("module", "failing"),
    [
        (write_module, "_write_table"),
        (write_module, "_sync"),
        (write_module, "now"),
        (files, "_keep"),
        (files, "sync_folder"),
    ],
)
@pytest.mark.parametrize("problem", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failed_write_leaves_nothing_behind(
    module: ModuleType, failing: str, problem: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = small_release()
    file = release.write(tmp_path / "release.parquet")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def fail(*_: object) -> None:
        raise problem

    monkeypatch.setattr(module, failing, fail)
    with pytest.raises((shoal.OutputError, KeyboardInterrupt)):
        release.write(file, force=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_what_csv_cannot_express_is_said(tmp_path: Path) -> None:
    table = PATIENTS.append_column("list", pa.array([[1, 2]] * 200))
    schema = shoal.Schema(columns={**PATIENTS_SCHEMA.columns, "list": {"role": "insensitive"}})
    release = shoal.anonymize(table, schema, k=50)
    with pytest.raises(shoal.OutputError, match="csv cannot express"):
        release.write(tmp_path / "release.csv")
    assert list(tmp_path.iterdir()) == []
    release.write(tmp_path / "release.parquet")


def test_what_parquet_cannot_express_is_said_without_the_value(tmp_path: Path) -> None:
    table = PATIENTS.append_column("when", pa.array([2**62] * 200).cast(pa.timestamp("s")))
    schema = shoal.Schema(columns={**PATIENTS_SCHEMA.columns, "when": shoal.Column(role="insensitive")})
    with pytest.raises(shoal.OutputError, match="parquet cannot express") as refused:
        shoal.anonymize(table, schema, k=50).write(tmp_path / "release.parquet")
    assert refused.value.__context__ is None
    assert list(tmp_path.iterdir()) == []


def test_what_another_process_wrote_meanwhile_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "release.csv"
    monkeypatch.setattr(write_module, "check_target", lambda *_, **__: None)
    release = small_release()
    monkeypatch.setattr("shoal.release.release.check_target", lambda *_, **__: file.write_text("theirs"))
    with pytest.raises(shoal.OutputError, match="exists already"):
        release.write(file)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"release.csv": "theirs"}


def test_both_files_or_none_where_links_are_not_to_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", no_links)
    release = small_release()
    file = release.write(tmp_path / "release.csv")
    release.write(file, force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["release.csv", "release.csv.manifest.json"]
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    moves = iter([None, OSError(5, "Input/output error"), None, None])
    replace = Path.replace

    def fail_second(draft: Path, target: Path) -> Path:
        problem = next(moves)
        if problem:
            raise problem
        return replace(draft, target)

    monkeypatch.setattr(Path, "replace", fail_second)
    with pytest.raises(shoal.OutputError, match="Input/output error"):
        release.write(file, force=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("instant", ["before", "after"])
@pytest.mark.parametrize("move", range(4))
def test_an_interruption_at_any_instant_of_the_moves_loses_nothing(
    instant: str, move: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Overwriting makes four moves: a second name for each old file, and each new one into its place."""
    file = small_release().write(tmp_path / "release.csv")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    made = itertools.count()

    def interrupted(original: Callable[..., object]) -> Callable[..., object]:
        def act(*arguments: Path) -> object:
            here = next(made) == move
            if here and instant == "before":
                raise KeyboardInterrupt
            result = original(*arguments)
            if here:
                raise KeyboardInterrupt
            return result

        return act

    release = small_release()
    monkeypatch.setattr(Path, "replace", interrupted(Path.replace))
    monkeypatch.setattr(Path, "hardlink_to", interrupted(Path.hardlink_to))
    with pytest.raises(KeyboardInterrupt):
        release.write(file, force=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_source_is_safe_in_every_disguise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "out.csv.manifest.jsonl"
    source.write_text("".join(json.dumps({"q": i}) + "\n" for i in range(10)))
    (tmp_path / "link.csv").symlink_to(source)
    (tmp_path / "hard.csv").hardlink_to(source)
    (tmp_path / "a.csv.manifest.json").hardlink_to(source)
    schema = shoal.Schema(columns={"q": {"role": "quasi-identifier", "type": "numeric"}})
    monkeypatch.chdir(tmp_path)
    release = shoal.anonymize("out.csv.manifest.jsonl", schema, k=2)
    monkeypatch.chdir("/")
    for target in ("link.csv", "hard.csv", "a.csv"):
        with pytest.raises(shoal.OutputError, match="is made from"):
            release.write(tmp_path / target, force=True)
    assert len(source.read_text().splitlines()) == 10


def test_a_name_that_is_too_long_is_said(tmp_path: Path) -> None:
    with pytest.raises(shoal.OutputError, match="too long"):
        small_release().write(tmp_path / ("x" * 300 + ".csv"))
    assert list(tmp_path.iterdir()) == []


def test_rows_of_a_single_column_survive_any_reader(tmp_path: Path) -> None:
    schema = shoal.Schema(columns={"q": {"role": "quasi-identifier", "type": "numeric"}})
    release = shoal.anonymize(pa.table({"q": pa.array([1, 1, None, None, None])}), schema, k=2)
    file = release.write(tmp_path / "release.csv")
    assert shoal.verify(file, schema, 2).records == 5
    assert sorted(file.read_text().splitlines()) == ['""', '""', '""', '"1"', '"1"', "q"]


# For each number that it reads: a copy of itself that writes a release, and is killed at that move of a file.
KILLED = """
import os, signal, sys
from tests.support.patients import small_release

left = 0

def around(original):
    def moved(*given, **named):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*given, **named)
    return moved

release = small_release()
for name in ("link", "replace", "rename", "unlink"):
    setattr(os, name, around(getattr(os, name)))
for line in sys.stdin:
    left = int(line)
    copy = os.fork()
    if not copy:
        release.write(sys.argv[1], force=True)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]), flush=True)
"""


def test_killed_while_overwriting_there_is_an_old_or_a_new_release_and_no_false_manifest(tmp_path: Path) -> None:
    file = tmp_path / "release.csv"
    root = str(Path(__file__).parents[2])
    killed = subprocess.Popen(
        [sys.executable, "-c", KILLED, file], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with killed:
        see_what_is_left(tmp_path, file, killed)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["release.csv", "release.csv.manifest.json"]  # the next one to write has swept


def see_what_is_left(tmp_path: Path, file: Path, killed: subprocess.Popen[str]) -> None:
    assert killed.stdin is not None
    assert killed.stdout is not None
    states = set()
    for move in range(1, 30):
        old = small_release().write(file, force=True).read_bytes()
        print(move, file=killed.stdin, flush=True)
        code = int(killed.stdout.readline())
        assert shoal.verify(file, PATIENTS_SCHEMA, 50).ok
        manifest = tmp_path / "release.csv.manifest.json"
        if manifest.exists():
            assert json.loads(manifest.read_text())["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
        states.add((file.read_bytes() == old, manifest.exists()))
        if code == 0:
            break
        assert code == -signal.SIGKILL
    else:
        pytest.fail("it was never left alone")
    assert (False, True) in states
    assert (True, True) in states
    assert len(states) > 2, "it was never killed between the two files"


def test_what_the_schema_is_made_of_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "country.csv").write_text("at;eu;*\nfr;eu;*\njp;asia;*\n")
    (tmp_path / "schema.toml").write_text(
        '[columns.country]\nrole = "quasi-identifier"\ntype = "categorical"\nhierarchy = "country.csv"\n'
    )
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    table = pa.table({"country": ["at", "fr", "jp"] * 5})
    release = shoal.anonymize(table, tmp_path / "schema.toml", k=5)
    with pytest.raises(shoal.OutputError, match="is made from"):
        release.write(tmp_path / "country.csv", force=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    keyed = shoal.Schema({"id": {"role": "key"}, **shoal.Schema.load(tmp_path / "schema.toml").columns})
    rows = table.append_column("id", pa.array([str(i) for i in range(15)]))
    with shoal.Vault.create(tmp_path / "v", keyed, republication="none", k=5, data=rows) as vault:
        with pytest.raises(shoal.OutputError, match="is made from"):
            vault.publish(tmp_path / "country.csv", force=True)
        vault.publish()
        with pytest.raises(shoal.OutputError, match="is made from"):
            vault.release(1).write(tmp_path / "country.csv", force=True)
    assert (tmp_path / "country.csv").read_bytes() == before["country.csv"]
