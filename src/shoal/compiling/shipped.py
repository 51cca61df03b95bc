"""Kernels that come with the package, compiled when its wheel was made: `shoal/kernels/<level>/`.

They are compiled for a level of processors, not for the one at hand: code for `x86-64-v3` runs on any that has AVX2
(since 2013), `x86-64-v2` on nearly all others. What a file belongs to is said by its first bytes, as in the user's own
folder: nothing is loaded that is not of these very sources, and for this Python, Numba and system.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from llvmlite.binding import get_host_cpu_features
from numba.core.registry import cpu_target

from shoal.compiling.marks import mark_of, versions

FOLDER = Path(__file__).parents[1] / "kernels"
FACTS = "kernels.json"  # for who wants to know why they do not fit
V2 = ("cx16", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3")
V3 = (*V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
LEVELS = {"x86-64-v3": V3, "x86-64-v2": V2}  # the best first, and what a processor of that level can do


@cache
def usable() -> tuple[tuple[Path, bytes], ...]:
    """Folders of kernels that this processor can run, the best first, and what their files must belong to."""
    if not FOLDER.is_dir():
        return ()
    triple = cpu_target.target_context.codegen().magic_tuple()[0]
    able = get_host_cpu_features()
    return tuple(
        (FOLDER / level, mark_of({**versions(), "triple": triple, "processor": level, "features": ""}))
        for level, needed in LEVELS.items()
        if (FOLDER / level).is_dir() and all(able.get(feature, False) for feature in needed)
    )


@cache
def why_not() -> str:
    """Why the kernels that came with shoal cannot be used here; nothing if they can, or none came."""
    if not FOLDER.is_dir():
        return ""
    facts = json.loads((FOLDER / FACTS).read_text(encoding="utf-8"))
    here = {**versions(), "triple": cpu_target.target_context.codegen().magic_tuple()[0]}
    names = {"python": "Python", "numba": "Numba", "llvmlite": "llvmlite", "triple": "system", "sources": "sources"}
    for fact, name in names.items():
        if facts.get(fact) != here[fact]:
            return f"those that came with shoal are for another {name} ({facts.get(fact)}, and this is {here[fact]})"
    return "" if usable() else "those that came with shoal are for newer processors"
