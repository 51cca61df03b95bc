"""Columns in which most cells are dates or numbers, and a few are not: what those may be.

A word that is often there among dates or numbers stands for no value (`ongoing`, `absent`), and so does a date
of nothing but zeros. Whatever else does not read is somebody's mistake, and stays one: the proposal counts such cells
and names their rows, and reading refuses them until they are mended or declared as missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

FEW = 0.1  # of the records: what may be mistakes where nothing but the values speaks for dates or numbers
HALF = 0.5  # the same where the name speaks for them as well
SOME = 200  # different values, of which half must read before the others are looked at
ENOUGH = 5  # different values that read: fewer show nothing
WORDS = 3  # different words for no value, at most
# A word for no value is often there. One that is not may be a name in a wrong cell, and a schema shows what it says.
OFTEN, OFTEN_SHARE = 5, 0.02
LEAST = 0.1  # of the records have a value: an end that most do not know yet is a date all the same
NO_DAY = re.compile(
    r"0+(?:[-./ ]0+)*|99[-./ ]?99[-./ ]?9999|9999[-./]?(?:99[-./]?99|12[-./]?31)(?:[T ]00:00(?::00(?:\.0+)?)?)?"
)


@dataclass(frozen=True)
class Apart:
    """What does not read among the values of a column: texts that mean no value, and others."""

    missing: list[str]
    unread: list[str]


def set_apart(
    texts: Sequence[str], counts: Sequence[int], reads: Callable[[str], object], most: float = FEW
) -> Apart | None:
    """The few texts that do not read; None where too many do not, so that the column is of another kind."""
    some = texts[:SOME]
    if 2 * sum(bool(reads(text)) for text in some) < len(some) - 2 * WORDS:
        return None
    others = [(text, count) for text, count in zip(texts, counts, strict=True) if not reads(text)]
    if len(texts) - len(others) < ENOUGH:
        return None
    often = max(OFTEN, OFTEN_SHARE * sum(counts))
    words = [text for text, count in others if NO_DAY.fullmatch(text) or (count >= often and _is_word(text))]
    if len(words) > WORDS:
        words = []
    unread = [(text, count) for text, count in others if text not in words]
    reading = sum(counts) - sum(count for _, count in others)
    if reading < (1 - most) * (reading + sum(count for _, count in unread)) or reading < LEAST * sum(counts):
        return None
    return Apart(sorted(words), [text for text, _ in unread])


def no_days(texts: Sequence[str]) -> list[str]:
    """Dates that stand for none: 0000-00-00, 9999-12-31."""
    found = sorted(text for text in texts if NO_DAY.fullmatch(text))
    return found if len(found) < len(texts) else []


def _is_word(text: str) -> bool:
    """`90+` and `<5` say something of a number; `pending` does not."""
    return not any(sign.isdigit() for sign in text)
