"""`make wheel`: a wheel for this system and Python that carries every kernel compiled, into dist/.

Kernels are compiled for levels of processors, each in processes of its own: Numba reads the level from the environment.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hatch_build import FOLDER
from shoal.compiling.marks import versions
from shoal.compiling.shipped import FACTS, LEVELS

ROOT = Path(__file__).parents[1]
MOST_BYTES = 40_000_000
WARM_UP = "from shoal.warmup import warm_up; print(*warm_up())"


def compiled(level: str, folder: Path) -> None:
    """Every kernel, for processors of a level, into `folder`."""
    with tempfile.TemporaryDirectory() as made:
        environment = {**os.environ, "NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": made}
        start = time.monotonic()
        done = subprocess.run([sys.executable, "-c", WARM_UP], env=environment, stdout=subprocess.PIPE, check=True)
        folder.mkdir(parents=True)
        for file in sorted(Path(made).glob("*/*.kernel")):
            shutil.copy(file, folder)
    known, found = int(done.stdout.split()[0]), len({file.name.rsplit("-", 1)[0] for file in folder.iterdir()})
    if found != known:
        sys.exit(f"{found} of {known} kernels were compiled for {level}.")
    print(f"{level}: {found} kernels in {time.monotonic() - start:.0f} s")


def kernels(folder: Path) -> None:
    """What goes into the wheel as `shoal/kernels`."""
    from numba.core.registry import cpu_target

    for level in LEVELS:
        compiled(level, folder / level)
    facts = {**versions(), "triple": cpu_target.target_context.codegen().magic_tuple()[0]}
    (folder / FACTS).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def wheel(target: Path) -> Path:
    """The wheel; without kernels where there is no level that fits this kind of processor."""
    with tempfile.TemporaryDirectory() as temporary:
        environment = dict(os.environ)
        if platform.machine().lower() in ("x86_64", "amd64"):
            folder = Path(temporary) / "kernels"
            kernels(folder)
            environment[FOLDER] = str(folder)
        else:
            print(f"No kernels are compiled ahead for {platform.machine()}: they are compiled where they are used.")
        made = Path(temporary) / "made"
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(made)]
        subprocess.run(build, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
        (file,) = made.glob("*.whl")
        if file.stat().st_size > MOST_BYTES:
            sys.exit(f"The wheel has {file.stat().st_size} bytes, and may have {MOST_BYTES}.")
        target.mkdir(exist_ok=True)
        return Path(shutil.copy(file, target))


if __name__ == "__main__":
    made = wheel(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist")
    print(f"{made}: {made.stat().st_size / 1e6:.1f} MB")
