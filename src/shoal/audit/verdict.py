"""What the audit says: how many people come out, by which attack, the worst case in words, and what is undecided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.audit.difference import differences
from shoal.audit.doubt import WORDS, doubts
from shoal.audit.equations import Sets, distinct_classes
from shoal.audit.history import History
from shoal.audit.intersection import narrowed
from shoal.audit.kinds import (
    ATTACKS,
    CRITICAL_ABSENCE,
    DIFFERENCE,
    INTERSECTION,
    LINKING,
    RE_ENTRY,
    UNDECIDED,
    UPDATE,
    Happened,
)
from shoal.audit.linking import linked
from shoal.audit.uniform import uniform
from shoal.progress import SILENT, Progress

Longs = NDArray[np.int64]
Bools = NDArray[np.bool_]
SEED = 20_070_831  # which vectors are drawn does not matter, only that a history is always judged alike


@dataclass(frozen=True)
class Finding:
    """People who come out together. `units` stays with the holder."""

    attack: str  # one of ATTACKS
    people: int
    releases: tuple[int, ...]  # the numbers of those that it takes; none: all
    units: Longs = field(repr=False)

    def in_words(self) -> str:
        who = "1 person" if self.people == 1 else f"{self.people} people"
        which = (
            f"releases {self.releases[0]} and {self.releases[-1]}" if len(set(self.releases)) > 1 else "the releases"
        )
        be, have = ("is", "has") if self.people == 1 else ("are", "have")
        return {
            DIFFERENCE: f"counts of {which} subtracted from each other give those of {who} alone",
            UPDATE: f"{who}, with another value now, {be} told apart by {which} before the change and after it",
            RE_ENTRY: f"{who}, away for a while, {be} told apart by {which} without them and with them",
            CRITICAL_ABSENCE: f"a value that is not shown any more, by {which}, says what {who} {have}",
            INTERSECTION: f"the values that {who} can have in each release have too few in common",
            LINKING: f"a row of {who} in {which} can be recognized by what stands beside the quasi-identifiers",
        }[self.attack]


@dataclass(frozen=True)
class Audit:
    """What several releases say together. `ok` is the answer; `reasons` says why not.

    `ok` is also False where something is undecided: where neither a way was found nor is it certain that there is none.
    """

    releases: int
    k: int
    atoms: int  # sets of people whom no release tells apart
    smallest: int  # people of the smallest
    findings: list[Finding]
    exposed: dict[str, int]  # people, by attack
    undecided: int  # people
    reasons: list[str]
    in_doubt: Longs = field(repr=False)  # units
    people_of: Longs = field(repr=False)  # whose each unit is
    people_found: pa.Table | None = field(default=None, repr=False)
    earlier: Audit | None = field(default=None, repr=False)  # of releases before these, with units of their own

    @property
    def ok(self) -> bool:
        return not self.reasons

    def __bool__(self) -> bool:
        return self.ok

    @property
    def worst(self) -> Finding | None:
        """The one with the fewest people."""
        findings = [*self.findings, *([] if self.earlier is None else self.earlier.findings)]
        return min(findings, key=lambda finding: finding.people, default=None)

    @property
    def people_exposed(self) -> int:
        """How many people come out, by whatever attack."""
        before = 0 if self.earlier is None else self.earlier.people_exposed
        return before + len(np.unique(self.people_of[self.exposed_units()]))

    def exposed_units(self) -> Longs:
        """Everybody who comes out. Stays with the holder."""
        every = [finding.units for finding in self.findings]
        return np.unique(np.concatenate(every)) if every else np.zeros(0, np.int64)

    def told(self, keys: Sequence[str | None]) -> Audit:
        """The same with `people_found`, for the holder's eyes alone: a key, and the attack (or `undecided`).

        `keys`: of the units; None of those who have been deleted, who are not in it.
        """
        rows = {
            (keys[unit], attack)
            for attack, units in [
                *((finding.attack, finding.units) for finding in self.findings),
                (UNDECIDED, self.in_doubt),
            ]
            for unit in units.tolist()
            if keys[unit] is not None
        }
        ordered = sorted(rows, key=lambda row: (row[1], str(row[0])))
        columns = {"key": [key for key, _ in ordered], "attack": [attack for _, attack in ordered]}
        types = pa.schema([("key", pa.string()), ("attack", pa.string())])
        return replace(self, people_found=pa.table(columns, schema=types))

    def doubting(self, units: Longs, where: str = "in cohorts that began after other releases") -> Audit:
        """The same, where releases that were not looked at may say more of some units."""
        people = len(np.unique(self.people_of[units]))
        if not people:
            return self
        who = "1 person is" if people == 1 else f"{people} people are"
        reason = f"undecided: {who} {where}, which may say more of them"
        in_doubt = np.union1d(self.in_doubt, units)
        return replace(self, undecided=self.undecided + people, reasons=[*self.reasons, reason], in_doubt=in_doubt)

    def and_also(self, earlier: Audit) -> Audit:
        """This, and what an audit of other releases found: of those before, which no later one adds anything to."""
        if not earlier.releases:
            return self
        tables = [one.people_found for one in (self, earlier) if one.people_found is not None]
        return replace(
            self,
            releases=self.releases + earlier.releases,
            smallest=min(self.smallest, earlier.smallest),
            exposed={attack: people + earlier.exposed[attack] for attack, people in self.exposed.items()},
            undecided=self.undecided + earlier.undecided,
            reasons=[*self.reasons, *earlier.reasons],
            earlier=earlier,
            people_found=pa.concat_tables(tables) if tables else None,
        )

    def facts(self) -> dict[str, Any]:
        """The same for a program, without anybody's key."""
        worst = self.worst
        return {
            "ok": self.ok,
            "releases": self.releases,
            "k": self.k,
            "atoms": self.atoms,
            "smallest_atom": self.smallest,
            "findings": len(self.findings) + (0 if self.earlier is None else len(self.earlier.findings)),
            "exposed": self.exposed,
            "undecided": self.undecided,
            "worst": None if worst is None else worst.in_words(),
            "reasons": self.reasons,
        }


