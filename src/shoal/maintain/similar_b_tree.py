"""The similar-B-tree: groups are the middle nodes of a tree, records its ordered leaves (its paper's Sections 4 to 7).

A record is a point: numbers and days by their place in the domain, categories by their code, each on a scale of 0 to 1,
and beside each column an axis that says whether it is missing. A middle node has k to 2k − 1 leaves, the centre of
their points, and a key for each leaf: its weighted distance from the centre. Leaves are in the order of their keys.

Insert: the first node, in the order of the root, that reaches as far as the point (its largest key); if none does, the
one with the nearest centre. A node with 2k leaves is split into the front k and the last k. Delete: a node with fewer
than k leaves is merged into the nearest of those with exactly k; if there is none, into the nearest, leaf by leaf, with
splits as they come. Update: in place, if the new point is no further from the centre than the largest key.

Decisions. The order of the root is that of the group numbers at the beginning; new nodes come last. (First fit depends
on it, as the paper has it.) After a centre has moved, keys are computed and sorted again; a split uses the keys from
the old centre. A leaf is found by its record's number, not by searching. Weights are scaled so that the largest is 1.
The paper knows no rules, and with them a node could not always be split at 2k: it keeps k records alone.

Guarantee: every node has k to 2k − 1 leaves, unless there are fewer than k records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import grow
from shoal.compiling import ZERO, inner, kernel
from shoal.errors import InternalError
from shoal.progress import Progress
from shoal.records.codebook import MISSING, CodeBook, Codes
from shoal.structs import Struct, struct

if TYPE_CHECKING:
    from shoal.maintain.live import LivePartition

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Rows = NDArray[np.void]  # of named fields
INSERT, DELETE = range(2)
RECORDS_PER_TURN = 1_000
FURTHEST = 1e3  # how far outside its domain a value may lie on its scale: squares of distances stay finite

LEAF = np.dtype([("record", "i4"), ("key", "f8")], align=True)
USED = np.dtype([("root", "i8"), ("spare", "i8")], align=True)  # how many entries of `root` and `spare` are in use


@struct
class Tree(Struct):
    """The root's list of middle nodes, and each node's leaves."""

    k: int
    points: Floats  # (records, axes)
    weights: Floats  # of each axis
    labels: Ints  # the node of each record; −1: none
    root: Ints  # nodes in the order of the root, and −1 where one is no more
    sizes: Longs  # leaves of each node; 0: it is no more
    centres: Floats  # (nodes, axes)
    leaves: Rows  # (nodes, 2k): LEAF in the order of their keys
    spare: Ints  # a stack of node numbers that are not in use
    used: Rows  # [USED]


@inner
def distance(tree: Tree, node: int, record: int) -> float:
    """How far a record is from the centre of a node."""
    return apart(tree.weights, tree.points[record], tree.centres[node])


@inner
def apart(weights: Floats, one: Floats, other: Floats) -> float:
    total = 0.0
    for axis in range(len(weights)):
        way = one[axis] - other[axis]
        total += weights[axis] * way * way
    return np.sqrt(total)


@inner
def search_subtree(tree: Tree, record: int) -> int:
    """The node that a record joins: the first that reaches it, else the nearest; −1 if there is no node."""
    root, sizes, leaves = tree.root, tree.sizes, tree.leaves
    points, weights, centres = tree.points, tree.weights, tree.centres
    nearest, least = ZERO - 1, np.inf
    for i in range(tree.used[0].root):
        node = root[i] + ZERO
        if node < 0:
            continue
        way = apart(weights, points[record], centres[node])
        if way <= leaves[node, sizes[node] - 1].key:
            return node
        if nearest < 0 or way < least:
            nearest, least = node, way
    return nearest


@inner
def search_position(tree: Tree, node: int, key: float) -> int:
    """Behind all leaves whose key is not larger."""
    leaves, at = tree.leaves, tree.sizes[node]
    while at > 0 and leaves[node, at - 1].key > key:
        at -= 1
    return at


@inner
def recentre(tree: Tree, node: int) -> None:
    """The centre of a node's leaves, and the leaves in the order of their keys."""
    points, weights, centres, leaves, size = tree.points, tree.weights, tree.centres, tree.leaves, tree.sizes[node]
    for axis in range(len(weights)):
        total = 0.0
        for i in range(size):
            total += points[leaves[node, i].record, axis]
        centres[node, axis] = total / size
    for i in range(size):
        record = leaves[node, i].record
        key = apart(weights, points[record], centres[node])
        at = i
        while at > 0 and leaves[node, at - 1].key > key:
            leaves[node, at] = leaves[node, at - 1]
            at -= 1
        leaves[node, at].record, leaves[node, at].key = record, key


