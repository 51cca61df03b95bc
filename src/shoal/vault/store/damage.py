"""Damage: what is stored is not what was stored. It is never served, and always said in the same words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from shoal.errors import VaultError

# What Python makes of stored values that have no sense any more.
SENSELESS = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, pa.ArrowException)


class Damaged(VaultError):
    """What is stored is not what was stored."""


def damaged(where: str, what: str) -> Damaged:
    return Damaged(f"the vault is damaged: {what}.", hint="Restore a backup: shoal restore BACKUP VAULT.", file=where)


@contextmanager
def readable(where: str) -> Iterator[None]:
    """Around reading: what has no sense any more is damage as well, before any checksum has been looked at."""
    try:
        yield
        return
    except SENSELESS:  # their texts may quote a value
        pass
    raise damaged(where, "what is stored cannot be read") from None
