"""How much a fresh process has to compile."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
COUNTED = """
import numba.core.event as events
class Count(events.Listener):
    compiled = 0
    def on_start(self, event): Count.compiled += 1
    def on_end(self, event): pass
events.register("numba:compile", Count())
{code}
print(Count.compiled)
"""
# Two of the smallest kernels.
TWO_KERNELS = """
import numpy as np
from shoal.boxes.members import members_of
members_of(np.array([0, 0, 1], np.int32), 2)
"""
# The same, for somebody who is told what he waits for.
TOLD = f"""
import shoal
from shoal.progress import announced
class Said(shoal.Progress):
    def note(self, text): print(text)
with announced(Said()):
    exec({TWO_KERNELS!r})
"""


def counted(code: str, environment: Mapping[str, str], *given: str, python: str = sys.executable) -> list[str]:
    """What the code prints, and how many functions were compiled."""
    command = [python, "-c", COUNTED.replace("{code}", code), *given]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def in_folder(folder: Path, sources: Path = ROOT / "src", **others: str) -> dict[str, str]:
    """An environment in which kernels are kept there."""
    return {"PATH": "", "HOME": str(folder), "NUMBA_CACHE_DIR": str(folder), "PYTHONPATH": str(sources), **others}
