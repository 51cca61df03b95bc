"""Schema: what the steward says about each column, and nothing about how it is anonymized."""

from __future__ import annotations

import copy
import difflib
import math
import re
import tomllib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from html import escape
from itertools import pairwise
from pathlib import Path

from shoal.addresses import A_PATH, may_be_address
from shoal.errors import SchemaError, ShoalWarning, one_of, shown
from shoal.files import write_text
from shoal.hierarchies import ROOT, DateLevels, FlatValues, Hierarchy, IntervalLevels
from shoal.hierarchies.arx_project import read_project
from shoal.hierarchies.declared import DeclaredTree, nested
from shoal.inference import propose
from shoal.roles import ColumnType, Role
from shoal.sources.encodings import checked_encoding
from shoal.sources.numbers import DECIMALS, THOUSANDS, NumberForm
from shoal.toml_text import tables_in_toml, value_in_toml

LARGEST_NUMBER = 1e300
RIGHT_FILE = "docs/schema.md says what a schema looks like. Is it the right file?"
PUBLISHED = (Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.INSENSITIVE)

# What a field may say, by the field's name: one list for the check, the message and the docs.
CHOICES: dict[str, tuple[str, ...]] = {
    "role": tuple(Role),
    "type": tuple(ColumnType),
    "on_unknown": ("error", "attach"),
    "generalize": ("ancestor", "set"),
    "distance": ("equal", "ordered", "hierarchical"),
}
WINSORIZED = "winsorized"  # the domain is what the middle 98 % of the records span
MAY_BE_UNSAID = ("type", "distance")
ENTRIES = ("columns", "missing", "header", "encoding", "decimal", "thousands", "sheet")  # of a schema


# What kind of value a field holds, and how to say so.
KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "hierarchy": ((Hierarchy, str, Path, Mapping), 'a file, "flat" or a nested table'),
    "levels": ((list, tuple), "a list"),
    "origin": ((int, float), "a number"),
    "min_level": ((int,), "a whole number of at least 0"),
    "domain": ((list, tuple, str), '[smallest, largest], or "winsorized"'),
    "weight": ((int, float), "a number of at least 0"),
    "format": ((str,), 'a text such as "%d.%m.%Y"'),
    "bins": ((list, tuple), "a list of the values at which a new bin begins, in ascending order"),
    "missing": ((list, tuple), "a list of texts"),
    "decimal": ((str,), "one of " + ", ".join(map(repr, DECIMALS))),
    "thousands": ((str,), "one of " + ", ".join(map(repr, THOUSANDS))),
}


@dataclass(frozen=True)
class Column:
    """One column of the table. `docs/schema.md` explains every field.

    >>> Column(role="quasi-identifier", type="numeric", levels=[5, 10]).type
    <ColumnType.NUMERIC: 'numeric'>
    """

    role: Role | str
    type: ColumnType | str | None = None
    hierarchy: Hierarchy | str | Path | Mapping[str, object] | None = None
    levels: Sequence[float | str] | None = None
    origin: float = 0
    min_level: int = 0
    domain: Sequence[float | date | str] | None = None  # or the text "winsorized"
    weight: float = 1.0
    on_unknown: str = "error"
    generalize: str = "ancestor"
    format: str | None = None
    missing: Sequence[str] = ()
    decimal: str | None = None
    thousands: str | None = None
    bins: Sequence[float | date | str] | None = None
    distance: str | None = None
    grower: Hierarchy | None = field(init=False)  # what the fields above describe; None: tight intervals

    def __post_init__(self) -> None:
        for name, (kinds, wanted) in KINDS.items():
            given = getattr(self, name)
            if given is not None and (not isinstance(given, kinds) or isinstance(given, bool)):
                found = type(given).__name__ if name == "hierarchy" else shown(given)  # a hierarchy lists values
                raise SchemaError(f"{name} must be {wanted}. Got {found} instead.", values=[given])
        for name, known in CHOICES.items():
            given = getattr(self, name)
            if given not in known and not (name in MAY_BE_UNSAID and given is None):
                raise SchemaError(one_of(name, given, known))
        put = object.__setattr__  # frozen: only while it is made
        put(self, "role", Role(self.role))
        if self.type is None and self.hierarchy is not None:
            put(self, "type", ColumnType.CATEGORICAL)
        elif self.type is not None:
            put(self, "type", ColumnType(self.type))
        _check_numbers(self)
        _check_generalization(self)
        put(self, "grower", _hierarchy(self))
        _check_sensitive(self)
        _check_texts(self)

    @property
    def number_form(self) -> NumberForm:
        """How its numbers are written in text."""
        return NumberForm(self.decimal or ".", self.thousands)

    def texts_missing(self, of_the_table: Sequence[str]) -> tuple[str, ...]:
        """The texts that mean "no value" here: those of the table, and its own."""
        return tuple(dict.fromkeys((*of_the_table, *self.missing)))


