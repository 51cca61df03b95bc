"""How dates are written in a column of texts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shoal.sources.normalize import looks_like_a_day, parse_day

ISO = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")
DAYS = ["%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%d-%b-%Y", "%d %b %Y",
        "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d%b%Y", "%Y%m%d", "%d.%m.%y", "%d/%m/%y", "%m/%d/%y"]  # fmt: skip
TIMES = ["", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p"]
DAY_FIRST, MONTH_FIRST = ("%d/%m", "%d-%m", "%d.%m"), ("%m/%d", "%m-%d")
LONGEST = 30
DIGITS = 5  # that a date has at least: 1 Feb 1950
SAMPLE = 40
EARLIEST, LATEST = 1850, 2150


def day_forms(texts: Sequence[str]) -> list[str | None]:
    """The formats that fit every one of these texts; None is ISO's. Several: they cannot be told apart."""
    if not texts or max(map(len, texts)) > LONGEST or not any(sign.isdigit() for sign in texts[0]):
        return []
    if all(ISO.fullmatch(text) and looks_like_a_day(text, None) for text in texts):
        return [None]
    found: list[str | None] = []
    for form in (day + time for day in DAYS for time in TIMES):
        if reads(texts[0], form) and all(reads(text, form) for text in texts):
            found.append(form)
    return found


def forms_of_most(texts: Sequence[str]) -> list[str | None]:
    """The formats that fit most of these texts, where none fits all: those that fit more than any other."""
    written = [text for text in texts if sum(sign.isdigit() for sign in text) >= DIGITS and len(text) <= LONGEST]
    if 2 * len(written) < len(texts):
        return []
    some = written[:: max(1, len(written) // SAMPLE)][:SAMPLE]
    known: list[str | None] = [None, *(day + time for day in DAYS for time in TIMES)]
    likely = [form for form in known if 2 * sum(reads(text, form) for text in some) >= len(some)]
    fitting = {form: sum(reads(text, form) for text in written) for form in likely}
    return [form for form in likely if fitting[form] == max(fitting.values())]


def is_month_first(form: str) -> bool:
    return form.startswith(MONTH_FIRST)


def differ_in_order(forms: Sequence[str | None]) -> bool:
    """Whether day and month cannot be told apart."""
    return any(form and is_month_first(form) for form in forms) and any(
        form and form.startswith(DAY_FIRST) for form in forms
    )


def reads(text: str, form: str | None) -> bool:
    """Whether a text is a day of a person's life in this format; None is ISO's."""
    if form is None and not ISO.fullmatch(text):
        return False
    try:
        return EARLIEST <= parse_day(text, form).year <= LATEST
    except (ValueError, re.error):
        return False
