"""Known systems of codes, by the structure of the codes: ICD-10 and NUTS. Countries by region: country_converter."""

from __future__ import annotations

import csv
import functools
import importlib.util
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from shoal.errors import HierarchyError
from shoal.hierarchies.tree import ROOT
from shoal.sources.extras import needed

ICD = re.compile(r"([A-Z])(\d)([0-9A-Z])(?:\.?([0-9A-Z]{1,4}))?")
# As they are written: with a dot or without. What follows three characters are digits and X, and perhaps a letter:
# M11AE is a postcode.
WRITTEN_ICD = re.compile(r"[A-Z]\d[0-9AB](?:\.[0-9A-Z]{1,4}|[0-9X]{0,3}[0-9A-Z]?)")
LETTERS = 4  # different first ones, from which on codes without a dot are diagnoses, and not rooms (A12, B204)
LETTERS_OF_ONE_LENGTH = 8  # the same where all codes are equally long, as rooms are
COUNTRIES = "country_converter"
NUTS = re.compile(r"[A-Z]{2}[0-9A-Z]{0,3}")

# Where the chapters of ICD-10 begin and end: the first three characters say which one a code is in.
CHAPTERS = [
    "A00-B99", "C00-D48", "D50-D90", "E00-E90", "F00-F99", "G00-G99", "H00-H59", "H60-H95", "I00-I99", "J00-J99",
    "K00-K93",
    "L00-L99", "M00-M99", "N00-N99", "O00-O99", "P00-P96", "Q00-Q99", "R00-R99", "S00-T98", "U00-U99", "V01-Y98",
    "Z00-Z99",
]  # fmt: skip


def looks_like_icd(values: Sequence[str]) -> bool:
    """Whether values are diagnoses, by their structure: I21.4; without dots, I10 beside E119, of several chapters."""
    if len(values) < 3 or not all(WRITTEN_ICD.fullmatch(value) for value in values):
        return False
    if any("." in value for value in values):
        return True
    letters, lengths = {value[0] for value in values}, {len(value) for value in values}
    return max(lengths) > 3 and len(letters) >= (LETTERS if len(lengths) > 1 else LETTERS_OF_ONE_LENGTH)


def icd_rows(values: Sequence[str]) -> list[list[str]]:
    """`I21.4` < `I21` < `I20-I29` < `I00-I99` (its chapter) < `*`."""
    rows, known = [], set(values)
    for value in values:
        found = ICD.fullmatch(value)
        if found is None:
            raise HierarchyError("a value is no code of ICD-10.", hint="They look like I21 or I21.4.", values=[value])
        three = found[1] + found[2] + found[3]
        # A category may be a value itself: the group is then another set, and has another name.
        category = f"{three}.-" if three in known else three
        rows.append([value, category, f"{three[:2]}0-{three[:2]}9", _chapter(three), ROOT])
    return rows


def _chapter(three: str) -> str:
    for chapter in CHAPTERS:
        first, last = chapter.split("-")
        if first <= three <= last:
            return chapter
    return f"{three[0]}00-{three[0]}99"


def is_nuts(values: Sequence[str]) -> bool:
    return bool(values) and all(NUTS.fullmatch(value) for value in values) and max(map(len, values)) > 2


def nuts_rows(values: Sequence[str]) -> list[list[str]]:
    """`DE212` < `DE21` < `DE2` < `DE` < `*`; a shorter code is a value of the group that has its name."""
    for value in values:
        if not NUTS.fullmatch(value):
            hint = "They look like DE, DE2, DE21 or DE212."
            raise HierarchyError("a value is no code of NUTS.", hint=hint, values=[value])
    longest = max(map(len, values))
    rows = []
    for value in values:
        above = [value[:kept] for kept in range(min(len(value), longest - 1), 1, -1)]
        above = [f"{label}{'_' * (longest - len(label))}" for label in above if label != value or len(value) < longest]
        rows.append([value, *dict.fromkeys(above), ROOT])
    return rows


def country_rows(values: Sequence[str]) -> list[list[str]]:
    """Names or codes of countries < UN region < continent < `*`. What is no country stands below the root."""
    known = _countries()
    rows = []
    for value in values:
        found = known.by_name(value)
        inside = [] if found is None else [label for label in dict.fromkeys(found) if label and label != value]
        rows.append([value, *inside, ROOT])
    return rows


def are_countries(values: Sequence[str]) -> bool:
    """Whether most values are countries; False where nobody can tell, because the package is not installed."""
    if importlib.util.find_spec(COUNTRIES) is None or len(values) < 3:
        return False
    known = _countries()
    return sum(known.by_name(value) is not None for value in values) > 0.8 * len(values)


@dataclass(frozen=True)
class _Countries:
    """UN region and continent by code (two and three letters) and by name, also as the package's patterns know it."""

    codes: dict[str, tuple[str, str]]
    patterns: list[tuple[re.Pattern[str], tuple[str, str]]]

    def by_name(self, text: str) -> tuple[str, str] | None:
        found = self.codes.get(text.casefold())
        if found is None and len(text) > 3:
            found = next((place for pattern, place in self.patterns if pattern.search(text)), None)
        return found


@functools.cache
def _countries() -> _Countries:
    """The package's own table. Read as text: a reader of tables takes Namibia's NA for no value."""
    spec = importlib.util.find_spec(COUNTRIES)
    if spec is None or not spec.submodule_search_locations:
        needed(COUNTRIES, "countries", "A hierarchy of countries")
        raise HierarchyError("the package country_converter is not as it should be.")
    path = Path(spec.submodule_search_locations[0]) / "country_data.tsv"
    codes: dict[str, tuple[str, str]] = {}
    patterns = []
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            place = (row["UNregion"], row["continent"])
            for name in ("ISO2", "ISO3", "name_short", "name_official"):
                codes.setdefault(row[name].casefold(), place)
            patterns.append((re.compile(row["regex"], re.IGNORECASE), place))
    codes.pop("", None)
    return _Countries(codes, patterns)
