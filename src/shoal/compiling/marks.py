"""What a compiled kernel belongs to: everything that machine code depends on, in one number."""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from pathlib import Path

import llvmlite
import numba
from numba.core.registry import cpu_target

PACKAGE = Path(__file__).parents[1]
ROOMS = ("compiling", "boxes", "privacy", "optimize", "cluster", "withholding", "maintain")


@cache
def sources_digest() -> str:
    """Names what kernels are made of: with other sources they may do other things.

    Numba looks only at the file a kernel stands in, not at those of the functions it calls.
    """
    digest = hashlib.sha256()
    for room in ROOMS:
        for path in sorted((PACKAGE / room).rglob("*.py")):
            digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def versions() -> dict[str, str]:
    """What makes, reads and runs a kernel, other than the system and the processor."""
    return {
        "sources": sources_digest(),
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "options": f"OPT={numba.config.OPT} BOUNDSCHECK={numba.config.BOUNDSCHECK}",
        "python": f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}",
    }


@cache
def mark() -> bytes:
    """What a kernel belongs to that this process compiles."""
    triple, processor, features = cpu_target.target_context.codegen().magic_tuple()
    return mark_of({**versions(), "triple": triple, "processor": processor, "features": features})


def mark_of(facts: dict[str, str]) -> bytes:
    return hashlib.sha256(repr(sorted(facts.items())).encode()).digest()
