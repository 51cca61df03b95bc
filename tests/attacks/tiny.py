"""Releases written by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from tests.attacks.knowledge import Knowledge, Seen


def seen(**classes: tuple[str, Mapping[str, int]]) -> Seen:
    """A release: of each class its members, one letter for each, and its counts."""
    return Seen(
        {name: Counter(counts) for name, (_, counts) in classes.items()},
        {name: list(members) for name, (members, _) in classes.items()},
    )


def true_release(classes: Mapping[str, list[Any]], values: Mapping[Any, Any]) -> Seen:
    """What is published of classes when these are everybody's values."""
    return Seen(
        {name: Counter(values[one] for one in members) for name, members in classes.items()},
        {name: list(members) for name, members in classes.items()},
    )


A = dict.fromkeys("abc", "flu") | dict.fromkeys("de", "HIV")
B = dict.fromkeys("fghij", "diabetes") | dict.fromkeys("klmno", "asthma")


def merged_remainders() -> tuple[Knowledge, dict[str, str]]:
    """Two classes; one of the first (e, who has HIV) and four of the second leave; who is left is published as one.

    Nobody in the new class is alone with a value, and five people left. But no value of the first class is one of the
    second: of those with HIV one is lacking, and only one of the first class has left.
    """
    values = {**A, **B}
    first = true_release({"A": list(A), "B": list(B)}, values)
    rest = [one for one in values if one not in set("efgkl")]
    return Knowledge([first, true_release({"AB": rest}, values)]), values
