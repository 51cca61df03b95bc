"""What stands where there is no value: words in five languages, and numbers far from all others (-9, 999)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

# Compared in lower case, and without blanks around.
WORDS = {
    "?", ".", "..", "-", "--", "---", "#n/a", "#null!", "n/a", "n.a.", "na", "nan", "null", "<na>", "n/d", "nd",
    "n.d.", "s/d",
    "unknown", "not known", "not stated", "not available", "not reported", "not specified", "missing", "undisclosed",
    "refused", "prefer not to say", "don't know", "dont know", "no answer", "unspecified",
    "nr", "n.r.", "n/r", "not asked",
    "k.a.", "k. a.", "keine angabe", "unbekannt", "weiß nicht", "weiss nicht", "ohne angabe", "fehlt", "verweigert",
    "inconnu", "inconnue", "non déclaré", "non declare", "non renseigné", "non renseigne", "nsp",
    "ne sait pas", "sans réponse",
    "desconocido", "desconocida", "no consta", "sin datos", "no sabe", "ns/nc", "no informado", "sin información",
    "ignorado", "ignorada", "desconhecido", "desconhecida", "não informado", "nao informado", "sem informação",
    "sem informacao", "não sabe",
}  # fmt: skip
PYTHONS = ("None",)  # in this spelling only: `none` of a benefit is an answer
LOW = (-1, -2, -3, -4, -5, -6, -7, -8, -9, -88, -99, -98, -97, -999, -998, -997, -9999)
HIGH = (99, 98, 97, 77, 999, 998, 997, 996, 777, 9999, 9998, 9997, 99999, 999999, 9999999)
FEW_CODES = 15  # different values, up to which a gap in a list of codes means something
FAR = 1.5  # times the largest other value
MANY = 30  # rows


def means_missing(text: str) -> bool:
    return text.strip().casefold() in WORDS or text in PYTHONS


def numbers_for_missing(numbers: Sequence[int], counts: Sequence[int]) -> list[int]:
    """Which of these different whole numbers stand for no value: -9 where others are not negative, 999 far above all.

    A column in which most records would be missing has another sense: it is left as it is.
    """
    values, rows = sorted(numbers), dict(zip(numbers, counts, strict=True))
    if len(values) < 3 or sum(counts) < MANY:
        return []
    found = [value for value in values if value < 0]
    if not all(value in LOW for value in found) or len(found) > 5:
        found = []
    rest = [value for value in values if value not in found and value >= 0]
    if not rest or (found and len(rest) < 2):
        return []
    while len(rest) > 2 and rest[-1] in HIGH and _stands_apart(rest[:-1], rest[-1]):
        found.append(rest.pop())
    total = float(np.sum(counts))
    return sorted(found) if sum(rows[value] for value in found) <= 0.6 * total else []


def _stands_apart(others: Sequence[int], last: int) -> bool:
    below = [value for value in others if value not in HIGH] or list(others)
    largest = below[-1]
    if len(below) <= FEW_CODES:  # codes: 1 … 10, then 99
        return last >= 70 and largest < last / 3
    return last >= 990 and largest * FAR < last
