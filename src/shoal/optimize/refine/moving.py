"""Moving records out of groups, and groups out of the way: one at a time, or many that look around side by side.

Where many records look, none of them moves before all have looked. Then each goes in its turn, if it still costs less
than it saves: others may have gone before it. One that would not any more looks again with the next ones. To look is
what takes the time, and changes nothing, so workers share it; who goes is the same, however many they are.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.changes import give_back, widen
from shoal.boxes.costs.kernels import box_cost, cell_cost
from shoal.boxes.group_tree.search import best_group_for_record
from shoal.boxes.group_tree.update import rebuild_after, rebuild_if_stale, update_group
from shoal.boxes.grouping import Grouping
from shoal.boxes.members import box_without, move, records_of
from shoal.compiling import ZERO, allocating, constant, inner, kernel
from shoal.optimize.refine.memory import LEAST_GAIN, SearchMemory, note_change
from shoal.privacy.counts import join, leave, may_join, may_leave
from shoal.workers import side_by_side

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Over = Callable[[], bool]
Advance = Callable[[int], object]
RUNS = 200  # of all that look around, at least: others should be nearly where they were when their turn comes
SHORTEST_RUN, LONGEST_RUN = 512, 8_192  # records or groups that look around before any of them goes
LEAST_LOOKS = 64  # for a worker at a time
STAY = constant(-1)
MUST_NOT = -np.inf  # as what a record saves by leaving


def move_many(
    g: Grouping, memory: SearchMemory, records: Ints, least: int, over: Over = bool, advance: Advance = bool
) -> float:
    """Each record goes where it costs less than it saves by going; by how much the loss falls. `least`: see below."""
    gained, again, length = 0.0, records[:0], _length(records)
    for first in range(0, len(records) + 1, length):
        if over():
            break
        run = np.concatenate([again, records[first : first + length]])
        targets, late = np.empty_like(run), np.empty_like(run)

        def look(first: int, last: int, run: Ints = run, targets: Ints = targets) -> None:
            look_for_groups(with_room_of_its_own(g), least, run[first:last], targets[first:last])

        side_by_side(look, len(run), least=LEAST_LOOKS)
        more, count = go_in_turn(g, memory, least, run, targets, late)
        gained += more
        again = late[:count]
        advance(len(records[first : first + length]))
    return gained


def dissolve_many(g: Grouping, memory: SearchMemory, groups: Ints, over: Over = bool) -> float:
    """Each group is dissolved, if its records cost less elsewhere. Only where no rules are asked."""
    gained, again, length = 0.0, groups[:0], _length(groups)
    for first in range(0, len(groups) + 1, length):
        if over():
            break
        run = np.concatenate([again, groups[first : first + length]])
        starts = np.concatenate([[0], np.cumsum(g.groups.sizes[run])])
        targets, late = np.full(starts[-1], STAY, np.int32), np.empty_like(run)

        def look(first: int, last: int, run: Ints = run, starts: Longs = starts, targets: Ints = targets) -> None:
            look_for_others(g, run[first:last], starts[first : last + 1], targets)

        side_by_side(look, len(run), least=LEAST_LOOKS)
        more, count = dissolve_in_turn(g, memory, run, starts, targets, late)
        gained += more
        again = late[:count]
    return gained


def with_room_of_its_own(g: Grouping) -> Grouping:
    """The same grouping, for one of several who look at once: whoever asks about rules writes down what he counts."""
    if not g.rules.asked:
        return g
    return g.replace(rules=g.rules.replace(run=np.empty_like(g.rules.run)))


def _length(items: Ints) -> int:
    return max(SHORTEST_RUN, min(LONGEST_RUN, len(items) // RUNS))


@kernel
def look_for_groups(g: Grouping, least: int, records: Ints, targets: Ints) -> None:
    """The group that each record would go to, or −1, as things are. `least`: as in `saved_by_leaving`."""
    lo, hi = np.empty(g.codes.shape[1], np.int32), np.empty(g.codes.shape[1], np.int32)
    for i in range(len(records)):
        record = records[i] + ZERO
        saved = saved_by_leaving(g, record, least, lo, hi)
        targets[i] = STAY
        if saved > LEAST_GAIN:
            targets[i] = best_group_for_record(g, record, saved - LEAST_GAIN, g.members.labels[record] + ZERO)


@kernel
def go_in_turn(
    g: Grouping, memory: SearchMemory, least: int, records: Ints, targets: Ints, again: Ints
) -> tuple[float, int]:
    """Each record goes where it wanted to, if that still gains anything: the gain, and who looks again, how many."""
    lo, hi = np.empty(g.codes.shape[1], np.int32), np.empty(g.codes.shape[1], np.int32)
    gained, late = 0.0, 0
    rebuild_after(g, len(records))
    for i in range(len(records)):
        record, there = records[i] + ZERO, targets[i] + ZERO
        if there < 0:
            continue
        saved = saved_by_leaving(g, record, least, lo, hi)
        if saved > LEAST_GAIN and g.groups.sizes[there] > 0 and there != g.members.labels[record]:
            size = g.groups.sizes[there]
            cost = (size + 1) * joined_loss(g, record, there) - size * g.groups.losses[there]
            if cost < saved - LEAST_GAIN and (not g.rules.asked or may_join(g.rules, record, there)):
                gained += go(g, memory, record, there, saved, lo, hi)
                rebuild_if_stale(g)
                continue
        again[late] = record
        late += 1
    return gained, late


@inner
def saved_by_leaving(g: Grouping, record: int, least: int, lo: Ints, hi: Ints) -> float:
    """What is saved if a record leaves its group, whose box without it comes into `lo` and `hi`.

    `least`: no group has fewer afterwards; 0 if that does not matter, and then a record that is alone wants to leave at
    any price.
    """
    groups, here = g.groups, g.members.labels[record] + ZERO
    size = groups.sizes[here]
    if not g.rules.asked:
        if size <= least:
            return MUST_NOT
    elif (size == 1 and least > 0) or not may_leave(g.rules, record, here, least):
        return MUST_NOT
    if not box_without(g.codes, g.members, groups, record, lo, hi):
        return np.inf
    return size * groups.losses[here] - (size - 1) * box_cost(g.costs, lo, hi)


@allocating
def go(g: Grouping, memory: SearchMemory, record: int, there: int, saved: float, lo: Ints, hi: Ints) -> float:
    """A record leaves its group, which has the box `lo` to `hi` then, for another; by how much the loss falls."""
    groups, members, here = g.groups, g.members, g.members.labels[record] + ZERO
    before = groups.sizes[there] * groups.losses[there]
    if saved == np.inf:  # it was alone
        saved = groups.losses[here]
    move(members, record, here, there)
    groups.sizes[here] -= 1
    if groups.sizes[here] > 0:
        groups.lo[here] = lo
        groups.hi[here] = hi
        groups.losses[here] = box_cost(g.costs, lo, hi)
    else:
        give_back(g, here)
    update_group(g, here)
    widen(g, record, there)
    update_group(g, there)
    if g.rules.asked:
        leave(g.rules, record, here)
        join(g.rules, record, there)
    memory.state[0].clock += 1
    note_change(memory, here)
    note_change(memory, there)
    return saved - (groups.sizes[there] * groups.losses[there] - before)


@allocating
def try_move(g: Grouping, memory: SearchMemory, record: int) -> float:
    """A record goes where it costs less than it saves by going."""
    lo, hi = np.empty(g.codes.shape[1], np.int32), np.empty(g.codes.shape[1], np.int32)
    saved = saved_by_leaving(g, record, g.k, lo, hi)
    if saved <= LEAST_GAIN:
        return 0.0
    there = best_group_for_record(g, record, saved - LEAST_GAIN, g.members.labels[record] + ZERO)
    return go(g, memory, record, there, saved, lo, hi) if there >= 0 else 0.0


@inner
def joined_loss(g: Grouping, record: int, group: int) -> float:
    """What a group loses per record when a record has joined it."""
    codes, costs, lo, hi = g.codes, g.costs, g.groups.lo, g.groups.hi
    joined = 0.0
    for j in range(codes.shape[1]):
        code = codes[record, j]
        joined += cell_cost(costs, j, min(lo[group, j], code), max(hi[group, j], code))
    return joined


@kernel
def look_for_others(g: Grouping, groups: Ints, starts: Longs, targets: Ints) -> None:
    """Where the records of each group would go, one by one, if that may cost less than the group does.

    `starts`: where those of each group begin in `targets`; the first is −1 if they stay. Only where no rules are asked.
    """
    for i in range(len(groups)):
        group = groups[i] + ZERO
        size = g.groups.sizes[group]
        if size == 0 or size != starts[i + 1] - starts[i]:
            continue
        found = targets[starts[i] : starts[i + 1]]
        if others_for(g, records_of(g, group), group, found) >= size * g.groups.losses[group] - LEAST_GAIN:
            found[0] = STAY


@kernel
def dissolve_in_turn(
    g: Grouping, memory: SearchMemory, groups: Ints, starts: Longs, targets: Ints, again: Ints
) -> tuple[float, int]:
    """Each group dissolves as it wanted to, if it is as it was and that still gains anything.

    By how much the loss falls in all; and who looks again, how many.
    """
    since, gained, late = memory.state[0].clock, 0.0, 0
    rebuild_after(g, len(targets))
    for i in range(len(groups)):
        group = groups[i] + ZERO
        found = targets[starts[i] : starts[i + 1]]
        if len(found) == 0 or found[0] < 0:
            continue
        alive = memory.changed[group] <= since
        for there in found:
            alive = alive and g.groups.sizes[there] > 0
        saved, cost, records = g.groups.sizes[group] * g.groups.losses[group], np.inf, records_of(g, group)
        if alive:
            cost = together_cost(g, records, found)
        if cost < saved - LEAST_GAIN:
            dissolve(g, memory, group, records, found)
            rebuild_if_stale(g)
            gained += saved - cost
        elif g.groups.sizes[group] > 0:
            again[late] = group
            late += 1
    return gained, late


@inner
def others_for(g: Grouping, records: Ints, group: int, targets: Ints) -> float:
    """Where each record of a group would go as if it went alone; what that costs together. Infinite: too much."""
    sizes, losses, rules = g.groups.sizes, g.groups.losses, g.rules
    saved = sizes[group] * losses[group] - LEAST_GAIN
    if saved <= 0.0:
        return np.inf
    cost = 0.0
    for i in range(len(records)):
        one = records[i] + ZERO
        target = best_group_for_record(g, one, saved - cost, group)
        if target < 0:
            return np.inf
        size = sizes[target]
        cost += (size + 1) * joined_loss(g, one, target) - size * losses[target]
        targets[i] = target
        if rules.asked:  # the next one must know
            leave(rules, one, group)
            join(rules, one, target)
    return together_cost(g, records, targets)


@allocating
def try_dissolving(g: Grouping, memory: SearchMemory, group: int) -> float:
    """All records of a group go to others, if that costs less than the group does."""
    saved, records = g.groups.sizes[group] * g.groups.losses[group], records_of(g, group)
    targets = np.full(len(records), STAY, np.int32)
    cost = others_for(g, records, group, targets)
    if cost < saved - LEAST_GAIN:
        dissolve(g, memory, group, records, targets)
        return saved - cost
    if g.rules.asked:
        for i in range(len(records)):
            if targets[i] >= 0:
                leave(g.rules, records[i] + ZERO, targets[i] + ZERO)
                join(g.rules, records[i] + ZERO, group)
    return 0.0


@inner
def dissolve(g: Grouping, memory: SearchMemory, group: int, records: Ints, targets: Ints) -> None:
    """Each record of a group goes to another, and the group is no more. (What is counted has followed already.)"""
    memory.state[0].clock += 1
    note_change(memory, group)
    g.groups.sizes[group] = 0
    update_group(g, group)
    give_back(g, group)
    for i in range(len(records)):
        move(g.members, records[i] + ZERO, group, targets[i] + ZERO)
        widen(g, records[i] + ZERO, targets[i] + ZERO)
        update_group(g, targets[i] + ZERO)
        note_change(memory, targets[i] + ZERO)


@allocating
def try_loosening(g: Grouping, memory: SearchMemory, group: int) -> float:
    """Each record of a group goes where it costs less than it saves; then all that are left, if that does."""
    if g.groups.sizes[group] == 0:
        return 0.0
    gained = 0.0
    for record in records_of(g, group):
        gained += try_move(g, memory, record + ZERO)
    return gained + try_dissolving(g, memory, group)


@allocating
def together_cost(g: Grouping, records: Ints, targets: Ints) -> float:
    """What it adds to the loss if each record joins its group."""
    groups, codes = g.groups, g.codes
    columns = codes.shape[1]
    lo, hi = np.empty(columns, np.int32), np.empty(columns, np.int32)
    total = 0.0
    for i in range(len(records)):
        target, size = targets[i], 0
        first = True
        for other in range(i):
            first = first and targets[other] != target
        if not first:
            continue
        lo[:] = groups.lo[target]
        hi[:] = groups.hi[target]
        for other in range(i, len(records)):
            if targets[other] == target:
                size += 1
                for j in range(columns):
                    code = codes[records[other], j]
                    lo[j], hi[j] = min(lo[j], code), max(hi[j], code)
        before = groups.sizes[target]
        total += (before + size) * box_cost(g.costs, lo, hi) - before * groups.losses[target]
    return total
