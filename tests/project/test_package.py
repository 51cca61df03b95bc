"""The package: its public names, what it loads, what it ships."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import shoal
from shoal import errors

ROOT = Path(__file__).parents[2]


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_the_public_names_exist() -> None:
    for name in shoal.__all__:
        assert hasattr(shoal, name)
    assert callable(shoal.anonymize)
    assert callable(shoal.verify)
    assert callable(shoal.read)
    assert dir(shoal) == sorted(shoal.__all__)


def test_importing_shoal_or_asking_for_help_loads_no_numba_and_no_extra() -> None:
    heavy = "{'numba', 'llvmlite', 'pandas', 'polars', 'duckdb', 'sqlalchemy', 'psycopg', 'openpyxl', 'pyreadstat', "
    heavy += "'pyspark'}"
    assert python(f"import shoal, sys; print({heavy} & set(sys.modules))") == "set()\n"
    for words in (["--help"], ["anonymize", "--help"], ["bench", "--help"]):
        code = f"import atexit, sys; atexit.register(lambda: print({heavy} & set(sys.modules)))"
        shown = python(f"{code}\nfrom shoal.cli import main\nsys.argv = ['shoal', *{words}]\nmain()")
        assert "Usage" in shown
        assert shown.endswith("set()\n")


def test_what_computes_nothing_loads_no_numba() -> None:
    """Kernels are imported by the functions that call them: these rooms are there before Numba is."""
    rooms = "cli vault datasets anonymize release verify measures partition records schema hierarchies compare report"
    code = (
        "import importlib, sys, shoal\n"
        "from pathlib import Path\n"
        f"rooms = {rooms!r}.split()\n"
        "package = Path(shoal.__file__).parent\n"
        "files = [path.relative_to(package.parent).with_suffix('') for path in package.rglob('*.py')]\n"
        "names = ['.'.join(file.parts).removesuffix('.__init__') for file in files if file.name != '__main__']\n"
        "mine = [name for name in names if name.split('.')[1:2] and name.split('.')[1] in rooms]\n"
        "for name in (*mine, 'shoal.cluster', 'shoal.maintain.live', 'shoal.optimize', 'shoal.privacy'):\n"
        "    importlib.import_module(name)\n"
        "print(len(mine) > len(rooms), 'numba' in sys.modules)"
    )
    assert python(code) == "True False\n"


def test_verifying_loads_no_numba() -> None:
    code = "import pyarrow as pa, shoal, sys; shoal.verify(pa.table({'a': ['1', '1']}), quasi_identifiers=['a']); "
    assert python(code + "print('numba' in sys.modules)") == "False\n"


def test_every_error_is_drawn_and_exported() -> None:
    tree = errors.__doc__ or ""
    classes = [
        value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, shoal.ShoalError)
    ]
    assert len(classes) == 16
    for error in classes:
        assert error.__name__ in tree
        assert getattr(shoal, error.__name__) is error
        assert issubclass(error, shoal.ShoalError)
        travelled = pickle.loads(pickle.dumps(error("message", hint="hint", file="f", rows=[1], values=["secret"])))
        assert str(travelled) == "f: message hint"
        assert travelled.rows == [1]
        assert "secret" not in travelled.reveal()


def test_kernels_are_kept_in_the_users_cache_folder(tmp_path: Path) -> None:
    code = (
        "import shoal\n"
        "class Notes(shoal.Progress):\n"
        "    def stage(self, name, total=None): print(name)\n"
        "table, schema = shoal.datasets.adult('test'), shoal.datasets.adult_schema()\n"
        "shoal.anonymize(table, schema, k=5, method='mondrian', progress=Notes())"
    )
    environment = {"HOME": str(tmp_path), "PATH": "", "XDG_CACHE_HOME": str(tmp_path / "cache")}

    def run() -> str:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
        return done.stdout

    assert "compiling, once" in run()
    assert list((tmp_path / "cache" / "shoal").rglob("*.kernel"))
    assert "compiling, once" not in run()


@pytest.mark.slow
def test_kernels_say_the_same_when_they_are_not_compiled() -> None:
    """Compiled code does not check indices; the same source as plain Python does."""
    tests = [
        "boxes/test_costs.py", "boxes/test_group_tree.py", "measures/test_risk.py", "privacy/test_counts.py",
        "cluster/test_hilbert.py", "cluster/test_methods.py::test_mondrian_equals_the_plain_version",
        "cluster/test_k_member.py::test_every_choice_is_that_of_a_full_scan",
        "cluster/test_sequential.py::test_every_move_is_that_of_a_full_scan",
        "cluster/test_sequential.py::test_under_pmi_every_move_and_merger_is_that_of_the_measure",
        "cluster/test_sequential.py::test_every_merger_is_of_a_closest_pair",
        "maintain/test_i3m.py::test_every_choice_is_that_of_a_full_scan",
        "optimize/test_refining.py::test_near_groups_are_the_nearest",
        "optimize/test_refining.py::test_every_step_keeps_what_is_asked_and_lowers_the_loss",
    ]  # fmt: skip
    wraps = (
        "ignore:overflow encountered in scalar:RuntimeWarning"  # chance is drawn modulo 2^64, which plain numpy tells
    )
    files = (str(ROOT / "tests" / test) for test in tests)
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", "-W", wraps, *files]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]


def built(kind: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (made,) = folder.iterdir()
    return made


def test_the_wheel_carries_the_package_and_its_data_and_nothing_else(tmp_path: Path) -> None:
    names = zipfile.ZipFile(built("wheel", tmp_path)).namelist()
    for needed in ("adult.parquet", "papers.toml", "hierarchies/native-country.csv", "README.md"):
        assert f"shoal/datasets/adult/{needed}" in names
    assert "shoal/py.typed" in names
    assert {name.split("/")[0] for name in names} == {"shoal", f"shoal-{shoal.__version__}.dist-info"}


def test_the_source_distribution_carries_what_is_needed_to_work_on_it(tmp_path: Path) -> None:
    with tarfile.open(built("sdist", tmp_path)) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    for needed in (
        "src/shoal/py.typed", "src/shoal/datasets/adult/adult.parquet", "benchmarks/command.py",
        "experiments/command.py", "tests/project/test_package.py", "docs/cli.md", "examples/patients/patients.csv",
        "Makefile", "constraints.txt", "LICENSE", "NOTICE",
    ):  # fmt: skip
        assert needed in names
    assert not [name for name in names if "__pycache__" in name or name.startswith((".venv", ".hypothesis", "dist"))]


def test_the_oldest_dependencies_are_the_lower_bounds() -> None:
    """`make test-oldest` tries what pyproject.toml allows."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    given = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    bounds = {re.sub(r"\[\w+\]", "", one).replace(">=", "==") for one in given if ">=" in one}
    lines = (ROOT / "constraints-oldest.txt").read_text().splitlines()
    assert {line for line in lines if not line.startswith("#")} == bounds


def test_benchmarks_and_experiments_are_not_installed(tmp_path: Path) -> None:
    """Installed alone, the two commands are refused, and no help tells of them."""
    zipfile.ZipFile(built("wheel", tmp_path / "dist")).extractall(tmp_path / "installed")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "installed")}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "from shoal.cli import main; main()", *words]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    assert "bench" not in run("--help").stdout
    for words in (["bench"], ["bench", "mondrian", "--quick"], ["papers", "--quick", "-o", "folder"]):
        refused = run(*words)
        assert refused.returncode == 2
        assert "make bench, make papers" in " ".join(refused.stderr.split())
