"""Whether 1.500 is a thousand and a half or one and a half: what the other columns of the table say, or the name.

A column in which three digits follow every point (or every comma) can be read in both ways, and a wrong one changes its
numbers by a factor of a thousand. So it is settled by columns that leave no doubt. Where none does, money is in
thousands, and anything else is told to be doubtful.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import pyarrow as pa

from shoal.inference.columns import Guess, Sure, guess
from shoal.inference.names import meaning_of, words_of
from shoal.inference.profile import Profile
from shoal.roles import ColumnType
from shoal.sources.normalize import is_text

SIGNS = {",": "commas", ".": "points"}
OTHER = {",": ".", ".": ","}
BOTH_WAYS = {sign: re.compile(rf"[+-]?(?:[1-9]\d{{0,2}}{re.escape(sign)}\d{{3}}|\d+)") for sign in SIGNS}


def settle_thousands(guesses: list[Guess], table: pa.Table) -> None:
    """Read columns of which it is open anew, where something tells how; the guesses are changed."""
    open_signs = {one.name: _open_sign(one) for one in guesses}
    told = {sign for one in guesses if open_signs[one.name] is None for sign in _told(one)}
    for place, one in enumerate(guesses):
        sign = open_signs[one.name]
        if sign is None or told == {sign}:
            continue
        by_others = told == {OTHER[sign]}
        if by_others or _what(one) == "money":
            made = guess(one.name, table[one.name], one.label, decimal=OTHER[sign])
            made.sure = Sure.LIKELY if by_others else Sure.DOUBTFUL
            made.why += f", with {SIGNS[sign]} between thousands" + (
                " as other columns suggest" if by_others else ": money has seldom three digits after them"
            )
            guesses[place] = made
        elif one.type == ColumnType.NUMERIC:
            one.sure = Sure.DOUBTFUL
            one.why += f", and nothing shows whether thousands or fractions follow the {SIGNS[sign]}"


def _open_sign(one: Guess) -> str | None:
    """The sign that stands before three digits in every value that has it."""
    profile = one.profile
    if one.reads != ColumnType.NUMERIC or profile is None or profile.form is None or not is_text(profile.kind):
        return None
    if _what(one) == "a place":  # no latitude is a thousand
        return None
    sign = profile.form.decimal
    both = profile.form.thousands is None and profile.all_look(BOTH_WAYS[sign].fullmatch)
    return sign if both and any(sign in text for text in profile.texts) else None


def _told(one: Guess) -> Iterable[str]:
    """Which sign stands before fractions, as a column that leaves no doubt shows it."""
    profile: Profile | None = one.profile
    if profile is None or profile.form is None or not is_text(profile.kind) or one.reads != ColumnType.NUMERIC:
        return ()
    form = profile.form
    fractions = any(form.decimal in text for text in profile.texts)
    return (form.decimal,) if fractions or form.thousands in SIGNS else ()


def _what(one: Guess) -> str | None:
    meaning = meaning_of(words_of(one.name)) or meaning_of(words_of(one.label or ""))
    return meaning.what if meaning else None
