"""Warming up reaches every kernel, and then nobody ever waits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.support.compiled import counted
from tests.support.everything import EVERYTHING

# In a process of its own: tests make kernels of inner functions, which nobody else calls.
WALK = """
from shoal.compiling import KERNELS
from shoal.warmup import every_kernel
from shoal.warmup.paths import PATHS, walk
for number in range(len(PATHS)):
    walk(number)
print(len(every_kernel()))
print(*(name for name in every_kernel() if not KERNELS[name].overloads))
"""


def test_its_paths_reach_every_kernel_and_afterwards_nothing_is_compiled_whatever_one_does(tmp_path: Path) -> None:
    assert "kernels" in warmup()
    known, missing, compiled = counted(WALK, os.environ)
    assert missing == ""
    assert compiled == "0"
    assert counted(EVERYTHING, os.environ, str(tmp_path))[-1] == "0"
    facts = json.loads(warmup("--json"))
    assert facts["kernels"] == int(known)
    assert facts["compiled"] == 0


def warmup(*options: str) -> str:
    command = [sys.executable, "-c", "from shoal.cli import main; main()", "warmup", *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
