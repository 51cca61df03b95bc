"""A first guess at a schema: roles from names and cardinalities, types from values.

It errs on the side of caution: what nothing is known of is proposed as a quasi-identifier. A person has to look it
over; the TOML that it writes says why each column got its role.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import DataError
from shoal.roles import ColumnType, Role
from shoal.sources.csv_files import CsvFile, Expected
from shoal.sources.normalize import as_text, is_text, looks_like_a_day, looks_like_a_number, plain
from shoal.sources.opening import open_source
from shoal.sources.reading import typed

MISSING = ("?", "NA", "N/A", "n/a", "null", "NULL", "None")
NO_VALUE = ("", "na", "n a", "nan", "null", "nil", "none", "no", "missing", "unknown", "not known", "empty", "x")
HEADER_NAMES = 3  # columns that show that the first line is a header
NEARLY_UNIQUE = 0.9
ACTS_LIKE_A_KEY = 0.5

# Words in names, in several languages, that give a column away. The first line that fits decides.
NAMES: list[tuple[Role, str]] = [
    (Role.IDENTIFIER, r"\b(sur|first|last|full|given|maiden|nach|vor|user|file)?names?\b|\bnom\b|\bprenom|\blogin\b"),
    (Role.IDENTIFIER, r"e ?mail|phone|telefon|mobile|\bfax\b|\bssn\b|social sec|passport|iban|account|konto|\bcard\b"),
    (Role.IDENTIFIER, r"licen[cs]e|\bmrn\b|medicare|medicaid|medical record|insurance|versicher|\btax\b|\bplate\b"),
    (Role.IDENTIFIER, r"address|strasse|street|house n|\bip\b|\burl\b|photo|signature|device|\bimei\b|\bmac\b|\bvin\b"),
    (Role.SENSITIVE, r"diagnos|disease|illness|\bicd|\bhiv\b|cancer|treatment|medication|medicine|\bdrugs?\b|therap"),
    (Role.SENSITIVE, r"symptom|disab|pregnan|income|salary|\bwages?\b|\bdebt|credit|\bloan|wealth|benefit|\bcrim"),
    (Role.SENSITIVE, r"offen[cs]e|\bgrades?\b|\bscore|opinion|\bvote"),
    (Role.QUASI_IDENTIFIER, r"birth|\bborn\b|\bdob\b|\bgeb|\bages?\b|\balter\b|\byear|\bdate|datum"),
    (Role.QUASI_IDENTIFIER, r"\bzip|post|\bplz\b|\bcity|town|region|county|state|district|municip|countr|nation|place"),
    (Role.QUASI_IDENTIFIER, r"origin|\blat(itude)?\b|\blon(g|gitude)?\b|\bgps\b|coordinate"),
    (Role.QUASI_IDENTIFIER, r"\bsex|gender|\brace\b|ethnic|religio|language|citizen|marital|married|famil|household"),
    (Role.QUASI_IDENTIFIER, r"child|educat|school|degree|occup|\bjob|profession|employ|industry|work"),
    (Role.QUASI_IDENTIFIER, r"height|weight|blood|hair|\beye"),
]
KEY = re.compile(r"\b(id|key|nr|no|number|code|nummer)$|^(id|key)\b|(person|patient|record|case|member) ?(id|no|nr)\b")
CODES = re.compile(r"zip|post|plz|icd|code|nuts|cpv|naics")


@dataclass
class Guess:
    """One column: what is proposed, and why."""

    name: str
    role: Role
    type: ColumnType | None
    why: str
    levels: list[str] | None = None
    suggested_levels: list[float] | None = None
    warning: str | None = None


@dataclass
class Proposal:
    """A proposed schema. `toml()` is a file to edit, `columns()` what a `Schema` is made of."""

    guesses: list[Guess]
    missing: list[str] = field(default_factory=list)
    header: bool | None = None  # False: the file has none, and the names are made up

    @property
    def warnings(self) -> list[str]:
        return [f"{guess.name}: {guess.warning}" for guess in self.guesses if guess.warning]

    def columns(self) -> dict[str, dict[str, object]]:
        return {
            guess.name: {
                "role": guess.role,
                **({"type": guess.type} if guess.type else {}),
                **({"levels": guess.levels} if guess.levels else {}),
            }
            for guess in self.guesses
        }

    def toml(self) -> str:
        lines = [
            "# A first guess at what each column is. Look it over: nobody but you knows what an attacker may know.",
            "# Roles: identifier, key, person, quasi-identifier, sensitive, insensitive.",
        ]
        if self.header is False:
            lines += ["", "header = false # the columns of a file have these names by their order; rename them at will"]
        if self.missing:
            lines += ["", f"missing = {json.dumps(self.missing, ensure_ascii=False)}"]
        for guess in self.guesses:
            lines += ["", f"[columns.{_quoted(guess.name)}]", f'role = "{guess.role}" # {guess.why}']
            if guess.type is not None:
                lines.append(f'type = "{guess.type}"')
            if guess.levels:
                lines.append(f"levels = {json.dumps(guess.levels)}")
            if guess.suggested_levels:
                lines.append(f"# levels = {json.dumps(guess.suggested_levels)} # fixed intervals instead of tight ones")
            if guess.type == ColumnType.CATEGORICAL and guess.role == Role.QUASI_IDENTIFIER:
                lines.append('# hierarchy = "FILE.csv" # without one, a cell is published as it is or as *')
            if guess.warning:
                lines.append(f"# WARNING: {guess.warning}")
        return "\n".join(lines) + "\n"


def propose(source: object, *, header: bool | None = None) -> Proposal:
    """Look at a file or table and propose a schema for it.

    `header`: whether the first line of a CSV names the columns. If it is not said, the file has to leave no doubt: a
    proposal shows names, and a first line that is none is a record.
    """
    opened = open_source(source, Expected(header=header))
    table = typed(opened)
    if table.num_rows == 0:
        raise DataError("the table has no records to learn from.", file=opened.file)
    found = sorted({text for name in table.column_names for text in _missing_texts(name, table[name])})
    if isinstance(opened, CsvFile) and opened.header and header is None and not _are_names(table, ("", *found)):
        raise DataError(
            "the first line may be a record: nothing in the file shows that it names the columns.",
            hint="Say --header if it does, or --no-header if it is a record (in Python, header=True or False).",
            file=opened.file,
            line=1,
            values=table.column_names,
        )
    guesses = [_guess(name, table[name], ("", *found)) for name in table.column_names]
    _keep_one_key(guesses)
    return Proposal(guesses, found, False if isinstance(opened, CsvFile) and not opened.header else None)


def _are_names(table: pa.Table, missing: tuple[str, ...]) -> bool:
    """Most columns, or several, have a name as columns have them, or a text above nothing but numbers or dates."""
    telling = [name for name in table.column_names if _tells(name, table[name], missing)]
    return len(telling) >= HEADER_NAMES or 2 * len(telling) > table.num_columns


def _tells(name: str, column: pa.ChunkedArray, missing: tuple[str, ...]) -> bool:
    words = _words(name)
    if words in NO_VALUE or not name[0].isalpha():  # `unknown` above numbers is the first record's
        return False
    if KEY.search(words) or any(re.search(pattern, words) for _, pattern in NAMES):
        return True
    values = as_text(name, column, missing).drop_null()
    return _all(values, looks_like_a_number) or _all(values, _is_iso_day)


def _missing_texts(name: str, column: pa.ChunkedArray) -> list[str]:
    values = set(plain(name, column).unique().to_pylist()) if is_text(column.type) else set()
    return [text for text in MISSING if text in values]


def _guess(name: str, column: pa.ChunkedArray, missing: tuple[str, ...]) -> Guess:
    try:
        text = as_text(name, column, missing)
    except DataError:
        return Guess(name, Role.IDENTIFIER, None, f"holds {column.type}, which cannot be generalized")
    rows, values = len(text), text.drop_null()
    distinct = len(values.unique())
    kind, levels, suggested = _kind(name, column, values)
    fractional = kind == ColumnType.NUMERIC and bool(pc.any(pc.match_substring(values, ".")).as_py())
    role, why = _role(name, kind, rows, len(values), distinct, fractional)
    guess = Guess(name, role, kind, why, levels, suggested)
    if role != Role.QUASI_IDENTIFIER:
        guess.levels = guess.suggested_levels = None
        if role != Role.SENSITIVE or kind in (ColumnType.CATEGORICAL, ColumnType.PREFIX):
            guess.type = None
    if rows > 20 and role == Role.SENSITIVE and distinct >= ACTS_LIKE_A_KEY * max(1, len(values)):
        guess.warning = "published as it is, and most of its values occur once: it would act as a key"
    if rows > 20 and role == Role.QUASI_IDENTIFIER and distinct >= NEARLY_UNIQUE * max(1, len(values)):
        guess.warning = "almost every value occurs once: generalized it costs much; can it be coarser, or be left out?"
    return guess


def _role(name: str, kind: ColumnType, rows: int, present: int, distinct: int, fractional: bool) -> tuple[Role, str]:
    words = _words(name)
    unique = distinct == rows
    if unique and rows > 1 and KEY.search(words):
        return Role.KEY, "unique, and named like a key"
    for role, pattern in NAMES:
        if re.search(pattern, words):
            return role, "by its name"
    countable = kind != ColumnType.DATE and not fractional
    if unique and rows > 20 and countable:
        return Role.KEY, "every value occurs once"
    if distinct > NEARLY_UNIQUE * max(1, present) and rows > 20 and countable:
        return Role.IDENTIFIER, "almost every value occurs once"
    return Role.QUASI_IDENTIFIER, "nothing speaks against it; choose another role if nobody outside can know it"


def _words(name: str) -> str:
    """`AgeAtAdmission`, `age_at_admission` and `Age at admission` are the same words."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return " ".join(re.findall(r"[^\W_]+", spaced.lower()))


