"""One column: what is proposed for it, why, and how sure that is.

It errs on the side of caution: what nothing is known of is proposed as a quasi-identifier, and what looks like a key is
never published.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import pyarrow as pa

from shoal.errors import DataError, row_list
from shoal.inference.days import differ_in_order
from shoal.inference.levels import CALENDAR, nice_widths
from shoal.inference.names import (
    COUNTED,
    HOUSEHOLD,
    KEY,
    NUMBER_OF,
    PERSON,
    SURVEY_WEIGHT,
    Meaning,
    Reads,
    meaning_of,
    meaning_of_label,
    words_of,
)
from shoal.inference.profile import Profile, look_at
from shoal.inference.types import FEW, Reading, reading_of
from shoal.roles import ColumnType, Role
from shoal.sources.normalize import has_short_year
from shoal.sources.numbers import POINT

NEARLY_UNIQUE = 0.9
ACTS_LIKE_A_KEY = 0.5
MANY = 20  # rows, from which on it means something that every value occurs once


class Sure(StrEnum):
    SURE = "sure"
    LIKELY = "likely"
    DOUBTFUL = "doubtful"


@dataclass
class Guess:
    """One column: what is proposed, why, and how sure."""

    name: str
    role: Role
    type: ColumnType | None
    why: str
    sure: Sure = Sure.LIKELY
    suggested_levels: Sequence[float | str] | None = None  # none is taken unasked: tight intervals lose less
    warning: str | None = None
    format: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    missing: list[str] = field(default_factory=list)  # numbers that mean no value; words are the table's
    hierarchy: str | None = None  # a file that lies beside the table
    label: str | None = None  # what the file says of the column in words
    profile: Profile | None = field(default=None, repr=False)  # of the holder's values: not for a log
    reads: ColumnType | None = None  # how values are read, also where the role needs no type


def guess(name: str, column: pa.ChunkedArray, label: str | None = None, decimal: str | None = None) -> Guess:
    """`label`: what the file says of the column in words; it is heard where the name says nothing.

    `decimal`: what stands before fractions, if that is known.
    """
    words = words_of(name)
    meaning = meaning_of(words)
    if label and meaning is None and not KEY.search(words):
        made = _guess(name, column, words_of(label), meaning_of_label(label), decimal)
        made.why = made.why.replace("by its name", "by its label").replace("the name", "the label")
    else:
        made = _guess(name, column, words, meaning, decimal)
    made.label = label
    return made


def _guess(
    name: str, column: pa.ChunkedArray, words: str, meaning: Meaning | None, decimal: str | None = None
) -> Guess:
    try:
        profile = look_at(name, column, _meant(words, meaning), decimal)
    except DataError:
        return Guess(name, Role.IDENTIFIER, None, f"holds {column.type}, which cannot be generalized", Sure.DOUBTFUL)
    reading = reading_of(profile, words, meaning)
    role, why, sure = _role(profile, words, meaning, reading)
    made = Guess(name, role, reading.type, why, sure, missing=list(profile.missing_numbers), profile=profile)
    made.reads = reading.type
    if role in (Role.QUASI_IDENTIFIER, Role.SENSITIVE):
        if sure == Sure.LIKELY and reading.sure and meaning is not None:
            made.sure = Sure.SURE
        if not reading.sure:
            made.sure = Sure.DOUBTFUL
        made.why = f"{why}; {reading.why}"
    if role not in (Role.QUASI_IDENTIFIER, Role.SENSITIVE) or (
        role == Role.SENSITIVE and reading.type in (ColumnType.CATEGORICAL, ColumnType.PREFIX)
    ):
        made.type = None
    _describe(made, profile)
    _warn(made, profile)
    _tell_unread(made, profile)
    return made


def _meant(words: str, meaning: Meaning | None) -> Reads:
    if COUNTED.search(words) and not (meaning and meaning.reads == Reads.DATE):
        return Reads.NUMBER
    return meaning.reads if meaning else Reads.ANYTHING


def _tell_unread(made: Guess, profile: Profile) -> None:
    """How many cells are not what the column is, and where; what stands in them is the holder's to see."""
    if not profile.unread or made.type not in (ColumnType.DATE, ColumnType.NUMERIC):
        return
    count, what = len(profile.unread_rows), "a date" if made.type == ColumnType.DATE else "a number"
    told = f"{count} cells do" if count > 1 else "1 cell does"
    fix = f"mend {'them' if count > 1 else 'it'}, or add to `missing` what means no value"
    unread = f"{told} not read as {what} ({row_list(profile.unread_rows)}): {fix}"
    made.warning = f"{unread}; {made.warning}" if made.warning else unread
    if made.sure == Sure.SURE:
        made.sure = Sure.LIKELY


def _describe(made: Guess, profile: Profile) -> None:
    """What the type needs besides its name; how values are written also where the role needs no type."""
    if made.reads == ColumnType.DATE and profile.days:
        made.format = profile.days[0]
    if made.reads == ColumnType.NUMERIC:
        form = profile.form or POINT
        made.decimal = form.decimal if form.decimal != "." else None
        made.thousands = form.thousands
    if made.type == ColumnType.DATE:
        if has_short_year(made.format):
            made.why += ", none after today: years of two digits leave the century open"
        if differ_in_order(profile.days):
            made.sure = Sure.DOUBTFUL
            made.why += ", and nothing shows whether the day or the month comes first"
    if made.type and any(not any(sign.isdigit() for sign in text) for text in profile.missing_numbers):
        made.why += ", and a word that is often there among them is taken for no value"
    if made.role == Role.QUASI_IDENTIFIER:
        if made.type == ColumnType.DATE:
            made.suggested_levels = CALENDAR
        if made.type == ColumnType.NUMERIC:
            made.suggested_levels = nice_widths(profile.numbers) if profile.texts else None


