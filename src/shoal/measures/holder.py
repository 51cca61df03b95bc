"""Measures that need the originals: exact losses and their bound, MI, PMI, KL, diameters. They stay with the holder."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.boxes.costs import box_costs, cost_tables
from shoal.measures.bound import least_loss
from shoal.measures.report import Report
from shoal.measures.shown import Shown
from shoal.partition import Partition
from shoal.records.codebook import CodeBook
from shoal.records.encode import Records

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

MOST_PAIRS = 200_000_000  # of cells to compare within groups: beyond, the diameter is not worth its time


def holder_report(
    records: Records,
    partition: Partition,
    public: Report,
    sensitive: Longs | None,
    least: Callable[[int], float] | None = None,
    kept: NDArray[np.bool_] | None = None,
) -> Report:
    """The public report with exact losses, and what only the holder can know.

    `sensitive`: the label of each record. `least`: the bound of Total-IL for a k, where it is known already. `kept`:
    which of the records the partition is of, where some are withheld; every measure is over all of them.
    """
    report = Report(public.records, public.classes, public.smallest_class, public.withheld)
    shown = Shown.of(records, partition, kept)
    for part in ("totals", "shares", "columns", "risks"):
        getattr(report, part).update(getattr(public, part))
    report.omitted.update({name: why for name, why in public.omitted.items() if name == "cm"})
    _add_losses(report, records, shown)
    _add_bound(report, records, partition.k, shown, least)
    closures = [closure(book, shown.lo[:, j], shown.hi[:, j]) for j, book in enumerate(records.books)]
    _add_ambiguity(report, records, shown, closures)
    _add_mutual_information(report, records, shown, closures)
    if sensitive is None:
        for name in ("pmi", "pmi_relative", "pmi_l2", "pmi_max"):
            report.omitted[name] = "the schema has no sensitive column"
    else:
        _add_private_information(report, records, shown, closures, sensitive)
    _add_divergence(report, records, shown, closures)
    _add_diameter(report, records, partition)
    return report


def closure(book: CodeBook, lo: Ints, hi: Ints) -> tuple[Ints, Ints]:
    """The codes that a published cell covers: all leaves below the label; everything for a mix with missing."""
    first, last = lo.copy(), hi.copy()
    present = lo > 0
    if book.tree is not None:
        nodes = book.tree.common_ancestor(lo[present] - 1, hi[present] - 1)
        spans = np.full((len(book.tree.labels), 2), -1)
        for depth in range(book.tree.paths.shape[1]):
            column = book.tree.paths[:, depth]
            leaves = np.flatnonzero(column >= 0)
            spans[column[leaves[::-1]], 0] = leaves[::-1]  # the last write wins: the first leaf
            spans[column[leaves], 1] = leaves
        first[present], last[present] = spans[nodes].T + 1
    mixed = (lo == 0) & (hi > 0)
    last[mixed] = book.size - 1
    return first, last


def total_loss(partition: Partition, books: Sequence[CodeBook], measure: str = "il") -> float:
    """The cost of all published cells, added up: Total-IL for il (Byun, Definitions 5 and 6).

    Unweighted: weights steer a method, they do not change what a reader of the release has lost.
    """
    return float(partition.sizes @ box_costs(books, measure, partition.lo, partition.hi).sum(axis=1))


def _add_losses(report: Report, records: Records, shown: Shown) -> None:
    cells = len(records) * len(records.books)
    for measure in ("il", "lm", "tree"):
        by_column = shown.sizes @ shown.costs(records.books, measure)
        report.totals[measure] = float(by_column.sum() if measure == "il" else by_column.sum() / cells)
        report.shares[measure] = float(by_column.sum() / cells)
        if measure == "il":
            report.totals["il_share"] = report.shares["il"]
        report.columns[measure] = dict(zip(_names(records), (by_column / len(records)).tolist(), strict=True))


def _add_bound(report: Report, records: Records, k: int, shown: Shown, least: Callable[[int], float] | None) -> None:
    bound = least_loss(records, k, shown.withheld) if least is None or shown.withheld else least(k)
    report.totals["il_bound"] = bound
    report.shares["il_bound"] = bound / (len(records) * len(records.books))
    loss = report.totals["il"]
    if bound > 0:
        report.totals["il_gap"] = loss / bound
    elif loss == 0:
        report.totals["il_gap"] = 1.0
    else:
        report.omitted["il_gap"] = "the bound is 0, which no other loss is a multiple of"


def _names(records: Records) -> list[str]:
    return [book.name for book in records.books]


def _add_ambiguity(report: Report, records: Records, shown: Shown, closures: list[tuple[Ints, Ints]]) -> None:
    """AM: whole numbers and days of the domain are counted, fractions and codes as far as they occur."""
    volumes, volume = np.ones(len(shown.sizes)), 1.0
    for book, (first, last) in zip(records.books, closures, strict=True):
        sizes = last - first + 1.0
        values = max(1.0, book.size - 1.0)
        if book.axis is not None and book.domain is not None and book.axis.dtype.kind == "i":
            values = book.domain[1] - book.domain[0] + 1
            known = first > 0
            if book.tree is None:
                sizes[known] = book.axis[last[known] - 1] - book.axis[first[known] - 1] + 1.0
            else:
                low, high = shown.lo[:, _at(records, book)], shown.hi[:, _at(records, book)]
                nodes = book.tree.common_ancestor(low[known] - 1, high[known] - 1)
                sizes[known] = book.tree.breadths[nodes] * (values - 1) + 1
        mixed = (first == 0) & (last > 0)
        sizes[mixed] = values
        if shown.withheld:
            sizes[-1] = values
        volumes *= sizes
        volume *= values
    report.totals["am"] = float(shown.sizes @ volumes / len(records))
    report.shares["am"] = min(1.0, report.totals["am"] / volume)


def _at(records: Records, book: CodeBook) -> int:
    return _names(records).index(book.name)


def _add_mutual_information(report: Report, records: Records, shown: Shown, closures: list[tuple[Ints, Ints]]) -> None:
    """MI (Goldberger & Tassa, eq. 10): −log₂ P(X = value | X ∈ cell), on average over the cells."""
    by_column, entropies = {}, 0.0
    for j, (book, (first, last)) in enumerate(zip(records.books, closures, strict=True)):
        before = np.concatenate([[0], np.cumsum(np.bincount(records.codes[:, j], minlength=book.size))])
        inside = (before[last + 1] - before[first])[shown.labels]
        alone = np.bincount(records.codes[:, j], minlength=book.size)[records.codes[:, j]]
        by_column[book.name] = float(np.log2(inside / alone).mean())
        entropies += float(-np.log2(alone / len(records)).mean())
    columns = len(by_column)
    report.totals["mi"] = sum(by_column.values()) / columns
    report.shares["mi"] = sum(by_column.values()) / entropies if entropies else 0.0
    report.columns["mi"] = by_column


def _add_private_information(
    report: Report, records: Records, shown: Shown, closures: list[tuple[Ints, Ints]], sensitive: Longs
) -> None:
    """PMI: eq. (14), its form relative to the original table, and the utilities of eqs. (15) and (16)."""
    prior = np.bincount(sensitive)[sensitive] / len(records)
    absolute, relative = {}, {}
    for j, (book, (first, last)) in enumerate(zip(records.books, closures, strict=True)):
        codes = records.codes[:, j].astype(np.int64)
        published = _conditional(codes, sensitive, first[shown.labels], last[shown.labels], book.size)
        original = _conditional(codes, sensitive, codes, codes, book.size)
        absolute[book.name] = float(-np.log2(published).mean())
        relative[book.name] = float(-np.log2(published / original).mean())
    entropy = float(-np.log2(prior).mean())
    utilities = entropy - np.array(list(absolute.values()))  # I(Y; R(j)), eq. (11)
    columns = len(absolute)
    report.totals["pmi"] = sum(absolute.values()) / columns
    report.columns["pmi"] = absolute
    report.totals["pmi_relative"] = sum(relative.values()) / columns
    report.columns["pmi_relative"] = relative
    report.totals["pmi_l2"] = float(np.sqrt((utilities**2).sum()) / columns)
    report.totals["pmi_max"] = float(utilities.max())


def _conditional(codes: Longs, values: Longs, first: Longs | Ints, last: Longs | Ints, size: int) -> Floats:
    """P(Y = value | first ≤ X ≤ last) for each record. By binary search: no table of codes × values."""
    by_code = np.sort(codes)
    by_both = np.sort(values * size + codes)
    inside = np.searchsorted(by_code, last, "right") - np.searchsorted(by_code, first, "left")
    same = np.searchsorted(by_both, values * size + last, "right") - np.searchsorted(
        by_both, values * size + first, "left"
    )
    return same / inside


def _add_divergence(report: Report, records: Records, shown: Shown, closures: list[tuple[Ints, Ints]]) -> None:
    """KL: the original joint distribution against the release's, each row spread evenly over the values of its box."""
    from shoal.boxes.points import cover_points, point_tree  # loads Numba

    lo = np.ascontiguousarray(np.stack([first for first, _ in closures], axis=1))
    hi = np.ascontiguousarray(np.stack([last for _, last in closures], axis=1))
    logs = np.log2(hi - lo + 1.0).sum(axis=1)
    distinct, counts = np.unique(records.codes, axis=0, return_counts=True)
    # Weights are scaled by the smallest box: the volume of a wide one may be beyond any number.
    scale = float(logs.min())
    weights = shown.sizes / len(records) * np.exp2(scale - logs)
    reached = cover_points(point_tree(distinct), lo, hi, weights)
    share = counts / len(records)
    # Never below 0, but for rounding.
    report.totals["kl"] = max(0.0, float((share * (np.log2(share) - np.log2(reached) + scale)).sum()))


def _add_diameter(report: Report, records: Records, partition: Partition) -> None:
    """Byun, Definition 1: Σ |e| · diameter(e), never above Total-IL. Of a withheld record: the full cost."""
    if float((partition.sizes.astype(np.float64) ** 2).sum()) / 2 * len(records.books) > MOST_PAIRS:
        report.omitted["diameter"] = "groups are so large that comparing all pairs would take too long"
        return
    from shoal.boxes.diameters import diameters  # loads Numba

    order = np.argsort(partition.labels, kind="stable")
    costs = cost_tables(records.books, "il", weighted=False)
    found = diameters(partition.codes, order, np.cumsum(partition.sizes), costs)
    withheld = len(records) - len(partition.codes)
    report.totals["diameter"] = float(partition.sizes @ found) + withheld * costs.full
    report.shares["diameter"] = report.totals["diameter"] / (len(records) * len(records.books))
