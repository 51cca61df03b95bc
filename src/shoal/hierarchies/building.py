"""Hierarchies made for the values of a column: rows `leaf;…;*`, ready for a file that ARX reads as well.

Each way to build one takes the different values of a column, with how often they occur, and gives rows, leaf first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date

import numpy as np

from shoal.errors import HierarchyError, ParameterError, one_of
from shoal.hierarchies.asked import Wanted
from shoal.hierarchies.codes import are_countries, country_rows, icd_rows, is_nuts, looks_like_icd, nuts_rows
from shoal.hierarchies.tree import ROOT
from shoal.roles import ColumnType
from shoal.sources.normalize import looks_like_a_day, looks_like_a_number, number_text, parse_day

Rows = list[list[str]]
FEW = 6  # values that need no groups
WHOLE = re.compile(r"[+-]?[0-9]+")
DAY_FORMS = (None, "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%b-%Y")


def rows_for(by: str | None, wanted: Wanted) -> tuple[str, Rows]:
    """The rows, and by which way they were made. None: the one that the values suggest."""
    by = by or suggested(wanted)
    if by not in WAYS:
        raise ParameterError(one_of("the way to build a hierarchy", by, WAYS))
    return by, WAYS[by](wanted)


def suggested(wanted: Wanted) -> str:
    """What the type says, or else what the values look like."""
    if wanted.order is not None:
        return "order"
    if wanted.widths is not None or wanted.type == ColumnType.NUMERIC:
        return "widths" if wanted.widths is not None or len(wanted.counts) > FEW else "frequency"
    if wanted.type == ColumnType.DATE:
        return "dates"
    if wanted.type is not None:
        return _system(wanted.values) or ("prefix" if wanted.type == ColumnType.PREFIX else _names(wanted.values))
    return _by_looks(wanted.values)


def _by_looks(values: Sequence[str]) -> str:
    if all(value.isdigit() and len(value) == len(values[0]) for value in values) and any(
        len(value) > 2 and value.startswith("0") for value in values
    ):
        return "prefix"  # numbers have no leading zeros
    if len(values) <= FEW and all(value.isdigit() and len(value) == len(values[0]) > 3 for value in values):
        return "prefix"  # a few long numbers of one length are codes: 47906, 47907
    if all(map(_is_number, values)):
        return "widths" if len(values) > FEW else "frequency"
    if _form_of_days(values) is not False:
        return "dates"
    system = _system(values)
    if system is not None:
        return system
    if len({len(value) for value in values}) == 1 and any(any(map(str.isdigit, value)) for value in values):
        return "prefix"
    return _names(values)


def _system(values: Sequence[str]) -> str | None:
    """The system of codes that they are of, by their structure."""
    if looks_like_icd(values):
        return "icd-10"
    if is_nuts(values) and any(any(map(str.isdigit, value)) for value in values):
        return "nuts"
    return None


def _names(values: Sequence[str]) -> str:
    return "countries" if are_countries(values) else "frequency"


def by_widths(wanted: Wanted) -> Rows:
    """Round widths that nest: 33 < [30..34] < [30..39] < *."""
    numbers = _numbers(wanted.values)
    widths = list(wanted.widths or _round_widths(np.array(list(numbers.values()))))
    whole = all(isinstance(number, int) or number.is_integer() for number in (*numbers.values(), *widths))
    return _sorted(
        [[value, *(_interval(number, width, whole) for width in widths), ROOT] for value, number in numbers.items()],
        numbers,
    )


def by_quantiles(wanted: Wanted) -> Rows:
    """Intervals that hold about equally many records, each level half as many as the one below."""
    numbers = _numbers(wanted.values)
    order = sorted(numbers, key=numbers.__getitem__)
    ends = np.cumsum([wanted.counts[value] for value in order])
    total = int(ends[-1])
    parts = max(2, min(wanted.groups or 8, len(order)))
    middles = (ends - np.array([wanted.counts[value] for value in order]) / 2) / total
    rows: Rows = [[value] for value in order]
    while parts >= 2:
        group = np.minimum((middles * parts).astype(int), parts - 1)
        for place, row in enumerate(rows):
            inside = [order[other] for other in np.flatnonzero(group == group[place])]
            row.append(_from_to(inside[0], inside[-1]))
        parts //= 2
    return [[*row, ROOT] for row in rows]


def by_rounding(wanted: Wanted) -> Rows:
    """Fewer digits per level: 47.38 < 47.4 < 47 < 50 < *."""
    numbers = _numbers(wanted.values)
    digits = max(len(text.partition(".")[2]) for text in (number_text(number) for number in numbers.values()))
    top = int(np.floor(np.log10(max(1.0, max(abs(number) for number in numbers.values())))))
    steps = range(digits - 1, -top - 1, -1)
    rows = []
    for value, number in numbers.items():
        above, rounded = [], number
        for step in steps:  # what is rounded is rounded again, or levels would not nest: 47.45, 47.5, 48
            rounded = round(rounded, step) + 0.0
            above.append(f"≈{number_text(rounded)}")
        rows.append([value, *above, ROOT])
    return _sorted(rows, numbers)


def by_dates(wanted: Wanted) -> Rows:
    """Days by month, year and decade."""
    form = _form_of_days(wanted.values)
    if form is False:
        raise HierarchyError("the values are not dates of one form.", values=wanted.values[:5])
    days = {value: _day(value, form or None) for value in wanted.values}
    rows = [
        [value, f"{day:%Y-%m}", f"{day.year:04d}", f"{day.year // 10 * 10:04d}s", ROOT] for value, day in days.items()
    ]
    return sorted(rows, key=lambda row: days[row[0]])


def by_prefix(wanted: Wanted) -> Rows:
    """One last character less per level: 47906 < 4790* < 479** < … < *."""
    return _masked(wanted.values, from_the_right=True)


def by_suffix(wanted: Wanted) -> Rows:
    """The same from the left: for codes whose last characters say the most."""
    return _masked(wanted.values, from_the_right=False)


def by_order(wanted: Wanted) -> Rows:
    """Neighbours in an ordered list, two, four, … at a time: `low..medium`."""
    order = list(wanted.order or wanted.values)
    lacking = [value for value in wanted.values if value not in order]
    if lacking:
        raise ParameterError(f"the order lacks {len(lacking)} of the column's values.", values=lacking)
    rows: Rows = [[value] for value in order]
    size = max(2, -(-len(order) // wanted.groups)) if wanted.groups else 2
    while size < len(order):
        for place, row in enumerate(rows):
            inside = order[place // size * size : place // size * size + size]
            row.append(f"{inside[0]}..{inside[-1]}" if len(inside) > 1 else inside[0])
        size *= 2
    return [[*row, ROOT] for row in rows]


def by_frequency(wanted: Wanted) -> Rows:
    """Frequent values by themselves, rare ones as `other`: for names that nothing else orders."""
    keep = wanted.groups or max(2, min(10, len(wanted.counts) // 2))
    order = sorted(wanted.counts, key=lambda value: (-wanted.counts[value], value))
    other = "other" if "other" not in wanted.counts else "(other)"
    if len(order) <= keep + 1:
        return [[value, ROOT] for value in order]
    return [[value, ROOT] for value in order[:keep]] + [[value, other, ROOT] for value in order[keep:]]


WAYS: dict[str, Callable[[Wanted], Rows]] = {
    "widths": by_widths,
    "quantiles": by_quantiles,
    "rounding": by_rounding,
    "dates": by_dates,
    "prefix": by_prefix,
    "suffix": by_suffix,
    "order": by_order,
    "frequency": by_frequency,
    "icd-10": lambda wanted: icd_rows(sorted(wanted.values)),
    "nuts": lambda wanted: nuts_rows(sorted(wanted.values)),
    "countries": lambda wanted: sorted(country_rows(wanted.values), key=lambda row: [*row[:0:-1], row[0]]),
}


def _is_number(text: str) -> bool:
    return looks_like_a_number(text) and text.strip("+-").casefold() not in ("nan", "inf", "infinity")


def _numbers(values: Sequence[str]) -> dict[str, float]:
    """Whole ones as they are: a float cannot tell long ones apart."""
    strange = [value for value in values if not _is_number(value)]
    if strange:
        raise HierarchyError(f"{len(strange)} of the {len(values)} values are not numbers.", values=strange)
    return {value: int(value) if WHOLE.fullmatch(value) else float(value) for value in values}


def _round_widths(numbers: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[float]:
    span = float(np.quantile(numbers, 0.99) - np.quantile(numbers, 0.01)) or 1.0
    power = 10.0 ** np.floor(np.log10(span / 20))
    width = float(power * min((1, 2, 5, 10), key=lambda step: abs(step - span / 20 / power)))
    if bool((numbers == np.rint(numbers)).all()):
        width = max(2.0, width)
    return [width, 2 * width, 4 * width]


def _interval(number: float, width: float, whole: bool) -> str:
    if whole:
        start = int(number) // int(width) * int(width)
        return f"[{start}..{start + int(width) - 1}]"
    index = np.floor(number / width + 1e-12)
    low, high = float(f"{index * width:.12g}"), float(f"{(index + 1) * width:.12g}")
    return f"[{number_text(low)}..{number_text(high)})"


def _from_to(first: str, last: str) -> str:
    return first if first == last else f"[{first}..{last}]"


def _sorted(rows: Rows, numbers: Mapping[str, float]) -> Rows:
    return sorted(rows, key=lambda row: numbers[row[0]])


def _masked(values: Sequence[str], *, from_the_right: bool) -> Rows:
    longest = max(map(len, values))
    rows = []
    for value in sorted(values):
        padded = value.ljust(longest, ROOT) if from_the_right else value.rjust(longest, ROOT)
        above = [
            padded[: longest - hidden] + ROOT * hidden if from_the_right else ROOT * hidden + padded[hidden:]
            for hidden in range(1, longest)
        ]
        above = [label for label in dict.fromkeys(above) if label not in (value, ROOT * longest)]
        rows.append([value, *above, ROOT])
    return rows


def _form_of_days(values: Sequence[str]) -> str | bool:
    """How all values are written as dates ("" is ISO's); False if they are none."""
    for form in DAY_FORMS:
        if all(not value.isdigit() and looks_like_a_day(value, form) for value in values):
            return form or ""
    return False


def _day(text: str, form: object) -> date:
    return parse_day(text, str(form) if form else None)
