"""IL_Optimization (Truta & Campan 2007, Section 4): groups that others cover are broken up.

A record is covered by a group that it is not in, if joining it costs the others nothing: no cell of the group becomes
wider. A group is totally covered if each of its records is. To break it is to move each record to a group that covers
it, the one with the least loss per record; the break is interesting if the total loss falls.

Decisions. Covered is asked of costs: a record outside a group's codes may still be below its common ancestor. The
list of totally covered groups is made once, in descending order of loss; each is looked at again when its turn comes,
because a group that covered it may be gone. Costs of boxes do not change in a break, so the choice of each record is
independent of the others', and the break that is made is the best there is (Definition 10). Where rules are asked for,
a record goes to the best of those groups in which they still hold, one after the other; if one finds none, nothing is
moved.

Groups may have more than 2k records afterwards.

Guarantee: the loss does not rise, and groups that had what is asked still have it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.changes import new_grouping, widen
from shoal.boxes.costs import CostTables
from shoal.boxes.geometry import without_gaps
from shoal.boxes.group_tree.catalog import NEVER
from shoal.boxes.group_tree.search import best_cover
from shoal.boxes.group_tree.update import rebuild_if_stale, update_group
from shoal.boxes.grouping import Grouping
from shoal.boxes.members import move, records_of
from shoal.compiling import ZERO, allocating, inner, kernel
from shoal.optimize.refine.refiner import until
from shoal.privacy import Privacy
from shoal.privacy.counts import count_all, join, leave
from shoal.privacy.rules import rules_of
from shoal.progress import Progress

Ints = NDArray[np.int32]
GROUPS_PER_TURN = 1_000
LOOK, DISSOLVE = range(2)


def run(
    codes: Ints,
    labels: Ints,
    costs: CostTables,
    privacy: Privacy,
    progress: Progress,
    max_seconds: float | None = None,
) -> Ints:
    over = until(max_seconds)
    labels = without_gaps(labels)
    n_groups = int(labels.max(initial=-1)) + 1
    covered = np.zeros(n_groups, np.bool_)
    rules = rules_of(privacy.tables, n_groups)
    count_all(rules, labels)
    g = new_grouping(codes, labels, costs, rules, reshapes=False, catalog=NEVER)
    dissolve_covered(g, LOOK, np.zeros(0, np.int32), covered)
    _by_turns(g, LOOK, np.arange(n_groups, dtype=np.int32), covered, progress, over)
    found = np.flatnonzero(covered)
    losses = g.groups.sizes[found] * g.groups.losses[found]
    order = found[np.argsort(-losses, kind="stable")].astype(np.int32)
    _by_turns(g, DISSOLVE, order, covered, progress, over)
    dissolved: Ints = g.members.labels
    return dissolved


def _by_turns(
    g: Grouping, what: int, order: Ints, covered: NDArray[np.bool_], progress: Progress, over: Callable[[], bool]
) -> None:
    progress.stage("looking for covered groups" if what == LOOK else "breaking covered groups", len(order))
    for first in range(0, len(order), GROUPS_PER_TURN):
        if over():
            break
        some = order[first : first + GROUPS_PER_TURN]
        dissolve_covered(g, what, some, covered)
        progress.advance(len(some))


@kernel
def dissolve_covered(g: Grouping, what: int, some: Ints, covered: NDArray[np.bool_]) -> None:
    """Look which of some groups are totally covered, or dissolve those that are worth it."""
    for group in some:
        if what == LOOK:
            covered[group] = is_covered(g, group + ZERO)
        else:
            dissolve(g, group + ZERO)
            rebuild_if_stale(g)


@inner
def is_covered(g: Grouping, group: int) -> bool:
    record = g.members.heads[group] + ZERO
    while record >= 0 and best_cover(g, record, group, False) >= 0:
        record = g.members.nexts[record] + ZERO
    return record < 0


@allocating
def dissolve(g: Grouping, group: int) -> None:
    """The best break of a group, if the loss falls."""
    records, losses = records_of(g, group), g.groups.losses
    size = len(records)
    targets = np.empty(size, np.int64)
    found, loss = 0, 0.0
    for record in records:
        target = best_cover(g, record + ZERO, group, g.rules.asked)
        if target < 0:
            break
        targets[found] = target
        found += 1
        loss += losses[target]
        leave(g.rules, record + ZERO, group)  # the next one must know
        join(g.rules, record + ZERO, target)
    if found < size or loss >= size * losses[group] - 1e-9:
        for i in range(found):
            leave(g.rules, records[i] + ZERO, targets[i])
            join(g.rules, records[i] + ZERO, group)
        return
    g.groups.sizes[group] = 0
    update_group(g, group)
    for i in range(size):
        move(g.members, records[i] + ZERO, group, targets[i])
        widen(g, records[i] + ZERO, targets[i])
        update_group(g, targets[i])
