"""Work that is otherwise divided among workers only where there is much of it: here, wherever there is any."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from shoal.cluster import agglomerative, mondrian
from shoal.cluster.shoal import starts
from shoal.optimize.refine import many_pools, moving, refiner
from shoal.workers import using


@contextmanager
def divided(workers: int) -> Iterator[None]:
    """A few items are many, and a run is short."""
    small = {
        refiner: {"MANY": 1, "MANY_GROUPS": 1},
        moving: {"SHORTEST_RUN": 3, "LEAST_LOOKS": 1},
        many_pools: {"SHORTEST_RUN": 4, "FEW": 1, "FEWEST": 1, "LEAST_FOUND": 1, "LEAST_PARTITIONED": 1},
        agglomerative: {"WINDOWS": 4, "LEAST_LOOKS": 1},
        mondrian: {"LEAST_PART": 5},
        starts: {"BLOCK": 20},
    }
    patches = [patch.object(module, name, value) for module, all in small.items() for name, value in all.items()]
    for one in patches:
        one.start()
    try:
        with using(workers):
            yield
    finally:
        for one in patches:
            one.stop()
