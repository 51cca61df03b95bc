"""What comes from outside is shown on a terminal and never obeyed; what may hold a password is not shown at all."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from rich.table import Table

import shoal
from shoal.addresses import may_be_address
from shoal.cli.terminal import Screen, harmless, json_text
from shoal.vault.store.postgres import Postgres
from tests.support.commands import bare_environment, run, run_in_terminal

ORDERS = ["\x1b[31m", "\x9b31m", "\x07", "\u202e", "\u2066", "\u2028", "\r", "\x00", "\x7f", "\u200f"]
SCHEMA = """
[columns."NAME"]
role = "quasi-identifier"
type = "numeric"
[columns.ill]
role = "sensitive"
"""


GIVEN = ["\x1b]0;", "\x1b[2J", "\x07", "\u202e", "\x9b"]  # the program itself writes none of these


@pytest.mark.parametrize("order", ORDERS)
def test_orders_are_shown_wherever_a_text_comes_in(order: str) -> None:
    console = Screen(highlight=False, width=200, record=True, force_terminal=False)
    table = Table(title=f"title{order}")
    table.add_column(f"column{order}")
    table.add_row(f"cell{order}")
    with console.capture() as captured:
        console.print(f"text{order}", markup=False)
        console.print(f"[bold]marked{order}[/]")
        console.print(table)
    seen = captured.get()
    assert seen.count(harmless(order)) == 5
    assert not [sign for sign in order if not sign.isprintable() and sign in seen]


def test_a_line_break_in_a_name_makes_no_line() -> None:
    console = Screen(highlight=False, width=200)
    with console.capture() as captured:
        console.print("Written: a\nError: b", markup=False)
    assert captured.get() == "Written: a\\nError: b\n"


@pytest.mark.parametrize("order", [*ORDERS, "\n", '"', "\ud800"])
def test_json_stays_json(order: str) -> None:
    text = json_text({f"key{order}": [f"value{order}"]}, indent=2)
    assert json.loads(text) == {f"key{order}": [f"value{order}"]}
    assert not [sign for sign in text if not sign.isprintable() and sign != "\n"]
    assert json_text({"ill": "Grippe ≥ 1 é"}) == '{"ill": "Grippe ≥ 1 é"}'


def test_names_of_columns_and_files_reach_a_terminal_as_text(tmp_path: Path) -> None:
    name = "age\x1b]0;title\x07\u202e\x9b"
    (tmp_path / "schema.toml").write_text(
        SCHEMA.replace("NAME", name.encode("unicode_escape").decode().replace("\\x", "\\u00"))
    )
    (tmp_path / "data.csv").write_text(f"{name},ill\n" + "".join(f"{i},{i % 3}\n" for i in range(12)))
    strange = "out\x1b[2J\u202e.csv"
    for words in (
        ["anonymize", "data.csv", "-s", "schema.toml", "-k", "2", "-o", strange],
        ["schema", "check", "schema.toml", "data.csv"],
        ["schema", "infer", "data.csv"],
        ["verify", strange, "-s", "schema.toml", "-k", "9"],
        ["measure", strange, "-s", "schema.toml", "--columns"],
        ["init", "v\x1b[2J.vault", "-s", "schema.toml", "-k", "2"],
        ["anonymize", "data.csv", "-s", "schema.toml", "-k", "2\x1b[2J", "-o", strange],
        ["stat\x1b[2Jus"],
        ["verify", "data.csv", "-q", "a\x1b[2J\u202e", "-k", "2"],
    ):
        seen = run_in_terminal(*words, cwd=tmp_path)
        assert not [order for order in GIVEN if order in seen], words
        told = run(*words, "--json", cwd=tmp_path)
        assert not [order for order in GIVEN if order in told.stdout + told.stderr], words


SECRETS = [
    "postgresql://user:S3CR@ET7@host/db",
    "postgresql://user:S3CR/ET7@host/db",
    "postgresql://user:S3CR?ET7@host/db",
    "postgresql://user:S3CR#ET7@host/db",
    "postgresql://user:S3CR[ET7@host/db",
    "postgresql://user:S3CR]ET7@host/db",
    "postgresql://user:S3CR%ET7@host/db",
    "postgresql://user:S3CR:ET7@host/db",
    "postgresql://user:S3CR ET7@host/db",
    "postgresql://user:S3CRET7/db",
    "postgresql:///db?password=S3CR@ET7",
    "postgresql:user:S3CRET7@host/db",
    "postgresql:/user:S3CRET7@host/db",
    "postgres//user:S3CRET7@host/db",
    "postgresq://user:S3CRET7@host/db",
    "mysql://user:S3CRET7@host/db",
    "POSTGRESQL://user:S3CRET7@host/db",
    "user:S3CRET7@host/db",
]


@pytest.mark.parametrize("url", SECRETS)
def test_no_part_of_a_password_is_in_an_error(url: str, tmp_path: Path) -> None:
    schema = shoal.Schema(columns={"id": {"role": "key"}, "q": {"role": "quasi-identifier", "type": "numeric"}})
    release = shoal.anonymize(_table(), schema, k=2)
    attempts: list[Callable[[], object]] = [
        lambda: shoal.Vault.open(url),
        lambda: shoal.Vault.open(Path(url)),
        lambda: shoal.Vault.create(url, schema, k=2),
        lambda: shoal.read(url),
        lambda: shoal.Schema.load(url),
        lambda: release.write(url),
        lambda: shoal.verify(url, schema),
    ]
    for attempt in attempts:
        with pytest.raises(shoal.ShoalError) as refused:
            attempt()
        error = refused.value
        said = [
            str(error),
            repr(error),
            json.dumps(error.facts()),
            error.reveal(),
            repr(pickle.loads(pickle.dumps(error))),
        ]
        assert not [text for text in said for part in ("S3C", "T7") if part in text]


def _table() -> pa.Table:
    return pa.table({"id": [1, 2], "q": [1, 2]})


@pytest.mark.parametrize("url", ["postgresql://user:S3CR@ET7@host/db", "postgres//user:S3CR@ET7@host/db"])
def test_no_part_of_a_password_is_on_the_screen(url: str, tmp_path: Path) -> None:
    for words in (
        ["status", url],
        ["status", "a.vault", url],
        ["status", "a.vault", "--nonsense", url],
        [url, "status"],
        ["init", "a.vault", "-s", url, "-k", url],
        ["anonymize", url, "-s", "schema.toml", "-k", "2", "-o", "out.csv"],
        ["anonymize", "data.csv", "-s", "schema.toml", "-k", "2", f"--output={url}"],
        ["anonymize", "data.csv", "-s", "schema.toml", f"--k={url}", "-o", "out.csv"],
        ["verify", url, "-q", "a"],
        ["schema", "infer", url],
        ["schema", "check", url, url],
        ["schema", url],
        ["insert", url, "new.csv"],
        ["insert", "a.vault", url],
        ["groups", url, "-o", "x.csv"],
        ["restore", url, "b.vault"],
    ):
        done = run(*words, cwd=tmp_path)
        assert done.returncode == 2, words
        assert not [part for part in ("S3C", "T7") if part in done.stdout + done.stderr], (words, done.stderr)


@pytest.mark.parametrize(
    "given", ["host=h port=1 password=S3C", "password='S3C'", "dbname=d user=u", "x?sslpassword=S3C"]
)
def test_what_libpq_would_take_for_a_connection_is_not_shown(given: str, tmp_path: Path) -> None:
    assert may_be_address(given)
    done = run("status", given, cwd=tmp_path)
    assert done.returncode == 2
    assert "S3C" not in done.stdout + done.stderr


def test_a_path_with_an_at_sign_is_a_path(tmp_path: Path) -> None:
    for name in (
        "me@home.vault",
        "a@b@c/x.vault",
        "./user:word@host/db",
        "/tmp/a:b@c",
        "12:30.vault",
        "postgres.vault",
    ):
        assert not may_be_address(name)
    schema = shoal.Schema(columns={"id": {"role": "key"}, "q": {"role": "quasi-identifier", "type": "numeric"}})
    with shoal.Vault.create(tmp_path / "me@home.vault", schema, k=2, data=_table()) as vault:
        assert vault.publish(tmp_path / "me@home.csv").number == 1


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://user:pa%40ss@host:5433/db", "postgresql://host:5433/db?schema=shoal"),
        ("postgres://user@host/db?schema=other", "postgresql://host/db?schema=other"),
        ("postgresql+psycopg://[::1]/db?password=x&sslpassword=y", "postgresql://::1/db?schema=shoal"),
        ("postgresql:///db?host=/tmp/socket", "postgresql://localhost/db?schema=shoal"),
    ],
)
def test_a_clean_url_is_shown_without_what_opens_doors(url: str, shown: str) -> None:
    backend = Postgres(url)
    assert backend.where == shown
    backend.close()


def test_lines_and_tables_are_whole_in_a_pipe(tmp_path: Path) -> None:
    """No line is wrapped and no word is cut where a program reads."""
    name = "a_rather_long_name_of_a_column_that_nobody_would_want_to_see_cut_in_two_somewhere_in_the_middle"
    (tmp_path / "t.csv").write_text(f"{name},b\n" + "1,2\n" * 5)
    (tmp_path / "s.toml").write_text(
        "".join(f'[columns.{n}]\nrole = "quasi-identifier"\ntype = "numeric"\n' for n in (name, "b"))
    )
    command = [sys.executable, "-c", "from shoal.cli import main; main()", "schema", "check", "s.toml", "t.csv"]
    environment = {**bare_environment(), "COLUMNS": "80"}
    said = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout
    assert name in said
    assert "…" not in said
    assert f"Warning: {name} has one value: it tells nothing." in said


def test_a_missing_schema_names_what_proposes_one(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    done = run("anonymize", "t.csv", "-k", "2", "-o", "r.csv", cwd=tmp_path)
    assert done.returncode == 2
    assert "shoal schema infer TABLE" in " ".join(done.stderr.split())


def test_names_of_columns_are_not_broken_in_two(tmp_path: Path) -> None:
    name = "a_long_name_of_a_column_as_there_are"
    (tmp_path / "t.csv").write_text(f"{name},zip\n" + "".join(f"{n % 3},1{n % 9}00{n}\n" for n in range(9)))
    columns = f'[columns.{name}]\nrole = "quasi-identifier"\ntype = "categorical"\n'
    (tmp_path / "s.toml").write_text(columns + '[columns.zip]\nrole = "quasi-identifier"\ntype = "prefix"\n')
    shown = run("schema", "check", "s.toml", "t.csv", cwd=tmp_path).stdout
    assert f"│ {name} │" in shown
