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
from shoal.hierarchies.arx_rows import as_arx_writes
from shoal.hierarchies.tree import ROOT, Tree, grow_levels, tree_of
from shoal.sources.encodings import decoded


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
FORM = "A hierarchy has a row for each value, from the value to the root: leaf;…;root. Is it the right file?"
ONE_SET = "A label must name one set of values: give two groups different names."


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
        content = path.read_bytes()
    except FileNotFoundError:
        raise HierarchyError("the hierarchy file does not exist.", file=str(path)) from None
    except OSError as problem:
        raise HierarchyError(f"the hierarchy cannot be read: {problem.strerror}.", file=str(path)) from None
    return from_bytes(content, str(path))


def from_bytes(content: bytes, file: str) -> DeclaredTree:
    """The same, of a file that has been read: UTF-8, UTF-16 or Latin-1."""
    try:
        text = decoded(content)
    except UnicodeDecodeError:
        raise HierarchyError("the hierarchy file is not UTF-8 text.", file=file) from None
    lines = list(io.StringIO(text, newline=""))  # only line feeds and carriage returns end a line, as in every CSV
    delimiter = max(";", ",", "\t", key=lambda sign: sum(sign in line for line in lines))
    reader = csv.reader(lines, delimiter=delimiter)
    try:
        return _declared(((reader.line_num, row) for row in reader), "line")
    except HierarchyError as error:
        raise HierarchyError(
            error.message, hint=error.hint, file=file, line=error.line, values=error.sealed()
        ) from None
    except csv.Error:
        pass  # its message may quote the file
    raise HierarchyError(f"line {reader.line_num} cannot be read as CSV.", hint=FORM, file=file, line=reader.line_num)


def from_nested(source: Mapping[str, object]) -> DeclaredTree:
    """`{"America": {"North": ["USA", "Canada"]}, "Asia": ["India"]}`; a single outermost key is the root."""

    def paths(inside: object, above: tuple[str, ...], open_mappings: tuple[int, ...]) -> Iterator[tuple[str, ...]]:
        if id(inside) in open_mappings:
            raise HierarchyError("the hierarchy is cyclic: a mapping of it contains itself.", values=above[-1:])
        if len(above) > DEEPEST:
            raise HierarchyError(f"the hierarchy has more than {DEEPEST} levels; so many make no sense.")
        if isinstance(inside, Mapping) and inside:
            for label, below in inside.items():
                yield from paths(below, (*above, str(label)), (*open_mappings, id(inside)))
        elif isinstance(inside, list | tuple | set | frozenset) and inside:
            # A set has no order of its own; codes must not depend on the one that it happens to have today.
            for leaf in sorted(_leaves(inside)) if isinstance(inside, set | frozenset) else _leaves(inside):
                yield (*above, leaf)
        elif not inside:
            yield above
        else:
            raise HierarchyError(
                f"below a label must stand a mapping or a list of values. Got {type(inside).__name__} instead.",
                values=above[-1:],
            )

    found = list(paths(source, (), ()))
    if len({path[0] for path in found if path}) > 1:
        found = [(ROOT, *path) for path in found]
    return _declared(enumerate((tuple(reversed(path)) for path in found), start=1), "value")


def nested(tree: DeclaredTree) -> dict[str, object]:
    """The tree as `from_nested` reads it: what has only values below it is a list, a value beside groups is empty."""

    def inside(paths: list[tuple[str, ...]]) -> dict[str, object] | list[str]:
        below: dict[str, list[tuple[str, ...]]] = {}
        for path in paths:
            below.setdefault(path[0], []).append(path[1:])
        if all(rests == [()] for rests in below.values()):
            return list(below)
        return {label: [] if rests == [()] else inside(rests) for label, rests in below.items()}

    made = inside(list(tree.paths))
    return made if isinstance(made, dict) else {ROOT: made}


def _leaves(values: Iterable[object]) -> list[str]:
    """The values of a list as texts; a list in a list is none, and may have no end."""
    if any(isinstance(value, Mapping | list | tuple | set | frozenset) for value in values):
        raise HierarchyError("a list of values has a list or a mapping in it.", hint="Groups of values need a label.")
    return list(map(str, values))


