"""1.500 and 26,798: thousands or fractions, by what other columns and the name say."""

from __future__ import annotations

import pyarrow as pa
import pytest

from shoal.inference import Guess, propose

POINTS = [f"{1 + n % 9}.{100 + 37 * n % 900}" for n in range(40)]
COMMAS = [text.replace(".", ",") for text in POINTS]


def guesses(**columns: list[str]) -> dict[str, Guess]:
    return {guess.name: guess for guess in propose(pa.table(columns)).guesses}


@pytest.mark.parametrize(
    ("values", "other", "decimal", "thousands"),
    [
        (COMMAS, ["1.5", "2.25"], None, ","),
        (COMMAS, ["1,234.5", "2,000.25"], None, ","),
        (COMMAS, ["1,5", "2,25"], ",", None),
        (POINTS, ["1,5", "2,25"], ",", "."),
        (POINTS, ["1.5", "2.25"], None, None),
    ],
)
def test_other_columns_tell(values: list[str], other: list[str], decimal: str | None, thousands: str | None) -> None:
    found = guesses(x=values, y=other * 20)["x"]
    assert (found.decimal, found.thousands) == (decimal, thousands)


def test_money_is_in_thousands_where_nothing_else_tells() -> None:
    wages = guesses(wages=COMMAS)["wages"]
    assert (wages.decimal, wages.thousands, wages.sure) == (None, ",", "doubtful")
    assert wages.profile is not None
    assert wages.profile.numbers.min() > 1000
    lohn = guesses(bruttolohn=POINTS)["bruttolohn"]
    assert (lohn.decimal, lohn.thousands, lohn.sure) == (",", ".", "doubtful")


def test_what_stays_open_is_doubtful() -> None:
    found = guesses(x=POINTS)["x"]
    assert (found.decimal, found.thousands, found.sure) == (None, None, "doubtful")
    assert "thousands or fractions" in found.why


def test_fractions_below_one_and_places_leave_no_doubt() -> None:
    small = guesses(x=["0.125", *POINTS], y=["1,5", "2,25"] * 20 + ["1,5"])["x"]
    assert (small.decimal, small.thousands) == (None, None)
    place = guesses(latitude=POINTS, y=["1,5", "2,25"] * 20)["latitude"]
    assert (place.decimal, place.thousands) == (None, None)
