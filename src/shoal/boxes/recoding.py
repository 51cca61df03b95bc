"""Codes with new names, in the same order: what is kept of them stays valid, and only has to be written anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.division import AT, COLUMN, CUT, KIND, MIDDLE
from shoal.boxes.group_tree import Groups, GroupTree
from shoal.boxes.layout import COUNT, LEAVES, NODES, STEPS
from shoal.compiling import kernel

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


class Names(NamedTuple):
    """In column `columns[i]` code c is `names[starts[i] + c]` now."""

    columns: Longs
    starts: Longs
    names: Ints


def new_names(moved: Sequence[Ints | None]) -> Names:
    """From the new code of each old code, of every column that has any."""
    known = [names for names in moved if names is not None]
    columns = [j for j, names in enumerate(moved) if names is not None]
    return Names(np.array(columns, np.int64), np.cumsum([0, *map(len, known)])[:-1], np.concatenate(known))


@kernel
def renamed(names: Names, codes: Ints, used: int, new: Ints) -> None:
    """The first `used` rows of codes by their new names, into `new`."""
    for record in range(used):
        for j in range(codes.shape[1]):
            new[record, j] = codes[record, j]
        for i in range(len(names.columns)):
            j = names.columns[i]
            new[record, j] = names.names[names.starts[i] + codes[record, j]]


@kernel
def rename(names: Names, groups: Groups, tree: GroupTree) -> None:
    """The same for boxes, and for what the group tree keeps."""
    for group in range(len(groups.sizes)):
        for i in range(len(names.columns)):
            j, start = names.columns[i], names.starts[i]
            groups.lo[group, j] = names.names[start + groups.lo[group, j]]
            groups.hi[group, j] = names.names[start + groups.hi[group, j]]
    for node in range(tree.state[NODES]):
        for i in range(len(names.columns)):
            j, start = names.columns[i], names.starts[i]
            for child in range(tree.nodes[node, COUNT]):
                for side in range(2):
                    tree.unions[node, child, side, j] = names.names[start + tree.unions[node, child, side, j]]
            for step in range(tree.nodes[node, STEPS]):
                kind = tree.cuts[node, step, KIND]
                if tree.cuts[node, step, COLUMN] == j and kind in (CUT, MIDDLE):
                    tree.cuts[node, step, AT] = names.names[start + tree.cuts[node, step, AT]]
    for leaf in range(tree.state[LEAVES]):
        for place in range(tree.leaves[leaf, COUNT]):
            for i in range(len(names.columns)):
                j, start = names.columns[i], names.starts[i]
                for side in range(2):
                    tree.boxes[leaf, place, side, j] = names.names[start + tree.boxes[leaf, place, side, j]]
