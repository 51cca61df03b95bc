"""Whether rows are what was stored: held against their checksums."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa

from shoal.vault.store.checksums import adjusted, checksum
from shoal.vault.store.damage import damaged
from shoal.vault.store.parts import PARTS, Part
from shoal.vault.store.queries import chunks
from shoal.vault.store.vault_row import vault_row


def stored_sums(row: Mapping[str, Any]) -> dict[str, int]:
    """The checksum of each part, from the vault's row; of one that has never had a row there is none."""
    return {part: int(found, 16) for part, found in json.loads(row["sums"]).items()}


def part_checksum(connection: sa.Connection, part: str, where: str) -> int:
    """The checksum of a part as it is now."""
    return sum_of_part(connection, PARTS[part], where)


def sum_of_part(connection: sa.Connection, summed: Part, where: str) -> int:
    conditions = [] if summed.only is None else [summed.table.c[summed.only].is_(True)]
    found = 0
    for some in in_order(chunks(connection, summed.table, summed.columns, *conditions), where):
        found = adjusted(found, added=checksum(*some))
    return found


def check_part(connection: sa.Connection, part: str, where: str) -> None:
    """Raise Damaged if a part is not what was stored."""
    if stored_sums(vault_row(connection, where)).get(part, 0) != part_checksum(connection, part, where):
        raise damaged(where, f"{PARTS[part].what}: not what was stored")


def check_records(connection: sa.Connection, parts: Sequence[str], where: str) -> None:
    """The same of some parts of the records."""
    sums = stored_sums(vault_row(connection, where))
    for part in parts:
        compare_checksum(where, sums, part, part_checksum(connection, part, where), PARTS[part].what)


def compare_checksum(where: str, sums: Mapping[str, int], part: str, found: int, what: str) -> None:
    """Raise Damaged if a part that was read has another checksum than what was stored. `what`: for people."""
    if sums.get(part, 0) != found:
        raise damaged(where, f"{what} are not what was stored")


def in_order(columns: Iterable[list[tuple[Any, ...]]], where: str) -> Iterator[list[tuple[Any, ...]]]:
    """Rows as `chunks` has them, by rising numbers (the first column).

    If they are not, pages have been swapped: whoever asks for a row by its number would not find it, though no checksum
    of the rows tells.
    """
    last = -(2**63)
    for some in columns:
        numbers = np.array(some[0], np.int64)
        if numbers[0] < last or (np.diff(numbers) < 0).any():
            raise damaged(where, "rows are not where they were stored")
        last = int(numbers[-1])
        yield some