def _check_numbers(column: Column) -> None:
    if not (math.isfinite(column.weight) and column.weight >= 0):
        raise SchemaError(f"weight must be {KINDS['weight'][1]}. Got {column.weight!r} instead.")
    if column.min_level < 0:
        raise SchemaError(f"min_level must be {KINDS['min_level'][1]}. Got {column.min_level!r} instead.")
    if column.domain is None:
        return
    if column.type not in (ColumnType.NUMERIC, ColumnType.DATE):
        raise SchemaError(
            "domain is for numeric and date columns.",
            hint="The domain of a category is its hierarchy's leaves.",
        )
    if isinstance(column.domain, str):
        if column.domain != WINSORIZED:
            raise SchemaError(f"domain must be {KINDS['domain'][1]}. Got {shown(column.domain)} instead.")
        return
    bounds = _points(column, "domain")
    if bounds is None or len(bounds) != 2 or not bounds[0] <= bounds[1]:  # type: ignore[operator]  # both are of one kind
        wanted = "two dates" if column.type == ColumnType.DATE else "two numbers"
        raise SchemaError(
            f"domain must be {KINDS['domain'][1]}, {wanted} in order. Got {shown(column.domain)} instead."
        )


def _check_texts(column: Column) -> None:
    """How texts are read: what is missing, and how numbers are written."""
    if not all(isinstance(text, str) for text in column.missing):
        raise SchemaError("missing must be a list of texts.", values=column.missing)
    object.__setattr__(column, "missing", tuple(column.missing))
    for name, known in (("decimal", DECIMALS), ("thousands", THOUSANDS)):
        given = getattr(column, name)
        if given is not None and given not in known:
            raise SchemaError(f"{name} must be {KINDS[name][1]}. Got {shown(given)} instead.")
        if given is not None and column.type != ColumnType.NUMERIC:
            raise SchemaError(f"{name} is for numeric columns.")
    if column.thousands is not None and column.thousands == (column.decimal or "."):
        raise SchemaError("decimal and thousands must be two different signs.")


def _points(column: Column, name: str) -> Sequence[float | date | str] | None:
    """The numbers or dates that a field lists, as the column's type wants them; None if some are neither."""
    points = list(getattr(column, name))
    if column.type == ColumnType.DATE:
        points = [_day(point) for point in points]
        object.__setattr__(column, name, points)
        fit = all(isinstance(point, date) and not isinstance(point, datetime) for point in points)
    else:
        fit = all(
            isinstance(point, int | float) and not isinstance(point, bool) and abs(point) <= LARGEST_NUMBER
            for point in points
        )
    return points if fit else None


