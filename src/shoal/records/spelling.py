"""One spelling per value: what counts as the same text where sensitive values are counted.

"HIV", "hiv", "HIV " and "HIV" with a zero-width space are one diagnosis. If they counted as four, a group in which
everybody has it would pass for diverse. Published values stay as they are written; this is for counting alone.

The definition is shared by what makes releases and what verifies them. Neither shares anything else.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from decimal import Context, Decimal, DecimalException

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.ASCII)
# An apostrophe that tells spreadsheets that a text is no formula: `release/spreadsheets.py` puts it there.
NEUTRALIZED = re.compile(r"^'+(?=[=+@-])")
MINUS = "\u2212"
PLAIN = 40  # digits that a number is written out with

# What Unicode calls ignorable and does not count as a format character: fillers, joiners, variation selectors. And the
# empty Braille cell, which shows as nothing.
UNSEEN = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2065\u2800\u3164\uffa0"
    + "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xFFF0, 0xFFF9), *range(0xE0000, 0xE1000))))
)


def one_spelling(text: str, *, numbers: bool) -> str:
    """The form in which a text is counted; "" if nothing of it can be seen.

    Compatible characters (NFKC), capitals and small letters are the same; what cannot be seen is nothing, and blanks
    are one blank. `numbers`: nothing says that the column holds texts, so that 5, 5.0 and 05 are one number.

    Guarantee: the spelling of a spelling is itself.
    """
    if not (text.isascii() and text.isprintable()):
        text = _seen(text)
    # Folding may undo the normal form, and the normal form the folding: twice is where both stay.
    spelled = NEUTRALIZED.sub("", _folded(_folded(text)))
    if numbers and NUMBER.fullmatch(spelled):
        return _number(spelled)
    return spelled


def spelled_missing(missing: Iterable[str], *, numbers: bool) -> frozenset[str]:
    """The spellings that mean "no value"."""
    return frozenset(("", *(one_spelling(text, numbers=numbers) for text in missing)))


def _seen(text: str) -> str:
    """Without what cannot be seen; a control character that is not a blank cannot. All dashes are one."""
    return "".join(
        "-" if unicodedata.category(sign) == "Pd" or sign == MINUS else sign
        for sign in unicodedata.normalize("NFKC", text)
        if sign.isspace() or not (unicodedata.category(sign) in ("Cf", "Cc") or sign in UNSEEN)
    )


def _folded(text: str) -> str:
    folded = text.casefold()
    if not folded.isascii():
        folded = unicodedata.normalize("NFKC", folded)
    return " ".join(folded.split())


def _number(text: str) -> str:
    """The shortest form of a number, exact however many digits it has."""
    try:
        number = Decimal(text).normalize(Context(prec=max(1, len(text))))
    except DecimalException:  # an exponent that no number has
        return text
    if not number:
        return "0"
    plain = format(number, "f") if abs(number.adjusted()) < PLAIN else str(number)
    return plain.casefold()
