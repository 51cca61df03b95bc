"""Report: measures and risks of one release."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
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
