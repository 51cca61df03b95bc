"""Waiting for what others do: until it is done, not for so many seconds. A busy machine may take ten times as long."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 300.0  # seconds after which nothing will come any more; nobody waits as long for what works
PAUSE = 0.01


def eventually(holds: Callable[[], object], what: str) -> None:
    """Return as soon as it holds."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, f"waited {PATIENCE:g} s in vain: {what}"
        time.sleep(PAUSE)
