"""The experiments on maintenance: Truta & Campan's Figures 4 to 6, and the similar-B-tree's Figures 4 to 8.

Times are those of the algorithms alone, on data in memory. Losses are Total-IL on the domains of the whole table. A
static method starts from nothing on the changed table; a maintainer goes on from the static method's groups of the
table before. Figures of the first paper show losses after IL_Optimization, as the paper does; the data has both.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import shoal
from shoal.boxes.costs import box_costs, cost_tables
from shoal.boxes.geometry import group_boxes, without_gaps
from shoal.cluster import cluster
from shoal.experiments.bench.inputs import adult_records
from shoal.maintain.live import LivePartition, Settings
from shoal.optimize import optimized
from shoal.privacy import Privacy
from shoal.progress import SILENT, Progress
from shoal.records.encode import Records, encode
from shoal.report.charts import PALETTE, save_chart
from shoal.report.lines import Axis, line_charts

Ints = NDArray[np.int32]
Row = dict[str, Any]
STATIC, I3M, SIMILAR = "static", "I3M", "similar-B-tree"
COLOURS = {STATIC: PALETTE[1], I3M: PALETTE[0], SIMILAR: PALETTE[2]}
COLOURS |= {f"{name}, {when}": colour for name, colour in COLOURS.items() for when in ("before", "after")}
SECONDS = Axis("seconds", "seconds", log=True, format="~g")
LOSS = Axis("loss", "Total-IL")

BASE, QUICK_BASE = 10_000, 1_000
SHARES, QUICK_SHARES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5), (0.01, 0.5)
KS, QUICK_KS = (3, 5, 10), (5,)
SIZES, QUICK_SIZES = (5_000, 10_000, 15_000, 20_000, 25_000, 30_000, 35_000, 40_000, 44_500), (1_000, 2_000)
TABLE, QUICK_TABLE = 20_000, 2_000
PARTS, QUICK_PARTS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5), (0.05, 0.5)
FIXED, QUICK_FIXED = 500, 100


def run(folder: Path, *, quick: bool = False, seed: int = 1, progress: Progress = SILENT) -> list[Path]:
    """Run all of them; the files that were written."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    records, whole = adult_records(), similar_records()
    warm_up(records)
    ks, base = (QUICK_KS, QUICK_BASE) if quick else (KS, BASE)
    shares = QUICK_SHARES if quick else SHARES
    inserted = truta_campan(records, base, ks, shares, rng, seed, progress, deleting=False)
    deleted = truta_campan(records, base, ks, shares, rng, seed, progress, deleting=True)
    sizes, fixed = (QUICK_SIZES, QUICK_FIXED) if quick else (SIZES, FIXED)
    parts, size = (QUICK_PARTS, QUICK_TABLE) if quick else (PARTS, TABLE)
    by_size = [
        row
        for n in sizes
        for deleting in (False, True)
        for row in similar(whole, n, fixed, rng, seed, progress, deleting=deleting)
    ]
    by_part = [
        row
        for part in parts
        for deleting in (False, True)
        for row in similar(whole, size, round(part * size), rng, seed, progress, deleting=deleting)
    ]
    return [*_truta_campan_files(folder, inserted, deleted), *_similar_files(folder, by_size, by_part)]


def similar_records() -> Records:
    """The similar-B-tree's table: education as a category instead of its number, capital gain sensitive."""
    folder = Path(shoal.datasets.__file__).parent / "adult" / "hierarchies"
    categories = ("workclass", "education", "marital-status", "occupation", "race", "sex", "native-country")
    columns: dict[str, dict[str, object]] = {"age": {"role": "quasi-identifier", "type": "numeric"}}
    columns |= {
        name: {"role": "quasi-identifier", "hierarchy": shoal.Hierarchy.tree(folder / f"{name}.csv")}
        for name in categories
    }
    columns["capital-gain"] = {"role": "sensitive", "type": "numeric"}
    return encode(shoal.datasets.adult("all", complete=True).select(list(columns)), shoal.Schema(columns=columns))


