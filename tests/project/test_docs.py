"""The documents: every command and every Python block in them runs; every command, option and field is in them."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer

import shoal
from benchmarks import BENCHMARKS
from shoal.cli.app import app
from shoal.cluster import METHODS
from shoal.measures import MEANINGS, RISKS
from shoal.privacy import MODELS
from shoal.schema import CHOICES
from tests.support.command_server import command_server, line_that_asks
from tests.support.java import java_or_skip

ROOT = Path(__file__).parents[2]
ON_SPARK = "spark.md"
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def blocks(document: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", document.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_every_command_runs(document: Path, tmp_path: Path) -> None:
    """All commands of a document, in one shell, as a reader types them in a clone.

    They run in a copy of the examples; `make` targets are only looked up, or the tests would run themselves.
    """
    if document.name == ON_SPARK:
        java_or_skip()
    for file in git("ls-files", "--cached", "--others", "--exclude-standard", "examples").split():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "activate").touch()
    start = tmp_path if document.name == "README.md" else tmp_path / "examples" / "patients"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "shoal").write_text(f'#!/bin/sh\nexec {shlex.join(line_that_asks(command_server()))} "$@"\n')
    (tmp_path / "bin" / "shoal").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    script = re.sub(r"^make ", f"make -n -C {ROOT} ", "\n".join(blocks(document, "sh")), flags=re.MULTILINE)
    done = subprocess.run(
        ["bash", "-exc", script], cwd=start, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_every_python_block_runs(document: Path, tmp_path: Path) -> None:
    if document.name == ON_SPARK:
        java_or_skip()
    for block in blocks(document, "python"):
        done = subprocess.run([sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{block}\n{done.stderr}"
        prints = [line for line in block.splitlines() if line.startswith("print(")]
        for line, said in zip(prints, done.stdout.splitlines(), strict=False):
            if figure := re.search(r"  # (\d+\.\d+): ", line):  # some choices are random: within a twentieth
                assert float(said) == pytest.approx(float(figure[1]), rel=0.05), line


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_every_schema_shown_is_a_schema(document: Path, tmp_path: Path) -> None:
    (tmp_path / "hierarchies").mkdir()
    (tmp_path / "hierarchies" / "country.csv").write_text("USA;America;*\n")
    for block in blocks(document, "toml"):
        (tmp_path / "schema.toml").write_text(block)
        assert shoal.Schema.load(tmp_path / "schema.toml").columns


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_every_link_leads_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
        if not target.startswith("http"):
            assert (document.parent / target).exists(), target


def test_every_document_that_is_named_is_here() -> None:
    for file in git("ls-files", "*.md", "*.py", "*.toml", "*.sh", "Makefile").split():
        for named in re.findall(r"(?<![\w/.-])(?:docs|tools|tests)/[\w/-]+\.(?:md|py|sh)\b", (ROOT / file).read_text()):
            assert (ROOT / named).exists() or "/papers/" in named, f"{file} names {named}"


def test_every_command_and_option_is_documented() -> None:
    text = (ROOT / "docs" / "cli.md").read_text()
    program: Any = typer.main.get_command(app)  # a group of click, or of what typer brings instead
    commands = program.commands
    assert set(commands) >= {"demo", "anonymize", "verify", "bench"}
    for name, command in {"": program, **commands}.items():
        assert f"shoal {name}" in text
        for parameter in command.params:
            for option in parameter.opts:
                if option.startswith("-"):
                    assert f"`{option}" in text or f"shoal {option}" in text, f"shoal {name} {option}"
    for name in (*METHODS, *BENCHMARKS, *(option for method in METHODS.values() for option in method.options)):
        assert f"`{name}" in text, name


def test_every_field_of_a_schema_is_documented() -> None:
    text = (ROOT / "docs" / "schema.md").read_text()
    names = [field.name for field in fields(shoal.Column) if field.init]
    for word in [*names, *(choice for choices in CHOICES.values() for choice in choices)]:
        assert f"`{word}`" in text, word


def test_every_privacy_model_is_documented() -> None:
    text = (ROOT / "docs" / "privacy.md").read_text()
    for model in MODELS:
        assert f"`{model}`" in text, model


def test_the_layers_and_the_map_agree() -> None:
    """CONTRIBUTING's map has every room, and no room that does not exist."""
    mapped = set(re.findall(r"^\| `([a-z_]+)(?:/|\.py)` \|", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE))
    source = ROOT / "src" / "shoal"
    rooms = {path.stem for path in source.glob("*.py")} | {path.name for path in source.iterdir() if path.is_dir()}
    assert mapped == rooms - {"__init__", "__main__", "__pycache__", "version"}


def test_every_measure_is_documented_in_its_own_words() -> None:
    text = (ROOT / "docs" / "measures.md").read_text()
    for name, meaning in MEANINGS.items():
        assert (
            f"| {meaning.title} | `{name}` | {'anybody' if meaning.public else 'the holder'} | {meaning.sentence} |"
            in text
        )
    for name, sentence in RISKS.items():
        assert f"| {name} | {sentence} |" in text
