"""The table of results, as docs/reliability.md has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from tests.torture.attacks import KINDS, Tally

FIRST, LAST = "<!-- torture: first -->", "<!-- torture: last -->"


def as_markdown(results: Mapping[str, Tally]) -> str:
    total = Tally(sum((tally.struck for tally in results.values()), Counter()))
    total.broken = sum(tally.broken for tally in results.values())
    head = ["attack", *KINDS, "promises broken"]
    lines = [head, ["---"] + ["---:"] * (len(head) - 1)]
    lines += [_cells(subject, tally) for subject, tally in results.items()]
    lines.append([f"**{cell}**" if cell else "" for cell in _cells("all", total)])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cells(subject: str, tally: Tally) -> list[str]:
    return [subject, *(str(tally.struck[kind] or "") for kind in KINDS), str(tally.broken)]


def subjects(doc: Path) -> list[str]:
    """The attacks that the document tells of."""
    _, _, rest = doc.read_text(encoding="utf-8").partition(FIRST)
    rows = [line.split("|")[1].strip() for line in rest.partition(LAST)[0].splitlines() if line.startswith("|")]
    return rows[2:-1]


def paste(doc: Path, results: Mapping[str, Tally]) -> None:
    before, _, rest = doc.read_text(encoding="utf-8").partition(FIRST)
    _, _, after = rest.partition(LAST)
    doc.write_text(f"{before}{FIRST}\n{as_markdown(results)}\n{LAST}{after}", encoding="utf-8")
