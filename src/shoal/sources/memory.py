"""What cannot be read piece by piece takes memory: whoever gives such a file is told how much, before it is read."""

from __future__ import annotations

import warnings

from shoal.errors import ShoalWarning

WORTH_SAYING = 1 << 30


def announce(file: str, size: int, instead: str) -> None:
    """Say that reading this file takes about so many bytes of memory, if that is worth saying."""
    if size >= WORTH_SAYING:
        note = f"{file}: reading it takes about {size / 2**30:.1f} GiB of memory. {instead}"
        warnings.warn(note, ShoalWarning, stacklevel=3)