@inner
def put_leaf(tree: Tree, node: int, record: int) -> None:
    """A leaf at the place that its key gives it."""
    leaves = tree.leaves
    key = distance(tree, node, record)
    at = search_position(tree, node, key)
    for i in range(tree.sizes[node], at, -1):
        leaves[node, i] = leaves[node, i - 1]
    leaves[node, at].record, leaves[node, at].key = record, key
    tree.sizes[node] += 1
    tree.labels[record] = node


@inner
def insert_node(tree: Tree, node: int, record: int) -> None:
    """A record joins a node, which is split if it has 2k leaves then."""
    put_leaf(tree, node, record)
    k, leaves = tree.k, tree.leaves
    if tree.sizes[node] == 2 * k:
        new = new_node(tree)
        for i in range(k):
            leaves[new, i].record = leaves[node, k + i].record
            tree.labels[leaves[new, i].record] = new
        tree.sizes[node] = tree.sizes[new] = k
        recentre(tree, new)
    recentre(tree, node)


@inner
def new_node(tree: Tree) -> int:
    """A node without leaves, the last of the root."""
    tree.used[0].spare -= 1
    node = tree.spare[tree.used[0].spare] + ZERO
    enlist(tree, node)
    return node


@inner
def enlist(tree: Tree, node: int) -> None:
    tree.root[tree.used[0].root] = node
    tree.used[0].root += 1
    tree.sizes[node] = 0


@inner
def take_leaf(tree: Tree, record: int) -> int:
    """A record leaves its node; which one."""
    leaves, node = tree.leaves, tree.labels[record] + ZERO
    at = 0
    while leaves[node, at].record != record:
        at += 1
    tree.sizes[node] -= 1
    for i in range(at, tree.sizes[node]):
        leaves[node, i] = leaves[node, i + 1]
    tree.labels[record] = -1
    return node


@inner
def delete_node(tree: Tree, record: int) -> None:
    """A record leaves the tree; what is left of a node that has become too small is merged into another."""
    node = take_leaf(tree, record)
    if tree.sizes[node] == 0:
        drop(tree, node)
        return
    recentre(tree, node)
    if tree.sizes[node] < tree.k:
        other = partner(tree, node)
        if other >= 0:
            merge(tree, node, other)


@inner
def partner(tree: Tree, node: int) -> int:
    """The nearest node with k leaves, else the nearest of all; −1 if there is no other."""
    root, weights, centres, sizes = tree.root, tree.weights, tree.centres, tree.sizes
    full, nearest, least_full, least = ZERO - 1, ZERO - 1, np.inf, np.inf
    for i in range(tree.used[0].root):
        other = root[i] + ZERO
        if other < 0 or other == node:
            continue
        way = apart(weights, centres[node], centres[other])
        if sizes[other] == tree.k and way < least_full:
            full, least_full = other, way
        if way < least:
            nearest, least = other, way
    return full if full >= 0 else nearest


@inner
def merge(tree: Tree, node: int, other: int) -> None:
    leaves = tree.leaves[node, : tree.sizes[node]].copy()
    drop(tree, node)
    for i in range(len(leaves)):
        insert_node(tree, other, leaves[i].record + ZERO)


@inner
def drop(tree: Tree, node: int) -> None:
    root, used = tree.root, tree.used
    tree.sizes[node] = 0
    tree.spare[used[0].spare] = node
    used[0].spare += 1
    for i in range(used[0].root):
        if root[i] == node:
            root[i] = -1


@kernel
def follow(tree: Tree, what: int, records: Ints, replaced: Ints) -> None:
    """Insert or delete records one after the other. `replaced[i]`: the record that records[i] is the new version of."""
    for i in range(len(records)):
        record = records[i] + ZERO
        if what == DELETE:
            delete_node(tree, record)
            continue
        old = replaced[i] + ZERO
        if old >= 0:
            node = tree.labels[old] + ZERO
            if distance(tree, node, record) <= tree.leaves[node, tree.sizes[node] - 1].key:
                take_leaf(tree, old)
                put_leaf(tree, node, record)
                recentre(tree, node)
                continue
            delete_node(tree, old)
        node = search_subtree(tree, record)
        if node < 0:
            node = new_node(tree)
            tree.leaves[node, 0].record, tree.sizes[node], tree.labels[record] = record, 1, node
            recentre(tree, node)
        else:
            insert_node(tree, node, record)