def _check_sensitive(column: Column) -> None:
    """`bins` and `distance`: which sensitive values are the same, and how far apart others are."""
    for name in ("bins", "distance"):
        if getattr(column, name) is not None and column.role != Role.SENSITIVE:
            raise SchemaError(f"{name} is for sensitive columns.")
    on_axis = column.type in (ColumnType.NUMERIC, ColumnType.DATE)
    rule = column.grower.rule if column.grower is not None else None
    if column.role == Role.SENSITIVE and (column.levels is not None or isinstance(rule, IntervalLevels | DateLevels)):
        raise SchemaError("levels are for quasi-identifiers.", hint="Sensitive numbers and dates take bins.")
    if column.bins is not None:
        if not on_axis:
            raise SchemaError("bins is for numeric and date columns.")
        edges = _points(column, "bins")
        if not edges or any(not a < b for a, b in pairwise(edges)):  # type: ignore[operator]  # all of one kind
            raise SchemaError(f"bins must be {KINDS['bins'][1]}. Got {shown(column.bins)} instead.")
    if column.distance == "hierarchical" and (column.grower is None or column.bins is not None):
        raise SchemaError('distance = "hierarchical" needs a hierarchy, and no bins.')
    if column.distance == "ordered" and not on_axis and column.grower is None:
        raise SchemaError(
            'distance = "ordered" needs an order: a numeric or date column, or a hierarchy that lists the values in '
            "their order."
        )


def _day(bound: float | date | str) -> float | date | str:
    """TOML has dates of its own; a text of the same form does as well."""
    try:
        return date.fromisoformat(bound) if isinstance(bound, str) else bound
    except ValueError:
        return bound


def _check_generalization(column: Column) -> None:
    if column.role == Role.QUASI_IDENTIFIER and column.type is None:
        raise SchemaError("a quasi-identifier needs a type.", hint=f"Say type = one of {', '.join(CHOICES['type'])}.")
    if column.format is not None:
        _check_format(column)
    if column.role != Role.QUASI_IDENTIFIER:
        return
    if column.levels is not None and column.type not in (ColumnType.NUMERIC, ColumnType.DATE):
        raise SchemaError(
            "levels is for numeric columns (interval widths) and date columns (month, quarter, year, decade).",
            hint="A categorical column takes a hierarchy.",
        )
    if column.levels is not None and column.hierarchy is not None:
        raise SchemaError("levels and hierarchy contradict each other: give one of them.")
    if column.type == ColumnType.PREFIX and column.hierarchy is not None:
        raise SchemaError('a prefix column makes its own hierarchy: drop `hierarchy`, or say type = "categorical".')
    if column.generalize == "set" and column.type not in (ColumnType.CATEGORICAL, ColumnType.PREFIX):
        raise SchemaError('generalize = "set" is for categorical and prefix columns.')
    tight = column.type in (ColumnType.NUMERIC, ColumnType.DATE) and column.levels is None and column.hierarchy is None
    if column.min_level and tight:
        raise SchemaError("min_level needs levels or a hierarchy: tight intervals have no levels to count.")
    rule = column.hierarchy.rule if isinstance(column.hierarchy, Hierarchy) else None
    only_for = {IntervalLevels: ColumnType.NUMERIC, DateLevels: ColumnType.DATE}
    if type(rule) in only_for and column.type != only_for[type(rule)]:
        raise SchemaError(f"this hierarchy is for {only_for[type(rule)]} columns.")


def _check_format(column: Column) -> None:
    assert column.format is not None
    if column.type != ColumnType.DATE:
        raise SchemaError("format is for date columns.")
    day = date(2024, 11, 23)
    try:
        with warnings.catch_warnings():  # from 3.13 on, Python warns of a day without a year: it is refused below
            warnings.simplefilter("ignore", DeprecationWarning)
            read = datetime.strptime(day.strftime(column.format), column.format).date()
    except (ValueError, re.error):  # %d%d makes two groups of one name in strptime's pattern
        read = None
    if read != day:
        raise SchemaError(f"format must name day, month and year, as in %d.%m.%Y. Got {column.format!r} instead.")


def _hierarchy(column: Column) -> Hierarchy | None:
    """The hierarchy that the fields of a quasi-identifier describe; None for tight intervals."""
    given = column.hierarchy
    if column.role != Role.QUASI_IDENTIFIER and given is None:
        return None
    if isinstance(given, Hierarchy):
        return given
    if given == "flat":
        return Hierarchy.flat()
    if given is not None:
        return Hierarchy.tree(given)
    match column.type:
        case ColumnType.CATEGORICAL:
            return Hierarchy.flat()
        case ColumnType.PREFIX:
            return Hierarchy.prefix()
        case ColumnType.NUMERIC if column.levels is not None:
            if not all(isinstance(width, int | float) for width in column.levels):
                raise SchemaError(f"levels must be interval widths. Got {shown(list(column.levels))} instead.")
            return Hierarchy.intervals([float(width) for width in column.levels], column.origin)
        case ColumnType.DATE if column.levels is not None:
            return Hierarchy.dates([str(level) for level in column.levels])
    return None


