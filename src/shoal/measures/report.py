"""Report: measures and risks of one release."""

from __future__ import annotations

from dataclasses import dataclass, field

from shoal.views import counted, table_html


@dataclass(repr=False)
class Report:
    """Measures in total, as a share of the worst case, and per column (as an average per row); risks; what is missing.

    `totals["il"]` is Total-IL; the others are as `shoal.measures.catalogue` says. PMI and KL have no share: they
    are not monotone, and a table of nothing but `*` is not their worst case. `omitted` says why a measure is not there.
    `records`, `classes` and risks are of the rows that are published; measures count those `withheld` as well, each as
    a row of nothing but `*`.
    """

    records: int
    classes: int
    smallest_class: int
    withheld: int = 0
    totals: dict[str, float] = field(default_factory=dict)
    shares: dict[str, float] = field(default_factory=dict)
    columns: dict[str, dict[str, float]] = field(default_factory=dict)
    risks: dict[str, dict[str, float]] = field(default_factory=dict)
    omitted: dict[str, str] = field(default_factory=dict)

    def facts(self) -> dict[str, object]:
        """The same for a program."""
        return {
            "records": self.records,
            "withheld": self.withheld,
            "equivalence_classes": self.classes,
            "smallest_class": self.smallest_class,
            "measures": self.totals,
            "shares": self.shares,
            "columns": self.columns,
            "risks": self.risks,
            "omitted": self.omitted,
        }

    def __repr__(self) -> str:
        loss = f", loss {self.shares['il']:.1%}" if "il" in self.shares else ""
        withheld = f", {self.withheld} withheld" if self.withheld else ""
        classes = counted(self.classes, "equivalence class", "equivalence classes")
        return f"<Report: {counted(self.records, 'row')}{withheld} in {classes}, smallest {self.smallest_class}{loss}>"

    def _repr_html_(self) -> str:
        """For notebooks."""
        rows = [
            (name, f"{total:.6g}", f"{self.shares[name]:.1%}" if name in self.shares else "")
            for name, total in self.totals.items()
        ]
        return table_html(repr(self).strip("<>"), ("measure", "total", "share of the worst case"), rows)
