"""What a published cell costs, read from its text and the schema alone.

The counterpart of `boxes/costs.py` for readers of a release, who have labels and no codes. Domains are the declared
ones, else the hull of what is published. NaN says that a quantity cannot be told: how many codes a prefix stands for,
how many values an undeclared column has.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import InternalError
from shoal.hierarchies import ROOT, DateLevels, IntervalLevels, Tree
from shoal.hierarchies.computed import PrefixLevels
from shoal.hierarchies.declared import DeclaredTree, FlatValues
from shoal.schema import WINSORIZED, Column, ColumnType
from shoal.sources.normalize import EPOCH, as_text, day_numbers, plain, refuse

Floats = NDArray[np.float64]
SPAN = re.compile(r"\[(.+?)\.\.(.+?)([\])])")
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?")
MEMBER = re.compile(r'"((?:[^"]|"")*)"|([^,{}"]+)')


@dataclass(frozen=True)
class Cells:
    """A published column: which of its labels each row has, and what each label costs."""

    index: NDArray[np.int64]  # of each row
    labels: list[str | None]
    il: Floats  # of each label, as are the following
    lm: Floats
    tree: Floats
    size: Floats  # how many domain values it stands for
    root: NDArray[np.bool_]  # whether it says nothing: `*`, or the root of the hierarchy
    all_values: float  # how many the column has


def read_cells(name: str, column: Column, published: pa.ChunkedArray) -> Cells:
    """The cells of a quasi-identifier. Labels that the schema does not know are refused, with their rows."""
    coded = coded_labels(name, published)
    index = coded.indices.cast(pa.int64())
    index = (index.fill_null(len(coded.dictionary)) if index.null_count else index).to_numpy()
    # A dictionary from elsewhere may have labels that no row has: they are nobody's business.
    used = np.bincount(index, minlength=len(coded.dictionary) + 1) > 0
    texts = [*coded.dictionary.to_pylist(), None]
    labels: list[str | None] = [(text or None) if is_used else None for text, is_used in zip(texts, used, strict=True)]
    rule = column.grower.rule if column.grower else None
    if rule is None or isinstance(rule, IntervalLevels | DateLevels):
        spans = _spans(column, rule, labels)
        none = np.array([label is None or label == ROOT for label in labels])
        _refuse_unknown(name, coded, (np.isnan(spans[:, 0]) & ~none).tolist())
        costs = _axis_costs(column, rule, labels, spans)
    elif isinstance(rule, PrefixLevels):
        members = [[] if label is None else _members(column, label) for label in labels]
        odd = [label is not None and not _are_prefixes(parts) for label, parts in zip(labels, members, strict=True)]
        _refuse_unknown(name, coded, odd)
        costs = _prefix_costs(labels, members)
    elif isinstance(rule, FlatValues) and rule.values is None:
        costs = _table([_flat_cost(column, label) for label in labels], np.nan)
    else:
        costs = _tree_costs(name, column, labels, coded)
    il, lm, tree, size, all_values = costs
    return Cells(index, labels, il, lm, tree, size, _says_nothing(column, labels), all_values)


def coded_labels(name: str, published: pa.ChunkedArray) -> pa.DictionaryArray:
    """The labels as a dictionary; as it was read, where it was read so. Nothing is trimmed: every byte counts here."""
    kind = published.type
    if pa.types.is_dictionary(kind) and kind.value_type == pa.string() and published.num_chunks:
        coded = pa.chunked_array(published.unify_dictionaries().chunks).combine_chunks()
        if len(coded.dictionary.unique()) == len(coded.dictionary):  # some writers repeat themselves
            return coded
    array = plain(name, published)
    return (array if array.type == pa.string() else as_text(name, array, ("",))).dictionary_encode()


def _refuse_unknown(name: str, coded: pa.DictionaryArray, unknown: list[bool]) -> None:
    if not any(unknown):
        return
    bad = pa.array(unknown[: len(coded.dictionary)], pa.bool_()).take(coded.indices)
    hint = "Is this a release of this schema?"
    refuse(name, coded.dictionary.take(coded.indices), bad, "not a label of this column", hint)


Costs = tuple[Floats, Floats, Floats, Floats, float]  # il, lm, tree, size of each label; the column's values


def _table(rows: list[tuple[float, float, float, float]], all_values: float) -> Costs:
    il, lm, tree, size = np.array(rows, np.float64).reshape(-1, 4).T
    return il, lm, tree, size, all_values


def _says_nothing(column: Column, labels: list[str | None]) -> NDArray[np.bool_]:
    rule = column.grower.rule if column.grower else None
    root = rule.paths[0][0] if isinstance(rule, DeclaredTree) else ROOT
    return np.array([label in (ROOT, root) for label in labels])


def _flat_cost(column: Column, label: str | None) -> tuple[float, float, float, float]:
    if label is not None and (label == ROOT or len(_members(column, label)) > 1):
        return 1.0, 1.0, 1.0, np.nan
    return 0.0, 0.0, 0.0, 1.0


def _are_prefixes(members: list[str]) -> bool:
    return bool(members) and all(ROOT not in member.rstrip(ROOT) for member in members)


def _prefix_costs(labels: list[str | None], members: list[list[str]]) -> Costs:
    """`47***` leaves three of five characters open; how many codes that is, the release does not say."""
    longest = max((len(member) for parts in members for member in parts), default=1)
    rows = []
    for label, parts in zip(labels, members, strict=True):
        known = _shared_characters([part.rstrip(ROOT) for part in parts])
        if label is None or (len(parts) == 1 and ROOT not in parts[0]):
            rows.append((0.0, 0.0, 0.0, 1.0))
        elif known == 0:
            rows.append((1.0, 1.0, 1.0, np.nan))
        else:
            rows.append(((longest - known) / longest, np.nan, (longest - known) / longest, np.nan))
    return _table(rows, np.nan)


def _shared_characters(texts: list[str]) -> int:
    """How many characters at the front all texts share."""
    for i, signs in enumerate(zip(*texts, strict=False)):
        if len(set(signs)) > 1:
            return i
    return min(map(len, texts), default=0)


def read_spans(column: Column, labels: list[str | None]) -> list[tuple[float, float, bool]]:
    """The bounds of labels on an axis, and whether the upper one belongs to it. For labels that `read_cells` knows."""
    rule = column.grower.rule if column.grower else None
    spans = _spans(column, rule if isinstance(rule, IntervalLevels | DateLevels) else None, labels)
    return [(low, high, not str(label).endswith(")")) for (low, high, _), label in zip(spans, labels, strict=True)]


# --- numbers and dates ----------------------------------------------------------------------------------------------


def _spans(column: Column, rule: IntervalLevels | DateLevels | None, labels: list[str | None]) -> Floats:
    """Low, high and level of each label; NaN where it has none."""
    if rule is None:
        found = _tight_spans(column, labels)
        if found is not None:
            return found
    rows = [_span(column, rule, label) or (np.nan, np.nan, np.nan) for label in labels]
    return np.array(rows, np.float64).reshape(-1, 3)


def _tight_spans(column: Column, labels: list[str | None]) -> Floats | None:
    """Tight intervals all at once, of which there may be many; None if one of them is not what it should be."""
    texts = pa.array([None if label == ROOT else label for label in labels], pa.string())
    parts = pc.extract_regex(texts, r"^\[(?P<low>[^\[]+?)\.\.(?P<high>[^\[]+)\]$")
    try:
        ends = []
        for end in ("low", "high"):
            bound = pc.if_else(pc.is_valid(parts), pc.struct_field(parts, end), texts)
            if column.type == ColumnType.DATE:
                bound = bound.cast(pa.date32()).cast(pa.int32())
            ends.append(bound.cast(pa.float64()).to_numpy(zero_copy_only=False))
    except pa.ArrowException:
        return None
    low, high = ends
    present = texts.is_valid().to_numpy(zero_copy_only=False)
    if not (
        np.isfinite(low[present]).all() and (low[present] <= high[present]).all() and np.isfinite(high[present]).all()
    ):
        return None
    return np.stack([low, high, np.where(present, 0.0, np.nan)], axis=1)


def _span(
    column: Column, rule: IntervalLevels | DateLevels | None, label: str | None
) -> tuple[float, float, float] | None:
    if label is None or label == ROOT:
        return None
    try:
        if isinstance(rule, DateLevels):
            for level, period in enumerate(rule.levels, start=1):
                found = PERIODS[period](label)
                if found is not None:
                    return *found, level
        read = _day if column.type == ColumnType.DATE else _number
        bounds = SPAN.fullmatch(label)
        if bounds is None:
            return read(label), read(label), 0
        low, high = read(bounds[1]), read(bounds[2])
        if low > high:
            return None
        if isinstance(rule, IntervalLevels):
            return low, high, _level(rule, low, high + (1 if bounds[3] == "]" else 0))
        return low, high, 0
    except ValueError:
        return None


def _level(rule: IntervalLevels, start: float, end: float) -> int:
    """Which level has an interval from start to end; ValueError if none has."""
    noise = 1e-6 * rule.widths[0] + 8 * np.spacing(max(abs(start), abs(end)))
    for level, width in enumerate(rule.widths, start=1):
        steps = (start - rule.origin) / width
        if abs(end - start - width) <= noise and abs(steps - round(steps)) * width <= noise:
            return level
    raise ValueError


def _number(text: str) -> float:
    """As a release writes numbers; Python would read `1_0` and ` 5` as well."""
    if not NUMBER.fullmatch(text):
        raise ValueError
    return float(text)


def _day(text: str) -> float:
    return float(dt.date.fromisoformat(text).toordinal() - EPOCH)


def _period(
    pattern: str, start: Callable[[re.Match[str]], tuple[int, int]], months: int
) -> Callable[[str], tuple[float, float] | None]:
    """A reader of one kind of period: its first and its last day."""

    def read(label: str) -> tuple[float, float] | None:
        found = re.fullmatch(pattern, label)
        if found is None:
            return None
        year, month = start(found)
        after = year * 12 + month - 1 + months
        first = dt.date(max(1, year), month, 1).toordinal() - EPOCH  # the first decade is 0000s
        end = dt.date(after // 12, after % 12 + 1, 1) - dt.timedelta(days=1) if after // 12 <= 9999 else dt.date.max
        return float(first), float(end.toordinal() - EPOCH)

    return read


PERIODS = {
    "month": _period(r"(\d{4})-(\d\d)", lambda found: (int(found[1]), int(found[2])), 1),
    "quarter": _period(r"(\d{4})-Q([1-4])", lambda found: (int(found[1]), 3 * int(found[2]) - 2), 3),
    "year": _period(r"(\d{4})", lambda found: (int(found[1]), 1), 12),
    "decade": _period(r"(\d{3}0)s", lambda found: (int(found[1]), 1), 120),
}


def _axis_costs(
    column: Column, rule: IntervalLevels | DateLevels | None, labels: list[str | None], spans: Floats
) -> Costs:
    shown = ~np.isnan(spans[:, 0])
    bounds = spans[shown]
    first, last, level = bounds.T
    open_ended = any(label is not None and label.endswith(")") for label in labels)
    whole = column.type == ColumnType.DATE or (not open_ended and bool((bounds == np.rint(bounds)).all()))
    low, high = (first.min(), last.max()) if len(first) else (0.0, 0.0)
    inside = last - first
    if column.domain == WINSORIZED:
        # Nobody outside knows the records' own percentiles: those of the different published cells stand for them.
        if len(first):
            low, high = np.quantile(first, 0.01, method="higher"), np.quantile(last, 0.99, method="lower")
    elif column.domain is not None:
        dates = column.type == ColumnType.DATE
        low, high = day_numbers(column.domain) if dates else (float(str(bound)) for bound in column.domain)
        # A fixed interval may stick out of the domain, where there are no values; one wholly outside has its own.
        overlap = np.minimum(last, high) - np.maximum(first, low)
        inside = np.where((level > 0) & (overlap >= 0), overlap, inside)
    elif not len(first):
        whole = False  # nothing is shown: nobody can say how many values there are
    width = high - low
    share = np.minimum(1.0, inside / width) if width > 0 else (inside > 0).astype(np.float64)
    levels = len(rule.widths if isinstance(rule, IntervalLevels) else rule.levels) + 1 if rule is not None else 0
    root = np.array([label == ROOT for label in labels])
    il, lm, size = (np.where(root, full, alone) for full, alone in ((1.0, 0.0), (1.0, 0.0), (width + 1, 1.0)))
    il[shown] = np.maximum(level, column.min_level) / levels if levels else share
    lm[shown] = share
    size[shown] = inside + 1
    if not whole:
        size[il > 0] = np.nan
    return il, lm, il, size, width + 1 if whole else np.nan


# --- trees ----------------------------------------------------------------------------------------------------------


def _tree_costs(name: str, column: Column, labels: list[str | None], coded: pa.DictionaryArray) -> Costs:
    if column.grower is None:
        raise InternalError("a tree was asked for where there is none.")
    tree = column.grower.grow()
    members = {label: _members(column, label) for label in labels if label is not None}
    known = set(tree.labels)
    new = sorted({member for parts in members.values() for member in parts if member not in known} - {ROOT})
    odd = [label is not None and label != ROOT and (not members[label] or ROOT in members[label]) for label in labels]
    _refuse_unknown(name, coded, odd)
    if column.on_unknown == "attach":
        tree = tree.attach(new)
        new = []
    _refuse_unknown(name, coded, [label is not None and not set(members[label]).isdisjoint(new) for label in labels])
    nodes = _nodes_by_label(tree, column.min_level)
    leaves = np.bincount(tree.paths[tree.paths >= 0], minlength=len(tree.labels))
    rows = []
    for label in labels:
        if label is None:
            rows.append((0.0, 0.0, 0.0, 1.0))
        elif label == ROOT:  # the root, or a mix with missing
            rows.append((1.0, 1.0, 1.0, float(len(tree.leaves))))
        else:
            node = _ancestor(tree, [nodes[member] for member in members[label]])
            height = tree.heights[node] / max(1, tree.height)
            rows.append((height, tree.breadths[node], height, float(leaves[node])))
    return _table(rows, float(len(tree.leaves)))


def _members(column: Column, label: str) -> list[str]:
    if column.generalize == "set" and label.startswith("{") and label.endswith("}"):
        return [quoted.replace('""', '"') or bare for quoted, bare in MEMBER.findall(label)]
    return [label]


def _nodes_by_label(tree: Tree, min_level: int) -> dict[str, int]:
    """The lowest node of each label that may be published: a label can stand on several levels of one path."""
    nodes: dict[str, int] = {}
    for node in sorted(range(len(tree.labels)), key=lambda node: -tree.heights[node]):
        if tree.heights[node] >= min_level or tree.labels[node] not in nodes:
            nodes[tree.labels[node]] = node
    return nodes


def _ancestor(tree: Tree, nodes: list[int]) -> int:
    if len(nodes) == 1:
        return nodes[0]
    below = np.flatnonzero(np.isin(tree.paths, nodes).any(axis=1)).astype(np.int32)
    return int(tree.common_ancestor(below[:1], below[-1:])[0])