@kernel
def begin(tree: Tree, order: Ints, ends: Longs, numbers: Ints) -> None:
    """Nodes of these numbers with the records order[ends[i − 1]:ends[i]]; those with 2k and more are split."""
    start, k = 0, tree.k
    for node in numbers:
        enlist(tree, node + ZERO)
    for i in range(len(ends)):
        end = ends[i]
        # All leaves of a node that is too large, by their distance from its centre: k at a time make a node.
        records = order[start:end].copy()
        keys = np.zeros(len(records))
        while len(records) >= 2 * k:
            sort_by_distance(tree, records, keys[: len(records)])
            fill(tree, records[len(records) - k :], new_node(tree))
            records = records[: len(records) - k]
        fill(tree, records, numbers[i] + ZERO)
        start = end


@inner
def sort_by_distance(tree: Tree, records: Ints, keys: Floats) -> None:
    points, weights = tree.points, tree.weights
    centre = np.zeros(len(weights))
    for record in records:
        for axis in range(len(centre)):
            centre[axis] += points[record, axis] / len(records)
    for i in range(len(records)):
        record, key = records[i], 0.0
        for axis in range(len(centre)):
            way = points[record, axis] - centre[axis]
            key += weights[axis] * way * way
        at = i
        while at > 0 and keys[at - 1] > key:
            keys[at], records[at] = keys[at - 1], records[at - 1]
            at -= 1
        keys[at], records[at] = key, record


@inner
def fill(tree: Tree, records: Ints, node: int) -> None:
    leaves = tree.leaves
    for i in range(len(records)):
        leaves[node, i].record = records[i]
        tree.labels[records[i]] = node
    tree.sizes[node] = len(records)
    recentre(tree, node)


@kernel
def merge_small(tree: Tree, node: int) -> None:
    if tree.sizes[node] == 0 or tree.sizes[node] >= tree.k:
        return
    other = partner(tree, node)
    if other >= 0:
        merge(tree, node, other)


