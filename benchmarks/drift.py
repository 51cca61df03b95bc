"""Drift: what the default maintainer loses after a history, as a multiple of starting again, and at what price.

`python -m benchmarks.drift --seeds 4 survey "k = 2, adult"` measures some histories (`histories.py`) alone.

Starting again is the default method on the records that there are in the end, with the costs that the maintainer had.
The price is that of a vault in memory: a change is read, checked, encoded, applied and stored.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

import shoal
from benchmarks.finding import Finding, in_its_own_process
from benchmarks.histories import HISTORIES, batches, beginning, made
from shoal.cluster import cluster
from shoal.maintain import DEFAULT_MAINTAINER
from shoal.maintain.live import LivePartition, Settings
from shoal.measures import total_loss

SEEDS, QUICK_SEEDS = 4, 1
AGAIN = (1, 2)  # seeds of starting again
TRIES = 2  # of every batch, of which the faster counts: what is slower was the machine's other business
QUICK = ("growing, survey", "updates only, adult", "batches of 1", "k = 50, adult")
OTHER = "i3m"


def run(quick: bool) -> list[Finding]:
    findings = []
    seeds = QUICK_SEEDS if quick else SEEDS
    for name in QUICK if quick else HISTORIES:
        found = together(in_its_own_process(__name__, "--json", "--seed", seed, name) for seed in range(1, 1 + seeds))
        findings += [
            Finding(f"{name}: loss, × starting again; mean of {seeds}", found["loss"], "", wanted="≤ 1.02"),
            Finding(f"{name}: the same; worst of {seeds}", found["most"], "", wanted="≤ 1.03"),
            Finding(f"{name}: the estimate of it is off by", found["off"], "", wanted="≤ 0.01"),
            Finding(f"{name}: a change; beside it {OTHER}'s", found["change"], "µs", found["other_change"], "≥ 0.2×"),
            Finding(f"{name}: the batch that takes longest, × the mean per change", found["worst"], "", wanted="≤ 3"),
        ]
    return findings


def together(reports: Iterable[dict[str, float]]) -> dict[str, float]:
    """The means of several seeds, and the `least` and `most` that were lost."""
    several = list(reports)
    means = {key: float(np.mean([report[key] for report in several])) for key in several[0]}
    losses = [report["loss"] for report in several]
    return {**means, "least": min(losses), "most": max(losses)}


def measured(name: str, seed: int, tries: int = TRIES) -> dict[str, float]:
    """One history, in this process."""
    report = drifted(name, seed)
    times: dict[str, list[Any]] = {maintainer: [] for maintainer in (DEFAULT_MAINTAINER, OTHER)}
    changes = np.array([sum(step) for step in HISTORIES[name].steps])
    for _ in range(tries):  # in turn: a machine that is slower for a while is slower for all
        for maintainer, taken in times.items():
            taken.append(seconds(name, seed, maintainer))
    for maintainer, taken in times.items():
        fastest = np.min(taken, axis=0)
        mean = float(fastest.sum() / changes.sum())
        mark = "" if maintainer == DEFAULT_MAINTAINER else "other_"
        report |= {f"{mark}change": 1e6 * mean, f"{mark}worst": float((fastest / changes).max() / mean)}
    return report


def drifted(name: str, seed: int) -> dict[str, float]:
    """What each maintainer has lost in the end, × starting again, and by how much the estimate of it is off.

    Both begin with the same groups.
    """
    live = followed(name, seed, DEFAULT_MAINTAINER)
    records = live.records()
    fresh = [cluster(records, live.k, live.settings.rules, seed=chance) for chance in AGAIN]
    again = float(np.mean([total_loss(partition, live.books) for partition in fresh]))
    loss = live.loss() / again
    off = abs((live.drift() or np.inf) - max(1.0, loss))
    return {"loss": loss, "off": off, "other_loss": followed(name, seed, OTHER).loss() / again}


def followed(name: str, seed: int, maintainer: str) -> LivePartition:
    history, (_, schema) = HISTORIES[name], made(name, seed)
    settings = Settings(k=history.k, rules=history.rules(schema), maintainer=maintainer, method="shoal", seed=seed)
    live = LivePartition.start(beginning(name, seed), schema, settings)
    for batch in batches(name, seed):
        live.apply(batch)
    return live


def seconds(name: str, seed: int, maintainer: str) -> list[float]:
    """What each batch takes, of the processor's time."""
    history, (_, schema) = HISTORIES[name], made(name, seed)
    asked = {"k": history.k, **(history.asked or {}), "maintainer": maintainer, "seed": seed}
    taken = []
    with shoal.Vault.create(":memory:", schema, data=beginning(name, seed), **asked) as vault:
        for batch in batches(name, seed):
            start = time.process_time()
            vault.apply(batch)
            taken.append(time.process_time() - start)
    return taken


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drift")
    parser.add_argument("names", nargs="*", metavar="HISTORY", help=", ".join(HISTORIES))
    parser.add_argument("--seeds", type=int, default=1, help="how many")
    parser.add_argument("--seed", type=int, help="this one alone")
    parser.add_argument("--tries", type=int, default=TRIES, help="of every batch, of which the faster counts")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    pa.set_cpu_count(1)
    for name in given.names or HISTORIES:
        seeds = range(1, 1 + given.seeds) if given.seed is None else [given.seed]
        found = together(measured(name, seed, given.tries) for seed in seeds)
        told = json.dumps(found) if given.json else f"{name:22} {in_words(found)}"
        print(told, flush=True)  # noqa: T201  # read by whoever started it


def in_words(found: dict[str, float]) -> str:
    spread = f"({found['least']:.3f} to {found['most']:.3f})"
    return (
        f"loss {found['loss']:.3f} {spread}, estimate off by {found['off']:.3f}, {OTHER} {found['other_loss']:.3f}; "
        f"a change {found['change']:.0f} µs, "
        f"{found['change'] / found['other_change']:.1f} × {OTHER}'s; worst batch {found['worst']:.1f}"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
