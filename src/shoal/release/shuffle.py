"""The order of a release: from a cryptographic source, so that it tells nothing about the order of the records."""

from __future__ import annotations

import hashlib
import secrets

import numpy as np
from numpy.typing import NDArray


def new_shuffle_key() -> bytes:
    return secrets.token_bytes(32)


def shuffled(rows: int, key: bytes) -> NDArray[np.int64]:
    """A permutation of the rows that only the holder of the key can repeat.

    Each row gets 64 bits of SHAKE-256(key); sorting by them is a random order. The method's `seed` plays no part: a
    seed may be known to others, and whoever knows the order knows which record a row was.
    """
    draws = np.frombuffer(hashlib.shake_256(key).digest(8 * rows), dtype="<u8")
    return np.argsort(draws, kind="stable")
