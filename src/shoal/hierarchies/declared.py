"""Hierarchies that list their values: a flat set, and a tree from a CSV file, a nested mapping or rows."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from shoal.errors import HierarchyError
from shoal.hierarchies.tree import ROOT, Tree, grow_levels, tree_of


@dataclass(frozen=True)
class FlatValues:
    """Every value is as different from any other: a cell is published as it is or as `*`."""

    values: tuple[str, ...] | None = None

    def grow(self, values: Iterable[str] = ()) -> Tree:
        leaves = sorted(set(values)) if self.values is None else list(dict.fromkeys(self.values))
        if ROOT in leaves:
            raise HierarchyError(f"{ROOT!r} stands for every value and cannot be a value. Rename it.")
        return grow_levels(leaves, [])


DEEPEST = 100


@dataclass
class _Node:
    children: dict[str, _Node] = field(default_factory=dict)


@dataclass(frozen=True)
class DeclaredTree:
    """A tree given by its paths, root first. Checked when it is made: see `from_paths`."""

    paths: tuple[tuple[str, ...], ...]

    def grow(self, values: Iterable[str] = ()) -> Tree:
        """The tree over its own leaves; `values` play no part (what is not in the tree is the caller's question)."""
        top = _Node()
        for path in self.paths:
            node = top
            for label in path:
                node = node.children.setdefault(label, _Node())
        (root, first), *_ = top.children.items()

        labels: list[str] = []
        leaf_paths: list[list[int]] = []

        def visit(label: str, node: _Node, above: list[int]) -> None:
            path = [*above, len(labels)]
            labels.append(label)
            for name, below in node.children.items():
                visit(name, below, path)
            if not node.children:
                leaf_paths.append(path)

        visit(root, first, [])
        paths = np.full((len(leaf_paths), max(map(len, leaf_paths))), -1, np.int32)
        for leaf, nodes in enumerate(leaf_paths):
            paths[leaf, : len(nodes)] = nodes
        return tree_of([labels[nodes[-1]] for nodes in leaf_paths], labels, paths)


def from_csv(path: Path) -> DeclaredTree:
    """Rows `leaf;…;root`, without a header; paths of unequal length are allowed, trailing empty cells ignored."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise HierarchyError("the hierarchy file does not exist.", file=str(path)) from None
    except UnicodeDecodeError:
        raise HierarchyError("the hierarchy file is not UTF-8 text.", file=str(path)) from None
    except OSError as problem:
        raise HierarchyError(f"the hierarchy cannot be read: {problem.strerror}.", file=str(path)) from None
    lines = list(io.StringIO(text, newline=""))  # only line feeds and carriage returns end a line, as in every CSV
    delimiter = max(";", ",", "\t", key=lambda sign: sum(sign in line for line in lines))
    try:
        return from_paths(csv.reader(lines, delimiter=delimiter))
    except HierarchyError as error:
        raise HierarchyError(error.message, hint=error.hint, file=str(path)) from None


def from_nested(source: Mapping[str, object]) -> DeclaredTree:
    """`{"America": {"North": ["USA", "Canada"]}, "Asia": ["India"]}`; a single outermost key is the root."""

    def paths(inside: object, above: tuple[str, ...], open_mappings: tuple[int, ...]) -> Iterator[tuple[str, ...]]:
        if id(inside) in open_mappings:
            raise HierarchyError(f"the hierarchy is cyclic: {above[-1]!r} contains itself.")
        if isinstance(inside, Mapping) and inside:
            for label, below in inside.items():
                yield from paths(below, (*above, str(label)), (*open_mappings, id(inside)))
        elif isinstance(inside, list | tuple | set | frozenset) and inside:
            # A set has no order of its own; codes must not depend on the one that it happens to have today.
            for leaf in sorted(map(str, inside)) if isinstance(inside, set | frozenset) else map(str, inside):
                yield (*above, leaf)
        elif not inside:
            yield above
        else:
            raise HierarchyError(
                f"below {above[-1]!r} must stand a mapping or a list of values. Got {type(inside).__name__} instead."
            )

    found = list(paths(source, (), ()))
    if len({path[0] for path in found if path}) > 1:
        found = [(ROOT, *path) for path in found]
    return from_paths(tuple(reversed(path)) for path in found)


def from_paths(rows: Iterable[Sequence[str]]) -> DeclaredTree:
    """Rows leaf first. Refuses what has no meaning: cycles, two roots, a leaf twice, a label for two sets of values."""
    seen: dict[str, tuple[str, ...]] = {}
    parents: dict[str, str] = {}
    for number, row in enumerate(rows, start=1):
        cells = [cell.strip() for cell in row]
        while cells and not cells[-1]:
            cells.pop()
        if not cells:
            continue
        if not all(cells):
            raise HierarchyError(f"line {number} has an empty label in the middle of its path.")
        path = tuple(reversed(cells))
        if seen.setdefault(path[-1], path) != path:
            raise HierarchyError(f"line {number} gives {path[-1]!r} a second, different path.")
        steps = [(below, above) for above, below in itertools.pairwise(path) if above != below]
        if len({below for below, _ in steps} | {path[0]}) != len(steps) + 1:
            raise HierarchyError(f"the hierarchy is cyclic: line {number} has a label above itself.")
        for below, above in steps:
            if parents.setdefault(below, above) != above:
                raise HierarchyError(
                    f"the hierarchy is inconsistent: {below!r} stands below {parents[below]!r} and below {above!r} "
                    f"(line {number}).",
                    hint="A label must name one set of values: give the two groups different names.",
                )
        if len(path) > DEEPEST:
            raise HierarchyError(f"line {number} has {len(path)} levels; at most {DEEPEST} make sense.")
    if not seen:
        raise HierarchyError("the hierarchy has no values.")
    if all(len(path) == 1 for path in seen.values()):  # a list of values: suppression only
        return DeclaredTree(tuple((ROOT, *path) for path in seen.values()))
    _check(seen, parents)
    return DeclaredTree(tuple(seen.values()))


def _check(seen: dict[str, tuple[str, ...]], parents: dict[str, str]) -> None:
    for label in parents:
        above, steps = label, 0
        while above in parents:
            above, steps = parents[above], steps + 1
            if steps > DEEPEST:
                raise HierarchyError(f"the hierarchy is cyclic: {label!r} is above itself.")
    roots = {path[0] for path in seen.values()}
    if len(roots) > 1:
        raise HierarchyError(
            f"the hierarchy has {len(roots)} roots ({', '.join(map(repr, sorted(roots)[:3]))}).",
            hint=f"Let every path end in the same label, for example {ROOT!r}.",
        )
    groups = set(parents.values())
    for label in seen:
        if label in groups:
            raise HierarchyError(
                f"{label!r} is both a value and a group of values.",
                hint="A label must name one set of values: rename one of them.",
            )
    if ROOT in parents or ROOT in seen:
        raise HierarchyError(f"{ROOT!r} stands for every value: it can only be the root of other values.")
