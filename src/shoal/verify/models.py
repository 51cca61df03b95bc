"""The verifier's own arithmetic of diversity and closeness, from published values; nothing here is shared with what
makes releases, but for which spellings are one value (`records/spelling.py`). Where a definition has two forms, this is
the other one: earth mover's distance by quantiles (ordered) and from the leaves up (hierarchical).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.privacy.requirements import Rule
from shoal.records.spelling import one_spelling, spelled_missing
from shoal.schema import Column, ColumnType

Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
SLACK = 1e-8
CELLS_AT_ONCE = 20_000_000


@dataclass(frozen=True)
class Values:
    """A published sensitive column: the number of each row's value, and what the numbers stand for."""

    numbers: Longs  # of each row; 0 is missing
    names: list[str]  # of the numbers from 1 on, in their order
    column: Column | None
    spellings: Mapping[str, int] | None = None  # the number of each spelling; None: values are numbers or dates

    @property
    def by_number(self) -> bool:
        """Whether texts that are the same number are one value: the schema does not say that they are texts."""
        return _by_number(self.column)


@dataclass(frozen=True)
class Counts:
    """How many people (rows) of each class have each value, for the pairs that occur; by class, then by value."""

    classes: Longs
    values: Longs
    counts: Floats
    starts: Longs  # of each class among the pairs
    people: Longs  # of each class
    overall: Floats  # people of the whole table, by value


def published_values(
    name: str, array: pa.ChunkedArray, column: Column | None, missing: tuple[str, ...], also: Iterable[str] = ()
) -> Values:
    """The values of a column: numbers and dates in their order (or bins), texts in that of their hierarchy.

    Texts that differ in their spelling alone are one value.

    `also`: values that count as places although no row may have them (of a reference distribution).
    """
    kind = column.type if column is not None and column.grower is None else None
    try:
        if kind in (ColumnType.NUMERIC, ColumnType.DATE):
            assert column is not None
            return _on_axis(array, column, missing, also)
        text = _as_text(array, missing)
    except pa.ArrowException:
        text = None
    if text is None:
        raise DataError(f"column {name!r} holds values that cannot be compared or are not of its type.", column=name)
    coded = text.combine_chunks().dictionary_encode()
    numbers = _by_number(column)
    found = [one_spelling(value, numbers=numbers) for value in coded.dictionary.to_pylist()]
    nothing = spelled_missing(missing, numbers=numbers)
    names = sorted({*found, *(one_spelling(value, numbers=numbers) for value in also)} - nothing)
    spellings = dict.fromkeys(nothing, 0)
    if column is not None and column.grower is not None:
        leaves = column.grower.grow(names).leaves
        for code, leaf in enumerate(leaves, start=1):
            spellings.setdefault(one_spelling(leaf, numbers=numbers), code)
        names = leaves + [value for value in names if value not in spellings]
        spellings |= {value: code for code, value in enumerate(names[len(leaves) :], start=len(leaves) + 1)}
    else:
        spellings |= {value: code for code, value in enumerate(names, start=1)}
    lookup = np.array([0, *(spellings[value] for value in found)], np.int64)
    return Values(lookup[coded.indices.fill_null(-1).to_numpy() + 1], names, column, spellings)


def _by_number(column: Column | None) -> bool:
    return column is None or column.type not in (ColumnType.CATEGORICAL, ColumnType.PREFIX)


def _as_text(array: pa.ChunkedArray, missing: tuple[str, ...]) -> pa.ChunkedArray:
    """As text; what means missing is null, in numbers by value (-9 is -9.0)."""
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if pa.types.is_floating(array.type):
        array = array.cast(pa.float64())
        array = pc.add(pc.if_else(pc.is_nan(array), pa.scalar(None, pa.float64()), array), 0.0)  # -0 is 0
    if pa.types.is_floating(array.type) or pa.types.is_integer(array.type):
        for word in missing:
            number = _number(word)
            if number is not None:
                array = pc.if_else(pc.equal(array.cast(pa.float64(), safe=False), number), None, array)
    text = pc.utf8_trim_whitespace(array.cast(pa.string()))
    return pc.if_else(pc.is_in(text, pa.array(missing, pa.string())), pa.scalar(None, pa.string()), text)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _on_axis(array: pa.ChunkedArray, column: Column, missing: tuple[str, ...], also: Iterable[str]) -> Values:
    """Numbers and dates by value, or by bin; whole numbers stay whole, however large."""
    text = _as_text(array, missing)
    days = column.type == ColumnType.DATE
    if days:
        axis = pc.utf8_slice_codeunits(text, 0, 10).cast(pa.date32()).cast(pa.int32()).cast(pa.int64())
    elif pc.all(pc.match_substring_regex(text, r"^-?[0-9]{1,18}$")).as_py():
        axis = text.cast(pa.int64())
    else:
        axis = text.cast(pa.float64())
    known = axis.is_valid().to_numpy().astype(bool)
    values = axis.drop_null().to_numpy()
    if column.bins is not None:
        values = sum((values >= edge).astype(np.int64) for edge in _edges(column))
    others = pa.array(list(also), pa.string())
    days = days and column.bins is None
    others = others.cast(pa.date32()).cast(pa.int32()) if days else others.cast(pa.float64())
    found = np.unique(values)
    if len(others):
        found = np.unique(np.concatenate([values, others.to_numpy()]))
    numbers = np.zeros(len(axis), np.int64)
    numbers[known] = np.searchsorted(found, values) + 1
    if days:
        return Values(numbers, pa.array(found.astype(np.int32)).cast(pa.date32()).cast(pa.string()).to_pylist(), column)
    return Values(numbers, [repr(value).removesuffix(".0") for value in found.tolist()], column)


