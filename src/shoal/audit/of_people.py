"""What release files say together about a population: people who are placed into their classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.arrays import runs
from shoal.audit.history import History, Members, Shown
from shoal.audit.label_boxes import Boxes
from shoal.audit.placing import placed
from shoal.audit.population import Population
from shoal.audit.released import Released, name_of
from shoal.audit.verdict import Audit, audit_history
from shoal.privacy.requirements import Requirements
from shoal.progress import Progress
from shoal.schema import Role, Schema

Longs = NDArray[np.int64]
Ints = NDArray[np.int32]
Bools = NDArray[np.bool_]


class Link(NamedTuple):
    """A row of one release and one of another that must be the same person's: the releases, and their classes."""

    before: int
    after: int
    here: int
    there: int


@dataclass(frozen=True)
class Seen:
    """The people of a population first, and then a unit for each row of which nobody can say whose it is."""

    keys: list[str]
    classes: list[Longs]  # of each unit in each release; −1: absent, or it cannot be told
    in_doubt: Bools  # the people who cannot be placed
    reasons: list[str]


def seen_people(releases: Sequence[Released], boxes: Sequence[Boxes], codes: Ints, people: Population) -> Seen:
    """`codes`: the numbers of people's own values, a row for each stay."""
    n_people, reasons = len(people.keys), list[str]()
    in_doubt = np.zeros(n_people, bool)
    of_people, unnamed = [], []
    for at, release in enumerate(releases):
        there = np.flatnonzero((people.first <= at) & (people.last >= at))
        where = placed(codes[there], boxes[at], release.sizes())
        classes = np.full(n_people, -1, np.int64)
        classes[people.whose[there]] = where.classes
        named = np.bincount(where.classes[where.classes >= 0], minlength=release.n_classes)
        of_people.append(classes)
        unnamed.append(np.repeat(np.arange(release.n_classes), np.maximum(0, release.sizes() - named)))
        in_doubt[people.whose[there[where.ambiguous | where.misfits]]] = True
        name = name_of(releases, at)
        for wrong, what in ((where.ambiguous, "several classes"), (where.misfits, "no class")):
            if wrong.any():
                several = int(wrong.sum())
                fit = "person of the population fits" if several == 1 else "people of the population fit"
                reasons.append(f"undecided: {several} {fit} {what} of {name}")
        if where.overfull.any():
            reasons.append(f"undecided: {name} has classes with fewer rows than people who fit no other class")
    starts = n_people + np.cumsum([0, *map(len, unnamed)])
    shown = []
    for classes, rest, start in zip(of_people, unnamed, starts[:-1].tolist(), strict=True):
        of_units = np.full(int(starts[-1]), -1, np.int64)
        of_units[:n_people] = classes
        of_units[start : start + len(rest)] = rest
        shown.append(of_units)
    return Seen(people.keys, shown, in_doubt, reasons)


def audit_people(
    seen: Seen,
    releases: Sequence[Released],
    requirements: Requirements,
    schema: Schema,
    links: Sequence[Link],
    progress: Progress,
) -> tuple[Audit, list[str], pa.Table]:
    """What is found, why the answer is no, and of whom: a key, and the attack (or `undecided`)."""
    n_units = len(seen.classes[0])
    rules = requirements.rules(schema)
    # Nobody's values are known: sets are judged by their sizes, and what depends on values is undecided.
    history = History(requirements.k, rules, people=np.arange(n_units), values={}, known=np.zeros(n_units, bool))
    for number, classes in enumerate(seen.classes, start=1):
        history.show(Shown(number, classes))
    found = audit_history(history, None, progress)
    members = history.members()
    few = _too_few_in_common(seen, members, releases, requirements, schema)
    linked = _recognized(seen, links, requirements.k)
    reasons = [*found.reasons, *seen.reasons]
    if len(few):
        have = "1 person" if len(few) == 1 else f"{len(few)} people"
        reasons.append(f"intersection: the values that {have} can have in each release have too few in common")
    if len(linked):
        fit = "1 person fits" if len(linked) == 1 else f"{len(linked)} people fit"
        reasons.append(
            f"linking: {fit}, with fewer than k others, both classes of a row that can be recognized in two files by "
            "what stands beside the quasi-identifiers"
        )
    rows = {(one.attack, unit) for one in found.findings for unit in one.units.tolist()}
    rows |= {("undecided", unit) for unit in [*found.in_doubt.tolist(), *np.flatnonzero(seen.in_doubt).tolist()]}
    rows |= {("intersection", unit) for unit in few.tolist()} | {("linking", unit) for unit in linked.tolist()}
    named = sorted((attack, seen.keys[unit]) for attack, unit in rows if unit < len(seen.keys))
    columns = {"key": [key for _, key in named], "attack": [attack for attack, _ in named]}
    return found, reasons, pa.table(columns, pa.schema([("key", pa.string()), ("attack", pa.string())]))


def _too_few_in_common(
    seen: Seen, members: Members, releases: Sequence[Released], requirements: Requirements, schema: Schema
) -> Longs:
    """The people whose classes have fewer than ℓ values in common; where no ℓ is asked one, if each class has more."""
    first = members.units[members.starts[:-1]]
    few = np.zeros(members.n_atoms, bool)
    for name in schema.names(Role.SENSITIVE):
        bounds = [rule.bound for rule in requirements.rules(schema) if rule.column == name and rule.symbol == "l"]
        width = max(int(release.sensitive[name].max(initial=0)) for release in releases) + 1
        fewest = np.full(members.n_atoms, np.iinfo(np.int64).max)
        times, possible = np.zeros(members.n_atoms, np.int64), []
        for release, classes in zip(releases, seen.classes, strict=True):
            present = np.flatnonzero(classes[first] >= 0)
            own = classes[first[present]]
            values = np.unique(release.classes * width + release.sensitive[name])
            n_values = np.bincount(values // width, minlength=release.n_classes)
            entry, at = runs(np.searchsorted(values, own * width), n_values[own])
            possible.append(present[at] * width + values[entry] % width)
            fewest[present] = np.minimum(fewest[present], n_values[own])
            times[present] += 1
        keys, counts = np.unique(np.concatenate(possible), return_counts=True)
        left = np.bincount(keys[counts == times[keys // width]] // width, minlength=members.n_atoms)
        few |= (times > 1) & ((left < max(bounds, default=1)) | ((left == 1) & (fewest > 1)))
    units = np.sort(members.of(np.flatnonzero(few))[0])
    return units[units < len(seen.keys)]


def _recognized(seen: Seen, links: Sequence[Link], k: int) -> Longs:
    """The people who, with fewer than k − 1 others, are in both classes of rows that must be the same person's."""
    found: set[int] = set()
    by_releases: dict[tuple[int, int], dict[int, list[int]]] = {}
    for before, after, here, there in dict.fromkeys(links):
        old, new = seen.classes[before], seen.classes[after]
        width = int(new.max(initial=0)) + 1
        if (before, after) not in by_releases:
            cells: dict[int, list[int]] = {}
            for unit in np.flatnonzero((old >= 0) & (new >= 0)).tolist():
                cells.setdefault(int(old[unit]) * width + int(new[unit]), []).append(unit)
            by_releases[before, after] = cells
        units = by_releases[before, after].get(here * width + there, [])
        if len(units) < k:
            found.update(units)
    return np.array(sorted(found), np.int64)
