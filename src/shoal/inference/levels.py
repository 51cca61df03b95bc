"""Widths of fixed intervals that a person would choose."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

CALENDAR = ("month", "year", "decade")
ABOUT = 20  # intervals at the finest level


def nice_widths(values: NDArray[np.float64]) -> list[float] | None:
    """Three nested widths that divide the middle of the range into about 20, 10 and 5: 1, 2 or 5 times a power of ten.

    None where the finest would hold one value each: levels of width 1 generalize nothing.
    """
    numbers = np.unique(values[np.isfinite(values)])
    if len(numbers) < 2:
        return None
    low, high = np.quantile(numbers, [0.01, 0.99]) if len(numbers) > 100 else (numbers[0], numbers[-1])
    raw = (high - low) / ABOUT
    if raw <= 0:
        return None
    power = 10.0 ** np.floor(np.log10(raw))
    width = float(power * min((1, 2, 5, 10), key=lambda step: abs(step - raw / power)))
    whole = bool((numbers == np.rint(numbers)).all())
    if whole and width < 2:
        if high - low < 2 * 2:
            return None
        width = 2.0 if high - low < ABOUT else 5.0
    widths = [width, 2 * width, 4 * width]
    widths = [each for each in widths if each < high - low] or [width]
    return [int(each) for each in widths] if whole else [float(f"{each:.6g}") for each in widths]
