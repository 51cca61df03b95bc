"""Is this ready to be released? `make release-check` says so: the version, the changelog, the wheel installed alone.

The wheel goes into an empty environment, far from the source, and does what a steward does first: the demo, a vault, a
batch of changes, a release, and the check of it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

from shoal.version import __version__

ROOT = Path(__file__).parents[1]
GIVEN = ("patients.csv", "patients.toml", "country.csv", "changes.csv")
STEPS = (
    "shoal --version",
    "shoal demo",
    "shoal init patients.vault --schema patients.toml -k 4 --data patients.csv",
    "shoal apply patients.vault changes.csv",
    "shoal publish patients.vault -o release.csv",
    "shoal verify release.csv --schema patients.toml -k 4",
    "shoal check patients.vault",
)


def changelog_begins_with_the_version() -> None:
    first = re.search(r"^## (\S+) \((.+)\)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    if first is None or first[1] != __version__:
        sys.exit(f"CHANGELOG.md begins with {first[1] if first else 'no version'}, version.py says {__version__}.")
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", first[2]):
        print(f"NOT YET: the changelog says {first[2]!r} of {__version__}. Write the day of the release there.")


def built(folder: Path) -> Path:
    build = [sys.executable, str(ROOT / "tools" / "build_wheel.py"), str(folder)]
    subprocess.run(build, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)
    (wheel,) = folder.glob("*.whl")
    outside = {name for name in zipfile.ZipFile(wheel).namelist() if not name.startswith(("shoal/", "shoal-"))}
    if outside:
        sys.exit(f"The wheel has more than the package: {sorted(outside)}.")
    return wheel


def installed(wheel: Path, folder: Path) -> Path:
    """Where the programs of an environment are that has shoal, what it needs, and nothing else."""
    venv.create(folder, with_pip=True)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    pip = [str(programs / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    run([*pip, "install", "-c", str(ROOT / "constraints.txt"), str(wheel)], folder)
    return programs


def run(command: list[str], folder: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")


def main() -> None:
    changelog_begins_with_the_version()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"building shoal {__version__} …")
        wheel = built(folder / "dist")
        print("installing it alone …")
        programs = installed(wheel, folder / "venv")
        for given in GIVEN:
            shutil.copy(ROOT / "examples" / "patients" / given, folder)
        for step in STEPS:
            print(step)
            program, *words = step.split()
            run([str(programs / program), *words], folder)
    print(f"shoal {__version__} installs alone, and works.")


if __name__ == "__main__":
    main()
