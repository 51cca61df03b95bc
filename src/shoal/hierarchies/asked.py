"""What somebody asks of a hierarchy that is built for them: values and wishes, checked before anything is built."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from shoal.errors import HierarchyError, ParameterError, one_of, shown
from shoal.hierarchies.tree import ROOT
from shoal.roles import ColumnType
from shoal.sources.gathering import text_of

A_COLUMN = "Give the values of a column: a list, a Series, an Arrow array."


@dataclass(frozen=True)
class Wanted:
    """What somebody asks of a hierarchy. `counts`: how often each value occurs; `type`: what they are, if known."""

    counts: Mapping[str, int]
    widths: Sequence[float] | None = None
    groups: int | None = None
    order: Sequence[str] | None = None
    type: ColumnType | None = None

    @property
    def values(self) -> list[str]:
        return list(self.counts)


def asked(values: object, *, widths: object, groups: object, order: object, type: object) -> Wanted:
    """The same of whatever was given. Raises HierarchyError where there are no values, ParameterError otherwise."""
    counts = Counter(text for text in _texts("values", values) if text.strip())
    if not counts:
        raise HierarchyError("there are no values to build a hierarchy for.")
    if ROOT in counts:
        raise HierarchyError(f"{ROOT!r} stands for every value and cannot be a value. Rename it.")
    if groups is not None and (isinstance(groups, bool) or not isinstance(groups, int) or groups < 1):
        raise ParameterError(f"groups must be a whole number of at least 1. Got {shown(groups)} instead.")
    if type is not None and type not in list(ColumnType):
        raise ParameterError(one_of("type", type, [str(known) for known in ColumnType]))
    return Wanted(counts, _widths(widths), groups, _order(order), None if type is None else ColumnType(str(type)))


def _texts(what: str, given: object) -> list[str]:
    """Values as texts, without those that are missing."""
    if isinstance(given, str | bytes | Mapping) or hasattr(given, "columns") or not isinstance(given, Iterable):
        found = type(given).__name__
        raise ParameterError(f"{what} must be a list of values, not one of type {found}.", hint=A_COLUMN)
    texts = []
    for value in given:
        value = value.as_py() if hasattr(value, "as_py") else value  # Arrow's own scalars
        if isinstance(value, Iterable) and not isinstance(value, str | bytes):
            found = type(value).__name__
            raise ParameterError(f"{what} must be single values: there is one of type {found} among them.")
        text = None if _is_nothing(value) else text_of(value)
        if text is not None:
            texts.append(text)
    return texts


def _is_nothing(value: object) -> bool:
    """NaN, pandas' NaT and NA: none of them is equal to itself, or says whether it is."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return True


def _widths(given: object) -> list[float] | None:
    if given is None:
        return None
    numbers = list(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping) else []
    told = f"Got {shown(given)} instead."
    if not numbers or not all(_is_width(number) for number in numbers):
        raise ParameterError(f"widths must be a list of positive numbers, as in [5, 10, 20]. {told}")
    ratios = [wide / narrow for narrow, wide in pairwise(numbers)]
    if any(ratio < 1.5 or abs(ratio - round(ratio)) > 1e-9 for ratio in ratios):
        raise ParameterError(f"widths must be positive and each a multiple of the one before. {told}")
    return numbers


def _is_width(number: object) -> bool:
    real = hasattr(number, "__float__") and not isinstance(number, bool | str)
    return real and math.isfinite(float(number)) and float(number) > 0  # type: ignore[arg-type]


def _order(given: object) -> list[str] | None:
    if given is None:
        return None
    texts = _texts("order", given)
    if not texts:
        raise ParameterError("order must list the values, from the first to the last. Got none.")
    if ROOT in texts:
        raise ParameterError(f"{ROOT!r} stands for every value and has no place in an order.")
    if len(set(texts)) < len(texts):
        twice = [text for text, count in Counter(texts).items() if count > 1]
        many = "one value" if len(twice) == 1 else f"{len(twice)} values"
        raise ParameterError(f"the order has {many} more than once.", values=twice)
    return texts
