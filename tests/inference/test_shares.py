"""What a steward would have kept of what is proposed, on tables with known answers.

`tables` were there while the rules were made; those in `aside`, `later` and `last` were written afterwards, measured,
and only then looked into: docs/schema.md says what came of them at first sight.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import shoal
from shoal.fit import check_fit
from shoal.inference import propose
from tools.inference_share import shares

HERE = Path(__file__).parent
DOC = HERE.parents[1] / "docs" / "schema.md"
TABLES = sorted((HERE / "tables").glob("*.csv"))
AFTERWARDS = [table for folder in ("aside", "later", "last") for table in sorted((HERE / folder).glob("*.csv"))]


@pytest.mark.parametrize(
    ("folder", "least", "columns"),
    [("tables", 0.97, 165), ("aside", 0.97, 84), ("later", 0.95, 73), ("last", 0.95, 53)],
)
def test_a_steward_would_keep_most_of_it(folder: str, least: float, columns: int) -> None:
    counted = shares(HERE / folder)
    assert sum(count for _, count in counted.values()) == columns
    assert sum(kept for kept, _ in counted.values()) / columns >= least
    assert min(kept / count for kept, count in counted.values()) >= 0.7
    share = f"{sum(kept for kept, _ in counted.values()) / columns:.1%}"
    row = next(line for line in DOC.read_text().splitlines() if f"`tests/inference/{folder}`" in line)
    assert row.endswith(f"| {share} |")  # what the documentation says is what is counted


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.stem)
def test_what_means_no_value_is_found_and_nothing_else(table: Path) -> None:
    expected = tomllib.loads(table.with_suffix(".toml").read_text())["missing"]
    proposal = propose(table)
    found = {
        guess.name: [*guess.profile.missing_words, *guess.profile.missing_numbers]
        for guess in proposal.guesses
        if guess.profile and (guess.profile.missing_words or guess.profile.missing_numbers)
    }
    assert found == expected


@pytest.mark.parametrize("table", [*TABLES, *AFTERWARDS], ids=lambda table: table.stem)
def test_what_is_proposed_reads_the_table(table: Path, tmp_path: Path) -> None:
    proposal = propose(table)
    (tmp_path / "schema.toml").write_text(proposal.toml(), encoding="utf-8")
    schema = shoal.Schema.load(tmp_path / "schema.toml")
    unread = {one.name: one.profile.unread_rows for one in proposal.guesses if one.profile and one.profile.unread}
    if unread:  # what the proposal warns of is refused, and nothing else
        with pytest.raises(shoal.DataError) as refused:
            check_fit(table, schema)
        assert refused.value.rows == unread[str(refused.value.column)]
        return
    fit = check_fit(table, schema)
    assert fit.records == proposal.guesses[0].profile.rows  # type: ignore[union-attr]
    again = shoal.Schema.infer(table)
    assert {name: column.role for name, column in again.columns.items()} == {
        name: column.role for name, column in schema.columns.items()
    }


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.stem)
def test_every_column_says_why_and_how_sure(table: Path) -> None:
    text = propose(table).toml()
    for line in text.splitlines():
        if line.startswith("role = "):
            assert any(f"# {sure}: " in line for sure in ("sure", "likely", "doubtful")), line
        if line.startswith("# levels"):
            assert "[1," not in line
