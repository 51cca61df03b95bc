"""Headers of CSV files: names are names, records are records, and no message shows a record for a header."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.hierarchies import Hierarchy
from shoal.inference import propose
from shoal.records.changes import ChangeBatch, read_keys
from shoal.records.reading import read_for
from tests.support.commands import run

COLUMNS: dict[str, dict[str, object]] = {
    "id": {"role": "key"},
    "name": {"role": "identifier"},
    "age": {"role": "quasi-identifier", "type": "numeric"},
    "ill": {"role": "sensitive"},
}
SCHEMA = shoal.Schema(columns=COLUMNS)
BARE = shoal.Schema(columns=COLUMNS, header=False)
SECRETS = ("Rumpelstiltskin", "leprosy", "KEY-7", "4711")
FIRST = "KEY-7,Rumpelstiltskin,4711,leprosy\n"
PEOPLE = "id,name,age,ill\n" + "".join(f"p{i},Name{i},{30 + i % 9},{('flu', 'gout')[i % 2]}\n" for i in range(12))


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def without_secrets(error: shoal.ShoalError) -> None:
    for text in (str(error), repr(error), json.dumps(error.facts())):
        assert not [secret for secret in SECRETS if secret in text], text


@pytest.fixture
def bare_vault(tmp_path: Path) -> shoal.Vault:
    data = write(tmp_path / "people.csv", PEOPLE.split("\n", 1)[1])
    return shoal.Vault.create(":memory:", BARE, republication="none", k=2, data=data)


def kept(vault: shoal.Vault) -> dict[str, tuple[object, object]]:
    return {row["id"]: (row["age"], row["ill"]) for row in vault.export().to_pylist()}


@pytest.mark.parametrize("verb", ["insert", "update", "delete", "apply"])
@pytest.mark.parametrize("header", [None, True])
def test_a_batch_without_a_header_shows_no_record(verb: str, header: bool | None, tmp_path: Path) -> None:
    schema = shoal.Schema(columns=COLUMNS, header=header)
    op = "insert," if verb == "apply" else ""
    path = write(tmp_path / "batch.csv", op + FIRST + op + "p99,Eve,31,flu\n")
    with shoal.Vault.create(
        ":memory:", schema, republication="none", k=2, data=write(tmp_path / "people.csv", PEOPLE)
    ) as vault:
        with pytest.raises(shoal.DataError) as refused:
            getattr(vault, verb)(path)
        without_secrets(refused.value)
        assert len(kept(vault)) == 12


def test_nor_does_a_frame_that_was_read_without_one() -> None:
    frame = pa.table({name: ["x"] for name in SECRETS})
    for verb in (
        lambda: ChangeBatch.of(SCHEMA, inserts=frame),
        lambda: ChangeBatch.from_table(frame.append_column("op", pa.array(["insert"])), SCHEMA),
        lambda: read_keys(SCHEMA, frame),
        lambda: read_for(SCHEMA, frame),
    ):
        with pytest.raises(shoal.DataError) as refused:
            verb()
        without_secrets(refused.value)


SCHEMA_FILE = """
[columns]
id = { role = "key" }
name = { role = "identifier" }
age = { role = "quasi-identifier", type = "numeric" }
ill = { role = "sensitive" }
"""


def test_nor_does_a_command(tmp_path: Path) -> None:
    write(tmp_path / "schema.toml", SCHEMA_FILE)
    write(tmp_path / "people.csv", PEOPLE)
    write(tmp_path / "batch.csv", FIRST + "p99,Eve,31,flu\n")
    write(tmp_path / "half.csv", "age,ill,Rumpelstiltskin,leprosy,KEY-7\n30,flu,a,b,c\n31,flu,a,b,c\n")
    write(tmp_path / "texts.csv", "Rumpelstiltskin,leprosy\nEve,flu\nBob,gout\n")
    made = run("init", "v", "-s", "schema.toml", "-k", "2", "--data", "people.csv", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    for command in (
        "insert v batch.csv",
        "update v batch.csv --json",
        "delete v batch.csv --json",
        "apply v batch.csv --json",
        "insert v half.csv --json",
        "anonymize batch.csv -s schema.toml -k 2 -o out.csv --json",
        "anonymize half.csv -s schema.toml -k 2 -o out.csv --json",
        "compare batch.csv -s schema.toml -k 2 --json",
        "verify batch.csv -s schema.toml -k 2 --json",
        "measure batch.csv -s schema.toml --unique 1 --json",
        "schema check schema.toml batch.csv --json",
        "schema infer texts.csv --json",
    ):
        done = run(*command.split(), cwd=tmp_path)
        assert done.returncode == 2, command
        assert "a bug in shoal" not in done.stderr
        assert not [secret for secret in SECRETS if secret in done.stdout + done.stderr], command


def test_a_name_that_may_be_a_value_is_sealed(tmp_path: Path) -> None:
    """A header is one if half of the names are there; what else is in it is shown only if most are."""
    doubtful = write(tmp_path / "half.csv", "age,ill,Rumpelstiltskin\n1,2,3\n")
    with pytest.raises(shoal.DataError, match="1 of its 3 columns") as refused:
        read_for(SCHEMA, doubtful)
    without_secrets(refused.value)
    assert "Rumpelstiltskin" in refused.value.reveal()
    with pytest.raises(shoal.DataError, match="column 'shoe size' that the schema does not name"):
        read_for(SCHEMA, write(tmp_path / "most.csv", "id,name,age,ill,shoe size\n1,2,3,4,5\n"))
    twice = write(tmp_path / "twice.csv", "Rumpelstiltskin,Rumpelstiltskin,4711,leprosy\n")
    with pytest.raises(shoal.DataError, match="twice") as refused:
        read_for(shoal.Schema(columns=COLUMNS, header=True), twice)
    without_secrets(refused.value)
    released = shoal.Schema(columns={"age": COLUMNS["age"], "ill": COLUMNS["ill"]})
    verdict = shoal.verify(pa.table({"age": ["1", "1"], "Rumpelstiltskin": ["a", "b"]}), released, 2)
    assert [reason.split(":")[0] for reason in verdict.reasons] == ["1 of 2 columns are not in the schema"]


def test_a_vault_without_headers_takes_every_batch(bare_vault: shoal.Vault, tmp_path: Path) -> None:
    with bare_vault as vault:
        assert vault.insert(write(tmp_path / "in.csv", FIRST + "p99,,31,flu\n")).inserted == 2
        assert kept(vault)["KEY-7"] == (4711, "leprosy")
        assert vault.update(write(tmp_path / "up.csv", "KEY-7,,47,gout\n")).updated == 1
        assert kept(vault)["KEY-7"] == (47, "gout")
        changes = write(tmp_path / "mix.csv", "insert,p100,Eve,32,flu\ndelete,p99,,,\nupdate,p1,,33,gout\n")
        changed = vault.apply(changes)
        assert (changed.inserted, changed.deleted, changed.updated) == (1, 1, 1)
        assert vault.delete(write(tmp_path / "keys.csv", "KEY-7\np100\n")).deleted == 2  # keys alone
        assert vault.delete(write(tmp_path / "rows.csv", "p2,Name2,32,flu\np3,,,\n")).deleted == 2  # or whole records
        assert set(kept(vault)) == {f"p{i}" for i in range(12)} - {"p2", "p3"}


@pytest.mark.parametrize(
    ("verb", "content", "message"),
    [
        ("insert", "KEY-7,4711,leprosy\n", "has 3 cells"),
        ("apply", FIRST, "has 4 cells"),
        ("apply", "Rumpelstiltskin," + FIRST, "must be one of insert, update, upsert, delete"),
        ("delete", "KEY-7,Rumpelstiltskin\n", "has 2 cells.*order: 'id'; or 'id', 'name', 'age', 'ill'"),
        ("delete", "id\np1\n", "the first line names the columns"),
        ("insert", PEOPLE, "the first line names the columns"),
        ("insert", "id,Rumpelstiltskin,age,leprosy\n" + FIRST, "the first line names the columns"),
    ],
)
def test_and_refuses_what_has_another_form(
    bare_vault: shoal.Vault, verb: str, content: str, message: str, tmp_path: Path
) -> None:
    with bare_vault as vault, pytest.raises(shoal.DataError, match=message) as refused:
        getattr(vault, verb)(write(tmp_path / "batch.csv", content))
    without_secrets(refused.value)


@pytest.mark.parametrize(
    ("content", "certain"),
    [
        ("patient_id,age\nx,1\n", True),
        ("Rumpelstiltskin,leprosy\nEve,flu\n", False),
        ("Rumpelstiltskin,unknown,leprosy\nEve,30,flu\n", False),  # the first record has no age
        ("colour,shape,edges,corners,sides\nred,box,4,4,4\n", True),
        ("colour,shape\nred,box\n", False),
    ],
)
def test_a_proposal_is_made_of_names_only(content: str, certain: bool, tmp_path: Path) -> None:
    path = write(tmp_path / "some.csv", content)
    names = content.split("\n", 1)[0].split(",")
    assert [guess.name for guess in propose(path, header=True).guesses] == names
    bare = propose(path, header=False)
    assert [guess.name for guess in bare.guesses] == [f"column{i}" for i in range(1, len(names) + 1)]
    write(tmp_path / "schema.toml", bare.toml())
    inferred = shoal.Schema.infer(path, header=False)
    assert shoal.Schema.load(tmp_path / "schema.toml").header is inferred.header is False
    assert shoal.read(path, header=False).num_rows == shoal.read(path).num_rows + 1
    if certain:
        assert [guess.name for guess in propose(path).guesses] == names
        return
    with pytest.raises(shoal.DataError, match=r"may be a record.*--no-header") as refused:
        propose(path)
    without_secrets(refused.value)


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\n", "\r\n"])
def test_only_line_ends_end_a_line(sign: str, tmp_path: Path) -> None:
    name = f"two{sign}parts"
    schema = shoal.Schema(columns={name: {"role": "insensitive"}, "age": COLUMNS["age"]})
    path = write(tmp_path / "people.csv", f'"{name}",age\n"first{sign}one",1\nsecond,2\n')
    table, _ = read_for(schema, path)
    assert table.to_pydict() == {name: [f"first{sign}one", "second"], "age": ["1", "2"]}
    tree = Hierarchy.tree(write(tmp_path / "tree.csv", f'"first{sign}one";*\nsecond;*\n'))
    assert tree.grow([]).leaves == [f"first{sign}one", "second"]


def test_quotes_tell_which_sign_cuts_cells(tmp_path: Path) -> None:
    schema = shoal.Schema(columns={"a": {"role": "insensitive"}, "b": {"role": "insensitive"}}, header=False)
    for row in ('"x","y;;"', 'x{|"y""};|"'):
        table, _ = read_for(schema, write(tmp_path / "row.csv", row + "\n"))
        assert [value[0] for value in table.to_pylist()[0].values()] == ["x", "y"], row


def test_a_first_line_without_an_end_is_refused(tmp_path: Path) -> None:
    for name, content in (("open", '"id,name,age,ill\n' + FIRST), ("long", "x" * 200_000 + ",y\n1,2\n")):
        with pytest.raises(shoal.DataError, match=r"quotes do not match.*too long") as refused:
            read_for(SCHEMA, write(tmp_path / f"{name}.csv", content))
        without_secrets(refused.value)


ODD = st.text(st.sampled_from("ab1 é€\u2028\x85\x0b\x0c\x1c\ufeff\"',;\t|\n{}*"), max_size=6)
NAMES = st.lists(
    st.builds("{}{}".format, st.sampled_from(["age", "zip", "köln"]), ODD).map(str.strip),
    min_size=2,
    max_size=5,
    unique=True,
)


def as_csv(rows: list[list[str]], delimiter: str, ending: str) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator=ending, quoting=csv.QUOTE_ALL).writerows(rows)
    return text.getvalue()


@given(
    names=NAMES,
    data=st.data(),
    said=st.sampled_from([None, True, False]),
    there=st.booleans(),
    delimiter=st.sampled_from(",;\t|"),
    ending=st.sampled_from(["\n", "\r\n"]),
    mark=st.sampled_from(["", "\ufeff"]),
)
def test_records_are_kept_or_refused_unseen(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], data: st.DataObject, said: bool | None, there: bool,
    delimiter: str, ending: str, mark: str,
) -> None:  # fmt: skip
    """Whatever header and cells: each record comes back as it is, or an error says nothing of any."""
    cells = ODD.map("CANARY{}".format)
    rows = data.draw(st.lists(st.lists(cells, min_size=len(names), max_size=len(names)), min_size=1, max_size=4))
    schema = shoal.Schema(columns={name: {"role": "insensitive"} for name in names}, header=said)
    path = tmp_path_factory.getbasetemp() / "fuzz.csv"
    write(path, mark + as_csv([names] * there + rows, delimiter, ending))
    if there is (said is False):  # what contradicts the schema, or has no header without its saying so
        with pytest.raises(shoal.DataError) as refused:
            read_for(schema, path)
        assert "CANARY" not in str(refused.value) + json.dumps(refused.value.facts())
        return
    table, _ = read_for(schema, path)
    assert table.column_names == names
    assert list(map(list, zip(*table.to_pydict().values(), strict=True))) == rows
