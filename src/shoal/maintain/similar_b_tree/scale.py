"""Where the values of a column lie on a scale of 0 to 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.records.codebook import CodeBook

Floats = NDArray[np.float64]
FURTHEST = 1e3  # how far outside its domain a value may lie on its scale: squares of distances stay finite


def scale_of(book: CodeBook, before: tuple[CodeBook, Floats] | None) -> Floats:
    """Where each code lies between 0 and 1; what was there `before` stays where it was, as points do."""
    if book.axis is not None:
        assert book.domain is not None
        low, high = book.domain
        positions = (book.axis.astype(np.float64) - low) / ((high - low) or 1.0)
        return np.concatenate([[0.0], np.clip(positions, -FURTHEST, FURTHEST)])
    leaves = len(book.texts)
    if before is None:
        return np.concatenate([[0.0], np.arange(leaves) / max(1, leaves - 1)])
    known = dict(zip(before[0].texts, before[1][1:].tolist(), strict=True))
    at = [i for i, text in enumerate(book.texts) if text in known]
    if not at:
        return scale_of(book, None)
    between_them = np.interp(np.arange(leaves), at, [known[book.texts[i]] for i in at])
    return np.concatenate([[0.0], between_them])
