"""The papers' experiments, with their settings: a module for each paper, and what runs them and writes their pages."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.experiments.papers.study import Paper

NAMES = ("byun", "goldberger-tassa", "truta-campan", "similar-b-tree", "usefulness")


def papers() -> tuple[Paper, ...]:
    """All of them, with the methods that they need."""
    found = (importlib.import_module(f"{__name__}.{name.replace('-', '_')}") for name in NAMES)
    return tuple(module.PAPER for module in found)
