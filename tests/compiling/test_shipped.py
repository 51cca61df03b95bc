"""Kernels that come with the package: used where they fit, and only there."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

import pytest

from shoal.compiling import shipped
from tests.support.compiled import ROOT, TOLD, counted, in_folder
from tests.support.everything import EVERYTHING

pytestmark = pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64"), reason="KERNELS ARE SHIPPED FOR x86-64 ALONE: NOT TRIED HERE"
)
LEVEL = "x86-64-v2"
FACTS = (
    "from shoal.compiling.marks import *\n"
    "print(repr({**versions(), 'triple': cpu_target.target_context.codegen().magic_tuple()[0]}))"
)


@pytest.fixture(scope="module")
def compiled_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with two kernels compiled into it, for a level of processors."""
    folder = tmp_path_factory.mktemp("package")
    sources, made = folder / "sources", folder / "made"
    shutil.copytree(ROOT / "src", sources, ignore=shutil.ignore_patterns("__pycache__"))
    for_level = in_folder(made, sources, NUMBA_CPU_NAME=LEVEL, NUMBA_CPU_FEATURES="")
    assert int(counted(TOLD, for_level)[-1]) > 0
    (kernels,) = made.glob("kernels-*")
    shutil.copytree(kernels, sources / "shoal" / "kernels" / LEVEL)
    facts = eval(counted(FACTS, for_level)[0])
    (sources / "shoal" / "kernels" / shipped.FACTS).write_text(json.dumps(facts), encoding="utf-8")
    return sources


@pytest.fixture
def package(compiled_package: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(compiled_package, tmp_path / "sources"))


def test_they_are_used_where_they_fit_and_it_is_said_why_they_do_not(package: Path, tmp_path: Path) -> None:
    nowhere = tmp_path / "a file, where no folder can be made"
    nowhere.write_text("", encoding="utf-8")
    assert counted(TOLD, in_folder(nowhere, package)) == ["0"]
    kernels = package / "shoal" / "kernels"
    facts = kernels / shipped.FACTS
    known = facts.read_text(encoding="utf-8")
    facts.write_text(json.dumps({**json.loads(known), "numba": "0.1"}), encoding="utf-8")
    assert counted(TOLD, in_folder(nowhere, package)) == ["0"]  # the files say what they belong to, not this one
    facts.write_text(known, encoding="utf-8")
    code = package / "shoal" / "cluster" / "mondrian.py"
    code.write_text(code.read_text(encoding="utf-8") + "# Another version.\n", encoding="utf-8")
    *said, compiled = counted(TOLD, in_folder(nowhere, package))
    assert int(compiled) > 0
    assert any("came with shoal are for another sources" in line for line in said)


def test_code_for_newer_processors_is_not_loaded(package: Path, tmp_path: Path) -> None:
    without = "import llvmlite.binding as b\nb.get_host_cpu_features = type(b.get_host_cpu_features())\n" + TOLD
    *said, compiled = counted(without, in_folder(tmp_path / "own", package))
    assert int(compiled) > 0
    assert any("for newer processors" in line for line in said)


@pytest.mark.slow
def test_a_wheel_brings_all_kernels_along(tmp_path: Path) -> None:
    """Installed alone, with a cache folder that is empty and closed, nothing at all is compiled."""
    build = [sys.executable, str(ROOT / "tools" / "build_wheel.py"), str(tmp_path / "dist")]
    subprocess.run(build, env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}, check=True)
    (made,) = (tmp_path / "dist").glob("*.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    subprocess.run([*pip, "-c", str(ROOT / "constraints.txt"), str(made)], check=True)
    nowhere, bare = tmp_path / "nowhere", {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    nowhere.write_text("", encoding="utf-8")
    environment = {**bare, "NUMBA_CACHE_DIR": str(nowhere)}
    assert counted(EVERYTHING, environment, str(tmp_path), python=python)[-1] == "0"

    def demo() -> float:
        start = time.monotonic()
        shoal = str(Path(python).with_name("shoal"))
        subprocess.run([shoal, "demo"], cwd=tmp_path, env=environment, check=True, stdout=subprocess.DEVNULL)
        return time.monotonic() - start

    first, second = demo(), demo()
    assert first <= second + 2 + second  # and the same again, where others work on the machine
