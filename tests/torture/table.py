"""The table of results, as docs/reliability.md has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.torture.attacks import KINDS, Tally

FIRST, LAST = "<!-- torture: first -->", "<!-- torture: last -->"
HEAD = ["attack", *KINDS, "promises broken"]

Rows = dict[str, list[int]]  # by subject: how often each kind struck, and promises broken


def as_markdown(rows: Rows) -> str:
    total = [sum(column) for column in zip(*rows.values(), strict=True)]
    lines = [HEAD, ["---"] + ["---:"] * (len(HEAD) - 1)]
    lines += [_cells(subject, counts) for subject, counts in rows.items()]
    lines.append([f"**{cell}**" if cell else "" for cell in _cells("all", total)])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cells(subject: str, counts: Sequence[int]) -> list[str]:
    *struck, broken = counts
    return [subject, *(str(count or "") for count in struck), str(broken)]


def told(doc: Path) -> Rows:
    """What the document has."""
    _, _, rest = doc.read_text(encoding="utf-8").partition(FIRST)
    lines = [line for line in rest.partition(LAST)[0].splitlines() if line.startswith("|")]
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:-1]]
    return {subject: [int(cell or 0) for cell in cells] for subject, *cells in found}


def subjects(doc: Path) -> list[str]:
    """The attacks that the document tells of."""
    return list(told(doc))


def paste(doc: Path, results: Mapping[str, Tally], order: Sequence[str]) -> None:
    """What was found out now; of other attacks, what the document has. `order`: all attacks there are."""
    rows = told(doc)
    for subject, tally in results.items():
        rows[subject] = [*(tally.struck[kind] for kind in KINDS), tally.broken]
    before, _, rest = doc.read_text(encoding="utf-8").partition(FIRST)
    _, _, after = rest.partition(LAST)
    kept = {subject: rows[subject] for subject in order if subject in rows}
    doc.write_text(f"{before}{FIRST}\n{as_markdown(kept)}\n{LAST}{after}", encoding="utf-8")
