"""The catalog: groups by what is published for them, so that a record comes at once to those that cover it.

Most records join a group whose cells cover them in every column with a hierarchy: a step up a hierarchy is paid for by
all members, and often costs more than a covering group does. Bounds over boxes see this badly (one group of a node
covers the country, another the occupation, none both), and the more groups there are, the more is looked at in vain.
The catalog goes to the covering groups directly: column by column to the cells of the record's chain (`chains.py`), as
far as what they cost is below the best that was found.

All groups that cover a record in all these columns are found. Any other costs at least a step up in one of them:
`elsewhere` says what that comes to, and if the best covering group is below it, nothing else has to be looked at.

Up to four groups share a drawer; one that is full becomes a shelf, parted by the next column, or after the last column
gets another drawer beside it. A hash table leads from a shelf and a cell to a shelf or a drawer. Its entries are never
taken back: when there is no room left, or when values have come that give cells other numbers, the catalog is stale,
and made anew once searches have missed it for long enough. Where it is of little use (few hierarchies, or groups so
wide that steps are cheap) there is none: it is tried out whenever it is made.

This is a part of the group tree (`group_tree.py`), which has its arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.chains import CELL, COST, LAST, STEP, Chains
from shoal.boxes.costs import CostTables
from shoal.boxes.kernels import cell_cost
from shoal.boxes.layout import (
    BUILT,
    CATALOG,
    COUNT,
    DRAWERS,
    EDITION,
    HI,
    HOME,
    LEAF,
    LO,
    LOSS,
    MISSED,
    SHELVES,
    SIZE,
    WISH,
)
from shoal.compiling import ZERO, constant, inlined, inner
from shoal.privacy.counts import may_join

if TYPE_CHECKING:
    from shoal.boxes.group_tree import Groups, GroupTree

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

IN_A_DRAWER = 4  # groups, unless there is no column left to part them by
ENOUGH = 1_000  # groups; among fewer the tree is as quick
TRIES = 64  # groups that are looked up to see whether a catalog is of use
FEW_LOOKS = 40  # at shelves, drawers and groups; the tree needs as long
PATIENCE = 16  # so many groups are catalogued in the time that one search gains

OFF, STALE, ON = constant(0), constant(1), constant(2)  # as CATALOG
NEVER, MAYBE, ALWAYS = 0, 1, 2  # as WISH: whether there shall be one never, where it is of use, or always
KEY, CHILD = 0, 1  # in `table`. A key is a shelf and a cell; a child a shelf, or a drawer (its number below zero)
HELD, NEXT, FIRST = 0, 1, 2  # in `drawers`: how many groups, a further drawer, the first group; then all their losses
LOSSES = FIRST + IN_A_DRAWER
NOTHING = 0  # as a key, a drawer or a group: drawers and groups count from 1 here


def new_table(groups: int) -> tuple[Longs, Floats]:
    """Room for the entries and drawers of so many groups. What is not used is never touched, and takes no memory."""
    room = 64
    while room < 2 * groups:
        room *= 2
    return np.zeros((room, 2), np.int64), np.zeros((room, LOSSES + IN_A_DRAWER))


@inlined
def slot_of(table: Longs, shelf: int, cell: int) -> int:
    """Where the entry for a shelf and a cell is, or would be."""
    key = (shelf << 32) + cell + 1
    slot = shelf * 0x85EBCA6B + cell * 0x9E3779B1
    slot = (slot ^ (slot >> 17)) & (len(table) - 1)
    while table[slot, KEY] != key and table[slot, KEY] != NOTHING:
        slot = (slot + 1) & (len(table) - 1)
    return slot


@inlined
def cell_of(chains: Chains, start: int, lo: int, hi: int) -> int:
    """What is published for the codes lo..hi of the column whose chains begin at `start`."""
    row, place = start + lo, 0
    while chains.cells[row, place, LAST] < hi:
        place += 1
    return chains.cells[row, place, CELL] + ZERO


@inner
def enroll(tree: GroupTree, chains: Chains, groups: Groups, group: int) -> None:
    """A group comes into its drawer."""
    table, drawers, state, columns = tree.table, tree.drawers, tree.state, chains.columns
    shelf, depth = ZERO, 0
    while True:
        if 8 * (state[DRAWERS] + IN_A_DRAWER) > 5 * len(table):  # no room
            state[CATALOG] = STALE
            return
        j, start = columns[depth, 0], columns[depth, 1]
        slot = slot_of(table, shelf, cell_of(chains, start, groups.lo[group, j], groups.hi[group, j]))
        child = table[slot, CHILD]
        if table[slot, KEY] != NOTHING and child > 0:
            shelf = child
            depth += 1
            continue
        if table[slot, KEY] == NOTHING or drawers[-child, HELD] < IN_A_DRAWER or depth + 1 == len(columns):
            put(tree, chains, groups, shelf, depth, group)
            return
        state[SHELVES] += 1  # the drawer is full
        shelf = state[SHELVES]
        depth += 1
        table[slot, CHILD] = shelf
        for place in range(IN_A_DRAWER):
            put(tree, chains, groups, shelf, depth, int(drawers[-child, FIRST + place]) - 1)


@inlined
def put(tree: GroupTree, chains: Chains, groups: Groups, shelf: int, depth: int, group: int) -> None:
    """Into a drawer of a shelf, the first that has room; a new one if none has."""
    table, drawers, state = tree.table, tree.drawers, tree.state
    j, start = chains.columns[depth, 0], chains.columns[depth, 1]
    cell = cell_of(chains, start, groups.lo[group, j], groups.hi[group, j])
    slot = slot_of(table, shelf, cell)
    first = NOTHING if table[slot, KEY] == NOTHING else -table[slot, CHILD]
    drawer = first
    while drawer != NOTHING and drawers[drawer, HELD] == IN_A_DRAWER:
        drawer = int(drawers[drawer, NEXT])
    if drawer == NOTHING:
        state[DRAWERS] += 1
        drawer = state[DRAWERS]
        drawers[drawer, HELD], drawers[drawer, NEXT] = 0, first
        table[slot, KEY], table[slot, CHILD] = (shelf << 32) + cell + 1, -drawer
    held = int(drawers[drawer, HELD])
    drawers[drawer, FIRST + held], drawers[drawer, LOSSES + held] = group + 1, groups.losses[group]
    drawers[drawer, HELD] = held + 1
    tree.places[group, HOME] = drawer


@inlined
def withdraw(tree: GroupTree, group: int) -> None:
    """A group comes out of its drawer; the last one there takes its place."""
    drawers, drawer = tree.drawers, tree.places[group, HOME]
    if drawer != NOTHING:
        place, last = 0, int(drawers[drawer, HELD]) - 1
        while drawers[drawer, FIRST + place] != group + 1:
            place += 1
        drawers[drawer, FIRST + place] = drawers[drawer, FIRST + last]
        drawers[drawer, LOSSES + place] = drawers[drawer, LOSSES + last]
        drawers[drawer, HELD] = last
        tree.places[group, HOME] = NOTHING


@inner
def refile(tree: GroupTree, costs: CostTables, groups: Groups, group: int, leaf: int, place: int) -> None:
    """A group is new (leaf −1), is dead, or has another box than the leaf knows of at that place."""
    chains, drawers, drawer = costs.chains, tree.drawers, tree.places[group, HOME]
    if tree.state[EDITION] != chains.edition:
        tree.state[CATALOG] = STALE
        return
    if leaf >= 0 and drawer != NOTHING and groups.sizes[group] > 0:
        stays = True
        for i in range(len(chains.columns)):
            j, start = chains.columns[i, 0], chains.columns[i, 1]
            before = cell_of(chains, start, tree.boxes[leaf, place, LO, j], tree.boxes[leaf, place, HI, j])
            stays = stays and before == cell_of(chains, start, groups.lo[group, j], groups.hi[group, j])
        if stays:  # as where only numbers have changed
            at = 0
            while drawers[drawer, FIRST + at] != group + 1:
                at += 1
            drawers[drawer, LOSSES + at] = groups.losses[group]
            return
    withdraw(tree, group)
    if groups.sizes[group] > 0:
        enroll(tree, chains, groups, group)


@inner
def catalog_groups(tree: GroupTree, costs: CostTables, groups: Groups) -> None:
    """Make the catalog of all groups, if one is wished and of use."""
    state, chains = tree.state, costs.chains
    state[MISSED] = 0
    if state[WISH] == NEVER or len(chains.columns) == 0:
        state[CATALOG] = OFF
        return
    if state[WISH] == MAYBE and tree.nodes[0, BUILT] < ENOUGH:
        state[CATALOG] = STALE
        return
    if state[DRAWERS] > 0:
        tree.table[:] = NOTHING
        tree.places[:, HOME] = NOTHING
    state[SHELVES], state[DRAWERS] = 0, 0
    state[CATALOG], state[EDITION] = ON, chains.edition
    for group in range(len(tree.places)):
        if tree.places[group, LEAF] >= 0:
            enroll(tree, chains, groups, group)
            if state[CATALOG] != ON:
                state[CATALOG] = OFF
                return
    if state[WISH] == MAYBE and not is_of_use(tree, costs, groups):
        state[CATALOG] = OFF


@inner
def is_of_use(tree: GroupTree, costs: CostTables, groups: Groups) -> bool:
    """Whether enough records find their group by the catalog alone, and soon: points of some of the groups tell."""
    point = np.empty(groups.lo.shape[1], np.int32)
    tries, found, all_looks = 0, 0, 0
    for group in range(0, len(tree.places), max(1, len(tree.places) // TRIES)):
        if tree.places[group, LEAF] >= 0:
            for j in range(len(point)):
                point[j] = groups.lo[group, j] if j % 2 == 0 else groups.hi[group, j]
            answer = best_covering(tree, costs, point, point, 1.0, 0.0, np.inf, ZERO - 1, None, None, ZERO - 1)
            tries += 1
            found += 1 if answer[3] == np.inf else 0
            all_looks += answer[4]
    return 5 * found >= tries and all_looks <= FEW_LOOKS * tries


@inner
def best_covering(
    tree: GroupTree,
    costs: CostTables,
    lo: Ints,
    hi: Ints,
    size: float,
    loss: float,
    below: float,
    but: int,
    privacy: Any,
    counts: Any,
    record: int,
) -> tuple[float, float, int, float, int]:
    """Of the groups that cover a point the best, as `best_group` has it: its value, its size and its number.

    Then by how much the loss of every other group would rise at least; infinite: none of them is better. And how many
    looks were taken. A box that is no point, and a group that wants to merge under rules, is told nothing.
    """
    best, smallest, chosen, looks = below, -1.0, ZERO - 1, 0
    if tree.state[EDITION] != costs.chains.edition:
        tree.state[CATALOG] = STALE
        return best, smallest, chosen, 0.0, looks
    is_point = privacy is None or record >= 0
    for j in range(len(lo)):
        is_point = is_point and lo[j] == hi[j]
    if not is_point:
        return best, smallest, chosen, 0.0, looks
    table, drawers, places = tree.table, tree.drawers, tree.places
    members, boxes, facts = tree.members, tree.boxes, tree.facts
    columns, cells, prices = costs.chains.columns, costs.chains.cells, costs.chains.prices
    longest = cells.shape[1]
    room = len(columns) * longest + 1
    stack, depths, sums = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room)
    stack[0], depths[0], sums[0] = 0, 0, 0.0
    top = 1
    while top > 0:
        top -= 1
        child, depth, before = stack[top], depths[top], sums[top]
        if size * (before - loss) > best:
            continue
        looks += 1
        if child >= 0:
            row = columns[depth, 1] + lo[columns[depth, 0]]
            for place in range(longest - 1, -1, -1):  # the narrowest comes last, and so is looked at first
                price = before + prices[row, place, COST]
                if size * (price - loss) <= best and price < np.inf:
                    slot = slot_of(table, child, cells[row, place, CELL] + ZERO)
                    if table[slot, KEY] != NOTHING:
                        stack[top], depths[top], sums[top] = table[slot, CHILD], depth + 1, price
                        top += 1
            continue
        drawer = -child
        for place in range(int(drawers[drawer, HELD])):
            if size * (drawers[drawer, LOSSES + place] - loss) > best:
                continue
            looks += 1
            group = int(drawers[drawer, FIRST + place]) - 1
            leaf, at = places[group, LEAF], 0
            while members[leaf, at] != group:
                at += 1
            joined = 0.0
            for j in range(len(lo)):
                first, last = min(lo[j], boxes[leaf, at, LO, j]), max(lo[j], boxes[leaf, at, HI, j])
                joined += cell_cost(costs, j, first, last)
            members_size = facts[leaf, at, SIZE]
            value = size * (joined - loss) + members_size * (joined - facts[leaf, at, LOSS])
            if value > best or (value == best and members_size > smallest):
                continue
            if group == but or (value == best and members_size == smallest and group >= chosen):
                continue
            if privacy is not None and not may_join(privacy, counts, record, group):
                continue
            best, smallest, chosen = value, members_size, group
        if drawers[drawer, NEXT] != NOTHING:
            stack[top], depths[top], sums[top] = -int(drawers[drawer, NEXT]), depth, before
            top += 1
    least, step = elsewhere(tree, costs.chains, lo, size, loss)
    return best, smallest, chosen, np.inf if best < least else step, looks


@inlined
def elsewhere(tree: GroupTree, chains: Chains, point: Ints, size: float, loss: float) -> tuple[float, float]:
    """What a group costs that does not cover a point, and how much its own loss rises: at least so much."""
    fewest = np.inf
    for child in range(tree.nodes[0, COUNT]):
        fewest = min(fewest, tree.least[0, child, SIZE])
    least, step = np.inf, np.inf
    columns, prices = chains.columns, chains.prices
    for i in range(len(columns)):
        row = columns[i, 1] + point[columns[i, 0]]
        for place in range(prices.shape[1]):
            if prices[row, place, STEP] < np.inf:
                step = min(step, prices[row, place, STEP])
                least = min(least, size * (prices[row, place, COST] - loss) + fewest * prices[row, place, STEP])
    return least, step
