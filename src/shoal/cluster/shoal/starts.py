"""What the method `shoal` refines: the groups that it makes itself, and those of other methods (docs/method.md).

Where k is small the start is agglomerative clustering: the closest are merged first, and pairs and triples that are
found so lose least. Equal records are together before it begins. Where k is larger that takes longer than it is worth
(but for effort `thorough`, and where many records are equal), and the start is that of sequential clustering with other
first groups: those that k-member makes for half of k. Records move to the group where the loss falls most (with effort
`thorough` again and again, and groups above 1.5 k are split at random in between), and what is below k in the end is
merged, the closest first. Random first groups, as in the paper, take many times as long to find their groups, and pairs
twice as long.

Records, and with them groups, are numbered so that neighbours are together (`neighbours_together`): whoever asks a tree
after a neighbour finds most of the way still in the processor's cache. Among a million records that halves the time.

Where k is large the groups grow in steps: first of a few records, then four times as many, and so on, each refined
before the next. Groups of 100 that are made of good groups of 25 lose a tenth less than those made of pairs.

No start is the best on every table: pairs are closest where the closest merge first, and where no record has a near
neighbour straight cuts lose least. Where to end is decided by where to begin, so a table that is small begins in
several ways, and a large one with straight cuts as well, where those are not far behind (`cut_straight`).

Guarantee: every start has what is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.changes import new_grouping
from shoal.boxes.geometry import by_first_record, without_gaps
from shoal.cluster import Task, agglomerative, hilbert, k_member, mondrian
from shoal.cluster.repair import mended
from shoal.cluster.sequential import split_at_random
from shoal.cluster.sequential.through_tree import ThroughTree
from shoal.optimize.refine.memory import new_memory
from shoal.optimize.refine.moving import move_many
from shoal.optimize.refine.refiner import ALL_EFFORTS, ROUGH, Refiner
from shoal.privacy import Privacy
from shoal.privacy.rules import no_rules
from shoal.progress import SILENT
from shoal.workers import mapped

Ints = NDArray[np.int32]
Over = Callable[[], bool]
PASSES = {ROUGH: 1, "fast": 1, "balanced": 1, "thorough": 20}
SPLIT_SHARE = 1.5
GROWTH = 4  # from one size of groups to the next
PAIRS = 2  # records, of which the closest are found best by merging the closest
CLOSEST_FIRST = 5  # k up to which that is the best start, and takes no longer than another; or
EQUAL_FIRST = 19  # where many records are equal, since those need not be looked for; and
MANY_EQUAL = 0.8  # so many groups they make at most, for every record
BLOCK = 250_000  # records that have a start of their own, at least, where there are more than twice as many
SMALLEST = 5  # groups that are worth refining on the way
RIVAL = 1.35  # how much more straight cuts may lose than what has been refined, to be refined as well
FAR_BEHIND = 1.5  # where Mondrian's lose more than that, Hilbert's will not be nearer


def neighbours_together(task: Task) -> NDArray[np.int64]:
    """The records, neighbours after neighbours."""
    return np.argsort(mondrian.run(records_only(task, min(2, task.k))), kind="stable")


def in_order(task: Task, order: NDArray[np.int64]) -> Task:
    """The codes of these records, in this order, and nothing asked but k records in every group."""
    codes = np.ascontiguousarray(task.codes[order])
    return replace(records_only(task, task.k), records=replace(task.records, codes=codes))


def of_many(task: Task, effort: str, over: Over) -> Ints:
    """The one start of a table that is too large for several. Rules are not looked at: see `as_asked`.

    Of a very large one, the starts of blocks of neighbours, side by side: what refining mends at their borders is less
    than what looking far away costs.
    """
    n_blocks = max(1, len(task.codes) // BLOCK)
    if n_blocks == 1:
        return _of_one_block(task, effort, over)
    drawing = Lock()
    task.progress.stage("clustering", len(task.codes))
    ends = [len(task.codes) * (i + 1) // n_blocks for i in range(n_blocks)]

    def started(first: int, last: int, rng: np.random.Generator) -> Ints:
        some = replace(task.records, codes=task.codes[first:last])
        block = replace(task, records=some, rng=rng, progress=SILENT, privacy=Privacy.only_k(task.k, last - first))
        labels = without_gaps(_of_one_block(block, effort, over))
        with drawing:
            task.progress.advance(last - first)
        return labels

    blocks = zip([0, *ends], ends, task.rng.spawn(n_blocks), strict=False)
    made = mapped(lambda block: started(*block), blocks)
    groups = np.cumsum([0] + [int(labels.max()) + 1 for labels in made])
    return np.concatenate([labels + np.int32(before) for labels, before in zip(made, groups, strict=False)])


def _of_one_block(task: Task, effort: str, over: Over) -> Ints:
    if task.k > EQUAL_FIRST and effort != "thorough":
        return own(task, effort, over)
    equal = equal_together(task.codes, task.k)
    closest_first = task.k <= CLOSEST_FIRST or effort == "thorough" or equal.max() + 1 <= MANY_EQUAL * len(equal)
    return _merged(task, equal) if closest_first else own(task, effort, over)


def equal_together(codes: Ints, k: int) -> Ints:
    """Groups of equal records, k in each as long as there are so many: nobody is closer to them."""
    order = np.lexsort(codes.T)
    others = np.ones(len(codes), bool)  # than the one before
    others[1:] = (codes[order[1:]] != codes[order[:-1]]).any(axis=1)
    firsts = np.flatnonzero(others)
    place = np.arange(len(codes)) - firsts[np.cumsum(others) - 1]
    labels = np.empty(len(codes), np.int32)
    labels[order] = np.cumsum(place % k == 0) - 1
    return by_first_record(labels)


def own(task: Task, effort: str, over: Over) -> Ints:
    """Small groups whose records move, then groups that grow in steps. Rules are not looked at, either."""
    labels = _moved(task, PASSES[effort], over)
    for size in sizes_on_the_way(task.k):
        small = records_only(task, size)
        labels = _merged(small, labels)
        if not over():
            labels = refined(small, labels, "fast", over)
    return _merged(task, labels)


def of_others(task: Task, over: Over) -> Iterator[Ints]:
    """What other methods make, one after the other, until it is over; one that cannot take the table is left out."""
    methods: list[Callable[[Task], Ints]] = [agglomerative.run, mondrian.run, k_member.run]
    if task.codes.shape[1] <= hilbert.MOST_COLUMNS:
        methods.append(hilbert.run)
    for method in methods:
        if over():
            return
        yield as_asked(task, method(task))


def cut_straight(task: Task, loss: float, over: Over) -> Iterator[Ints]:
    """Straight cuts that may end with less than this loss if they are refined. To ask costs next to nothing.

    Where columns have little to do with each other no start is near the best groups, and where to end is a matter of
    their sizes: straight cuts leave few groups above k. On Adult or the census they lose twice as much.
    """
    methods: list[Callable[[Task], Ints]] = [mondrian.run]
    if task.codes.shape[1] <= hilbert.MOST_COLUMNS:
        methods.append(hilbert.run)
    for method in methods:
        if over():
            return
        labels = by_first_record(method(task))
        theirs = ThroughTree(task).total(labels)
        if theirs <= RIVAL * loss:
            yield labels
        if theirs > FAR_BEHIND * loss:
            return


def closest(task: Task) -> Ints:
    """The start for records without near neighbours: of those that are soon made the one that loses least.

    Moving and merging would leave groups of uneven sizes there, and every record above k costs the whole group.
    """
    methods: list[Callable[[Task], Ints]] = [k_member.run, mondrian.run]
    if task.codes.shape[1] <= hilbert.MOST_COLUMNS:
        methods.append(hilbert.run)
    if task.k <= PAIRS:
        methods.append(agglomerative.run)
    return min((without_gaps(method(task)) for method in methods), key=ThroughTree(task).total)


def refined(task: Task, labels: Ints, effort: str, over: Over) -> Ints:
    seed = int(task.rng.integers(2**62))
    refiner = Refiner.of(task.codes, labels, task.costs, task.privacy, seed)
    refiner.compile()
    return refiner.run(ALL_EFFORTS[effort], task.progress, over)


def sizes_on_the_way(k: int) -> list[int]:
    """The sizes that groups have before they have k."""
    sizes: list[int] = []
    while k // GROWTH >= SMALLEST:
        k //= GROWTH
        sizes.insert(0, k)
    return sizes


def records_only(task: Task, k: int) -> Task:
    """The same table, and nothing asked of it but k records in every group."""
    return replace(task, privacy=Privacy.only_k(k, len(task.codes)))


def _moved(task: Task, passes: int, over: Over) -> Ints:
    """Groups of any size, each record in the best it could find."""
    first = (sizes_on_the_way(task.k) or [task.k])[0]
    half = records_only(task, min(first, max(2, first // 2)))
    labels = by_first_record(k_member.run(half))
    for turn in range(passes):
        if over():
            break
        labels, moved = _once_moved(task, labels, f"moving records, pass {turn + 1}")
        if not moved:
            break
        if turn + 1 < passes:
            labels, _ = split_at_random(records_only(task, first), labels, SPLIT_SHARE * first)
    return labels


def _once_moved(task: Task, labels: Ints, name: str) -> tuple[Ints, bool]:
    """Each record goes where the loss falls most, whatever it leaves behind."""
    g = new_grouping(task.codes, labels.copy(), task.costs, no_rules(task.k))
    memory = new_memory(len(g.groups.sizes), 0)
    task.progress.stage(name, len(labels))
    move_many(g, memory, np.arange(len(labels), dtype=np.int32), 0, advance=task.progress.advance)
    return without_gaps(g.members.labels), bool(memory.state["clock"][0])


def _merged(task: Task, labels: Ints) -> Ints:
    return by_first_record(agglomerative.merge_small(task, labels, in_turn=False))


def as_asked(task: Task, labels: Ints) -> Ints:
    """With rules, or where people are counted: mended, since a start may have looked at records only."""
    return mended(task, labels) if task.privacy.asks_more else labels