def from_paths(rows: Iterable[Sequence[str]]) -> DeclaredTree:
    """Rows leaf first. Refuses what has no meaning: cycles, two roots, a leaf twice, a label for two sets of values."""
    return _declared(enumerate(rows, start=1), "row")


def _declared(rows: Iterable[tuple[int, Sequence[str]]], unit: str) -> DeclaredTree:
    """The tree of numbered rows, leaf first. `unit`: what the numbers count.

    A label may be a value of somebody's, if the wrong file was given: messages name where it stands, never itself.
    """
    declared = _Declared(unit)
    for number, cells in as_arx_writes(rows):
        declared.add(number, cells)
    if not declared.paths:
        raise HierarchyError("the hierarchy has no values.")
    if all(len(path) == 1 for path in declared.paths.values()):  # a list of values: suppression only
        return DeclaredTree(tuple((ROOT, *path) for path in declared.paths.values()))
    declared.check()
    return DeclaredTree(tuple(declared.paths.values()))


class _Declared:
    """Paths as they are read, root first, and where each label was first seen below which."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self.paths: dict[str, tuple[str, ...]] = {}  # by leaf
        self._numbers: dict[str, int] = {}  # of the row of each leaf
        self._parents: dict[str, tuple[str, int]] = {}  # of each label: the one above, and the row that says so

    def add(self, number: int, cells: list[str]) -> None:
        where = f"{self._unit} {number}"
        if len(cells) > DEEPEST:
            raise self._refused(f"{where} has {len(cells)} levels; at most {DEEPEST} make sense.", FORM, number)
        if not all(cells):
            raise self._refused(f"{where} has an empty label in the middle of its path.", FORM, number)
        path = tuple(reversed(cells))
        leaf = path[-1]
        if self.paths.setdefault(leaf, path) != path:
            first = f"{self._unit} {self._numbers[leaf]}"
            hint = "Let every value stand in the hierarchy once."
            raise self._refused(f"{where} gives the value of {first} a second, different path.", hint, number, leaf)
        self._numbers.setdefault(leaf, number)
        steps = [(below, above) for above, below in itertools.pairwise(path) if above != below]
        if len({below for below, _ in steps} | {path[0]}) != len(steps) + 1:
            raise self._refused(f"the hierarchy is cyclic: {where} has a label above itself.", ONE_SET, number)
        for below, above in steps:
            known, first_number = self._parents.setdefault(below, (above, number))
            if known != above:
                raise self._refused(
                    f"the hierarchy is inconsistent: a label of {where} stands below another one than in "
                    f"{self._unit} {first_number}.",
                    ONE_SET,
                    number,
                    below,
                    known,
                    above,
                )

    def check(self) -> None:
        """What can be said when all rows are known."""
        for label, (_, number) in self._parents.items():
            above, steps = label, 0
            while above in self._parents:
                above, steps = self._parents[above][0], steps + 1
                if steps > DEEPEST:
                    where = f"{self._unit} {number}"
                    raise self._refused(
                        f"the hierarchy is cyclic: a label of {where} is above itself.", ONE_SET, number, label
                    )
        roots = {path[0]: self._numbers[leaf] for leaf, path in reversed(self.paths.items())}
        if len(roots) > 1:
            first = sorted(roots.values())[:3]
            listed = f"{', '.join(map(str, first[:-1]))} and {first[-1]}"
            raise self._refused(
                f"the hierarchy has {len(roots)} roots: {self._unit}s {listed} end in different labels.",
                f"Let every path end in the same label, for example {ROOT!r}.",
                first[1],
                *sorted(roots),
            )
        groups = dict(reversed(self._parents.values()))
        for label, number in self._numbers.items():
            if label in groups:
                raise self._refused(
                    f"the value of {self._unit} {number} is a group of values in {self._unit} {groups[label]}: it "
                    "cannot be both a value and a group.",
                    "A label must name one set of values: rename one of them.",
                    number,
                    label,
                )
        if ROOT in self._parents or ROOT in self.paths:
            raise HierarchyError(f"{ROOT!r} stands for every value: it can only be the root of other values.")

    def _refused(self, message: str, hint: str, number: int, *labels: str) -> HierarchyError:
        return HierarchyError(message, hint=hint, line=number if self._unit == "line" else None, values=labels)
