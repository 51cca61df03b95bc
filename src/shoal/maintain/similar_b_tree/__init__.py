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
from shoal.errors import InternalError
from shoal.maintain.similar_b_tree.scale import scale_of
from shoal.maintain.similar_b_tree.tree import DELETE, INSERT, LEAF, USED, Tree, begin, follow
from shoal.progress import Progress
from shoal.records.codebook import MISSING, Codes

if TYPE_CHECKING:
    from shoal.maintain.live import LivePartition

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
RECORDS_PER_TURN = 1_000


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
        self._scales = [scale_of(book, None) for book in live.books]
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

    def _points(self, codes: Codes) -> Floats:
        """Two axes per column: where its value lies, and whether it is missing."""
        points = np.zeros((len(codes), 2 * len(self._scales)))
        for j, scale in enumerate(self._scales):
            points[:, 2 * j] = scale[codes[:, j]]
            points[:, 2 * j + 1] = codes[:, j] == MISSING
        return points

    def _follow_books(self) -> None:
        """New values get places between those of their neighbours."""
        for j, (book, old) in enumerate(zip(self.live.books, self._books, strict=True)):
            if book is not old:
                self._scales[j] = scale_of(book, (old, self._scales[j]))
        self._books = self.live.books

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
        """Points stay where they are: see `scale_of`."""

    def renumbered(self, slots: Ints) -> None:
        tree, live = self.tree, self.live
        leaves = tree.leaves.copy()
        leaves["record"] = slots[leaves["record"]]
        points = grow(tree.points[np.flatnonzero(slots >= 0)], len(live.labels))
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