def _kind(
    name: str, column: pa.ChunkedArray, values: pa.Array
) -> tuple[ColumnType, list[str] | None, list[float] | None]:
    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type) or _all(values, _is_iso_day):
        return ColumnType.DATE, ["month", "year"], None
    texts = is_text(column.type)
    lengths = pc.unique(pc.utf8_length(values)).to_pylist()
    leading_zero = texts and bool(pc.any(pc.match_substring_regex(values, "^0[0-9]")).as_py())
    if (
        CODES.search(_words(name))
        and len(lengths) <= 3
        and max(lengths, default=0) <= 12
        and max(lengths, default=0) > 2
    ):
        return ColumnType.PREFIX, None, None
    if leading_zero and len(lengths) == 1 and _all(values, str.isdigit):
        return ColumnType.PREFIX, None, None
    numeric = pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type)
    if numeric or (len(values) > 0 and _all(values, looks_like_a_number)):
        return ColumnType.NUMERIC, None, _nice_widths(values)
    return ColumnType.CATEGORICAL, None, None


def _all(values: pa.Array, test: Callable[[str], bool]) -> bool:
    return len(values) > 0 and all(test(value) for value in values.unique().to_pylist())


def _is_iso_day(text: str) -> bool:
    return re.fullmatch(r"\d{4}-\d\d-\d\d", text) is not None and looks_like_a_day(text, None)


def _nice_widths(values: pa.Array) -> list[float] | None:
    """Three nested widths that divide the range into about 20, 10 and 5 intervals: 1, 2 or 5 times a power of ten."""
    numbers = np.array([float(value) for value in values.unique().to_pylist()])
    numbers = numbers[np.isfinite(numbers)]
    if len(numbers) < 2:
        return None
    raw = (numbers.max() - numbers.min()) / 20
    power = 10.0 ** np.floor(np.log10(raw))
    width = float(power * min((1, 2, 5, 10), key=lambda step: abs(step - raw / power)))
    whole = bool((numbers == np.rint(numbers)).all())
    width = max(1.0, width) if whole else width
    widths = [width, 2 * width, 4 * width]
    return [int(w) for w in widths] if whole else [float(f"{w:.6g}") for w in widths]


def _keep_one_key(guesses: list[Guess]) -> None:
    keys = [guess for guess in guesses if guess.role == Role.KEY]
    for guess in keys[1:]:
        guess.role, guess.why = Role.IDENTIFIER, f"unique as well, but {keys[0].name!r} is the key"


def _quoted(name: str) -> str:
    return (
        name
        if re.fullmatch(r"[A-Za-z0-9_-]+", name)
        else json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
    )
