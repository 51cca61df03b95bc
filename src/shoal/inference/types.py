"""How a column is read: a number, a date, a category or a code whose first characters say the most; and how sure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from shoal.inference.names import CODED, COUNTED, KEY, Meaning, Reads
from shoal.inference.profile import Profile
from shoal.roles import ColumnType

LONGEST_CODE = 12
FEW = 12  # different whole numbers, which may be codes
BANDS = 20  # the largest number of a band of income
DIGITS_OF_A_CODE = 4
LETTERS_AND_DIGITS = re.compile(r"[A-Z0-9]+([ .\-/][A-Z0-9]+)?", re.IGNORECASE)
CODES = re.compile(r"zip|post|plz|icd|\bcid|code|codigo|nuts|cpv|naics|nace|isco|cbo|insee|ibge|fips|centro|cep\b")


@dataclass(frozen=True)
class Reading:
    type: ColumnType
    why: str
    sure: bool = True


def reading_of(profile: Profile, words: str, meaning: Meaning | None) -> Reading:
    """The type of a column, by its values and, where they leave it open, by its name."""
    reads = meaning.reads if meaning else Reads.ANYTHING
    if profile.is_date and not _only_digits(profile, reads):
        return Reading(ColumnType.DATE, "the values are dates")
    if pa.types.is_boolean(profile.kind):
        return Reading(ColumnType.CATEGORICAL, "the values are true and false")
    if not profile.texts:
        return Reading(ColumnType.CATEGORICAL, "there is no value to tell", sure=False)
    if profile.are_times:
        return Reading(ColumnType.PREFIX, "the values are times of day, whose hours come first")
    code = _code(profile, words, reads)
    if code is not None:
        return code
    if not profile.is_number:
        return Reading(ColumnType.CATEGORICAL, "the values are texts")
    if not profile.is_whole:
        return Reading(ColumnType.NUMERIC, "the values are fractions")
    return _whole(profile, words, meaning)


def _only_digits(profile: Profile, reads: Reads) -> bool:
    """19501231 is a date where the name says so, and may be any number otherwise."""
    return profile.all_digits and reads != Reads.DATE and not pa.types.is_temporal(profile.kind)


def _code(profile: Profile, words: str, reads: Reads) -> Reading | None:
    """Codes of about one length: postal codes, statistical codes, those with leading zeros."""
    shortest, longest = profile.lengths[0], profile.lengths[-1]
    named = reads == Reads.CODE or CODES.search(words) is not None
    coded = longest <= LONGEST_CODE and profile.all_look(LETTERS_AND_DIGITS.fullmatch)
    digits = coded and all(any(sign.isdigit() for sign in text) for text in profile.texts)
    if named and digits and longest > 2 and longest - shortest <= 4 and not COUNTED.search(words):
        return Reading(ColumnType.PREFIX, "the name and the values are those of a code")
    if profile.has_leading_zeros and profile.all_digits and shortest == longest and longest > 2:
        return Reading(ColumnType.PREFIX, "the values have leading zeros, as codes have")
    if profile.has_leading_zeros and profile.all_digits:
        return Reading(ColumnType.CATEGORICAL, "the values have leading zeros, as codes have")
    return None


def _whole(profile: Profile, words: str, meaning: Meaning | None) -> Reading:
    """Whole numbers: counted or measured, or codes in the dress of numbers."""
    numbers = np.sort(profile.numbers)
    reads = meaning.reads if meaning else Reads.ANYTHING
    few = profile.distinct <= FEW
    counted = COUNTED.search(words) is not None
    coded = CODED.search(words) is not None
    what = meaning.what if meaning else None
    if what == "money" and profile.distinct > 2 and 0 <= numbers[0] <= numbers[-1] <= BANDS:
        return Reading(ColumnType.CATEGORICAL, "so small numbers are bands of money", sure=False)
    if reads == Reads.NUMBER and not (coded and few):
        return Reading(ColumnType.NUMERIC, "the name is that of a number")
    if counted and not coded:
        return Reading(ColumnType.NUMERIC, "the name is that of a number")
    if _years(numbers):
        return Reading(ColumnType.NUMERIC, "the values are years")
    if reads in (Reads.CATEGORY, Reads.CODE):
        return _system(profile, "the name is that of a category, and the numbers are its codes")
    if coded and (few or _same_length(profile)):
        return _system(profile, "the name is that of a code")
    if few and KEY.search(words):
        return _system(profile, "the name is that of a number that is given to something")
    if profile.two_states:
        return Reading(ColumnType.CATEGORICAL, "0 and 1 say no and yes")
    if what == "a household" and few and not _gaps(numbers):
        return Reading(ColumnType.NUMERIC, "of a household people are counted", sure=False)
    if few and _gaps(numbers):
        return Reading(ColumnType.CATEGORICAL, "few whole numbers with gaps between them, as codes have", sure=False)
    if few and profile.rows > 5 * profile.distinct and numbers[0] >= 1 and numbers[-1] <= FEW:
        return Reading(ColumnType.CATEGORICAL, "few small numbers from 1 on, as codes have", sure=False)
    if _same_length(profile) and profile.lengths[-1] >= DIGITS_OF_A_CODE and profile.rows > 5 * profile.distinct:
        return Reading(ColumnType.PREFIX, "numbers of one length that come again and again, as codes do", sure=False)
    return Reading(ColumnType.NUMERIC, "the values are whole numbers", sure=not few)


def _system(profile: Profile, why: str) -> Reading:
    """Codes of one length are read from the front; others are names."""
    if _same_length(profile) and profile.lengths[-1] >= DIGITS_OF_A_CODE - 1:
        return Reading(ColumnType.PREFIX, why)
    return Reading(ColumnType.CATEGORICAL, why)


def _same_length(profile: Profile) -> bool:
    return len(profile.lengths) == 1 and profile.all_digits


def _years(numbers: Sequence[float] | np.ndarray[tuple[int], np.dtype[np.float64]]) -> bool:
    return bool(numbers[0] >= 1850 and numbers[-1] <= 2150)


def _gaps(numbers: np.ndarray[tuple[int], np.dtype[np.float64]]) -> bool:
    """1, 2 and 9; not 1, 2, 3, 5 of a count that thins out."""
    if len(numbers) < 3 or numbers[0] < 0 or numbers[-1] > 99:
        return False
    steps = np.diff(numbers)
    return bool(steps[-1] >= 3 and (steps[:-1] <= 1).all()) or bool(
        (steps > 1).sum() > len(steps) / 2 and numbers[-1] > 10
    )
