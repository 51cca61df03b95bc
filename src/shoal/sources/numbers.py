"""How numbers are written in text: which sign stands before fractions, and which between thousands."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

BLANKS = "\u0020\u00a0\u202f\u2009"  # what offices put between thousands: blanks that do not break, or narrow ones
DECIMALS = (".", ",")
THOUSANDS = (",", ".", " ", "'", "_")


@dataclass(frozen=True)
class NumberForm:
    """`NumberForm(",", ".")` reads 1.234,5. Without `thousands` none are set apart."""

    decimal: str = "."
    thousands: str | None = None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        whole = r"[0-9]+"
        if self.thousands:
            whole = rf"(?:[0-9]{{1,3}}(?:[{self._between}][0-9]{{3}})+|[0-9]+)"
        decimal = re.escape(self.decimal)
        return re.compile(rf"[+-]?(?:{whole}(?:{decimal}[0-9]*)?|{decimal}[0-9]+)(?:[eE][+-]?[0-9]+)?")

    @property
    def _between(self) -> str:
        return {" ": BLANKS, "'": "'’"}.get(self.thousands or "", re.escape(self.thousands or ""))

    def fits(self, text: str) -> bool:
        return self._pattern.fullmatch(text) is not None

    def plain(self, text: str) -> str:
        """A number that fits, as everything else reads it: 1234.5."""
        if self.thousands:
            text = re.sub(f"[{self._between}]", "", text)
        return text.replace(self.decimal, ".")

    def __str__(self) -> str:
        return f"1{self.thousands or ''}234{self.decimal}5"


POINT = NumberForm()
