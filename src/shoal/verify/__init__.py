"""The independent check: is this published table anonymous? It trusts nobody.

It looks at the published rows alone, regroups them by their published values, and shares no grouping code and no
arithmetic with what made them. It reads what other tools wrote as well.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import DataError, ParameterError, ShoalWarning, one_of
from shoal.privacy.requirements import Alpha, Diversity, PerColumn, Rule, check_k, make_rules
from shoal.records.reading import read_text
from shoal.schema import PUBLISHED, Role, Schema
from shoal.sources.naming import surely_names
from shoal.verify.models import Values, code_of, count, published_values, reached, satisfied
from shoal.views import counted, table_html
from shoal.workers import mapped, using

Longs = NDArray[np.int64]
LARGEST_KEY = 2**62


@dataclass(frozen=True)
class RuleFound:
    """What was found of one rule."""

    rule: Rule
    found: float  # in the worst class: the smallest ℓ, the largest t or share, the c that would be needed
    offending: int  # classes that do not satisfy it

    @property
    def ok(self) -> bool:
        return self.offending == 0

    def in_words(self) -> str:
        """What the worst class has."""
        if self.rule.model == "recursive":
            needed = f"c above {self.found:.4g} would do" if np.isfinite(self.found) else "no c would do"
            return "every class has it" if self.ok else f"{self.offending} classes do not; {needed}"
        return f"the worst class has {self.found:.4g}"

    def facts(self) -> dict[str, object]:
        found = self.found if np.isfinite(self.found) else None
        return {**self.rule.facts(), "found": found, "offending_classes": self.offending, "ok": self.ok}


@dataclass(frozen=True, repr=False)
class Verdict:
    """What the verifier found. `ok` is the answer; `reasons` says why not.

    `offending` holds the published values of the classes that are too small or break a rule. If the table is not
    anonymous these may be somebody's own values: they are not printed with the verdict.
    """

    k: int  # found: the people or rows of the smallest equivalence class
    wanted: int
    counted: str  # what k counts: rows, or people
    records: int
    classes: int
    suppressed: int  # rows in which every quasi-identifier is `*`
    rules: list[RuleFound]
    reasons: list[str]
    offending: pa.Table = field(repr=False)

    @property
    def ok(self) -> bool:
        return not self.reasons

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        found = f"k = {self.k} of {self.wanted} wanted ({self.counted})"
        return f"<Verdict: {'yes' if self.ok else 'no'}, {found}, {counted(self.classes, 'class', 'classes')}>"

    def _repr_html_(self) -> str:
        """For notebooks; no cell of the table is in it."""
        rules = [(str(one.rule), one.in_words()) for one in self.rules]
        reasons = [("no, because", reason) for reason in self.reasons]
        rows = [("rows", self.records), ("suppressed rows", self.suppressed), *rules, *reasons]
        return table_html(repr(self).strip("<>"), (), rows)

    def facts(self) -> dict[str, object]:
        """The same for a program, without any cell of the table."""
        return {
            "ok": self.ok,
            "k": self.k,
            "wanted": self.wanted,
            "counted": self.counted,
            "records": self.records,
            "classes": self.classes,
            "offending_classes": self.offending.num_rows,
            "suppressed": self.suppressed,
            "rules": [rule.facts() for rule in self.rules],
            "reasons": self.reasons,
        }


def verify(
    source: object,
    schema: Schema | str | Path | Mapping[str, object] | None = None,
    k: int = 2,
    *,
    l: PerColumn | None = None,  # noqa: E741  # the interface's name
    t: PerColumn | None = None,
    diversity: Diversity | None = None,
    c: float | None = None,
    alpha: Alpha | None = None,
    quasi_identifiers: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    people: Sequence[object] | pa.Array | NDArray[np.generic] | None = None,
    reference: Mapping[str, Mapping[str, float]] | None = None,
    workers: int | None = None,
) -> Verdict:
    """Check a published file or table against k, and against what is asked of its sensitive columns.

    Which columns an attacker may know and must not learn comes from `schema`, or from `quasi_identifiers` and
    `sensitive` where there is none. Columns `x_lo` and `x_hi` count as part of the quasi-identifier `x`.
    `l`, `t`, `diversity`, `c`, `alpha` are those of `anonymize`. t-closeness is measured against the table's own
    distribution, or against `reference` (the share of each value, by column), where another one is meant.
    `people`: whose row each row is. A release does not say; without it k and ℓ count rows. `workers`: how many threads
    work side by side (all cores, if unsaid).

    Guarantee: if the verdict is ok, every combination of published quasi-identifier values that occurs in the table
    occurs at least k times (for k people), every such class satisfies every rule, and no column that the schema keeps
    back is in it.
    """
    k = check_k(k)
    if schema is not None and (quasi_identifiers or sensitive):
        raise ParameterError("give a schema, or quasi_identifiers and sensitive, not both.")
    if schema is not None and not isinstance(schema, Schema):
        schema = Schema.load(schema)
    names = _names(schema, Role.QUASI_IDENTIFIER, quasi_identifiers)
    protected = _names(schema, Role.SENSITIVE, sensitive)
    if not names:
        raise ParameterError("there is no quasi-identifier to verify.", hint="Give a schema, or name the columns.")
    both = [name for name in protected if name in names]
    if both:
        raise ParameterError(
            f"{both[0]!r} cannot be a quasi-identifier and sensitive: what an attacker knows is known."
        )
    others = [name for name in (schema.columns if schema else names) if name not in protected]
    rules = make_rules(protected, l=l, t=t, diversity=diversity, c=c, alpha=alpha, others=others)
    _check_reference(reference, rules)
    table = read_text(source, names + protected if schema is None else schema.published)
    file = str(source) if isinstance(source, str) or hasattr(source, "__fspath__") else None
    for name in [*names, *(rule.column for rule in rules)]:
        if name not in table.column_names:
            raise DataError(f"the table has no column {name!r}: it is no release.", file=file, column=name)
    if table.num_rows == 0:
        raise DataError("the table has no rows.", file=file)
    bounds = [name for name in _bounds(names) if name in table.column_names and not (schema and name in schema.columns)]
    keys = _plain(table.select(names + bounds))
    with using(workers):
        classes = _class_of_each_row(keys, file)
    persons = _persons(people, table.num_rows)
    if persons is None and schema is not None and schema.names(Role.PERSON):
        if rules:
            raise ParameterError(
                "what is asked of sensitive columns counts people here, and a release does not say whose its rows are.",
                hint="Only the holder can check it, with `people`; `anonymize` did before it made the release.",
            )
        note = "one person may have several rows here, and a release does not say whose they are: rows are counted."
        warnings.warn(note, ShoalWarning, stacklevel=2)

    reasons = []
    sizes = _members(classes, persons)
    counted = "rows" if persons is None else "people"
    bad = sizes < k
    if bad.any():
        rows = int(bad[classes].sum())
        reasons.append(
            f"{int(bad.sum())} of {len(sizes)} equivalence classes have fewer than {k} {counted} "
            f"({rows} rows in all; the smallest class has {sizes.min()})"
        )
    rules_found = []
    for rule in rules:
        given = (reference or {}).get(rule.column)
        column = schema.columns[rule.column] if schema else None
        missing = column.texts_missing(schema.missing) if schema and column else ("",)
        try:
            values = published_values(
                rule.column, table[rule.column], column, missing, [name for name in given or () if name]
            )
        except DataError as error:
            error.file = error.file or file
            raise
        if rule.value is not None:
            check_value(rule, values)
        found = reached(rule, count(classes, values, persons), values, persons is not None, given)
        wrong = ~satisfied(rule, found)
        bad |= wrong
        worst = float(found.min() if rule.symbol == "l" and rule.model != "recursive" else found.max())
        rules_found.append(RuleFound(rule, worst, int(wrong.sum())))
        if wrong.any():
            reasons.append(f"{int(wrong.sum())} of {len(sizes)} equivalence classes do not have {rule}")
    suppressed = _suppressed(keys.select(names))
    if 0 < suppressed < k:
        reasons.append(f"{suppressed} rows are wholly suppressed (`*` everywhere) and too few: leave them out")
    if schema is not None:
        reasons += foreign_columns(table.column_names, schema, bounds)
    offending = _offending(keys, classes, np.flatnonzero(bad))
    return Verdict(
        int(sizes.min()), k, counted, table.num_rows, len(sizes), suppressed, rules_found, reasons, offending
    )


def check_value(rule: Rule, values: Values) -> None:
    """A rule about a value that no row has says nothing: is it a slip of the pen?"""
    if values.column is not None and values.column.bins is not None:
        raise ParameterError(f"alpha cannot name a value of {rule.column!r}: its values are taken in bins.")
    if code_of(values, rule.value) is None:
        note = f"alpha names a value of {rule.column!r} that no row has. Is it spelled as in the table?"
        warnings.warn(note, ShoalWarning, stacklevel=3)


def _names(schema: Schema | None, role: Role, given: Sequence[str] | None) -> list[str]:
    if schema is not None:
        return schema.names(role)
    return [given] if isinstance(given, str) else list(given or ())


def _bounds(names: Sequence[str]) -> list[str]:
    return [name + suffix for name in names for suffix in ("_lo", "_hi")]


def _class_of_each_row(keys: pa.Table, file: str | None) -> Longs:
    """A number for each different combination of published values; null is a value like others."""
    try:
        classes, n_classes = np.zeros(keys.num_rows, np.int64), 1
        for numbers, different in mapped(_numbers, keys.columns):
            if n_classes * different > LARGEST_KEY:
                classes, n_classes = _numbers(pa.chunked_array([classes]))
            classes, n_classes = classes * different + numbers, n_classes * different
        return _numbers(pa.chunked_array([classes]))[0]
    except pa.ArrowException:
        pass
    raise DataError("a quasi-identifier holds values that cannot be compared, such as lists.", file=file)


def _numbers(column: pa.ChunkedArray) -> tuple[Longs, int]:
    """A number for each different value, and how many there are."""
    coded = pc.dictionary_encode(column, null_encoding="encode").combine_chunks()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.chunk(0)
    return coded.indices.to_numpy().astype(np.int64), len(coded.dictionary)


def _persons(people: object, rows: int) -> Longs | None:
    if people is None:
        return None
    numbers = None
    try:
        array = people if isinstance(people, pa.Array | pa.ChunkedArray) else pa.array(people, from_pandas=True)
        if len(array) == rows and not array.null_count:
            numbers = _numbers(pa.chunked_array([array]) if isinstance(array, pa.Array) else array)[0]
    except (pa.ArrowException, TypeError, ValueError):
        pass  # the message may quote a person
    if numbers is None:
        raise ParameterError(f"people must be a list of {rows} keys of one kind, none missing: whose row each row is.")
    return numbers


def _check_reference(reference: Mapping[str, Mapping[str, float]] | None, rules: Sequence[Rule]) -> None:
    """Distributions, of columns whose closeness is asked."""
    if reference is None:
        return
    compared = {rule.column for rule in rules if rule.symbol == "t"}
    for name, shares in reference.items() if isinstance(reference, Mapping) else [("", None)]:
        if name not in compared:
            raise ParameterError(one_of("a column of reference", name, compared))
        fit = isinstance(shares, Mapping) and all(
            (value is None or isinstance(value, str)) and isinstance(share, int | float) and 0 <= share <= 1
            for value, share in shares.items()
        )
        if not fit or abs(sum(shares.values()) - 1) > 1e-6:
            raise ParameterError(f"reference must give the share of each value of {name!r} by its text, 1 in all.")


def _members(classes: Longs, persons: Longs | None) -> Longs:
    """How many people, or rows, each class has."""
    if persons is None:
        return np.bincount(classes)
    n_people = int(persons.max()) + 1
    return np.bincount(np.unique(classes * n_people + persons) // n_people)


def _offending(keys: pa.Table, classes: Longs, which: NDArray[np.intp]) -> pa.Table:
    """The published values of these classes, and their rows."""
    first = np.full(int(classes.max()) + 1, -1)
    first[classes[::-1]] = np.arange(len(classes))[::-1]
    rows = np.bincount(classes)
    return keys.take(pa.array(first[which])).append_column("count_all", pa.array(rows[which]))


def foreign_columns(names: Sequence[str], schema: Schema, bounds: Sequence[str]) -> list[str]:
    reasons = [
        f"column {name!r} has the role {schema.columns[name].role} and must not be published"
        for name in names
        if name in schema.columns and schema.columns[name].role not in PUBLISHED
    ]
    foreign = [name for name in names if name not in schema.columns and name not in bounds]
    if foreign and not surely_names(names, schema.published):  # they may be a record's cells
        columns = f"{len(foreign)} of {len(names)} columns are"
        return [*reasons, f"{columns} not in the schema: nobody has said what an attacker may know of them"]
    return reasons + [
        f"column {name!r} is not in the schema: nobody has said what an attacker may know of it" for name in foreign
    ]


def _plain(table: pa.Table) -> pa.Table:
    """Dictionaries decoded: grouping compares values, not the numbers that a writer gave them."""
    for j, name in enumerate(table.column_names):
        column = table[name]
        if pa.types.is_dictionary(column.type):
            chunks = [chunk.dictionary.cast(pa.string()).take(chunk.indices) for chunk in column.chunks]
            table = table.set_column(j, name, pa.chunked_array(chunks, pa.string()))
        elif pa.types.is_string_view(column.type):
            table = table.set_column(j, name, column.cast(pa.string()))
    return table


def _suppressed(keys: pa.Table) -> int:
    for name in keys.column_names:
        column = keys[name]
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            return 0
        keys = keys.filter(pc.equal(column, "*"))
    return keys.num_rows


__all__ = ["RuleFound", "Verdict", "verify"]