def audit_history(history: History, combinations: Longs | None = None, progress: Progress = SILENT) -> Audit:
    """What the releases of a history say together.

    `combinations`: what each unit shows beside its quasi-identifiers, as a number (`linking.py`).
    """
    progress.stage("auditing")
    members = history.members()
    units, atoms = members.of(np.arange(members.n_atoms))
    seen = history.seen()[units]
    units, atoms = units[seen], atoms[seen]  # one atom, at most, is of those whom no release has shown yet
    sizes = history.sizes(units, atoms, members.n_atoms)
    shown = np.bincount(atoms, minlength=members.n_atoms) > 0
    lacking = history.lacking(units, atoms, members.n_atoms) & shown
    findings: list[Finding] = []
    in_doubt: dict[str, Bools] = {}
    if len(history.releases) > 1:
        lacking |= shown & uniform(history, members)
        rng, happened = np.random.default_rng(SEED), Happened(history)
        revealed = differences(history, members, lacking, rng)
        by_atoms, releases = [revealed.sets], [revealed.releases]
        few = by_change = settled = np.zeros(0, np.int64)
        if lacking.any() or len(history.successors):
            classes = revealed.classes if lacking.any() else distinct_classes(history, members, rng)
            few, by_change, settled = narrowed(history, members, lacking, [classes, *revealed.follows], rng)
        settled = settled[(lacking & ~revealed.exposed)[settled]]
        by_atoms.append(Sets(settled, revealed.sets.n_sets + np.arange(len(settled))))
        releases.append(np.full((len(settled), 2), -1))
        together, cut_out = Sets(*map(np.concatenate, zip(*by_atoms, strict=True))), np.concatenate(releases)
        units, at = members.of(together.atoms)
        attacks = happened.differences(units, together.sets[at], cut_out)
        findings += _findings(history, attacks, units, together.sets[at], cut_out)
        units, at = members.of(few)
        whenever = np.full((len(few), 2), -1)
        findings += _findings(history, happened.intersections(units, at, len(few)), units, at, whenever)
        units, at = members.of(by_change)
        findings += _findings(history, [UPDATE] * len(by_change), units, at, np.full((len(by_change), 2), -1))
        for exposed_units, before, after in [] if combinations is None else linked(history, members, combinations):
            zeros = np.zeros(len(exposed_units), np.int64)
            findings += _findings(history, [LINKING], exposed_units, zeros, np.array([[before, after]]))
        undecided = lacking & (not revealed.decided)
        undecided[revealed.undecided] = True
        in_doubt = {why: shown & atoms for why, atoms in doubts(history, members, lacking, undecided).items()}
    exposed = {attack: _people(history, [one.units for one in findings if one.attack == attack]) for attack in ATTACKS}
    settled_units = np.concatenate([np.zeros(0, np.int64), *(one.units for one in findings)])
    open_ones: dict[str, Longs] = {}
    for why, some in in_doubt.items():  # everybody once, by the first cause
        open_ones[why] = np.setdiff1d(members.of(np.flatnonzero(some))[0], settled_units)
        settled_units = np.concatenate([settled_units, open_ones[why]])
    every = np.concatenate([np.zeros(0, np.int64), *open_ones.values()])
    doubtful = {why: _people(history, [some]) for why, some in open_ones.items()}
    return Audit(
        releases=len(history.releases),
        k=history.k,
        atoms=int(shown.sum()),
        smallest=int(sizes[shown].min(initial=history.k)) if shown.any() else 0,
        findings=findings,
        exposed=exposed,
        undecided=_people(history, [every]),
        reasons=_reasons(findings, exposed, doubtful),
        in_doubt=every,
        people_of=history.people,
    )


def _findings(history: History, attacks: Sequence[str], units: Longs, sets: Longs, releases: Longs) -> list[Finding]:
    """One for each set: `sets` says in which one each of these units is, `releases` which two tell."""
    order = np.argsort(sets, kind="stable")
    units, sets = units[order], sets[order]
    starts = np.searchsorted(sets, np.arange(len(releases) + 1)).tolist()
    n_people = int(history.people.max(initial=0)) + 1
    whose = np.unique(sets * n_people + history.people[units]) // n_people
    people = np.bincount(whose, minlength=len(releases)).tolist()
    numbers = [release.number for release in history.releases]
    return [
        Finding(attack, count, () if pair[0] < 0 else (numbers[pair[0]], numbers[pair[1]]), units[start:end])
        for attack, count, pair, start, end in zip(
            attacks, people, releases.tolist(), starts[:-1], starts[1:], strict=True
        )
    ]


def _reasons(findings: Sequence[Finding], exposed: dict[str, int], in_doubt: dict[str, int]) -> list[str]:
    reasons = []
    for attack, people in exposed.items():
        if people:
            worst = min((one for one in findings if one.attack == attack), key=lambda one: one.people)
            reasons.append(
                f"{attack}: {people} {'person comes' if people == 1 else 'people come'} out; {worst.in_words()}"
            )
    for why, people in in_doubt.items():
        if people:
            reasons.append(f"undecided: {people} {'person is' if people == 1 else 'people are'} {WORDS[why]}")
    return reasons


def _people(history: History, units: Sequence[Longs]) -> int:
    every = np.concatenate([np.zeros(0, np.int64), *units])
    return len(np.unique(history.people[every]))
