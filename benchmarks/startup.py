"""Starting: `import shoal`, `shoal --help`, and `shoal demo` with an empty and with a filled kernel cache."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.finding import Finding, best_of


def run(quick: bool) -> list[Finding]:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(Path(folder) / "kernels")}

        def start(*words: str) -> None:
            command = [sys.executable, *words]
            subprocess.run(command, check=True, capture_output=True, cwd=folder, env=environment)  # noqa: S603  # our own

        program = ("-c", "from shoal.cli import main; main()")
        findings = [
            Finding("import shoal", best_of(3, lambda: start("-c", "import shoal")), "s"),
            Finding("shoal --help", best_of(3, lambda: start(*program, "--help")), "s"),
        ]
        first = best_of(1, lambda: start(*program, "demo"))
        findings.append(Finding("shoal demo, the first time (kernels are compiled)", first, "s", wanted="≤ 30 s"))
        again = best_of(1 if quick else 2, lambda: start(*program, "demo"))
        findings.append(Finding("shoal demo, the second time", again, "s", wanted="≤ 5 s"))
    return findings
