"""Group trees held against their groups: what nodes and catalogs keep is what making them anew would give."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.boxes.catalog import FIRST, HELD, LOSSES, NEXT, ON
from shoal.boxes.costs import CostTables
from shoal.boxes.group_tree import Groups, GroupTree
from shoal.boxes.kernels import cell_cost
from shoal.boxes.layout import ABOVE, CATALOG, COUNT, EDITION, HOME, LEAF
from shoal.compiling import kernel


def check(tree: GroupTree, costs: CostTables, groups: Groups) -> None:
    """Every group that is alive is in one leaf, and what the nodes keep is what making it anew would give."""
    seen: list[int] = []

    def below(child: int, parent: int) -> list[int]:
        if child >= 0:
            assert tree.nodes[child, ABOVE] == parent
            return [group for part in range(tree.nodes[child, COUNT]) for group in kept(child, part)]
        leaf = -1 - child
        assert tree.leaves[leaf, ABOVE] == parent
        members = tree.members[leaf, : tree.leaves[leaf, COUNT]].tolist()
        assert members
        for place, group in enumerate(members):
            assert tree.places[group, LEAF] == leaf
            assert tree.boxes[leaf, place].tolist() == [groups.lo[group].tolist(), groups.hi[group].tolist()]
            assert tree.facts[leaf, place].tolist() == [groups.losses[group], groups.sizes[group]]
        seen.extend(members)
        return members

    def kept(node: int, part: int) -> list[int]:
        inside = below(int(tree.children[node, part]), node)
        lo, hi = groups.lo[inside].min(axis=0), groups.hi[inside].max(axis=0)
        assert tree.unions[node, part].tolist() == [lo.tolist(), hi.tolist()]
        assert tree.least[node, part].tolist() == [groups.losses[inside].min(), groups.sizes[inside].min()]
        for j in range(groups.lo.shape[1]):
            widths = [cell_cost_of(costs, j, groups.lo[group, j], groups.hi[group, j]) for group in inside]
            assert tree.widths[node, part, :, j].tolist() == [min(widths), max(widths)]
        return inside

    below(0, -1)
    assert sorted(seen) == np.flatnonzero(groups.sizes).tolist()
    if tree.state[CATALOG] == ON and tree.state[EDITION] == costs.chains.edition:
        check_catalog(tree, costs, groups)


def check_catalog(tree: GroupTree, costs: CostTables, groups: Groups) -> None:
    """Every group that is alive lies in one drawer, the one where its cells lead."""
    chains = costs.chains
    entries = {int(key): int(child) for key, child in tree.table if key}

    def cell_of(depth: int, group: int) -> int:
        """By what costs the same, not by chains: the widest run of codes that costs no more than the box does."""
        j, start = chains.columns[depth]
        lo, hi = int(groups.lo[group, j]), int(groups.hi[group, j])
        cost = cell_cost_of(costs, j, lo, hi)
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
        drawers = [-child]
        while tree.drawers[drawers[-1], NEXT]:
            drawers.append(int(tree.drawers[drawers[-1], NEXT]))
        assert tree.places[group, HOME] in drawers
        home = tree.drawers[tree.places[group, HOME]]
        places = [place for place in range(int(home[HELD])) if home[FIRST + place] == group + 1]
        assert len(places) == 1
        assert home[LOSSES + places[0]] == groups.losses[group]
        lying.append(group)
    held = [int(tree.drawers[drawer, HELD]) for drawer in drawers_of(entries, tree.drawers)]
    assert sum(held) == len(lying)


def drawers_of(entries: dict[int, int], drawers: np.ndarray) -> list[int]:
    """All drawers that an entry leads to."""
    found = []
    for child in entries.values():
        drawer = -child
        while drawer > 0:
            found.append(drawer)
            drawer = int(drawers[drawer, NEXT])
    return found


@kernel
def cell_cost_of(costs: CostTables, j: int, lo: int, hi: int) -> float:
    return cell_cost(costs, j, lo, hi)
