"""A sample of the attacks of tests/torture in every run, all of them where there is time (docs/reliability.md)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.postgres import programs
from tests.torture import table
from tests.torture.listed import ATTACKS, GROUPS, SERVER
from tests.torture.shim import MISSING, compiler

ROOT = Path(__file__).parents[2]
DOC = ROOT / "docs/reliability.md"


def _needs(what: object, missing: str) -> None:
    if what is None:
        if os.environ.get("CI"):
            pytest.fail(f"{missing}, and CI must not skip the attacks")
        pytest.skip(f"{missing.upper()}: THE ATTACKS WERE NOT MADE")


@pytest.mark.parametrize("size", ["--sample", pytest.param("--share=1", marks=pytest.mark.slow, id="full")])
@pytest.mark.parametrize("group", GROUPS)
def test_no_attack_breaks_a_promise(group: str, size: str) -> None:
    _needs(compiler(), MISSING)
    if group == SERVER:
        _needs(programs(), "PostgreSQL is not installed (see tools/postgres.sh)")
    command = [sys.executable, "-m", "tests.torture", "--only", group, size]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


def test_the_document_tells_of_every_attack() -> None:
    assert table.subjects(DOC) == [attack.subject for attack in ATTACKS]