def truta_campan(
    records: Records,
    base: int,
    ks: Iterable[int],
    shares: Iterable[float],
    rng: np.random.Generator,
    seed: int,
    progress: Progress,
    *,
    deleting: bool,
) -> list[Row]:
    """I3M+ on `base` rows and more, or I3M− until `base` are left; static is k-member."""
    rows: list[Row] = []
    order = rng.permutation(len(records))
    for k in ks:
        for share in shares:
            changes = round(share * base)
            progress.stage(f"I3M{'−' if deleting else '+'}, k = {k}, {changes} changes")
            here, changed = order[: base + changes], order[base : base + changes]
            before = here if deleting else order[:base]
            after = order[:base] if deleting else here
            what = {"k": k, "changes": changes, "share": share}
            labels, seconds = maintained(records, before, changed, k, "i3m", "k-member", seed, deleting=deleting)
            for method, found, spent in (
                (STATIC, *static(records, after, k, "k-member", seed)),
                (I3M, labels, seconds),
            ):
                start = time.perf_counter()
                better = optimized(
                    "breaking",
                    records.codes[after],
                    without_gaps(found[after]),
                    cost_tables(records.books, "il"),
                    Privacy.only_k(k, len(after)),
                )
                optimizing = time.perf_counter() - start
                rows.append(
                    {
                        "method": method,
                        **what,
                        "seconds": spent,
                        "loss": total_il(records, after, found[after]),
                        "optimizing_seconds": optimizing,
                        "loss_optimized": total_il(records, after, better),
                    }
                )
    return rows


def similar(
    records: Records,
    size: int,
    changes: int,
    rng: np.random.Generator,
    seed: int,
    progress: Progress,
    *,
    deleting: bool,
) -> list[Row]:
    """Mondrian from nothing, I3M and the similar-B-tree from Mondrian's groups; k = 5."""
    order = rng.permutation(len(records))
    progress.stage(f"similar-B-tree, {size} records, {changes} {'deleted' if deleting else 'inserted'}")
    before = order[:size]
    changed = order[:changes] if deleting else order[size : size + changes]
    after = order[changes:size] if deleting else order[: size + changes]
    found = {
        STATIC: static(records, after, 5, "mondrian", seed),
        I3M: maintained(records, before, changed, 5, "i3m", "mondrian", seed, deleting=deleting),
        SIMILAR: maintained(records, before, changed, 5, "similar-b-tree", "mondrian", seed, deleting=deleting),
    }
    return [
        {
            "method": method,
            "records": size,
            "changes": changes,
            "change": "delete" if deleting else "insert",
            "seconds": seconds,
            "loss": total_il(records, after, labels[after]),
        }
        for method, (labels, seconds) in found.items()
    ]


def static(records: Records, rows: NDArray[np.int64], k: int, method: str, seed: int) -> tuple[Ints, float]:
    """The labels of a static method's groups (−1 for records that are not among `rows`), and the seconds it took."""
    some = replace(records, codes=records.codes[rows], carried=records.carried.take(rows))
    start = time.perf_counter()
    options = {"cut": "median"} if method == "mondrian" else {}
    partition = cluster(some, k, method=method, seed=seed, options=options)
    seconds = time.perf_counter() - start
    labels = np.full(len(records), -1, np.int32)
    labels[rows] = partition.labels
    return labels, seconds


def maintained(
    records: Records,
    rows: NDArray[np.int64],
    changed: NDArray[np.int64],
    k: int,
    maintainer: str,
    method: str,
    seed: int,
    *,
    deleting: bool,
) -> tuple[Ints, float]:
    """The labels that a maintainer makes of a static method's, and the seconds that the changes took."""
    labels, _ = static(records, rows, k, method, seed)
    keys = [str(i) for i in range(len(records))]
    live = LivePartition(records, keys, labels, Settings(k=k, maintainer=maintainer, seed=seed))
    engine, nobody = live.engine, np.zeros(0, np.int32)
    some = changed.astype(np.int32)
    engine.apply(nobody, nobody, nobody, SILENT)  # groups that were too large from the beginning
    start = time.perf_counter()
    engine.apply(some if deleting else nobody, nobody if deleting else some, np.full(len(some), -1, np.int32), SILENT)
    return live.labels[: len(records)].copy(), time.perf_counter() - start


