"""Where records come from: a made-up table of patients, and Adult."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import shoal

KEY, PERSON = "id", "who"
Record = dict[str, Any]  # without key and person
Rng = np.random.Generator

ILLNESSES = ("flu", "gout", "asthma", "diabetes", "HIV", "leprosy")
JOBS = ("clerk", "cook", "nurse", "smith")


@dataclass(frozen=True)
class Source:
    """Records of one kind: their columns, and one after the other at random."""

    columns: dict[str, Any]
    sensitive: str
    insensitive: str
    values: Sequence[str]  # of the sensitive column
    draw: Callable[[Rng], Record]

    def schema(self, *, people: bool = False) -> shoal.Schema:
        """`people`: there may be several records of one."""
        return shoal.Schema({KEY: {"role": "key"}, **({PERSON: {"role": "person"}} if people else {}), **self.columns})

    @property
    def quasi_identifiers(self) -> list[str]:
        return [name for name in self.columns if name not in (self.sensitive, self.insensitive)]


def patients(values: int = 4) -> Source:
    """Age, town and sex; a job; one of 2 to 6 illnesses, each half as common as the one before."""
    illnesses = ILLNESSES[:values]
    shares = 0.5 ** np.arange(values)

    def draw(rng: Rng) -> Record:
        return {
            "age": int(rng.integers(18, 90)),
            "town": f"town {rng.integers(5)}",
            "sex": str(rng.choice(["f", "m"])),
            "job": str(rng.choice(JOBS)),
            "ill": str(rng.choice(illnesses, p=shares / shares.sum())),
        }

    columns = {
        "age": {"role": "quasi-identifier", "type": "numeric", "domain": [18, 89]},
        "town": {"role": "quasi-identifier", "type": "categorical"},
        "sex": {"role": "quasi-identifier", "type": "categorical"},
        "job": {"role": "insensitive"},
        "ill": {"role": "sensitive"},
    }
    return Source(columns, "ill", "job", illnesses, draw)


def bare_patients(values: int = 4) -> Source:
    """Patients of whom nothing is published beside their illness, each of which is as common."""
    whole = patients(values)
    columns = {name: column for name, column in whole.columns.items() if name != whole.insensitive}

    def draw(rng: Rng) -> Record:
        record = {name: value for name, value in whole.draw(rng).items() if name in columns}
        return {**record, whole.sensitive: str(rng.choice(whole.values))}

    return replace(whole, columns=columns, draw=draw)


def adult() -> Source:
    """Adult with its occupation as what is sensitive, the salary class beside it, and seven quasi-identifiers."""
    papers = shoal.datasets.adult_schema().columns
    table = shoal.datasets.adult("train", complete=True)
    names = [name for name, column in papers.items() if column.role is shoal.Role.QUASI_IDENTIFIER]
    names = [name for name in names if name != "occupation"]
    kept = table.select([*names, "salary-class", "occupation"])

    def draw(rng: Rng) -> Record:
        found: Record = kept.slice(int(rng.integers(kept.num_rows)), 1).to_pylist()[0]
        return found

    columns = {
        **{name: papers[name] for name in names},
        "salary-class": {"role": "insensitive"},
        "occupation": {"role": "sensitive"},
    }
    values = sorted(set(kept["occupation"].to_pylist()))
    return Source(columns, "occupation", "salary-class", values, draw)
