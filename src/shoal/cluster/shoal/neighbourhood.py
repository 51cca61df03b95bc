"""Whether records have near neighbours: where they have none, no bound passes anything over (docs/method.md).

With many columns that have nothing to do with each other, all records are about as far from one another: a tree looks
at every one of them, and so does whatever asks it. A few records that ask a tree over a sample tell, before all of
them do. Where there are few pairs of records to look at, nobody is asked: any way is quick.

Nothing here depends on chance or on the clock.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.record_tree import search
from shoal.boxes.record_tree.build import record_tree
from shoal.cluster import Task
from shoal.compiling import entered

nearest = entered(search.nearest)
ASKED = 32  # records, of
SAMPLE = 5_000
IN_VAIN = 1.0  # boxes that each looks at, for every other record: a scan would look at no more
FEW = 50_000_000  # cells that all pairs of records have


def without_neighbours(task: Task) -> bool:
    """Whether there is much to look at, and the trees do not spare it."""
    records, columns = task.codes.shape
    return records**2 * columns > FEW and share_looked_at(task) > IN_VAIN


def share_looked_at(task: Task) -> float:
    """How many boxes, of nodes and of records, a record looks at to find the nearest other; for every other one."""
    sample = task.codes[_spread(len(task.codes), SAMPLE)]
    chosen = _spread(len(sample), ASKED)
    others = np.delete(sample, chosen, axis=0)
    tree = record_tree(others, np.zeros(len(others)), task.costs, far=False)
    penalty = search.no_penalty()
    for point in sample[chosen]:
        nearest(tree, point, point, 2.0, -np.inf, penalty)
    return float(tree.state["looked_at"][0] / (len(chosen) * len(others)))


def _spread(records: int, most: int) -> NDArray[np.int64]:
    """The places of so many records at most, from the first to the last."""
    return np.unique(np.linspace(0, records - 1, min(records, most)).astype(np.int64))
