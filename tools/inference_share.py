"""How many columns of the tables in tests/inference a steward would have kept as `shoal schema infer` proposes them.

    python tools/inference_share.py [--columns]

Prints the share of columns whose role and type are among the answers written beside each table; `--columns` lists the
others.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from shoal.errors import ShoalError
from shoal.inference import Guess, propose

TABLES = Path(__file__).parents[1] / "tests" / "inference"


def answer(guess: Guess) -> str:
    """Role and type as the answers are written: a sensitive category is published as it is, whatever its type."""
    plain = guess.type in (None, "categorical", "prefix") and guess.role != "quasi-identifier"
    return str(guess.role) if plain else f"{guess.role} {guess.type}"


def judged(table: Path) -> dict[str, tuple[str, list[str]]]:
    """Of each column: what is proposed, and what would have been kept."""
    answers: dict[str, list[str]] = tomllib.loads(table.with_suffix(".toml").read_text())["columns"]
    try:
        proposed = {guess.name: answer(guess) for guess in propose(table).guesses}
    except ShoalError:
        proposed = {}
    return {name: (proposed.get(name, "not read"), kept) for name, kept in answers.items()}


def shares(folder: Path) -> dict[str, tuple[int, int]]:
    """Of each table: how many columns would have been kept, and how many there are."""
    found = {table.stem: judged(table) for table in sorted(folder.glob("*.csv"))}
    return {name: (sum(given in kept for given, kept in one.values()), len(one)) for name, one in found.items()}


def main() -> None:
    for folder in sorted(path for path in TABLES.iterdir() if list(path.glob("*.toml"))):
        counted = shares(folder)
        for name, (kept, columns) in counted.items():
            print(f"{folder.name:10} {name:16} {kept:3} of {columns:3} {kept / columns:6.1%}")
            if "--columns" in sys.argv:
                for column, (given, answers) in judged(folder / f"{name}.csv").items():
                    if given not in answers:
                        print(f"    {column}: {given}, not {' or '.join(answers)}")
        kept, columns = (sum(one) for one in zip(*counted.values(), strict=True))
        print(f"{folder.name:10} {'all':16} {kept:3} of {columns:3} {kept / columns:6.1%}")


if __name__ == "__main__":
    main()