def _warn(made: Guess, profile: Profile) -> None:
    if profile.rows <= MANY:
        return
    if made.role == Role.SENSITIVE and profile.distinct >= ACTS_LIKE_A_KEY * max(1, profile.present):
        made.warning = "published as it is, and most of its values occur once: it would act as a key"
    if made.role == Role.QUASI_IDENTIFIER and profile.distinct >= NEARLY_UNIQUE * max(1, profile.present):
        made.warning = "almost every value occurs once: generalized it costs much; can it be coarser, or be left out?"


def _role(profile: Profile, words: str, meaning: Meaning | None, reading: Reading) -> tuple[Role, str, Sure]:
    """What a column is to an attacker: by what its values look like, by its name, by how often they occur."""
    different = f"{profile.distinct} different value{'s' if profile.distinct != 1 else ''}"
    if profile.shape is not None and not profile.is_date:
        if profile.unique and KEY.search(words) and meaning is None:
            return Role.KEY, f"unique, and named like a key ({profile.shape})", Sure.SURE
        if profile.shape == "UUIDs" and profile.unique:
            return Role.KEY, "every value is a UUID of its own", Sure.SURE
        return Role.IDENTIFIER, f"the values look like {profile.shape}", Sure.SURE
    if profile.is_prose and (meaning is None or meaning.role == Role.IDENTIFIER):
        return Role.IDENTIFIER, "the values are sentences, which may name anybody", Sure.LIKELY
    as_key = _as_key(profile, words, meaning, reading)
    if as_key is not None:
        return as_key
    if profile.is_diagnosis and (profile.has_dots or meaning is None or meaning.role == Role.SENSITIVE):
        sure = Sure.LIKELY if profile.has_dots or meaning else Sure.DOUBTFUL  # without dots they may be other codes
        return Role.SENSITIVE, "the values are written as diagnoses are (ICD)", sure
    if meaning is not None and not _overruled(profile, meaning):
        sure = Sure.SURE if meaning.certain else Sure.LIKELY
        return meaning.role, f"by its name: {meaning.what}", sure
    if reading.type == ColumnType.NUMERIC and SURVEY_WEIGHT.match(words):
        return Role.QUASI_IDENTIFIER, "by its name: a weight", Sure.DOUBTFUL
    counted = COUNTED.search(words) is not None and not profile.are_given
    measured = reading.type == ColumnType.NUMERIC and (not profile.is_whole or counted)
    countable = not profile.is_date and not measured and not profile.are_times
    if profile.rows > MANY and countable and profile.unique:
        return Role.KEY, "every value occurs once", Sure.DOUBTFUL
    quantity = reading.type == ColumnType.NUMERIC and len(profile.lengths) > 1  # numbers that are given have one length
    nearly_unique = profile.distinct > NEARLY_UNIQUE * max(1, profile.present) > 0
    if profile.rows > MANY and countable and not quantity and nearly_unique:
        return Role.IDENTIFIER, "almost every value occurs once", Sure.DOUBTFUL
    if profile.rows > MANY and profile.is_numbering:
        return Role.IDENTIFIER, "the values are numbered, as files and households are: whose is it?", Sure.DOUBTFUL
    why = f"nothing speaks against it ({different}); choose another role if nobody outside can know it"
    return Role.QUASI_IDENTIFIER, why, Sure.DOUBTFUL if profile.distinct > FEW else Sure.LIKELY


def _overruled(profile: Profile, meaning: Meaning) -> bool:
    """A name that says "identifier" means nothing where a few values are shared by all: Y and N name nobody."""
    if meaning.certain or meaning.role != Role.IDENTIFIER:
        return False
    few = profile.distinct <= FEW and profile.rows > MANY and profile.rows > 5 * profile.distinct
    return profile.two_states or (few and meaning.what != "free text")


def _as_key(profile: Profile, words: str, meaning: Meaning | None, reading: Reading) -> tuple[Role, str, Sure] | None:
    """What names records, people or households by a number: unique it is the key, else somebody's."""
    given = NUMBER_OF.search(words) and (profile.are_given or not profile.is_number)
    if not (KEY.search(words) or given) or profile.is_date or not profile.texts:
        return None
    if meaning is not None and (meaning.certain or meaning.reads in (Reads.DATE, Reads.CODE)):
        return None
    if reading.type == ColumnType.NUMERIC and not profile.is_whole:
        return None
    if profile.unique and profile.rows > 1 and (meaning is None or meaning.role != Role.SENSITIVE):
        named = meaning is not None and meaning.role == Role.IDENTIFIER
        return Role.KEY, "unique, and named like a key", Sure.LIKELY if named else Sure.SURE
    each = profile.present / profile.distinct
    if HOUSEHOLD.search(words) and each < profile.rows / 10:
        return Role.IDENTIFIER, "named like the number of a household", Sure.LIKELY
    if profile.distinct > max(FEW, 0.2 * profile.rows) and (meaning is None or meaning.role != Role.SENSITIVE):
        if PERSON.search(words) and profile.present == profile.rows:
            return Role.PERSON, "named like the number of a person, and some have several records", Sure.DOUBTFUL
        return Role.IDENTIFIER, "named like a key, but not unique: whose is it?", Sure.DOUBTFUL
    return None
