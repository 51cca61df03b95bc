"""What the values of a column say: how they are written, how many there are, and what they look like."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.hierarchies.codes import looks_like_icd
from shoal.inference.days import day_forms, forms_of_most, reads
from shoal.inference.missing import means_missing, numbers_for_missing
from shoal.inference.names import Reads
from shoal.inference.unread import FEW, HALF, Apart, no_days, set_apart
from shoal.sources.normalize import as_text, is_text, looks_like_a_number
from shoal.sources.numbers import POINT, NumberForm

SOME = 200  # different values, of which nearly all must look alike before the others are looked at
TRIED = 3000  # different values, of which the first show how the others are written
FORMS = [NumberForm(","), NumberForm(".", ","), NumberForm(",", "."), NumberForm(".", " "), NumberForm(",", " "),
         NumberForm(".", "'")]  # fmt: skip
STREETS = (
    r"calle|avenida|plaza|paseo|rua|travessa|rue|avenue|boulevard|chemin|impasse|allee|allée|street|road|lane|drive|"
    r"\w*(?:straße|strasse|str\.|weg|gasse|platz|allee)"
)
HOUSES = rf"(.* )?({STREETS})\b.* \d+ ?\w?(, .*)?|\d+ ?\w?,? .*\b({STREETS})\b.*"
SHAPES: list[tuple[str, re.Pattern[str]]] = [
    ("e-mail addresses", re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")),
    ("telephone numbers", re.compile(r"(\+|00|\()\d[\d ()/.-]{6,18}\d")),
    ("web addresses", re.compile(r"(https?://|www\.)\S+")),
    ("UUIDs", re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)),
    ("account numbers", re.compile(r"[A-Z]{2}\d{2}[A-Z0-9 ]{11,32}")),
    ("numbers of persons", re.compile(r"\d{3}\.\d{3}\.\d{3}-\d{2}|\d{3}-\d{2}-\d{4}|\d{8}[A-Z]")),
    ("addresses of houses", re.compile(HOUSES, re.IGNORECASE)),
    ("addresses of devices", re.compile(r"(\d{1,3}\.){3}\d{1,3}|([0-9a-f]{2}:){5}[0-9a-f]{2}", re.IGNORECASE)),
]
TIME = re.compile(r"([01]?\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?")
LONG = 6  # digits, from which on a number may have been given to somebody
TWO_STATES = [{"y", "n"}, {"yes", "no"}, {"true", "false"}, {"t", "f"}, {"ja", "nein"}, {"oui", "non"}, {"si", "no"},
              {"sí", "no"},
              {"sim", "não"}, {"sim", "nao"}, {"s", "n"}, {"0", "1"}, {"j", "n"}, {"o", "n"}]  # fmt: skip


@dataclass(frozen=True)
class Profile:
    """A column, looked at."""

    name: str
    rows: int
    texts: list[str]  # the different values, without those that are missing
    counts: list[int]  # how often each occurs
    kind: pa.DataType  # what the source says
    missing_words: list[str]  # words for no value
    missing_numbers: list[str] = field(default_factory=list)  # and dates, and words among either
    form: NumberForm | None = None  # how numbers are written; None: they are none
    days: list[str | None] = field(default_factory=list)  # how dates are written; empty: they are none
    unread: list[str] = field(default_factory=list)  # a few texts that are no such number or date
    unread_rows: list[int] = field(default_factory=list)  # where they stand

    @property
    def distinct(self) -> int:
        return len(self.texts)

    @property
    def present(self) -> int:
        return sum(self.counts)

    @property
    def unique(self) -> bool:
        """Every record has a value of its own."""
        return self.distinct == self.rows

    @property
    def is_date(self) -> bool:
        return bool(self.days) or pa.types.is_date(self.kind) or pa.types.is_timestamp(self.kind)

    @property
    def is_number(self) -> bool:
        return self.form is not None

    @cached_property
    def numbers(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """The different values, where they are numbers."""
        form = self.form
        assert form is not None
        return np.array([float(text if form == POINT else form.plain(text)) for text in self.texts])

    @cached_property
    def is_whole(self) -> bool:
        return self.is_number and bool((self.numbers == np.rint(self.numbers)).all())

    @cached_property
    def lengths(self) -> list[int]:
        return sorted({len(text) for text in self.texts})

    @cached_property
    def has_leading_zeros(self) -> bool:
        return is_text(self.kind) and any(re.match(r"0\d", text) for text in self.texts)

    @property
    def all_digits(self) -> bool:
        return bool(self.texts) and all(text.isdigit() for text in self.texts)

    def all_look(self, fits: Callable[[str], object]) -> bool:
        return bool(self.texts) and all(fits(text) for text in self.texts)

    @cached_property
    def shape(self) -> str | None:
        """What nearly every value looks like, where that alone tells whom it names."""
        if not is_text(self.kind) or self.distinct < 3:
            return None
        for what, form in SHAPES:
            if _nearly_all(form, self.texts[:SOME]) and _nearly_all(form, self.texts):
                return what
        return None

    @cached_property
    def is_diagnosis(self) -> bool:
        return looks_like_icd(self.texts)

    @property
    def has_dots(self) -> bool:
        return any("." in text for text in self.texts)

    @property
    def are_times(self) -> bool:
        """Times of day: 08:45, 23:59:59."""
        return is_text(self.kind) and self.all_look(TIME.fullmatch)

    @property
    def are_given(self) -> bool:
        """Long numbers of one length, and many of them, as are given to people and cases: no counts, no amounts."""
        return (
            self.all_digits and len(self.lengths) == 1 and self.lengths[0] >= LONG and self.distinct > 0.2 * self.rows
        )

    @cached_property
    def is_numbering(self) -> bool:
        """Letters that all values share, then numbers of one length, and many of them: HP1000, HP1001."""
        found = re.fullmatch(r"([^\W\d_]+[ /-]?)(\d+)", self.texts[0]) if self.texts else None
        if not is_text(self.kind) or found is None or len(self.lengths) > 1 or len(found[0]) < LONG:
            return False
        letters = found[1]
        alike = all(text.startswith(letters) and text[len(letters) :].isdigit() for text in self.texts)
        return alike and self.distinct > 0.2 * self.rows

    @property
    def is_prose(self) -> bool:
        """Sentences that somebody wrote: they may say anything of anybody."""
        if not is_text(self.kind) or not self.texts:
            return False
        spaced = sum(text.count(" ") >= 3 for text in self.texts)
        return spaced > 0.5 * self.distinct and self.distinct > 0.2 * self.present

    @property
    def two_states(self) -> bool:
        return {text.casefold() for text in self.texts} in TWO_STATES


def _nearly_all(form: re.Pattern[str], texts: Sequence[str]) -> bool:
    return sum(form.fullmatch(text) is not None for text in texts) > 0.9 * len(texts)


def look_at(name: str, column: pa.ChunkedArray, meant: Reads = Reads.ANYTHING, decimal: str | None = None) -> Profile:
    """What a column's values say; `meant`: what its name says; `decimal`: the sign before fractions, if it is known.

    Raises DataError where they cannot be compared.
    """
    text = as_text(name, column, ("",))
    counted = pc.value_counts(text.drop_null())
    texts, counts = counted.field("values").to_pylist(), counted.field("counts").to_pylist()
    written = is_text(column.type) or pa.types.is_dictionary(column.type)
    words = [text for text in texts if written and means_missing(text)]
    if len(words) == len(texts):
        words = []
    profile = _without(Profile(name, len(column), texts, counts, column.type, sorted(words)), words)
    profile = replace(profile, form=_form(column, profile.texts, decimal), days=_days(column, profile.texts))
    if profile.is_date:
        return _missing(profile, no_days(profile.texts))
    if written and not profile.is_number:
        return _with_mistakes(profile, text, meant, decimal)
    if not profile.is_whole:
        return profile
    whole = [round(number) for number in profile.numbers]
    gone = set(numbers_for_missing(whole, profile.counts))
    return _missing(profile, [text for text, number in zip(profile.texts, whole, strict=True) if number in gone])


def _with_mistakes(profile: Profile, column: pa.Array, meant: Reads, decimal: str | None) -> Profile:
    """Dates or numbers, where all but a few cells are such: those are set apart, and named by their rows."""
    texts, counts = profile.texts, profile.counts
    forms = forms_of_most(texts)
    apart = set_apart(texts, counts, lambda text: reads(text, forms[0]), _most(meant, Reads.DATE)) if forms else None
    if apart is not None:
        return _set_apart(replace(profile, days=forms), column, apart)
    for form in _forms(decimal):
        fits = _is_number if form == POINT else form.fits
        apart = set_apart(texts, counts, fits, _most(meant, Reads.NUMBER))
        if apart is None:
            continue
        made = _set_apart(replace(profile, form=form), column, apart)
        if meant == Reads.NUMBER or not made.is_whole:  # whole ones with letters between them may be codes: 2A, 13
            return made
    return profile


def _most(meant: Reads, kind: Reads) -> float:
    return HALF if meant == kind else FEW


def _set_apart(profile: Profile, column: pa.Array, apart: Apart) -> Profile:
    rows = np.flatnonzero(pc.is_in(column, pa.array(apart.unread, pa.string())).to_numpy(zero_copy_only=False)) + 1
    made = _missing(_without(profile, apart.unread), apart.missing)
    return replace(made, unread=apart.unread, unread_rows=rows.tolist())


def _missing(profile: Profile, texts: Sequence[str]) -> Profile:
    if not texts:
        return profile
    told = [text[: len("YYYY-MM-DD")] for text in texts] if pa.types.is_timestamp(profile.kind) else texts
    return replace(_without(profile, texts), missing_numbers=sorted(set(told)))


def _without(profile: Profile, texts: Sequence[str]) -> Profile:
    gone = set(texts)
    kept = [pair for pair in zip(profile.texts, profile.counts, strict=True) if pair[0] not in gone]
    return replace(profile, texts=[text for text, _ in kept], counts=[count for _, count in kept])


def _form(column: pa.ChunkedArray, texts: Sequence[str], decimal: str | None) -> NumberForm | None:
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        return POINT
    if not texts or pa.types.is_temporal(column.type) or pa.types.is_boolean(column.type):
        return None
    for form in _forms(decimal):
        fits = _is_number if form == POINT else form.fits
        if all(map(fits, texts[:TRIED])) and all(map(fits, texts)):
            return form
    return None


def _forms(decimal: str | None) -> list[NumberForm]:
    return [form for form in (POINT, *FORMS) if decimal in (None, form.decimal)]


def _is_number(text: str) -> bool:
    return looks_like_a_number(text) and text.casefold().strip("+-") not in ("nan", "inf", "infinity")


def _days(column: pa.ChunkedArray, texts: Sequence[str]) -> list[str | None]:
    if not is_text(column.type) or not texts:
        return []
    forms = day_forms(texts[:TRIED])
    if len(texts) > TRIED and forms:
        forms = day_forms(texts)
    return forms
