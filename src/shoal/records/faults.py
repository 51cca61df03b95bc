"""What is wrong with a batch: collected, and said by kind, with counts and the first rows of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.errors import BatchError, Offence

LISTED = 20  # offences that an error names
LISTED_OF_A_KIND = 5
UNKNOWN = "not in the hierarchy"


class Faults:
    """The faults of a batch with these ops, in the order of its rows."""

    def __init__(
        self, ops: Sequence[str | None], rows: NDArray[np.int64] | None = None, *, parts: bool = False
    ) -> None:
        """`rows`: where each change stands in its source; `parts`: each op has rows of its own."""
        self._ops, self._rows, self._parts = ops, rows, parts
        self._found: list[tuple[int, Offence, object]] = []
        self._starts: Mapping[str | None, int] = {op: ops.index(op) for op in dict.fromkeys(ops)} if parts else {}

    @property
    def count(self) -> int:
        return len(self._found)

    def add(self, i: int | None, column: str, fault: str, value: object = None) -> None:
        row, part = (None, None) if i is None else self._place(i)
        self._found.append((-1 if i is None else i, Offence(fault, row, column, part), value))

    def name(self, i: int) -> str:
        row, part = self._place(i)
        return f"row {row}" + (f" of the {part}" if part else "")

    def _place(self, i: int) -> tuple[int, str | None]:
        if self._rows is not None:
            return int(self._rows[i]), None
        if not self._parts:
            return i + 1, None
        op = self._ops[i]
        return i + 1 - self._starts[op], f"{op}s"

    def raise_any(self) -> None:
        """Raise BatchError if there is any."""
        if not self._found:
            return
        found = sorted(self._found, key=lambda found: found[0])
        counts: dict[Offence, int] = {}
        listed: list[tuple[Offence, object]] = []
        for _, offence, value in found:
            kind = offence.kind
            counts[kind] = counts.get(kind, 0) + 1
            if counts[kind] <= LISTED_OF_A_KIND and len(listed) < LISTED:
                listed.append((offence, value))
        values = [value for _, value in listed if value is not None]
        hint = None
        if any(kind.fault.startswith(UNKNOWN) for kind in counts):
            hint = (
                "Mend them and apply the batch again. A category that belongs there is added to the hierarchy, and the "
                "vault told of it with: shoal schema-change VAULT --schema NEW.toml."
            )
        raise BatchError.of([offence for offence, _ in listed], counts, values, hint)