class Schema:
    """The columns of a table, by name and in order.

    Guarantee: a Schema that exists is consistent in itself; whether it fits a table is checked when the table comes.

    >>> schema = Schema(columns={"age": {"role": "quasi-identifier", "type": "numeric"}})
    >>> schema.quasi_identifiers
    ['age']
    """

    def __init__(
        self,
        columns: Mapping[str, Column | Mapping[str, object]],
        *,
        missing: Iterable[str] = ("",),
        header: bool | None = None,
        encoding: str | None = None,
        decimal: str | None = None,
        thousands: str | None = None,
        sheet: str | None = None,
        source: str | None = None,
    ) -> None:
        """`missing`: the texts that mean "no value" (an empty cell always does).

        `header=False`: CSV files have no header, and their columns come in the order of the schema. `encoding`: of text
        files, else as it is found. `decimal`, `thousands`: how numbers are written, in all numeric columns that do not
        say otherwise. `sheet`: of a workbook that has several. `source`: for messages.
        """
        self.source = source
        self.encoding = None if encoding is None else checked_encoding(encoding, source)
        if sheet is not None and not isinstance(sheet, str):
            raise SchemaError("sheet must be the name of a sheet.", file=source)
        self.sheet = sheet
        if header not in (None, True, False):
            raise SchemaError(f"header must be true or false. Got {shown(header)} instead.", file=source)
        self.header = header
        if not isinstance(columns, Mapping) or not columns:
            raise SchemaError("the schema has no columns.", file=source)
        missing = (missing,) if isinstance(missing, str) else tuple(missing)
        if not all(isinstance(text, str) for text in missing):
            raise SchemaError("missing must be a list of texts.", file=source, values=missing)
        self.missing = tuple(dict.fromkeys(("", *missing)))
        self.columns: dict[str, Column] = {
            name: given if isinstance(given, Column) else _column(name, given, source)
            for name, given in columns.items()
        }
        self._write_numbers(decimal, thousands)
        for role in (Role.KEY, Role.PERSON):
            if len(self.names(role)) > 1:
                raise SchemaError(f"only one column can be the {role}: {self.names(role)}.", file=source)

    def _write_numbers(self, decimal: str | None, thousands: str | None) -> None:
        """What is said of all numbers holds for every numeric column that says nothing of its own."""
        for name, column in self.columns.items():
            if column.type != ColumnType.NUMERIC or column.decimal is not None or column.thousands is not None:
                continue
            told = copy.copy(column)
            object.__setattr__(told, "decimal", decimal)
            object.__setattr__(told, "thousands", thousands)
            try:
                _check_texts(told)
            except SchemaError as error:
                raise SchemaError(error.message, file=self.source) from None
            self.columns[name] = told

    @classmethod
    def load(cls, path: str | Path | Mapping[str, object]) -> Schema:
        """Read a TOML file; paths of hierarchies are relative to that file.

        What such a file holds may be given as a mapping, or the columns alone. Of a project of ARX (`.deid`) roles,
        types and hierarchies are taken; a warning says what is not.
        """
        if isinstance(path, Mapping):
            return cls._from_content(path)
        if not isinstance(path, str | Path):
            raise SchemaError(
                f"a schema is a Schema, the path of a TOML file, or a dict. Got {type(path).__name__} instead.",
                hint="`shoal schema infer` and Schema.infer propose one.",
            )
        if Path(path).suffix.lower() == ".deid":
            return cls._from_arx(Path(path))
        if may_be_address(path):
            raise SchemaError("a schema is a file, and this looks like the URL of a database.", hint=A_PATH)
        path = Path(path)
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise SchemaError("the schema file does not exist.", file=str(path)) from None
        except UnicodeDecodeError:
            raise SchemaError("the schema is not a TOML file: it is not UTF-8 text.", file=str(path)) from None
        except tomllib.TOMLDecodeError as problem:
            raise _not_toml(problem, path) from None
        except RecursionError:
            raise SchemaError("the schema is nested too deeply to be one.", hint=RIGHT_FILE, file=str(path)) from None
        except OSError as problem:
            raise SchemaError(f"the schema cannot be read: {problem.strerror}.", file=str(path)) from None
        unknown = sorted(set(content) - set(ENTRIES))
        if unknown:
            raise _unknown_entry(unknown, ENTRIES, path)
        columns = content.get("columns", {})
        for given in columns.values() if isinstance(columns, dict) else ():
            if isinstance(given, dict) and isinstance(given.get("hierarchy"), str) and given["hierarchy"] != "flat":
                given["hierarchy"] = path.parent / given["hierarchy"]
        return cls(**{**content, "columns": columns}, source=str(path))

    @classmethod
    def _from_content(cls, content: Mapping[str, object]) -> Schema:
        """`{"columns": {…}, "missing": […]}`, or the columns alone."""
        inside = content.get("columns")
        whole = isinstance(inside, Mapping) and "role" not in inside and set(content) <= set(ENTRIES)
        return cls(**content) if whole else cls(content)  # type: ignore[arg-type]  # both check what they get

    @classmethod
    def _from_arx(cls, path: Path) -> Schema:
        project = read_project(path)
        for note in project.notes:
            warnings.warn(f"{path}: {note}.", ShoalWarning, stacklevel=3)
        columns = {
            name: {**told, **({"hierarchy": Hierarchy(project.trees[name])} if name in project.trees else {})}
            for name, told in project.columns.items()
        }
        return cls(columns, source=str(path))

    def to_toml(self) -> str:
        """The schema as a file, hierarchies inside it: whoever loads it has the same schema."""
        lines = []
        entries = {
            "missing": [text for text in self.missing if text],
            "header": self.header,
            "encoding": self.encoding,
            "sheet": self.sheet,
        }
        lines += [f"{name} = {value_in_toml(value)}" for name, value in entries.items() if value not in (None, [])]
        for name, column in self.columns.items():
            lines += [*([""] if lines else []), *tables_in_toml(("columns", name), _told(column))]
        return "\n".join(lines) + "\n"

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write it as a TOML file, whole or not at all."""
        if may_be_address(path):
            raise SchemaError("a schema is written to a file, and this looks like the URL of a database.", hint=A_PATH)
        write_text(self.to_toml(), Path(path), force=force)
        return Path(path)

    @classmethod
    def infer(
        cls, table: object, *, header: bool | None = None, encoding: str | None = None, sheet: str | None = None
    ) -> Schema:
        """A first guess at the schema of a table, to be looked over: see `shoal.inference`.

        `header`: whether the first line of a CSV names the columns; needed if the file leaves that open. `encoding`,
        `sheet`: as for `shoal.read`.
        """
        proposal = propose(table, header=header, encoding=encoding, sheet=sheet)
        columns = proposal.columns()
        for described in columns.values():
            if "hierarchy" in described:  # it lies beside the table
                described["hierarchy"] = Path(str(table)).parent / str(described["hierarchy"])
        return cls(
            columns,
            missing=proposal.missing,
            header=proposal.header,
            encoding=proposal.encoding,
            sheet=proposal.sheet,
        )

    def reading(self, *, encoding: str | None = None, sheet: str | None = None) -> Schema:
        """The same schema for files that are written in another way than it says."""
        other = copy.copy(self)
        if encoding is not None:
            other.encoding = checked_encoding(encoding)
        other.sheet = sheet or self.sheet
        return other

    def names(self, *roles: Role) -> list[str]:
        """The columns that have one of these roles, in the schema's order."""
        return [name for name, column in self.columns.items() if column.role in roles]

    @property
    def files(self) -> list[str]:
        """The files that it was read from: its own, and those of its hierarchies."""
        given = (column.hierarchy for column in self.columns.values())
        paths = [str(found) for found in given if isinstance(found, str | Path) and found != "flat"]
        return ([self.source] if self.source else []) + paths

    @property
    def quasi_identifiers(self) -> list[str]:
        return self.names(Role.QUASI_IDENTIFIER)

    @property
    def published(self) -> list[str]:
        """The columns that a release has."""
        return self.names(*PUBLISHED)

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(self.names(role))} {role}" for role in Role if self.names(role))
        return f"<Schema of {len(self.columns)} columns: {counts}>"

    def _repr_html_(self) -> str:
        """For notebooks."""
        rows = "".join(
            f"<tr><td style='text-align:left'>{escape(name)}</td><td>{column.role}</td><td>{column.type or ''}</td>"
            f"<td>{column.grower.kind if column.grower else ''}</td></tr>"
            for name, column in self.columns.items()
        )
        heads = "".join(f"<th>{head}</th>" for head in ("column", "role", "type", "hierarchy"))
        return f"<p><b>{escape(repr(self).strip('<>'))}</b></p><table><tr>{heads}</tr>{rows}</table>"


