"""Making a grouping, and changing it: records join and leave groups; groups are born, split, merged, and die.

What is asked of every group (`g.rules`) is counted along; where no more is asked than k records, nothing is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import grow
from shoal.boxes.costs import CostTables
from shoal.boxes.costs.kernels import box_cost
from shoal.boxes.geometry import group_boxes
from shoal.boxes.group_tree.build import build, grow_tree, new_group_tree, weigh
from shoal.boxes.group_tree.catalog import MAYBE
from shoal.boxes.group_tree.update import absorb, add_group, update_group
from shoal.boxes.grouping import STATE, Grouping, Groups
from shoal.boxes.members import members_of, put_in, records_of, take_out
from shoal.boxes.splits import box_of, order_along, order_of_going
from shoal.compiling import ZERO, allocating, constant, inner
from shoal.privacy.counts import holds, join, leave, may_split, merge
from shoal.privacy.rules import Rules

Ints = NDArray[np.int32]
NOBODY = constant(-1)


def groups_of(codes: Ints, labels: Ints, costs: CostTables, room: int | None = None) -> Groups:
    """The groups that these labels make (−1: in no group), with room for so many."""
    there = labels >= 0
    numbers, dense = np.unique(labels[there], return_inverse=True)
    room = int(labels.max(initial=-1)) + 1 if room is None else room
    groups = Groups(
        lo=np.zeros((room, codes.shape[1]), np.int32),
        hi=np.zeros((room, codes.shape[1]), np.int32),
        sizes=np.zeros(room, np.int64),
        losses=np.zeros(room),
    )
    if len(numbers):
        boxes = group_boxes(codes[there], dense.astype(np.int32), len(numbers))
        groups.lo[numbers], groups.hi[numbers], groups.sizes[numbers] = boxes
    weigh(groups, costs)
    return groups


def new_grouping(
    codes: Ints,
    labels: Ints,
    costs: CostTables,
    rules: Rules,
    *,
    room: int | None = None,
    reshapes: bool = True,
    catalog: int = MAYBE,
) -> Grouping:
    """Records with these labels (−1: in no group), and room for so many groups. `labels` becomes the grouping's own.

    `rules` has counted them. `reshapes`: see `group_tree/update.py`; `catalog`: see `group_tree/catalog.py`.
    """
    groups = groups_of(codes, labels, costs, room)
    room = len(groups.sizes)
    free = np.flatnonzero(groups.sizes == 0).astype(np.int32)[::-1]  # the lowest number is taken first
    g = Grouping(
        codes=codes,
        members=members_of(labels, room),
        groups=groups,
        tree=new_group_tree(room, codes.shape[1], reshapes=reshapes, catalog=catalog),
        costs=costs,
        k=int(rules.k),
        rules=rules,
        spare=grow(free, room),
        retry=np.zeros(room, np.int64),
        state=np.array([(len(free),)], STATE),
    )
    build(g)
    return g


def grow_groups(g: Grouping, more: int) -> Grouping:
    """The same with room for so many groups more."""
    before = len(g.groups.sizes)
    room = before + more
    new = np.arange(before, room, dtype=np.int32)
    spare = np.concatenate([new[::-1], g.spare[: g.state["n_spare"][0]]])
    members = g.members.replace(heads=grow(g.members.heads, room, -1))
    groups = Groups(*(grow(array, room) for array in g.groups.fields))
    return g.replace(
        members=members,
        groups=groups,
        tree=grow_tree(g.tree, room),
        spare=grow(spare, room),
        retry=grow(g.retry, room),
        state=np.array([(len(spare),)], STATE),
    )


def total_loss(groups: Groups) -> float:
    return float(groups.sizes @ groups.losses)


@inner
def people_in(g: Grouping, group: int) -> int:
    """How many of those whom k counts are in a group."""
    return g.rules.counts.people[group] if g.rules.asked else g.groups.sizes[group]


@inner
def has_what_is_asked(g: Grouping, group: int) -> bool:
    if g.rules.asked:
        return holds(g.rules, group)
    return g.groups.sizes[group] >= g.k


@inner
def widen(g: Grouping, record: int, group: int) -> None:
    """The box of a group that a record has joined."""
    groups, codes = g.groups, g.codes
    lo, hi = groups.lo, groups.hi
    groups.sizes[group] += 1
    for j in range(codes.shape[1]):
        code = codes[record, j]
        lo[group, j], hi[group, j] = min(lo[group, j], code), max(hi[group, j], code)
    groups.losses[group] = box_cost(g.costs, lo[group], hi[group])


@inner
def enter(g: Grouping, record: int, group: int) -> None:
    """A record that is in no group joins one."""
    put_in(g.members, record, group)
    widen(g, record, group)
    if g.rules.asked:
        join(g.rules, record, group)
    update_group(g, group)


@inner
def depart(g: Grouping, record: int) -> None:
    """A record leaves its group, whose box is as it was until `refresh`."""
    group = g.members.labels[record] + ZERO
    take_out(g.members, record, group)
    g.groups.sizes[group] -= 1
    if g.rules.asked:
        leave(g.rules, record, group)


@allocating
def refresh(g: Grouping, group: int) -> None:
    """The box of a group that some have left; a group without records is no more."""
    if g.groups.sizes[group] > 0:
        make_box(g, group, records_of(g, group))
    else:
        give_back(g, group)
    update_group(g, group)


@inner
def make_box(g: Grouping, group: int, records: Ints) -> None:
    groups = g.groups
    box_of(g.codes, records, groups.lo[group], groups.hi[group])
    groups.losses[group] = box_cost(g.costs, groups.lo[group], groups.hi[group])
    groups.sizes[group] = len(records)


@inner
def new_group(g: Grouping, records: Ints) -> int:
    """Records that are in no group become one."""
    state = g.state[0]
    if state.n_spare == 0:
        raise IndexError("no group number is left")  # the batch is taken back; see `I3M.apply` for why it cannot be
    state.n_spare -= 1
    group = g.spare[state.n_spare] + ZERO
    for record in records:
        put_in(g.members, record + ZERO, group)
        if g.rules.asked:
            join(g.rules, record + ZERO, group)
    make_box(g, group, records)
    g.retry[group] = 0
    add_group(g, group)
    return group


@inner
def give_back(g: Grouping, group: int) -> None:
    """A group number is not in use any more."""
    g.spare[g.state[0].n_spare] = group
    g.state[0].n_spare += 1


@inner
def is_large(g: Grouping, group: int) -> bool:
    """Whether a group is to be split."""
    return people_in(g, group) >= 2 * g.k and g.groups.sizes[group] >= g.retry[group]


@allocating
def split_large(g: Grouping, group: int) -> None:
    """Split a group, and what comes of it, as long as anything has 2k."""
    todo = np.empty(2 + g.groups.sizes[group] // g.k, np.int64)
    todo[0] = group
    count = 1
    while count > 0:
        part = todo[count - 1]
        new = NOBODY
        if is_large(g, part):
            new = split_in_two(g, part)
        if new < 0:
            count -= 1
        elif people_in(g, new) >= 2 * g.k:
            todo[count] = new
            count += 1


@allocating
def split_in_two(g: Grouping, group: int) -> int:
    """Split a group in two; the new one, or −1 if no split keeps the rules (and none is tried before it has grown)."""
    records, goers = records_of(g, group), g.k
    if g.rules.asked:
        goers = best_allowed_split(g, records)
        if goers == 0:
            g.retry[group] = len(records) + g.k
            return NOBODY
    else:
        order_of_going(g.codes, g.costs, records, goers, np.empty(goers))
    for record in records[:goers]:
        depart(g, record + ZERO)
    make_box(g, group, records[goers:])
    g.retry[group] = 0
    update_group(g, group)
    return new_group(g, records[:goers])


@allocating
def best_allowed_split(g: Grouping, records: Ints) -> int:
    """The split that loses least of those that keep the rules: its first part comes to the front; how many, 0: none.

    Looked at are the order in which records go, and the one along each column (`splits.py`).
    """
    size, k = len(records), g.k
    best, goers, losses, chosen = np.inf, 0, np.empty(size - k), records.copy()
    for j in range(-1, g.codes.shape[1]):
        if j < 0:
            order_of_going(g.codes, g.costs, records, size - k, losses)
        else:
            order_along(g.codes, g.costs, records, j, losses)
        for going in range(k, size - k + 1):
            if losses[going - 1] < best and may_split(g.rules, records, records[:going], k):
                best, goers = losses[going - 1], going
                chosen[:] = records
    records[:] = chosen
    return goers


@allocating
def merge_groups(g: Grouping, group: int, other: int) -> None:
    """A group takes in another, which is no more."""
    for record in records_of(g, other):
        take_out(g.members, record + ZERO, other)
        put_in(g.members, record + ZERO, group)
    if g.rules.asked:
        merge(g.rules, group, other)
    absorb(g, group, other)
    g.retry[group] = 0
    give_back(g, other)
