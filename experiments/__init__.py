"""The papers' experiments, with their settings: a module for each paper, and what runs them and writes their pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from experiments.study import Paper

NAMES = ("byun", "goldberger-tassa", "truta-campan", "similar-b-tree", "usefulness", "republication")


def papers() -> tuple[Paper, ...]:
    """All of them, with the methods that they need."""
    from experiments import byun, goldberger_tassa, republication, similar_b_tree, truta_campan, usefulness

    first = (byun.PAPER, goldberger_tassa.PAPER, truta_campan.PAPER, similar_b_tree.PAPER)
    return (*first, usefulness.PAPER, republication.PAPER)
