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
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.catalog import NEVER
from shoal.boxes.costs import CostTables
from shoal.boxes.division import FAN
from shoal.boxes.geometry import group_boxes, without_gaps
from shoal.boxes.group_changes import settle, tend
from shoal.boxes.group_tree import Groups, GroupTree, build, new_group_tree, new_groups, weigh
from shoal.boxes.kernels import cell_cost
from shoal.boxes.layout import COUNT, DEPTH, HI, LO, LOSS, NARROWEST, WIDEST
from shoal.boxes.members import Members, members_of, move
from shoal.compiling import ZERO, announced, inner, kernel
from shoal.privacy import Privacy
from shoal.privacy.counts import count_all, join, leave, may_join, new_counts
from shoal.progress import Progress

Ints = NDArray[np.int32]
GROUPS_PER_TURN = 1_000
LOOK, BREAK = range(2)


def run(codes: Ints, labels: Ints, costs: CostTables, privacy: Privacy, progress: Progress) -> Ints:
    labels = without_gaps(labels)
    several = int(labels.max(initial=-1)) + 1
    groups = new_groups(several, codes.shape[1])
    groups.lo[:], groups.hi[:], groups.sizes[:] = group_boxes(codes, labels, several)
    tables: Any = privacy.tables if privacy.asks_more else None
    counts: Any = new_counts(tables, several) if privacy.asks_more else None
    covered = np.zeros(several, np.int32)
    with announced(progress):
        weigh(costs, groups)
        tree = new_group_tree(groups, reshapes=False, catalog=NEVER)
        build(tree, costs, groups)
        members = members_of(labels, several)
        if tables is not None:
            count_all(tables, counts, labels)
        step = partial(work, codes, costs, groups, tree, members, tables, counts)
        step(LOOK, np.zeros(0, np.int32), covered)
    _by_turns(step, LOOK, np.arange(several, dtype=np.int32), covered, progress, "looking for covered groups")
    found = np.flatnonzero(covered)
    losses = groups.sizes[found] * groups.losses[found]
    order = found[np.argsort(-losses, kind="stable")].astype(np.int32)
    _by_turns(step, BREAK, order, covered, progress, "breaking covered groups")
    return members.labels


def _by_turns(step: Callable[..., None], what: int, order: Ints, covered: Ints, progress: Progress, stage: str) -> None:
    progress.stage(stage, len(order))
    for first in range(0, len(order), GROUPS_PER_TURN):
        some = order[first : first + GROUPS_PER_TURN]
        step(what, some, covered)
        progress.advance(len(some))


@kernel
def work(
    codes: Ints,
    costs: CostTables,
    groups: Groups,
    tree: GroupTree,
    members: Members,
    tables: Any,
    counts: Any,
    what: int,
    some: Ints,
    covered: Ints,
) -> None:
    """Look which of some groups are totally covered, or break those that are worth it."""
    for group in some:
        if what == LOOK:
            covered[group] = is_covered(codes, costs, groups, tree, members, group + ZERO)
        else:
            break_up(codes, costs, groups, tree, members, tables, counts, group + ZERO)
            tend(tree, costs, groups)


@inner
def is_covered(codes: Ints, costs: CostTables, groups: Groups, tree: GroupTree, members: Members, group: int) -> bool:
    record = members.heads[group]
    while record >= 0:
        if best_cover(tree, costs, codes[record], group, None, None, record + ZERO) < 0:
            return False
        record = members.nexts[record]
    return True


@inner
def break_up(
    codes: Ints,
    costs: CostTables,
    groups: Groups,
    tree: GroupTree,
    members: Members,
    tables: Any,
    counts: Any,
    group: int,
) -> None:
    """The best break of a group, if the loss falls."""
    size = groups.sizes[group]
    records, targets = np.empty(size, np.int64), np.empty(size, np.int64)
    record, found, loss = members.heads[group] + ZERO, 0, 0.0
    while record >= 0:
        target = best_cover(tree, costs, codes[record], group, tables, counts, record)
        if target < 0:
            break
        records[found], targets[found] = record, target
        found += 1
        loss += groups.losses[target]
        if tables is not None:  # the next one must know
            leave(tables, counts, record, group)
            join(tables, counts, record, target)
        record = members.nexts[record] + ZERO
    if found < size or loss >= size * groups.losses[group] - 1e-9:
        if tables is not None:
            for place in range(found):
                leave(tables, counts, records[place], targets[place])
                join(tables, counts, records[place], group)
        return
    groups.sizes[group] = 0
    settle(tree, costs, groups, group)
    for place in range(size):
        record, target = records[place], targets[place]
        move(members, record, group, target)
        groups.sizes[target] += 1
        for j in range(codes.shape[1]):
            groups.lo[target, j] = min(groups.lo[target, j], codes[record, j])
            groups.hi[target, j] = max(groups.hi[target, j], codes[record, j])
        settle(tree, costs, groups, target)


@inner
def best_cover(tree: GroupTree, costs: CostTables, point: Ints, but: int, tables: Any, counts: Any, record: int) -> int:
    """The group with the least loss per record of those that cover a record, and that the rules allow; −1 if none.

    A group that covers it is in every column as wide as the way to it: nodes in which none is wide enough are left out.
    """
    columns = len(point)
    best, chosen = np.inf, ZERO - 1
    stack = np.empty(FAN * (tree.state[DEPTH] + 2), np.int64)
    bounds = np.empty(len(stack))
    top = 1 if tree.nodes[0, COUNT] > 0 else 0
    stack[0], bounds[0] = 0, 0.0
    while top > 0:
        top -= 1
        node = stack[top]
        if bounds[top] > best:
            continue
        if node < 0:
            leaf = -1 - node
            for place in range(tree.leaves[leaf, COUNT]):
                group, loss = tree.members[leaf, place] + ZERO, tree.facts[leaf, place, LOSS]
                if group == but or loss > best or (loss == best and group > chosen):
                    continue
                covers = True
                for j in range(columns):
                    lo, hi = tree.boxes[leaf, place, LO, j], tree.boxes[leaf, place, HI, j]
                    if point[j] < lo or point[j] > hi:
                        joined = cell_cost(costs, j, min(lo, point[j]), max(hi, point[j]))
                        covers = covers and joined <= cell_cost(costs, j, lo, hi)
                if covers and (tables is None or may_join(tables, counts, record, group)):
                    best, chosen = loss, group
            continue
        bottom = top
        for child in range(tree.nodes[node, COUNT]):
            bound, covers = 0.0, True
            for j in range(columns):
                first = min(point[j], tree.unions[node, child, HI, j])
                last = max(point[j], tree.unions[node, child, LO, j])
                reach = cell_cost(costs, j, first, last)
                covers = covers and reach <= tree.widths[node, child, WIDEST, j]
                bound += max(reach, tree.widths[node, child, NARROWEST, j])
            bound = max(bound, tree.least[node, child, LOSS])
            if covers and bound <= best:
                at = top
                while at > bottom and bounds[at - 1] < bound:
                    stack[at], bounds[at] = stack[at - 1], bounds[at - 1]
                    at -= 1
                stack[at], bounds[at] = tree.children[node, child], bound
                top += 1
    return chosen