def _told(column: Column) -> dict[str, object]:
    """What a column says, in its own fields: those that differ from the default."""
    told: dict[str, object] = {}
    for known in fields(Column):
        value = getattr(column, known.name)
        if known.init and known.name != "hierarchy" and value != known.default:
            told[known.name] = str(value) if known.name in ("role", "type") else value
    rule = column.grower.rule if column.grower is not None else None
    if isinstance(rule, DeclaredTree):
        told["hierarchy"] = nested(rule)
    elif isinstance(rule, FlatValues) and (rule.values is not None or column.hierarchy is not None):
        told["hierarchy"] = "flat" if rule.values is None else {ROOT: list(rule.values)}
    elif isinstance(rule, IntervalLevels) and column.levels is None:
        told |= {"levels": list(rule.widths), **({"origin": rule.origin} if rule.origin else {})}
    elif isinstance(rule, DateLevels) and column.levels is None:
        told["levels"] = list(rule.levels)
    return told


def _not_toml(problem: tomllib.TOMLDecodeError, path: Path) -> SchemaError:
    """Where it cannot be read. What the parser says of it may quote a line of somebody's data."""
    place = re.search(r"at line (\d+), column (\d+)", str(problem))
    where = f"line {place[1]}, column {place[2]} cannot be read" if place else "it ends in the middle of something"
    return SchemaError(
        f"the schema is not a TOML file: {where}.",
        hint=RIGHT_FILE,
        file=str(path),
        line=int(place[1]) if place else None,
        values=[str(problem)],
    )


