"""The command line as a person or a program uses it: output, errors, exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import shoal
from tests.support.commands import run, run_code, run_in_terminal

SECRET = "Rumpelstiltskin"
SCHEMA = """
[columns.id]
role = "key"
[columns.age]
role = "quasi-identifier"
type = "numeric"
[columns.sex]
role = "quasi-identifier"
hierarchy = {Person = ["f", "m"]}
[columns.ill]
role = "sensitive"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "schema.toml").write_text(SCHEMA)
    rows = [f"{i},{20 + i % 30},{'fm'[i % 2]},{['flu', 'gout'][i % 2]}" for i in range(60)]
    (tmp_path / "people.csv").write_text("id,age,sex,ill\n" + "\n".join(rows) + "\n")
    return tmp_path


def test_anonymize_and_verify(folder: Path) -> None:
    done = run("anonymize", "people.csv", "--schema", "schema.toml", "-k", "5", "-o", "out.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "60 records" in done.stdout
    assert "verified" in done.stdout
    assert "out.csv.manifest.json" in done.stdout
    assert done.stderr == ""
    verified = run("verify", "out.csv", "--schema", "schema.toml", "-k", "5", cwd=folder)
    assert verified.returncode == 0
    assert "5-anonymous" in verified.stdout
    refused = run("verify", "out.csv", "--schema", "schema.toml", "-k", "61", cwd=folder)
    assert refused.returncode == 1
    assert "Not fit to be published" in refused.stdout


def test_json_says_the_same_facts(folder: Path) -> None:
    done = run("anonymize", "people.csv", "-s", "schema.toml", "-k", "5", "-o", "out.parquet", "--json", cwd=folder)
    facts = json.loads(done.stdout)
    assert facts["rows"] == 60
    assert facts["k"] == 5
    assert facts["output"] == "out.parquet"
    assert facts["measures"].keys() >= {"il", "il_share", "lm", "dm", "cm"}
    verified = run("verify", "out.parquet", "-s", "schema.toml", "-k", "99", "--json", cwd=folder)
    assert verified.returncode == 1
    assert json.loads(verified.stdout)["ok"] is False


def test_options_reach_the_method(folder: Path) -> None:
    words = [
        "anonymize",
        "people.csv",
        "-s",
        "schema.toml",
        "-k",
        "5",
        "-o",
        "out.csv",
        "--json",
        "--method",
        "mondrian",
    ]
    done = run(*words, "--option", "relaxed=true", "--measure", "lm", "--seed", "3", "--bounds", cwd=folder)
    facts = json.loads(done.stdout)
    assert facts["options"] == {"relaxed": True}
    assert facts["measure"] == "lm"
    assert "age_lo" in (folder / "out.csv").read_text().splitlines()[0]
    for option, message in (("relaxd=1", "Did you mean"), ("relaxed=maybe", "true or false"), ("x", "NAME=VALUE")):
        refused = run(*words, "--force", "--option", option, cwd=folder)
        assert refused.returncode == 2
        assert message in json.loads(refused.stderr)["message"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.csv", "-s", "schema.toml", "-k", "5", "-o", "out.csv"], "nowhere.csv: the file does not exist"),
        (["people.csv", "-s", "nowhere.toml", "-k", "5", "-o", "out.csv"], "the schema file does not exist"),
        (["people.csv", "-s", "schema.toml", "-k", "1", "-o", "out.csv"], "k must be a whole number of at least 2"),
        (["people.csv", "-s", "schema.toml", "-k", "61", "-o", "out.csv"], "k must be at most the number of records"),
        (["people.csv", "-s", "schema.toml", "-k", "5", "-o", "out.doc"], "written as .csv or .parquet"),
        (["people.csv", "-s", "schema.toml", "-k", "5", "-o", "people.csv"], "would be lost"),
        (["people.csv", "-s", "schema.toml", "-k", "5", "-o", "people.csv", "--force"], "would be lost"),
        (["people.csv", "-s", "schema.toml", "-k", "5", "-o", "schema.csv/x.csv"], "does not exist"),
        (["people.csv", "-s", "schema.toml", "-k", "5", "-o", "out.csv", "--method", "best"], "one of shoal, mondrian"),
    ],
)
def test_what_cannot_be_done(words: list[str], message: str, folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for extra in ([], ["--json"]):
        done = run("anonymize", *words, *extra, cwd=folder)
        assert done.returncode == 2
        assert done.stdout == ""
        said = json.loads(done.stderr)["message"] if extra else done.stderr
        assert message.split(": ")[-1] in said
        assert "Traceback" not in done.stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_usage_errors_are_explained(folder: Path) -> None:
    done = run("anonymize", "people.csv", cwd=folder)
    assert done.returncode == 2
    assert "--schema" in done.stderr
    assert run("frobnicate", cwd=folder).returncode == 2
    assert run("--version", cwd=folder).stdout == f"shoal {shoal.__version__}\n"
    as_module = [sys.executable, "-m", "shoal", "--version"]
    assert subprocess.run(as_module, capture_output=True, text=True).stdout == f"shoal {shoal.__version__}\n"


def test_an_existing_output_needs_force(folder: Path) -> None:
    words = ["anonymize", "people.csv", "-s", "schema.toml", "-k", "5", "-o", "out.csv"]
    assert run(*words, cwd=folder).returncode == 0
    refused = run(*words, cwd=folder)
    assert refused.returncode == 2
    assert "--force" in refused.stderr
    assert run(*words, "--force", cwd=folder).returncode == 0


def test_values_are_shown_on_a_terminal_only_and_only_if_asked_for(folder: Path) -> None:
    (folder / "people.csv").write_text(f"id,age,sex,ill\n1,{SECRET},f,flu\n2,30,m,flu\n")
    words = ["anonymize", "people.csv", "-s", "schema.toml", "-k", "2", "-o", "out.csv"]
    for extra in ([], ["--json"], ["--show-values"], ["--show-values", "--json"]):
        done = run(*words, *extra, cwd=folder)
        assert done.returncode == 2
        assert SECRET not in done.stdout + done.stderr
        assert "row 1" in done.stderr
    assert SECRET not in run_in_terminal(*words, cwd=folder)
    assert SECRET in run_in_terminal(*words, "--show-values", cwd=folder)


def test_offending_classes_are_shown_on_a_terminal_only(folder: Path) -> None:
    (folder / "bad.csv").write_text(f"age,sex,ill\n{SECRET},f,flu\n30,m,flu\n30,m,flu\n")
    words = ["verify", "bad.csv", "-q", "age,sex", "-k", "2"]
    done = run(*words, "--show-values", cwd=folder)
    assert done.returncode == 1
    assert SECRET not in done.stdout
    assert SECRET not in run_in_terminal(*words, cwd=folder)
    assert SECRET in run_in_terminal(*words, "--show-values", cwd=folder)


def test_a_bug_does_not_print_the_data(folder: Path) -> None:
    code = (
        "import shoal, sys\n"
        "import shoal.cli.verify\n"
        f"def broken(*_, **__): raise RuntimeError('{SECRET}')\n"
        "shoal.verify = broken\n"
        "from shoal.cli import main\n"
        "sys.argv = ['shoal', 'verify', 'people.csv', '-q', 'age']\n"
        "main()"
    )
    done = run_code(code, folder)
    assert done.returncode == 2
    assert "RuntimeError" in done.stderr
    assert SECRET not in done.stderr + done.stdout


def test_an_interruption_is_clean(folder: Path) -> None:
    code = (
        "import shoal, sys\n"
        "from shoal.cli import main\n"
        "def interrupted(*_, **__): raise KeyboardInterrupt\n"
        "shoal.anonymize = interrupted\n"
        "sys.argv = ['shoal', 'anonymize', 'people.csv', '-s', 'schema.toml', '-k', '5', '-o', 'out.csv']\n"
        "main()"
    )
    done = run_code(code, folder)
    assert done.returncode == 130
    assert "interrupted" in done.stderr
    assert "Error" in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["people.csv", "schema.toml"]


def test_being_told_to_end_is_clean(folder: Path) -> None:
    code = (
        "import os, signal, sys\n"
        "from shoal.cli import main\n"
        "from shoal import files\n"
        "def ended(*_): os.kill(os.getpid(), signal.SIGTERM)\n"
        "files.sync_folder = ended\n"
        "sys.argv = ['shoal', 'anonymize', 'people.csv', '-s', 'schema.toml', '-k', '5', '-o', 'out.csv']\n"
        "main()"
    )
    done = run_code(code, folder)
    assert done.returncode == 130
    assert sorted(path.name for path in folder.iterdir()) == ["people.csv", "schema.toml"]


def test_odd_names_and_poor_terminals(folder: Path) -> None:
    for name in ("out[draft].csv", "x[] [b].csv"):
        done = run("anonymize", "people.csv", "-s", "schema.toml", "-k", "5", "-o", name, cwd=folder)
        assert done.returncode == 0
        assert f"Written: {name} " in done.stdout
    command = [sys.executable, "-c", "from shoal.cli import main; main()", "verify", "out[draft].csv", "-q", "age"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    assert subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False).returncode == 0


def test_a_closed_pipe_is_not_a_no(folder: Path) -> None:
    """`shoal … | head` must not end with 1, which says "not anonymous"."""
    run("anonymize", "people.csv", "-s", "schema.toml", "-k", "5", "-o", "out.csv", cwd=folder)
    command = [sys.executable, "-c", "from shoal.cli import main; main()"]
    for extra in ([], ["--json"]):
        words = ["verify", "out.csv", "-s", "schema.toml", "-k", "5", *extra]
        outer, inner = os.pipe()
        os.close(outer)  # whoever has read it is gone
        done = subprocess.run(
            [*command, *words], cwd=folder, stdout=inner, stderr=subprocess.PIPE, text=True, check=False
        )
        os.close(inner)
        assert done.returncode == -signal.SIGPIPE
        assert done.stderr == ""


def test_a_missing_header_is_noted(folder: Path) -> None:
    people = (folder / "people.csv").read_text().split("\n", 1)[1]
    (folder / "people.csv").write_text(people)
    (folder / "schema.toml").write_text(SCHEMA.replace('role = "sensitive"', 'role = "sensitive"\nhierarchy = "flat"'))
    refused = run("anonymize", "people.csv", "-s", "schema.toml", "-k", "5", "-o", "out.csv", cwd=folder)
    assert refused.returncode == 2
    assert "header = false" in refused.stderr
    (folder / "schema.toml").write_text(SCHEMA.replace('role = "sensitive"', 'role = "identifier"'))
    done = run("anonymize", "people.csv", "-s", "schema.toml", "-k", "5", "-o", "out.csv", cwd=folder)
    assert done.returncode == 0
    assert "60 records" in done.stdout
    assert "Note: " in done.stderr
    assert "no header" in done.stderr


def test_demo_shows_what_shoal_does(tmp_path: Path) -> None:
    done = run("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    for part in ("before", "after", "Loss:", "Verified again", "shoal-demo/adult-k5.csv", "from the files: ok"):
        assert part in said
    assert shoal.verify(tmp_path / "shoal-demo/adult-k5.csv", shoal.datasets.adult_schema(), 5).ok
    facts = json.loads(run("demo", "-k", "10", "--folder", "elsewhere", "--json", cwd=tmp_path).stdout)
    assert facts["verdict"]["ok"]
    assert (tmp_path / facts["output"]).exists()
    town = shoal.datasets.census_schema()
    assert facts["day"]["ok"]
    assert facts["day"]["changed"]["inserted"] > 0
    assert all(shoal.verify(tmp_path / file, town, 10).ok for file in facts["day"]["outputs"])


def test_demo_draws_progress_on_a_terminal(tmp_path: Path) -> None:
    seen = run_in_terminal("demo", cwd=tmp_path)
    assert "encoding" in seen or "verifying" in seen
    assert "Verified again" in seen


def test_bench_prints_ratios(tmp_path: Path) -> None:
    done = run("bench", "mondrian", "--quick", "--json", cwd=tmp_path)
    (finding,) = json.loads(done.stdout)["findings"]
    assert finding["measured"] > 0
    assert finding["beside"] > 0
    assert run("bench", "nonsense", cwd=tmp_path).returncode == 2
    assert "ratio" in run("bench", "mondrian", "--quick", cwd=tmp_path).stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["million", "refining", "startup"])
def test_the_long_benchmarks_run(name: str, tmp_path: Path) -> None:
    done = run("bench", name, "--quick", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["findings"]


def test_sensitive_columns_are_protected_as_asked(folder: Path) -> None:
    """ℓ, t and alpha for all columns or one, several at once; refused where the table cannot have it."""
    asked = ("-k", "2", "-l", "ill=1.2", "--diversity", "frequency", "--diversity", "entropy", "-t", "0.9")
    made = run("anonymize", "people.csv", "--schema", "schema.toml", *asked, "-o", "r.csv", "--json", cwd=folder)
    assert made.returncode == 0, made.stderr
    rules = json.loads(made.stdout)["rules"]
    assert [(rule["model"], rule["column"]) for rule in rules] == [
        ("frequency", "ill"), ("entropy", "ill"), ("t-closeness", "ill"),
    ]  # fmt: skip
    good = run("verify", "r.csv", "--schema", "schema.toml", *asked, cwd=folder)
    assert good.returncode == 0
    assert "✓ frequency 1.2-diversity of 'ill'" in good.stdout
    bad = run("verify", "r.csv", "-q", "age,sex", "--sensitive", "ill", "-l", "50", cwd=folder)
    assert bad.returncode == 1
    assert "✗ frequency 50-diversity of 'ill'" in bad.stdout
    high = run("anonymize", "people.csv", "--schema", "schema.toml", "-k", "2", "-l", "50", "-o", "x.csv", cwd=folder)
    assert high.returncode == 2
    assert "The largest l that these records can reach is" in high.stderr
    assert not (folder / "x.csv").exists()
    one = ("--alpha", "ill:flu=0.9")
    assert (
        run("anonymize", "people.csv", "-s", "schema.toml", "-k", "2", *one, "-o", "a.csv", cwd=folder).returncode == 0
    )
    for words, message in (
        (("-l", "two"), "must be a number"),
        (("-l", "2", "-l", "ill=2"), "say one or the other"),
        (("-l", "2", "-l", "3"), "given twice"),
        (("--alpha", "0.5", "--alpha", "ill:flu=0.2"), "say one or the other"),
        (("-l", "age=2"), "'age' has another role"),
        (("-l", "2", "--diversity", "entropic"), "Did you mean 'entropy'"),
    ):
        wrong = run("anonymize", "people.csv", "-s", "schema.toml", "-k", "2", *words, "-o", "x.csv", cwd=folder)
        assert wrong.returncode == 2
        assert message in wrong.stderr
