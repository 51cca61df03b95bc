"""One attack, how often it was tried, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

KILLED, FAILING, BROKEN = "killed", "calls failing", "damaged or broken"
KINDS = (KILLED, FAILING, BROKEN)


class Size(NamedTuple):
    """How often things are tried with each subject."""

    kills: int
    failures: int
    damages: int
    inputs: int
    seed: int = 1
    whole: bool = True  # every subject, not a few of each kind

    def share(self, share: float) -> Size:
        kills, failures, damages, inputs = (max(1, int(count * share)) for count in self[:4])
        return self._replace(kills=kills, failures=failures, damages=damages, inputs=inputs)


SAMPLE = Size(kills=3, failures=3, damages=5, inputs=4, whole=False)
FULL = Size(kills=80, failures=70, damages=90, inputs=120)


@dataclass
class Tally:
    """How often something was tried and struck, and what must not have happened."""

    struck: Counter[str] = field(default_factory=Counter)
    complaints: list[str] = field(default_factory=list)
    broken: int = 0  # tries of which there is something to complain

    def count(self, kind: str, what: str, complaints: Iterable[str], *, struck: bool = True) -> None:
        found = list(complaints)
        self.struck[kind] += struck
        self.complaints += [f"{what}: {complaint}" for complaint in found]
        self.broken += bool(found)


class Attack(NamedTuple):
    group: str
    subject: str
    run: Callable[[Path, Size], Tally]
    sampled: bool = True  # in the small sample as well