def _unknown_entry(unknown: Sequence[str], known: Sequence[str], path: Path) -> SchemaError:
    """A slip of the pen is shown with what was meant; anything else may come from another file, and is not."""
    for name in unknown:
        if difflib.get_close_matches(name, known, n=1):
            return SchemaError(one_of("an entry of the schema", name, known), file=str(path))
    return SchemaError(
        f"the schema has entries that are none of {', '.join(known)}.",
        hint=RIGHT_FILE,
        file=str(path),
        values=unknown,
    )


def _column(name: str, given: Mapping[str, object], source: str | None) -> Column:
    try:
        if not isinstance(given, Mapping):
            raise SchemaError("must be a table of fields such as role and type.", values=[given])
        known = [known.name for known in fields(Column) if known.init]
        for name_of_field in given:
            if name_of_field not in known:
                raise SchemaError(one_of("a field", name_of_field, known))
        if "role" not in given:
            raise SchemaError("has no role.", hint=f"Say role = one of {', '.join(Role)}.")
        return Column(**given)  # type: ignore[arg-type]  # __post_init__ checks every field
    except SchemaError as error:
        message = f"column {name!r}: {error.message}"
        if error.file and error.file != source:  # the hierarchy's own file
            message = f"column {name!r}: {error.file}: {error.message}"
        raise type(error)(
            message, hint=error.hint, file=source, column=name, line=error.line, values=error.sealed()
        ) from None


__all__ = ["CHOICES", "PUBLISHED", "WINSORIZED", "Column", "ColumnType", "Role", "Schema"]
