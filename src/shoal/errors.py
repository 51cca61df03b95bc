"""What can go wrong, as one tree.

    ShoalError
    ├── InputError               something that was given cannot be used; nothing was written
    │   ├── SchemaError          the schema contradicts itself, or names what does not exist
    │   │   └── HierarchyError   a hierarchy is cyclic, inconsistent or ambiguous
    │   ├── DataError            a file or table cannot be read, or does not fit its schema
    │   │   └── BatchError       a batch of changes is refused as a whole; it lists what is wrong with which row
    │   └── ParameterError       k, a method, a measure or an option is out of range or unknown
    ├── OutputError              the result cannot be written where it was asked for
    ├── VerificationError        the independent check said no; the release was not made
    │   └── AuditError           together with those before, the release would give somebody away; it was not published
    ├── Unchanged                nothing has changed since the last release; a second one was not made
    ├── Doubtful                 a change that can be made, but looks like a mistake: who insists has it made
    ├── Unfinished               people are erased, but old copies of pages are left: erase or compact again
    ├── VaultError               a vault cannot be opened, read or written: no vault, damaged, newer, disk full
    │   └── VaultBusy            another process is changing the vault
    └── InternalError            a promise of shoal's own code is broken: a bug, please report it

Guarantee: `str(error)`, `error.facts()` and a pickled error never carry a value or a key of a record. They name the
file, the row numbers and the column. The values themselves are in `reveal()`, which is for the holder's terminal only.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from shoal.addresses import HIDDEN, may_be_address

SHOWN = 5
KINDS = 20  # of faults that an error names
ROW = re.compile(r"row \d+( of the \w+)?")  # another one that a fault is about


class Offence(NamedTuple):
    """One fault of a batch; no row: the whole column."""

    fault: str
    row: int | None = None
    column: str | None = None
    part: str | None = None  # of a batch that was given in parts: "inserts", "updates" or "deletes"

    def __str__(self) -> str:
        where = [self.part] if self.part else []
        where += [f"row {self.row}"] if self.row is not None else []
        where += [f"column {self.column!r}"] if self.column is not None else []
        return f"{', '.join(where)}: {self.fault}" if where else self.fault

    @property
    def kind(self) -> Offence:
        """The same without the row: what several rows may have in common."""
        return self._replace(row=None, fault=ROW.sub("another row", self.fault))


class ShoalError(Exception):
    """The root of the tree: catch this to catch everything that shoal raises on purpose.

    `message` says what was found, `hint` what to do next. `rows` counts records from 1 (a CSV's header is not one),
    `line` the lines of a text file.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        file: str | None = None,
        column: str | None = None,
        rows: Sequence[int] = (),
        line: int | None = None,
        values: Iterable[object] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.file = HIDDEN if file is not None and "@" in file and may_be_address(file) else file
        self.column = column
        self.rows = [int(row) for row in rows]
        self.line = line
        self.fault = message  # what is wrong with each of the rows
        self.every_row: Sequence[int] = self.rows  # all of them; `rows` may be the first few
        self._values = list(values)

    def __str__(self) -> str:
        where = f"{self.file}: " if self.file else ""
        return f"{where}{self.message}" + (f" {self.hint}" if self.hint else "")

    def reveal(self) -> str:
        """The message with the offending values: for the holder's own terminal, never for a log or a response."""
        if not self._values:
            return str(self)
        shown = ", ".join(repr(value) for value in self._values[:SHOWN])
        more = f" and {len(self._values) - SHOWN} more" if len(self._values) > SHOWN else ""
        return f"{self} Found: {shown}{more}."

    def sealed(self) -> list[object]:
        """The offending values, for those who seal them in an error of their own."""
        return list(self._values)

    def facts(self) -> dict[str, object]:
        """The same facts for a program, without values."""
        return {
            "error": type(self).__name__,
            "message": self.message,
            "hint": self.hint,
            "file": self.file,
            "column": self.column,
            "rows": self.rows,
            "line": self.line,
        }

    def __reduce__(self) -> tuple[object, ...]:
        state = {**self.__dict__, "_values": []}
        return type(self), (self.message,), state


class InputError(ShoalError):
    """Something that was given cannot be used; nothing was written."""


class SchemaError(InputError):
    """The schema contradicts itself, or names what does not exist."""


class HierarchyError(SchemaError):
    """A hierarchy is cyclic, inconsistent or ambiguous."""


class DataError(InputError):
    """A file or table cannot be read, or does not fit its schema."""


class BatchError(DataError):
    """A batch of changes is refused as a whole, and nothing has changed: `offences` are the first of `count` faults.

    `kinds` are the kinds of faults there are, each with how many there are of it.
    """

    offences: Sequence[Offence] = ()
    kinds: Mapping[Offence, int] = {}
    count: int = 0

    @classmethod
    def of(
        cls,
        offences: Sequence[Offence],
        kinds: Mapping[Offence, int],
        values: Iterable[object] = (),
        hint: str | None = None,
    ) -> BatchError:
        """Faults of these kinds, of which these are the first."""
        count = sum(kinds.values())
        listed = "; ".join(_said(kind, times, offences) for kind, times in list(kinds.items())[:KINDS])
        more = f"; and {len(kinds) - KINDS} more kinds" if len(kinds) > KINDS else ""
        error = cls(
            f"the batch is refused and nothing has changed: {count} fault{'s' if count != 1 else ''}. {listed}{more}.",
            hint=hint or "Mend them and apply the batch again.",
            column=offences[0].column,
            rows=[offence.row for offence in offences if offence.row is not None],
            values=values,
        )
        error.offences, error.kinds, error.count = list(offences), dict(kinds), count
        return error

    def facts(self) -> dict[str, object]:
        listed = [offence._asdict() for offence in self.offences]
        kinds = [
            {"fault": kind.fault, "column": kind.column, "part": kind.part, "count": times}
            for kind, times in self.kinds.items()
        ]
        return {**super().facts(), "offences": listed, "kinds": kinds, "count": self.count}


def _said(kind: Offence, times: int, offences: Sequence[Offence]) -> str:
    """A kind of fault, with the first rows that have it."""
    of_this = [offence for offence in offences if offence.kind == kind]
    if times == 1 and of_this:
        return str(of_this[0])
    rows = [offence.row for offence in of_this if offence.row is not None]
    where = [kind.part] if kind.part else []
    where += [row_list(rows, times) if rows else f"{times} rows"]
    where += [f"column {kind.column!r}"] if kind.column is not None else []
    return f"{', '.join(where)}: {kind.fault}"


class ParameterError(InputError):
    """k, a method, a measure or an option is out of range or unknown."""


class OutputError(ShoalError):
    """The result cannot be written where it was asked for."""


class VerificationError(ShoalError):
    """The independent check said no; the release was not made."""


class AuditError(VerificationError):
    """Together with those before, the release would say what none of them says alone; it was not published."""

    people: int = 0  # of how many

    def facts(self) -> dict[str, object]:
        return {**super().facts(), "people": self.people}


class Unchanged(ShoalError):
    """Nothing has changed since the last release; a second one was not made."""


class Doubtful(ShoalError):
    """A change that can be made, but looks like a mistake: applied already, or it deletes many. Nothing has changed."""


class Unfinished(ShoalError):
    """Records are deleted, but the vault could not be compacted: old copies of its pages may still hold them."""

    receipt: Mapping[str, object] | None = None  # of the erasure so far; None: it could not be made

    def facts(self) -> dict[str, object]:
        return {**super().facts(), "receipt": self.receipt}


class VaultError(ShoalError):
    """A vault cannot be opened, read or written; what it holds is as it was."""


class VaultBusy(VaultError):
    """Another process is changing the vault."""


class InternalError(ShoalError):
    """A promise of shoal's own code is broken: a bug, please report it."""


class ShoalWarning(UserWarning):
    """Something that works, but that the holder should know. Carries no values either."""


def whole_number(what: str, given: object, least: int) -> int:
    """A whole number of at least `least`, of any integer type."""
    if isinstance(given, bool) or not hasattr(given, "__index__") or int(given.__index__()) < least:
        raise ParameterError(f"{what} must be a whole number of at least {least}. Got {given!r} instead.")
    return int(given.__index__())


def one_of(what: str, given: object, known: Iterable[str]) -> str:
    """The one form of "unknown name" messages: what it must be, what was given, and the nearest known name."""
    known = [str(name) for name in known]
    near = difflib.get_close_matches(given, known, n=1) if isinstance(given, str) else []
    guess = f" Did you mean {near[0]!r}?" if near else ""
    return f"{what} must be one of {', '.join(known)}. Got {shown(given)} instead.{guess}"


def shown(given: object) -> str:
    """A parameter as a message quotes it. What has parts is named by its kind: it may hold values, or have no end."""
    if isinstance(given, Mapping):
        return "a table"
    if isinstance(given, list | tuple) and any(isinstance(part, Mapping | list | tuple) for part in given):
        return "a list of lists or tables"
    return repr(given)


def row_list(rows: Sequence[int], total: int | None = None) -> str:
    """Row numbers as people read them: "row 3", "rows 3, 7 and 9", "rows 1, 2, 3, 4, 5 and 12 more"."""
    total = len(rows) if total is None else total
    head = [str(row) for row in rows[:SHOWN]]
    if total == 1:
        return f"row {head[0]}"
    if total > len(head):
        return f"rows {', '.join(head)} and {total - len(head)} more"
    return f"rows {', '.join(head[:-1])} and {head[-1]}"