class SimilarBTree:
    """The engine of a live partition that follows its data as the similar-B-tree does."""

    def __init__(self, live: LivePartition) -> None:
        """From the labels that the records have. Groups that are too large are split; the others keep their numbers."""
        self.live = live
        labels = live.labels
        there = np.flatnonzero(labels >= 0).astype(np.int32)
        order = there[np.argsort(labels[there], kind="stable")]
        numbers, sizes = np.unique(labels[there], return_counts=True)
        room = max(int(numbers.max(initial=-1)) + 1, len(there) // live.k) + len(sizes) + 1
        spare = np.setdiff1d(np.arange(room, dtype=np.int32), numbers)[::-1]
        self._books = live.books
        self._places = [places_on_scale(book, None) for book in live.books]
        weights = np.repeat([book.column.weight for book in live.books], 2).astype(np.float64)
        axes = 2 * len(live.books)
        points = np.zeros((len(labels), axes))
        points[there] = self._points(live.codes[there])
        self.tree = Tree(
            k=live.k,
            points=points,
            weights=weights / max(weights.max(initial=0.0), 1e-300),
            labels=labels,
            root=np.full(room + len(sizes), -1, np.int32),
            sizes=np.zeros(room, np.int64),
            centres=np.zeros((room, axes)),
            leaves=np.zeros((room, 2 * live.k), LEAF),
            spare=grow(spare, room),
            used=np.array([(0, len(spare))], USED),
        )
        begin(self.tree, order, np.cumsum(sizes), numbers.astype(np.int32))
        self._merge_small()

    def _points(self, codes: Codes) -> Floats:
        """Two axes per column: where its value lies, and whether it is missing."""
        points = np.zeros((len(codes), 2 * len(self._places)))
        for j, places in enumerate(self._places):
            points[:, 2 * j] = places[codes[:, j]]
            points[:, 2 * j + 1] = codes[:, j] == MISSING
        return points

    def _follow_books(self) -> None:
        """New values get places between those of their neighbours."""
        for j, (book, old) in enumerate(zip(self.live.books, self._books, strict=True)):
            if book is not old:
                self._places[j] = places_on_scale(book, (old, self._places[j]))
        self._books = self.live.books

    def _merge_small(self) -> None:
        """Groups that were too small from the beginning."""
        sizes = self.tree.sizes
        for node in np.flatnonzero((sizes > 0) & (sizes < self.live.k)):
            merge_small(self.tree, int(node))

    def apply(self, gone: Ints, come: Ints, replaced: Ints, progress: Progress) -> None:
        updated = np.isin(gone, replaced)
        self._follow_books()
        self._make_room(gone, come)
        nothing = np.zeros(0, np.int32)
        leaving = gone[~updated]
        for what, records, stage in ((DELETE, leaving, "deleting"), (INSERT, come, "inserting")):
            progress.stage(stage, len(records))
            for first in range(0, len(records), RECORDS_PER_TURN):
                some = slice(first, first + RECORDS_PER_TURN)
                follow(self.tree, what, records[some], replaced[some] if what == INSERT else nothing)
                progress.advance(len(records[some]))

    def _make_room(self, gone: Ints, come: Ints) -> None:
        """Room for those who come, and for the nodes that all of them may make; their points."""
        live, tree = self.live, self.tree
        used = tree.used[0]
        new = len(come) + len(gone) + 1  # a node is made by a split, and each of them makes one at most
        root = tree.root[: used["root"]]
        root = root[root >= 0]
        room, spare = len(tree.sizes), tree.spare[: used["spare"]]
        if new > len(spare):
            numbers = np.arange(room, room + max(new, room // 4), dtype=np.int32)
            room += len(numbers)
            spare = np.concatenate([numbers[::-1], spare])
        points = grow(tree.points, len(live.labels))
        points[come] = self._points(live.codes[come])
        self.tree = tree.replace(
            points=points,
            labels=live.labels,
            root=grow(root, room + new, -1),
            sizes=grow(tree.sizes, room),
            centres=grow(tree.centres, room),
            leaves=grow(tree.leaves, room),
            spare=grow(spare, room),
            used=np.array([(len(root), len(spare))], USED),
        )

    def n_groups(self) -> int:
        return int((self.tree.sizes > 0).sum())

    def publishable(self) -> bool:
        sizes = self.tree.sizes[self.tree.sizes > 0]
        return bool((sizes >= self.live.k).all())

    def loss(self) -> float:
        return self.live.loss()

    def recoded(self, moved: Sequence[Ints | None]) -> None:
        """Points stay where they are: see `places_on_scale`."""

    def renumbered(self, places: Ints) -> None:
        tree, live = self.tree, self.live
        leaves = tree.leaves.copy()
        leaves["record"] = places[leaves["record"]]
        points = grow(tree.points[np.flatnonzero(places >= 0)], len(live.labels))
        self.tree = tree.replace(points=points, labels=live.labels, leaves=leaves)

    def check(self) -> None:
        """Recompute everything; raise InternalError where it is not what it should be."""
        tree, live = self.tree, self.live
        seen: list[int] = []
        for node in np.flatnonzero(tree.sizes).tolist():
            size = int(tree.sizes[node])
            leaves, keys = tree.leaves["record"][node, :size], tree.leaves["key"][node, :size]
            seen += leaves.tolist()
            centre = tree.points[leaves].mean(axis=0)
            apart = np.sqrt(((tree.points[leaves] - centre) ** 2 * tree.weights).sum(axis=1))
            fine = (
                np.allclose(centre, tree.centres[node])
                and np.allclose(apart, keys)
                and bool((np.diff(keys) >= 0).all())
                and bool((tree.labels[leaves] == node).all())
                and (tree.root[: tree.used["root"][0]] == node).sum() == 1
            )
            if not fine:
                raise InternalError("a node of the similar-B-tree is not what its leaves make it.")
        if sorted(seen) != np.flatnonzero(live.labels >= 0).tolist():
            raise InternalError("the similar-B-tree does not have every record once.")


def places_on_scale(book: CodeBook, before: tuple[CodeBook, Floats] | None) -> Floats:
    """Where each code lies between 0 and 1; what was there `before` stays where it was, as points do."""
    if book.axis is not None:
        assert book.domain is not None
        low, high = book.domain
        places = (book.axis.astype(np.float64) - low) / ((high - low) or 1.0)
        return np.concatenate([[0.0], np.clip(places, -FURTHEST, FURTHEST)])
    leaves = len(book.texts)
    if before is None:
        return np.concatenate([[0.0], np.arange(leaves) / max(1, leaves - 1)])
    known = dict(zip(before[0].texts, before[1][1:].tolist(), strict=True))
    at = [place for place, text in enumerate(book.texts) if text in known]
    if not at:
        return places_on_scale(book, None)
    between_them = np.interp(np.arange(leaves), at, [known[book.texts[place]] for place in at])
    return np.concatenate([[0.0], between_them])
