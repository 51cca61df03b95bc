"""The audit of release files alone, whoever made them.

Each file is verified; counts of classes that two files have in common are held against each other; rows that can be
recognized in two files are looked for, and what the files say beside their rows. Who is in them it cannot know: with a
population (who was in when, and their quasi-identifiers) it places people into classes and asks what `audit_history`
asks of a vault. The values of people it does not know even then: what depends on them is undecided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.audit.between_files import changed_counts
from shoal.audit.label_boxes import boxes_of
from shoal.audit.of_people import Link, audit_people, seen_people
from shoal.audit.population import read_population
from shoal.audit.released import Released, as_texts, name_of, read_releases
from shoal.audit.traces import KINDS, Trace, linked_rows, traces
from shoal.audit.verdict import Audit
from shoal.errors import ParameterError
from shoal.privacy.requirements import Alpha, Diversity, PerColumn, Requirements, check_k
from shoal.progress import SILENT, Progress
from shoal.schema import Schema
from shoal.verify import Verdict, verify


@dataclass(frozen=True)
class FileAudit:
    """What release files say together. `ok` is the answer; `reasons` says why not.

    `ok` is also False where something is undecided. `people_found` is there with a population only: a key, and the
    attack (or `undecided`). It stays with the holder.
    """

    releases: int
    k: int
    verdicts: list[Verdict]
    changed_rows: int  # rows of fewer than k people, by counts of the same class in two files
    linked_rows: int  # that can be recognized in another file, where their class is another one
    traces: list[Trace]
    people: Audit | None  # what is found of a population
    reasons: list[str]
    people_found: pa.Table | None = field(default=None, repr=False)

    @property
    def ok(self) -> bool:
        return not self.reasons

    def __bool__(self) -> bool:
        return self.ok

    def facts(self) -> dict[str, Any]:
        """The same for a program, without anybody's key and without any cell."""
        return {
            "ok": self.ok,
            "releases": self.releases,
            "k": self.k,
            "verified": [verdict.ok for verdict in self.verdicts],
            "changed_rows": self.changed_rows,
            "linked_rows": self.linked_rows,
            "traces": {kind: sum(trace.kind == kind for trace in self.traces) for kind in KINDS},
            "people": None if self.people is None else self.people.facts(),
            "reasons": self.reasons,
        }


def audit(
    files: Sequence[object],
    schema: Schema | str | Path | Mapping[str, object],
    k: int = 2,
    *,
    l: PerColumn | None = None,  # noqa: E741  # the interface's name
    t: PerColumn | None = None,
    diversity: Diversity | None = None,
    c: float | None = None,
    alpha: Alpha | None = None,
    population: object = None,
    progress: Progress = SILENT,
) -> FileAudit:
    """What several releases of one table say together, from their files alone, in the order of their publication.

    `k`, `l` and so on: what is asked of each class, as for `verify`. `population`: a table with the key, the
    quasi-identifiers as they are, and in the columns `from` and `until` the numbers of the first and the last release
    (counted from 1 in the order of `files`) that each person was in; empty: from the first, until the last.

    Guarantee: if the answer is ok, every file passes the verifier; no class that two files have in common has counts
    that differ by fewer than k rows; and with a population, everybody is placed, and whatever these classes say
    together, one table says in which everybody is in a class of at least k people.
    """
    if isinstance(files, str | Path) or not isinstance(files, Sequence) or len(files) < 2:
        raise ParameterError("an audit of files wants two or more of them, in the order of their publication.")
    schema = schema if isinstance(schema, Schema) else Schema.load(schema)
    requirements = Requirements(check_k(k), l, t, diversity, c, alpha)
    progress.stage("reading releases", len(files))
    releases = read_releases(files, schema)
    people = None if population is None else read_population(population, schema, len(files))
    progress.stage("verifying", len(files))
    verdicts = [verify(source, schema, k, **requirements.options()) for source in files]
    progress.stage("auditing")
    reasons = [
        f"{name_of(releases, at)} by itself: {'; '.join(verdict.reasons)}"
        for at, verdict in enumerate(verdicts)
        if not verdict.ok
    ]
    boxes, codes = boxes_of(releases, schema, None if people is None else people.table, people and people.file)
    changed, complete = changed_counts(releases, boxes, schema, k)
    if changed:
        worst = changed[0]
        rows = "1 row" if worst.rows == 1 else f"{worst.rows} rows"
        both = f"{name_of(releases, worst.before)} and {name_of(releases, worst.after)}"
        reasons.append(
            f"difference: counts of the same class that change by fewer than {k} rows, {len(changed)} times; at worst "
            f"by {rows}, between {both}"
        )
    marks = traces(releases, schema)
    reasons += [f"{trace.kind}: {trace.words}" for trace in marks]
    links = _links(releases)
    found, told = None, None
    if people is None:
        if links:
            reasons.append(
                f"undecided: {len(links)} rows can be recognized in another file by what stands beside the "
                "quasi-identifiers, in another class; whether fewer than k people fit both, a population would tell"
            )
        if not complete:
            reasons.append("undecided: there are too many classes to look for boxes that overlap")
    else:
        seen = seen_people(releases, boxes, codes, people)
        found, more, told = audit_people(seen, releases, requirements, schema, links, progress)
        reasons += more
    return FileAudit(len(files), k, verdicts, sum(one.rows for one in changed), len(links), marks, found, reasons, told)


def _links(releases: Sequence[Released]) -> list[Link]:
    """Rows that must be the same person's, in classes with other labels."""
    found = []
    for a, b in combinations(range(len(releases)), 2):
        one, other = releases[a], releases[b]
        rows = linked_rows(one, other)
        same = np.ones(len(rows), bool)
        for name in one.labels:
            texts = [as_texts(release.table[name]).take(pa.array(rows[:, j])) for j, release in enumerate((one, other))]
            same &= pc.equal(*texts).to_numpy(zero_copy_only=False).astype(bool)
        for first, second in rows[~same].tolist():
            found.append(Link(a, b, int(one.classes[first]), int(other.classes[second])))
    return found
