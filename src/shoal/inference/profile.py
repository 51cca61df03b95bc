"""What the values of a column say: how they are written, how many there are, and what they look like."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.inference.days import day_forms
from shoal.inference.missing import means_missing, numbers_for_missing
from shoal.sources.normalize import as_text, is_text, looks_like_a_number
from shoal.sources.numbers import POINT, NumberForm

TRIED = 3000  # different values, of which the first show how the others are written
FORMS = [NumberForm(","), NumberForm(".", ","), NumberForm(",", "."), NumberForm(".", " "), NumberForm(",", " "),
         NumberForm(".", "'")]  # fmt: skip
SHAPES: list[tuple[str, re.Pattern[str]]] = [
    ("e-mail addresses", re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")),
    ("telephone numbers", re.compile(r"(\+|00|\()\d[\d ()/.-]{6,18}\d")),
    ("web addresses", re.compile(r"(https?://|www\.)\S+")),
    ("UUIDs", re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)),
    ("account numbers", re.compile(r"[A-Z]{2}\d{2}[A-Z0-9 ]{11,32}")),
    ("numbers of persons", re.compile(r"\d{3}\.\d{3}\.\d{3}-\d{2}|\d{3}-\d{2}-\d{4}|\d{8}[A-Z]")),
    ("addresses of devices", re.compile(r"(\d{1,3}\.){3}\d{1,3}|([0-9a-f]{2}:){5}[0-9a-f]{2}", re.IGNORECASE)),
]
ICD = re.compile(r"[A-TV-Z]\d[0-9AB](\.[0-9A-Z]{1,4})?")
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
    missing_numbers: list[str] = field(default_factory=list)
    form: NumberForm | None = None  # how numbers are written; None: they are none
    days: list[str | None] = field(default_factory=list)  # how dates are written; empty: they are none

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
        return next(
            (
                what
                for what, form in SHAPES
                if sum(form.fullmatch(text) is not None for text in self.texts) > 0.9 * self.distinct
            ),
            None,
        )

    @property
    def is_diagnosis(self) -> bool:
        return self.distinct >= 3 and self.all_look(ICD.fullmatch) and any("." in text for text in self.texts)

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


def look_at(name: str, column: pa.ChunkedArray) -> Profile:
    """What a column's values say. Raises DataError where they cannot be compared."""
    text = as_text(name, column, ("",))
    counted = pc.value_counts(text.drop_null())
    texts, counts = counted.field("values").to_pylist(), counted.field("counts").to_pylist()
    written = is_text(column.type) or pa.types.is_dictionary(column.type)
    words = [text for text in texts if written and means_missing(text)]
    if len(words) == len(texts):
        words = []
    pairs = [(text, count) for text, count in zip(texts, counts, strict=True) if text not in words]
    texts, counts = [text for text, _ in pairs], [count for _, count in pairs]
    form = _form(column, texts)
    profile = Profile(
        name, len(column), texts, counts, column.type, sorted(words), form=form, days=_days(column, texts)
    )
    if not profile.is_whole or profile.days:
        return profile
    whole = [round(number) for number in profile.numbers]
    gone = set(numbers_for_missing(whole, counts))
    if not gone:
        return profile
    kept = [(text, count) for text, count, number in zip(texts, counts, whole, strict=True) if number not in gone]
    away = [text for text, number in zip(texts, whole, strict=True) if number in gone]
    return replace(
        profile,
        texts=[text for text, _ in kept],
        counts=[count for _, count in kept],
        missing_numbers=sorted(away),
    )


def _form(column: pa.ChunkedArray, texts: Sequence[str]) -> NumberForm | None:
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        return POINT
    if not texts or pa.types.is_temporal(column.type) or pa.types.is_boolean(column.type):
        return None
    some = texts[:TRIED]
    if all(map(_is_number, some)) and all(map(_is_number, texts)):
        return POINT
    for form in FORMS:
        if all(map(form.fits, some)) and all(map(form.fits, texts)):
            return form
    return None


def _is_number(text: str) -> bool:
    return looks_like_a_number(text) and text.casefold().strip("+-") not in ("nan", "inf", "infinity")


def _days(column: pa.ChunkedArray, texts: Sequence[str]) -> list[str | None]:
    if not is_text(column.type) or not texts:
        return []
    forms = day_forms(texts[:TRIED])
    if len(texts) > TRIED and forms:
        forms = day_forms(texts)
    return forms
