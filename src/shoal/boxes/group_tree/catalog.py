"""The catalog: groups by what is published for them, so that a record comes at once to those that cover it.

Most records join a group whose cells cover them in every column with a hierarchy: a step up a hierarchy is paid for by
all members, and often costs more than a covering group does. Bounds over boxes see this badly (one group of a node
covers the country, another the occupation, none both), and the more groups there are, the more is looked at in vain.
The catalog goes to the covering groups directly: column by column to the cells of the record's chain (`chains.py`), as
far as what they cost is below the best that was found.

All groups that cover a record in all these columns are found. Any other costs at least a step up in one of them:
`elsewhere` says what that comes to, and if the best covering group is below it, nothing else has to be looked at.

It is a trie over the columns. Up to four groups share a bucket; one that is full becomes a trie node, parted by the
next column, or after the last column gets another bucket beside it. A hash table leads from a trie node and a cell to a
trie node or a bucket. Its entries are never taken back: when there is no room left, or when values have come that give
cells other numbers, the catalog is stale, and made anew once searches have missed it for long enough. Where it is of
little use (few hierarchies, or groups so wide that steps are cheap) there is none: it is tried out whenever it is made.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs.chains import Chains
from shoal.boxes.costs.kernels import cell_cost
from shoal.boxes.geometry import HI, LO
from shoal.boxes.grouping import BUCKET, ENTRY, IN_A_BUCKET, Grouping, GroupTree
from shoal.compiling import ZERO, allocating, constant, inner
from shoal.privacy.counts import may_join

Ints = NDArray[np.int32]
Rows = NDArray[np.void]

ENOUGH = 1_000  # groups; among fewer the tree is as quick
TRIES = 64  # groups that are looked up to see whether a catalog is of use
FEW_LOOKS = 40  # at trie nodes, buckets and groups; the tree needs as long
PATIENCE = 16  # so many groups are catalogued in the time that one search gains

OFF, STALE, ON = constant(0), constant(1), constant(2)  # as `catalog` in the state of the tree
NEVER, MAYBE, ALWAYS = 0, 1, 2  # as `wish`: whether there shall be one never, where it is of use, or always
# A key is a trie node and a cell; a child a trie node, or a bucket (its number below zero). Buckets count from 1.
NOTHING = 0  # as a key, a child or a bucket


class Query(NamedTuple):
    """Who asks for a group to join: a box of so many records with such a loss each."""

    lo: Ints
    hi: Ints
    size: float
    loss: float
    below: float  # what it must cost less than
    but: int  # the group that asks, if it is one
    record: int  # the record that asks; −1 if it is a group


class Found(NamedTuple):
    """The best group so far: what it costs to join it, its size, and its number (−1: none)."""

    value: float
    size: float
    group: int


def new_entries(n_groups: int) -> tuple[Rows, Rows]:
    """Room for the entries and buckets of so many groups. What is not used is never touched, and takes no memory."""
    room = 64
    while room < 2 * n_groups:
        room *= 2
    return np.zeros(room, ENTRY), np.zeros(room, BUCKET)


@inner
def slot_of(entries: Rows, node: int, cell: int) -> int:
    """Where the entry for a trie node and a cell is, or would be."""
    key = (node << 32) + cell + 1
    slot = node * 0x85EBCA6B + cell * 0x9E3779B1
    slot = (slot ^ (slot >> 17)) & (len(entries) - 1)
    while entries[slot].key != key and entries[slot].key != NOTHING:
        slot = (slot + 1) & (len(entries) - 1)
    return slot


@inner
def cell_of(chains: Chains, start: int, lo: int, hi: int) -> int:
    """What is published for the codes lo..hi of the column whose chains begin at `start`."""
    row, i = start + lo, 0
    while chains.cells[row, i].last < hi:
        i += 1
    return chains.cells[row, i].number + ZERO


@inner
def cell_of_group(g: Grouping, group: int, depth: int) -> int:
    """What is published for a group in the column that parts the trie at a depth."""
    chained = g.costs.chains.columns[depth]
    j = chained.column
    return cell_of(g.costs.chains, chained.start, g.groups.lo[group, j], g.groups.hi[group, j])


@inner
def enroll(g: Grouping, group: int) -> None:
    """A group comes into its bucket."""
    entries, buckets, state = g.tree.entries, g.tree.buckets, g.tree.state[0]
    columns = len(g.costs.chains.columns)
    node, depth = ZERO, ZERO
    while True:
        if 8 * (state.n_buckets + IN_A_BUCKET) > 5 * len(entries):  # no room
            state.catalog = STALE
            return
        slot = slot_of(entries, node, cell_of_group(g, group, depth))
        child = entries[slot].child
        if entries[slot].key != NOTHING and child > 0:
            node = child
            depth += 1
            continue
        if entries[slot].key == NOTHING or buckets[-child].count < IN_A_BUCKET or depth + 1 == columns:
            put(g, node, depth, group)
            return
        state.n_trie_nodes += 1  # the bucket is full
        node = state.n_trie_nodes
        depth += 1
        entries[slot].child = node
        for i in range(IN_A_BUCKET):
            put(g, node, depth, buckets[-child].groups[i] + ZERO)


@inner
def put(g: Grouping, node: int, depth: int, group: int) -> None:
    """Into a bucket of a trie node, the first that has room; a new one if none has."""
    entries, buckets, state = g.tree.entries, g.tree.buckets, g.tree.state[0]
    cell = cell_of_group(g, group, depth)
    slot = slot_of(entries, node, cell)
    first = ZERO if entries[slot].key == NOTHING else -entries[slot].child
    number = first
    while number != NOTHING and buckets[number].count == IN_A_BUCKET:
        number = ZERO + buckets[number].next
    if number == NOTHING:
        state.n_buckets += 1
        number = state.n_buckets
        buckets[number].count, buckets[number].next = 0, first
        entries[slot].key, entries[slot].child = (node << 32) + cell + 1, -number
    bucket = buckets[number]
    bucket.groups[bucket.count], bucket.losses[bucket.count] = group, g.groups.losses[group]
    bucket.count += 1
    g.tree.positions[group].bucket = number


@inner
def slot_in_bucket(tree: GroupTree, number: int, group: int) -> int:
    slot = 0
    while tree.buckets[number].groups[slot] != group:
        slot += 1
    return slot


@inner
def withdraw(tree: GroupTree, group: int) -> None:
    """A group comes out of its bucket; the last one there takes its place."""
    number = tree.positions[group].bucket
    if number != NOTHING:
        bucket = tree.buckets[number]
        slot, last = slot_in_bucket(tree, number, group), bucket.count - 1
        bucket.groups[slot], bucket.losses[slot] = bucket.groups[last], bucket.losses[last]
        bucket.count = last
        tree.positions[group].bucket = NOTHING


@inner
def refile(g: Grouping, group: int, leaf: int, slot: int) -> None:
    """A group is new (leaf −1), is dead, or has another box than the leaf knows of in that slot."""
    tree, groups, chains = g.tree, g.groups, g.costs.chains
    number = tree.positions[group].bucket
    if tree.state[0].edition != chains.edition:
        tree.state[0].catalog = STALE
        return
    if leaf >= 0 and number != NOTHING and groups.sizes[group] > 0:
        stays = True
        for i in range(len(chains.columns)):
            j, start = chains.columns[i].column, chains.columns[i].start
            before = cell_of(chains, start, tree.boxes[leaf, slot, LO, j], tree.boxes[leaf, slot, HI, j])
            stays = stays and before == cell_of(chains, start, groups.lo[group, j], groups.hi[group, j])
        if stays:  # as where only numbers have changed
            tree.buckets[number].losses[slot_in_bucket(tree, number, group)] = groups.losses[group]
            return
    withdraw(tree, group)
    if groups.sizes[group] > 0:
        enroll(g, group)


@inner
def catalog_groups(g: Grouping) -> None:
    """Make the catalog of all groups, if one is wished and of use."""
    tree, chains = g.tree, g.costs.chains
    state = tree.state[0]
    state.missed = 0
    if state.wish == NEVER or len(chains.columns) == 0:
        state.catalog = OFF
        return
    if state.wish == MAYBE and tree.nodes[0].built < ENOUGH:
        state.catalog = STALE
        return
    if state.n_buckets > 0:
        for i in range(len(tree.entries)):
            tree.entries[i].key = NOTHING
        for group in range(len(tree.positions)):
            tree.positions[group].bucket = NOTHING
    state.n_trie_nodes, state.n_buckets = 0, 0
    state.catalog, state.edition = ON, chains.edition
    for group in range(len(tree.positions)):
        if tree.positions[group].leaf >= 0:
            enroll(g, group + ZERO)
            if state.catalog != ON:
                state.catalog = OFF
                return
    if state.wish == MAYBE and not is_of_use(g):
        state.catalog = OFF


@allocating
def is_of_use(g: Grouping) -> bool:
    """Whether enough records find their group by the catalog alone, and soon: points of some of the groups tell."""
    positions, lo, hi = g.tree.positions, g.groups.lo, g.groups.hi
    point = np.empty(lo.shape[1], np.int32)
    tries, found, all_looks = 0, 0, 0
    for group in range(0, len(positions), max(1, len(positions) // TRIES)):
        if positions[group].leaf >= 0:
            for j in range(len(point)):
                point[j] = lo[group, j] if j % 2 == 0 else hi[group, j]
            query = Query(point, point, 1.0, 0.0, np.inf, ZERO - 1, ZERO - 1)
            _, step, looks = best_covering(g, query, False)
            tries += 1
            found += 1 if step == np.inf else 0
            all_looks += looks
    return 5 * found >= tries and all_looks <= FEW_LOOKS * tries


@allocating
def best_covering(g: Grouping, query: Query, by_rules: bool) -> tuple[Found, float, int]:
    """Of the groups that cover a point the best, as `search.py` has it.

    Then by how much the loss of every other group would rise at least; infinite: none of them is better. And how many
    looks were taken. A box that is no point, and a group that wants to merge under rules, is told nothing. `by_rules`:
    only groups that the rules allow are found.
    """
    tree, costs = g.tree, g.costs
    lo, size, loss = query.lo, query.size, query.loss
    best, smallest, chosen, looks = query.below, -1.0, ZERO - 1, 0
    if tree.state[0].edition != costs.chains.edition:
        return Found(best, smallest, chosen), 0.0, looks
    is_point = not by_rules or query.record >= 0
    for j in range(len(lo)):
        is_point = is_point and lo[j] == query.hi[j]
    if not is_point:
        return Found(best, smallest, chosen), 0.0, looks
    entries, buckets, positions = tree.entries, tree.buckets, tree.positions
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
            row = columns[depth].start + lo[columns[depth].column]
            for i in range(longest - 1, -1, -1):  # the narrowest comes last, and so is looked at first
                price = before + prices[row, i].cost
                if size * (price - loss) <= best and price < np.inf:
                    slot = slot_of(entries, child, cells[row, i].number + ZERO)
                    if entries[slot].key != NOTHING:
                        stack[top], depths[top], sums[top] = entries[slot].child, depth + 1, price
                        top += 1
            continue
        bucket = buckets[-child]
        for i in range(bucket.count):
            if size * (bucket.losses[i] - loss) > best:
                continue
            looks += 1
            group = bucket.groups[i] + ZERO
            leaf, at = positions[group].leaf, 0
            while members[leaf, at] != group:
                at += 1
            joined = 0.0
            for j in range(len(lo)):
                first, last = min(lo[j], boxes[leaf, at, LO, j]), max(lo[j], boxes[leaf, at, HI, j])
                joined += cell_cost(costs, j, first, last)
            theirs = float(facts[leaf, at].n_records)
            value = size * (joined - loss) + theirs * (joined - facts[leaf, at].loss)
            if value > best or (value == best and theirs > smallest):
                continue
            if group == query.but or (value == best and theirs == smallest and group >= chosen):
                continue
            if by_rules and not may_join(g.rules, query.record, group):
                continue
            best, smallest, chosen = value, theirs, group
        if bucket.next != NOTHING:
            stack[top], depths[top], sums[top] = -bucket.next, depth, before
            top += 1
    least, step = elsewhere(g, query)
    return Found(best, smallest, chosen), np.inf if best < least else step, looks


@inner
def elsewhere(g: Grouping, query: Query) -> tuple[float, float]:
    """What a group costs that does not cover a point, and how much its own loss rises: at least so much."""
    tree, columns, prices = g.tree, g.costs.chains.columns, g.costs.chains.prices
    fewest = np.inf
    for child in range(tree.nodes[0].count):
        fewest = min(fewest, float(tree.least[0, child].n_records))
    least, step = np.inf, np.inf
    for i in range(len(columns)):
        row = columns[i].start + query.lo[columns[i].column]
        for at in range(prices.shape[1]):
            if prices[row, at].step < np.inf:
                step = min(step, prices[row, at].step)
                least = min(least, query.size * (prices[row, at].cost - query.loss) + fewest * prices[row, at].step)
    return least, step