def total_il(records: Records, rows: NDArray[np.int64], labels: Ints) -> float:
    dense = without_gaps(labels)
    lo, hi, sizes = group_boxes(records.codes[rows], dense, int(dense.max()) + 1)
    return float(sizes @ box_costs(records.books, "il", lo, hi).sum(axis=1))


def warm_up(records: Records) -> None:
    """Compiles, so that no figure shows the compiler."""
    rows = np.arange(300)
    for maintainer in ("i3m", "similar-b-tree"):
        for method in ("k-member", "mondrian"):
            for deleting in (False, True):
                changed = rows[:100] if deleting else np.arange(300, 400)
                labels, _ = maintained(records, rows, changed, 5, maintainer, method, 1, deleting=deleting)
    costs = cost_tables(records.books, "il")
    there = np.flatnonzero(labels >= 0)
    optimized("breaking", records.codes[there], without_gaps(labels[there]), costs, Privacy.only_k(5, len(there)))


def _truta_campan_files(folder: Path, inserted: list[Row], deleted: list[Row]) -> list[Path]:
    paths = [_csv(folder / "i3m-plus.csv", inserted), _csv(folder / "i3m-minus.csv", deleted)]
    for name, rows, title in (("4", inserted, "inserted"), ("5", deleted, "deleted")):
        k = (
            min(row["k"] for row in rows)
            if name == "4"
            else sorted({row["k"] for row in rows})[len({row["k"] for row in rows}) // 2]
        )
        shown = [{**row, "series": row["method"], "loss": row["loss_optimized"]} for row in rows if row["k"] == k]
        x = Axis("changes", f"records {title}")
        for axis, what in ((LOSS, "loss"), (SECONDS, "time")):
            chart = line_charts([(f"k = {k}, {title}", shown)], x, axis, COLOURS)
            paths.append(_svg(folder / f"truta-campan-figure-{name}-{what}.svg", chart))
    panels = []
    for k in sorted({row["k"] for row in inserted}):
        shown = [
            {"series": f"{row['method']}, {when}", "changes": row["changes"], "loss": row[field]}
            for row in inserted
            if row["k"] == k
            for when, field in (("before", "loss"), ("after", "loss_optimized"))
        ]
        panels.append((f"IL_Optimization, k = {k}", shown))
    dashed = [name for name in COLOURS if name.endswith("after")]
    chart = line_charts(panels, Axis("changes", "records inserted"), LOSS, COLOURS, dashed)
    return [*paths, _svg(folder / "truta-campan-figure-6.svg", chart)]


def _similar_files(folder: Path, by_size: list[Row], by_part: list[Row]) -> list[Path]:
    paths = [_csv(folder / "similar-b-tree-sizes.csv", by_size), _csv(folder / "similar-b-tree-parts.csv", by_part)]

    def panels(rows: list[Row]) -> list[tuple[str, list[Row]]]:
        return [
            (title, [{**row, "series": row["method"]} for row in rows if row["change"] == change])
            for change, title in (("insert", "inserted"), ("delete", "deleted"))
        ]

    charts = {
        "similar-b-tree-figure-4": (by_size, Axis("records", "records in the table"), SECONDS),
        "similar-b-tree-figures-5-7": (by_part, Axis("changes", "records changed"), SECONDS),
        "similar-b-tree-figures-6-8": (by_part, Axis("changes", "records changed"), LOSS),
    }
    for name, (rows, x, y) in charts.items():
        paths.append(_svg(folder / f"{name}.svg", line_charts(panels(rows), x, y, COLOURS)))
    return paths


def _csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow(
                {name: f"{value:.6g}" if isinstance(value, float) else value for name, value in row.items()}
            )
    return path


def _svg(path: Path, chart: Any) -> Path:
    save_chart(chart, path)
    return path
