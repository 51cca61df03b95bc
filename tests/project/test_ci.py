"""What runs for every change (`.ci/run`) takes over nothing from where it is started but what it needs."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
KEPT = {
    "HOME": "/h o m e",
    "CI": "yes",
    "PIP_INDEX_URL": "https://a/b?c=d",
    "https_proxy": "http://p",
    "SSL_CERT_FILE": "/c",
}
LEFT = {"TERM": "xterm", "LANG": "de_DE", "COLUMNS": "40", "PYTHONUNBUFFERED": "1", "PYTHONPATH": "/x", "PGHOST": "h"}


def test_the_environment_is_bare(tmp_path: Path) -> None:
    make = tmp_path / "make"
    make.write_text(f'#!/bin/sh\necho "$@"\nenv > {tmp_path}/seen\nexit 7\n')
    make.chmod(0o755)
    path = f"{tmp_path}:/usr/bin:/bin"
    done = subprocess.run(
        [ROOT / ".ci/run"], env={"PATH": path, **KEPT, **LEFT}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (7, "coverage\n", "")
    seen = dict(line.split("=", 1) for line in (tmp_path / "seen").read_text().splitlines())
    assert {name: seen.get(name) for name in KEPT} == KEPT
    assert seen["PATH"] == path
    assert not LEFT.keys() & seen.keys()
