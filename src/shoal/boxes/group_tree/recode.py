"""Codes with new names, in the same order: what is kept of them stays valid, and only has to be written anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.group_tree.divide import BY_CODE, BY_MIDDLE
from shoal.boxes.grouping import Grouping
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
def rename(g: Grouping, names: Names) -> None:
    """The same for boxes, and for what the group tree keeps."""
    lo, hi, tree, new = g.groups.lo, g.groups.hi, g.tree, names.names
    unions, cuts, boxes = tree.unions, tree.cuts, tree.boxes
    for i in range(len(names.columns)):
        j, start = names.columns[i], names.starts[i]
        for group in range(len(lo)):
            lo[group, j] = new[start + lo[group, j]]
            hi[group, j] = new[start + hi[group, j]]
        for node in range(tree.state[0].n_nodes):
            for child in range(tree.nodes[node].count):
                for side in range(2):
                    unions[node, child, side, j] = new[start + unions[node, child, side, j]]
            for n in range(tree.nodes[node].n_cuts):
                cut = cuts[node, n]
                if cut.column == j and (cut.kind == BY_CODE or cut.kind == BY_MIDDLE):
                    cut.at = new[start + cut.at]
        for leaf in range(tree.state[0].n_leaves):
            for slot in range(tree.leaves[leaf].count):
                for side in range(2):
                    boxes[leaf, slot, side, j] = new[start + boxes[leaf, slot, side, j]]
