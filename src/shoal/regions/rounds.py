"""Rounds: how often groups are divided anew; and all of it on a table that is in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import cost_tables
from shoal.boxes.geometry import without_gaps
from shoal.errors import ParameterError, whole_number
from shoal.records.encode import Records
from shoal.regions.cuts import Cuts, along_the_widest, at_random
from shoal.regions.work import Asked, grouped, in_order, lost, middles, refined

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
WORTH = {"fast": 0.03, "balanced": 0.01, "thorough": 0.01}  # a round that gains a smaller share of the loss is the last
MOST_ROUNDS = 20
ROOM = 0.95  # of the largest part: groups do not divide quite as a sample of them says
MEMORY = 6  # rounds, and the start: whose borders the next round avoids


def enough(losses: list[float], rounds: int | None, effort: str) -> bool:
    """Whether it is enough. `losses`: that of the start, and of each round; `rounds`: so many are, if it is said."""
    done = len(losses) - 1
    if rounds is not None:
        return done >= rounds
    return done >= MOST_ROUNDS or (done > 0 and losses[-2] - losses[-1] <= WORTH[effort] * losses[-2])


def check_rounds(rounds: int | None, method: str, measure: str) -> int | None:
    """How many rounds are meant: with a method of the papers none, if nothing is said."""
    if measure == "pmi":
        raise ParameterError("pmi does not grow with the box, so that regions cannot be refined under it.")
    if rounds is None:
        return None if method == "shoal" else 0
    return whole_number("rounds", rounds, least=0)


def cuts_of_round(points: Ints, weights: Floats, most: float, asked: Asked, before: Sequence[Cuts]) -> Cuts:
    """Where the parts of the next round meet: elsewhere than in those before. `points`: the places of groups."""
    return at_random(points, weights, ROOM * most, np.random.default_rng(asked.chance(len(before))), before[-MEMORY:])


def in_regions(
    records: Records,
    asked: Asked,
    max_region: int,
    rounds: int | None = None,
    told: Callable[[str, float, NDArray[np.int64]], None] = lambda what, loss, sizes: None,
) -> Ints:
    """The group of each record, found in regions of at most `max_region` records, one after the other.

    `told` hears of the start and of every round: the loss, and the sizes of the parts. Rules are asked of regions, and
    those that lack something are an error: `joining.py` is for who has counts.
    """
    codes, costs = records.codes, cost_tables(records.books, asked.measure)
    cuts = along_the_widest(codes, np.ones(len(codes)), records.books, asked.measure, max_region)
    before = [cuts]
    part = cuts.leaf_of(codes)
    labels = np.empty(len(codes), np.int64)
    losses: list[float] = []
    while True:
        turn, made = len(losses), 0
        new = np.empty_like(labels)
        for number in range(int(part.max()) + 1):
            inside = np.flatnonzero(part == number)
            if not len(inside):
                continue
            if turn:
                inside = inside[np.argsort(labels[inside], kind="stable")]
            some = in_order(records, inside)
            found = (
                refined(some, labels[inside], costs, asked, (turn, number), max_region)
                if turn
                else grouped(some, asked, number, to_the_end=rounds == 0)
            )
            new[inside] = found + made
            made += int(found.max()) + 1
        labels = new
        dense = without_gaps(labels)
        losses.append(lost(codes, dense, costs))
        told(f"round {turn}" if turn else "start", losses[-1], np.bincount(part))
        if enough(losses, rounds, asked.effort):
            return dense
        places = middles(codes, dense)
        before.append(cuts_of_round(places, np.bincount(dense).astype(np.float64), max_region, asked, before))
        part = before[-1].leaf_of(places)[dense]
