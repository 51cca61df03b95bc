"""Group trees held against their groups, and what they are asked: for Python, which cannot call inner kernels."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.boxes.group_tree.catalog import ON, Query
from shoal.boxes.group_tree.search import best_group
from shoal.boxes.group_tree.update import add_group, rebuild_after, update_group
from shoal.boxes.grouping import Grouping
from shoal.compiling import ZERO, kernel
from tests.support.costs import cell_cost

ADD, UPDATE, REBUILD = range(3)


@kernel
def change(g: Grouping, what: int, group: int) -> None:
    """One kernel for all: most of what each of them has inside is the same, and takes its time to compile."""
    if what == ADD:
        add_group(g, group + ZERO)
    elif what == UPDATE:
        update_group(g, group + ZERO)
    else:
        rebuild_after(g, group)


def added(g: Grouping, group: int) -> None:
    change(g, ADD, group)


def updated(g: Grouping, group: int) -> None:
    change(g, UPDATE, group)


def rebuilt(g: Grouping, searches: int) -> None:
    change(g, REBUILD, searches)


@kernel
def found_by(g: Grouping, query: Query) -> int:
    return best_group(g, query, False)


def check(g: Grouping) -> None:
    """Every group that is alive is in one leaf, and what the nodes keep is what making it anew would give."""
    tree, groups = g.tree, g.groups
    seen: list[int] = []

    def below(child: int, parent: int) -> list[int]:
        if child >= 0:
            assert tree.nodes[child]["parent"] == parent
            return [group for part in range(tree.nodes[child]["count"]) for group in kept(child, part)]
        leaf = -1 - child
        assert tree.leaves[leaf]["parent"] == parent
        members: list[int] = tree.members[leaf, : tree.leaves[leaf]["count"]].tolist()
        assert members
        for slot, group in enumerate(members):
            assert tree.positions[group]["leaf"] == leaf
            assert tree.boxes[leaf, slot].tolist() == [groups.lo[group].tolist(), groups.hi[group].tolist()]
            assert tree.facts[leaf, slot].item() == (groups.losses[group], groups.sizes[group])
        seen.extend(members)
        return members

    def kept(node: int, part: int) -> list[int]:
        inside = below(int(tree.children[node, part]), node)
        lo, hi = groups.lo[inside].min(axis=0), groups.hi[inside].max(axis=0)
        assert tree.unions[node, part].tolist() == [lo.tolist(), hi.tolist()]
        assert tree.least[node, part].item() == (groups.losses[inside].min(), groups.sizes[inside].min())
        for j in range(groups.lo.shape[1]):
            widths = [cell_cost(g.costs, j, groups.lo[group, j], groups.hi[group, j]) for group in inside]
            assert tree.widths[node, part, :, j].tolist() == [min(widths), max(widths)]
        return inside

    below(0, -1)
    assert sorted(seen) == np.flatnonzero(groups.sizes).tolist()
    if tree.state["catalog"] == ON and tree.state["edition"] == g.costs.chains.edition:
        check_catalog(g)


def check_catalog(g: Grouping) -> None:
    """Every group that is alive lies in one bucket, the one where its cells lead."""
    tree, groups, chains = g.tree, g.groups, g.costs.chains
    entries = {int(key): int(child) for key, child in tree.entries if key}

    def cell_of(depth: int, group: int) -> int:
        """By what costs the same, not by chains: the widest run of codes that costs no more than the box does."""
        j, start = chains.columns[depth]
        lo, hi = int(groups.lo[group, j]), int(groups.hi[group, j])
        cost = cell_cost(g.costs, j, lo, hi)
        [cell] = {
            int(cell)
            for (cell, last), (price, _) in zip(chains.cells[start + lo], chains.prices[start + lo], strict=True)
            if last >= hi and price == pytest.approx(cost, abs=1e-12)
        }
        return cell

    lying: list[int] = []
    for group in np.flatnonzero(groups.sizes).tolist():
        child, depth = 0, 0
        while child >= 0:
            child = entries[(child << 32) + cell_of(depth, group) + 1]
            depth += 1
        assert tree.positions[group]["bucket"] in buckets_from(g, -child)
        bucket = tree.buckets[tree.positions[group]["bucket"]]
        slots = [slot for slot in range(bucket["count"]) if bucket["groups"][slot] == group]
        assert len(slots) == 1
        assert bucket["losses"][slots[0]] == groups.losses[group]
        lying.append(group)
    reached = [bucket for child in entries.values() if child < 0 for bucket in buckets_from(g, -child)]
    assert tree.buckets["count"][reached].sum() == len(lying)


def buckets_from(g: Grouping, bucket: int) -> list[int]:
    """A bucket, and those beside it."""
    found = []
    while bucket > 0:
        found.append(bucket)
        bucket = int(g.tree.buckets[bucket]["next"])
    return found
