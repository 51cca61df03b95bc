"""Places, column by column; and the table that they are about: the records of now, and all that rows may show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.boxes.costs import column_costs
from shoal.boxes.costs.tables import ColumnCosts
from shoal.boxes.geometry import group_boxes
from shoal.partition import Partition
from shoal.privacy import Privacy, Rule
from shoal.privacy.sensitive import Distribution, sensitive_column
from shoal.records.codebook import Codes
from shoal.records.encode import Records
from shoal.schema import Role

Longs = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
GHOST = -1  # nobody holds it
NEW = -1  # the number of a place that is not stored yet
TAINTED, PAST = 1, 2  # of a place: more may be known of it; its holder was in a cohort before


@dataclass(frozen=True)
class Past:
    """Where somebody has been before."""

    cohorts: Sequence[int]  # the earlier ones that there still are
    places: Sequence[int]  # in them, by number
    moved: bool  # stayed in the table and has another value; else was away
    changed: bool  # says something else than some of those places, in any column: what has changed may be known
    known: bool  # all earlier cohorts are there, and no release says more of their places than they do


@dataclass(frozen=True)
class Places:
    """Places. Each is one row of a release, as long as somebody of its cohort is left."""

    ids: Longs  # as they are stored, or NEW
    cohorts: Longs
    holders: Longs  # the index of a record, or GHOST
    shows: Longs  # the row of `Table.contents` that has its value
    people: Longs  # whose it was at first: equal numbers in a cohort, one person
    tainted: Longs  # 0, TAINTED or PAST: nobody else takes it

    @classmethod
    def none(cls) -> Places:
        nobody = np.zeros(0, np.int64)
        return cls(nobody, nobody, nobody, nobody, nobody, nobody)

    def __len__(self) -> int:
        return len(self.ids)

    def only(self, which: Longs | Bools) -> Places:
        return Places(*(getattr(self, one.name)[which] for one in fields(self)))

    def and_also(self, others: Places) -> Places:
        return Places(*(np.concatenate([getattr(self, one.name), getattr(others, one.name)]) for one in fields(self)))

    @property
    def held(self) -> Bools:
        return self.holders != GHOST

    def without_dead_cohorts(self) -> Places:
        """Without cohorts of which nobody is left."""
        return self.only(np.isin(self.cohorts, np.unique(self.cohorts[self.held])))

    def begun_with(self, records: Longs, cohorts: Longs, people: Longs | None) -> Places:
        """With one place more for each of these records, which shows what the record says."""
        new = np.full(len(records), NEW)
        whose = np.arange(len(records)) if people is None else people.astype(np.int64)
        more = Places(new, cohorts, records, records, whose, np.zeros(len(records), np.int64))
        return self.and_also(more)

    def tying(self, pasts: Mapping[int, Past]) -> Places:
        """With these records marked as people with a past, and so the places that they have left: what is possible for
        either depends on the other, so nobody else takes them, and their cohorts stay as they are."""
        if not pasts:
            return self
        left = [place for past in pasts.values() for place in past.places]
        tied = np.isin(self.holders, list(pasts)) | np.isin(self.ids, left)
        return replace(self, tainted=np.where(tied & (self.tainted == 0), PAST, self.tainted))

    def filled(self, places: Longs, records: Longs) -> Places:
        """With these records as holders of these places."""
        holders = self.holders.copy()
        holders[places] = records
        return replace(self, holders=holders)


class Boxes(NamedTuple):
    """Boxes around groups of records."""

    lo: Codes
    hi: Codes
    sizes: Longs  # how many records there are in each
    losses: Floats  # what each of them loses


@dataclass(frozen=True)
class Table:
    """The records of now, and what is asked of a class.

    `contents`: all that rows may show beside the quasi-identifiers; first what each record says, then what places have
    kept of others. Rows are equal if their `values` are, and say the same of a sensitive column if `sensitive` is.
    """

    records: Records
    contents: pa.Table
    values: Longs
    sensitive: NDArray[np.int32]  # (rows, sensitive columns)
    k: int
    rules: tuple[Rule, ...]
    reference: Mapping[str, Distribution] | None  # what closeness is measured against
    measure: str

    @classmethod
    def of(
        cls,
        records: Records,
        kept: pa.Table,
        k: int,
        rules: Sequence[Rule],
        measure: str,
        reference: Mapping[str, Distribution] | None = None,
        n_kept: int | None = None,
    ) -> Table:
        """`kept`: what places show that their holders do not, or that nobody holds; so many rows, if it has columns."""
        rows = len(records) + (kept.num_rows if n_kept is None else n_kept)
        contents = pa.concat_tables([records.passthrough, kept], promote_options="permissive").combine_chunks()
        names = records.schema.names(Role.SENSITIVE)
        every = Records(np.zeros((rows, 0), np.int32), [], contents, records.order, records.schema)
        sensitive = [sensitive_column(name, every, quiet=True).codes for name in names]
        return cls(
            records,
            contents,
            _row_numbers(contents, rows),
            np.stack(sensitive, axis=1) if names else np.zeros((rows, 0), np.int32),
            k,
            tuple(rules),
            reference,
            measure,
        )

    @cached_property
    def beside(self) -> list[Longs]:
        """For each sensitive column, a number for all that a row says in the others: equal number, equal rest."""
        names = self.records.schema.names(Role.SENSITIVE)
        return [_row_numbers(self.contents.drop_columns([name]), len(self.values)) for name in names]

    def shown(self, places: Places) -> Records:
        """The places as records. A ghost has the quasi-identifiers of one of its cohort: its box stays what it is."""
        codes, people = self.codes_of(places), None
        if self.records.people is not None:
            pairs = np.stack([places.cohorts, places.people])
            people = np.unique(pairs, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int32)
        contents = self.contents.take(pa.array(places.shows)) if self.contents.num_columns else self.contents
        return replace(self.records, codes=codes, passthrough=contents, people=people)

    def codes_of(self, places: Places) -> Codes:
        _, cohort = np.unique(places.cohorts, return_inverse=True)
        somebody = np.full(int(cohort.max(initial=-1)) + 1, GHOST)
        somebody[cohort[places.held]] = places.holders[places.held]
        return self.records.codes[np.where(places.held, places.holders, somebody[cohort])]

    def privacy_of(self, records: Records) -> Privacy:
        return Privacy.of(records, self.k, self.rules, reference=self.reference, quiet=True)

    def partition(self, places: Places) -> Partition:
        """The places in their cohorts; somebody must be left of each."""
        shown = self.shown(places)
        return Partition.from_labels(shown.codes, places.cohorts, self.privacy_of(shown))

    def holds(self, places: Places) -> tuple[Longs, Bools]:
        """The cohorts, and which of them have what is asked of a class."""
        cohorts, labels = np.unique(places.cohorts, return_inverse=True)
        facts = self.privacy_of(self.shown(places)).facts_of(labels.astype(np.int32), len(cohorts))
        return cohorts, facts.holds(self.k)

    def boxes(self, codes: Codes, labels: Longs, groups: int) -> Boxes:
        lo, hi, sizes = group_boxes(codes, labels.astype(np.int32), groups)
        return Boxes(lo, hi, sizes, self.losses(lo, hi))

    def losses(self, lo: Codes, hi: Codes) -> Floats:
        """What somebody loses by being published as each of these boxes."""
        losses = np.zeros(len(lo))
        for j, (weight, costs) in enumerate(self._costs):
            losses += weight * costs.of(lo[:, j], hi[:, j])
        return losses

    @cached_property
    def _costs(self) -> list[tuple[float, ColumnCosts]]:
        """The weight and the costs of each column: asked for again and again, and dear to make."""
        return [(book.column.weight, column_costs(book, self.measure)) for book in self.records.books]


def _row_numbers(table: pa.Table, rows: int) -> Longs:
    """A number for each row: the same for those that are equal."""
    numbers = np.zeros(rows, np.int64)
    for column in table.columns:
        codes = column.combine_chunks().dictionary_encode(null_encoding="encode").indices.to_numpy()
        numbers = np.unique(numbers * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1]
    return numbers