def _edges(column: Column) -> list[float]:
    if column.type == ColumnType.DATE:
        return pa.array(column.bins, pa.date32()).cast(pa.int32()).to_pylist()
    return [float(edge) for edge in column.bins or ()]  # type: ignore[arg-type]  # the schema checked them


def count(classes: Longs, values: Values, people: Longs | None) -> Counts:
    """Count the rows of each class by value; where people are known, each person once per value."""
    size = len(values.names) + 1
    keys = classes * size + values.numbers
    members = np.bincount(classes)
    if people is not None:
        n_people = int(people.max()) + 1
        members = np.bincount(np.unique(classes * n_people + people) // n_people)
        keys = _unique_rows(keys, people)
    pairs, counts = np.unique(keys, return_counts=True)
    overall = np.bincount(values.numbers, minlength=size)
    if people is not None:
        overall = np.bincount(_unique_rows(values.numbers, people), minlength=size)
    of_class = pairs // size
    starts = np.searchsorted(of_class, np.arange(len(members)))
    return Counts(of_class, pairs % size, counts.astype(np.float64), starts, members, overall.astype(np.float64))


def _unique_rows(keys: Longs, people: Longs) -> Longs:
    """The keys, each as often as different people have it."""
    order = np.lexsort((people, keys))
    keys, people = keys[order], people[order]
    new = np.ones(len(keys), bool)
    new[1:] = (keys[1:] != keys[:-1]) | (people[1:] != people[:-1])
    return keys[new]


def reached(
    rule: Rule, counts: Counts, values: Values, by_people: bool, reference: Mapping[str, float] | None
) -> Floats:
    """What each class reaches under a rule: its ℓ, the c it needs, its distance, or its largest share."""
    totals = np.add.reduceat(counts.counts, counts.starts)
    largest = np.maximum.reduceat(counts.counts, counts.starts)
    if rule.model == "alpha":
        return _largest_share(rule, counts, values)
    if rule.model == "t-closeness":
        return _distances(counts, totals, values, _reference(counts, values, reference))
    if rule.model == "frequency":
        found = counts.people / largest
    elif rule.model == "distinct":
        found = np.diff(np.append(counts.starts, len(counts.counts))).astype(np.float64)
    elif rule.model == "entropy":
        shares = counts.counts / totals[counts.classes]
        found = np.exp(-np.add.reduceat(shares * np.log(shares), counts.starts))
    else:
        order = np.lexsort((-counts.counts, counts.classes))
        rank = np.arange(len(order)) - counts.starts[counts.classes[order]]
        tail = np.add.reduceat(np.where(rank >= rule.bound - 1, counts.counts[order], 0.0), counts.starts)
        found = np.divide(largest, tail, out=np.full(len(tail), np.inf), where=tail > 0)
    if by_people and rule.bound > 1:
        # A value that everybody in a class has is given away, whatever else they have.
        found = np.where(largest == counts.people, np.inf if rule.model == "recursive" else 1.0, found)
    return found


def satisfied(rule: Rule, found: Floats) -> NDArray[np.bool_]:
    if rule.model == "recursive":
        return found < rule.c * (1 - SLACK / 100)
    if rule.symbol == "l":
        return found >= rule.bound * (1 - SLACK)
    return found <= rule.bound + SLACK


def code_of(values: Values, name: str | None) -> int | None:
    """The number of the value that somebody wrote down, however it is spelled; None if no row has it.

    An empty name is missing. Where the schema does not say that values are texts, 5.0 is 5.
    """
    if not name:
        return 0
    if values.spellings is not None:
        return values.spellings.get(one_spelling(name, numbers=values.by_number))
    if name in values.names:
        return values.names.index(name) + 1
    number = _number(name)
    if number is None:
        return None
    return next((code for code, known in enumerate(values.names, start=1) if _number(known) == number), None)


def _largest_share(rule: Rule, counts: Counts, values: Values) -> Floats:
    limited = np.ones(len(counts.values), bool)
    if rule.value is not None:
        limited = counts.values == code_of(values, rule.value)
    most = np.maximum.reduceat(np.where(limited, counts.counts, 0.0), counts.starts)
    return most / counts.people


def _reference(counts: Counts, values: Values, given: Mapping[str, float] | None) -> Floats:
    """The distribution that classes are compared with, by value: the release's own, unless one was frozen before."""
    if given is None:
        return counts.overall / counts.overall.sum()
    shares = np.zeros(len(counts.overall))
    for name, share in given.items():
        code = code_of(values, name)
        assert code is not None  # all names of the reference count as values
        shares[code] += share
    return shares


def _distances(counts: Counts, totals: Floats, values: Values, reference: Floats) -> Floats:
    column = values.column
    on_axis = column is not None and column.type in (ColumnType.NUMERIC, ColumnType.DATE) and column.grower is None
    distance = column.distance if column is not None else None
    if distance is None:
        distance = "ordered" if on_axis else "hierarchical" if column is not None and column.grower else "equal"
    if distance == "ordered":
        return _ordered(counts, totals, reference)
    if distance == "hierarchical":
        return _hierarchical(counts, totals, values, reference)
    shares = counts.counts / totals[counts.classes]
    present = np.add.reduceat(np.abs(shares - reference[counts.values]), counts.starts)
    absent = 1 - np.add.reduceat(reference[counts.values], counts.starts)
    distances: Floats = np.maximum(0.0, present + absent) / 2
    return distances


def _ordered(counts: Counts, totals: Floats, reference: Floats) -> Floats:
    """The area between the quantile functions of a class and of the table, over the largest distance of two places."""
    first = 0 if reference[0] > 0 or (counts.values == 0).any() else 1
    n_values = len(reference) - first
    if n_values < 2:
        return np.zeros(len(totals))
    levels = np.concatenate([[0.0], np.cumsum(reference[first:])])
    areas = np.concatenate([[0.0], np.cumsum(reference[first:] * np.arange(n_values))])
    at = (counts.values - first).astype(np.float64)
    ends = np.cumsum(counts.counts)
    before = (ends - counts.counts)[counts.starts][counts.classes]
    low = (ends - counts.counts - before) / totals[counts.classes]
    high = (ends - before) / totals[counts.classes]
    middle = np.clip(levels[counts.values - first + 1], low, high)  # up to here the table's quantile is not above
    below = at * (middle - low) - (np.interp(middle, levels, areas) - np.interp(low, levels, areas))
    above = np.interp(high, levels, areas) - np.interp(middle, levels, areas) - at * (high - middle)
    distances: Floats = np.add.reduceat(below + above, counts.starts) / (n_values - 1)
    return distances


def _hierarchical(counts: Counts, totals: Floats, values: Values, reference: Floats) -> Floats:
    """Li et al. 2007: at each node, what children have too much of moves to those that have too little."""
    assert values.column is not None
    assert values.column.grower is not None
    tree = values.column.grower.grow(values.names)
    tree = tree.attach(values.names[len(tree.leaves) :]) if len(values.names) > len(tree.leaves) else tree
    height = max(1, tree.height)
    depth = tree.paths.shape[1]
    distances = np.zeros(len(totals))
    at_once = max(1, CELLS_AT_ONCE // max(1, len(reference) * depth))
    for start in range(0, len(totals), at_once):
        chosen = slice(start, min(start + at_once, len(totals)))
        extra = np.tile(-reference, (chosen.stop - chosen.start, 1))
        inside = (counts.classes >= chosen.start) & (counts.classes < chosen.stop)
        rows = counts.classes[inside] - chosen.start
        np.add.at(extra, (rows, counts.values[inside]), counts.counts[inside] / totals[counts.classes[inside]])
        # From the root's children (missing is one of them) down: the leaves of a node are neighbours.
        for level in range(depth - 1):
            below = np.flatnonzero(tree.paths[:, level + 1] >= 0)
            children, parents = tree.paths[below, level + 1], tree.paths[below, level]
            first = np.flatnonzero(np.diff(children, prepend=-1))
            flows = np.add.reduceat(extra[:, 1 + below], first, axis=1)
            families = np.flatnonzero(np.diff(parents[first], prepend=-1))
            surplus = np.add.reduceat(np.maximum(flows, 0), families, axis=1)
            lack = np.add.reduceat(np.maximum(-flows, 0), families, axis=1)
            rises = tree.heights[parents[first][families]] / height
            if level == 0:
                surplus[:, 0] += np.maximum(extra[:, 0], 0)
                lack[:, 0] += np.maximum(-extra[:, 0], 0)
                rises[0] = 1.0
            distances[chosen] += np.minimum(surplus, lack) @ rises
    return distances
