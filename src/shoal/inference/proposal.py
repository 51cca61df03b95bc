"""Proposal: a schema to look over, with its reasons."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from shoal.inference.columns import Guess, Sure
from shoal.roles import ColumnType, Role
from shoal.toml_text import key_in_toml, text_in_toml, value_in_toml


@dataclass
class Proposal:
    """A proposed schema. `toml()` is a file to edit, `columns()` what a `Schema` is made of."""

    guesses: list[Guess]
    missing: list[str] = field(default_factory=list)
    header: bool | None = None  # False: the file has none, and the names are made up
    encoding: str | None = None  # found, where it is not UTF-8
    sheet: str | None = None

    @property
    def warnings(self) -> list[str]:
        return [f"{guess.name}: {guess.warning}" for guess in self.guesses if guess.warning]

    @property
    def doubtful(self) -> list[Guess]:
        """What a person should decide."""
        return [guess for guess in self.guesses if guess.sure == Sure.DOUBTFUL]

    def columns(self) -> dict[str, dict[str, object]]:
        return {guess.name: {"role": guess.role, **_fields(guess)} for guess in self.guesses}

    def toml(self) -> str:
        lines = [
            "# A first guess at what each column is. Look it over: nobody but you knows what an attacker may know.",
            "# Roles: identifier, key, person, quasi-identifier, sensitive, insensitive.",
        ]
        if self.header is False:
            lines += ["", "header = false # the columns of a file have these names by their order; rename them at will"]
        if self.encoding:
            lines += ["", f'encoding = "{self.encoding}" # as it was found']
        if self.sheet:
            lines += ["", f"sheet = {text_in_toml(self.sheet)}"]
        if self.missing:
            lines += ["", f"missing = {value_in_toml(self.missing)}"]
        for guess in self.guesses:
            said = f" # {guess.label}" if guess.label else ""
            lines += ["", f"[columns.{key_in_toml(guess.name)}]{said}"]
            lines += [f'role = "{guess.role}" # {guess.sure}: {guess.why}']
            lines += [f"{name} = {value_in_toml(value)}" for name, value in _fields(guess).items()]
            if guess.suggested_levels:
                lines.append(
                    f"# levels = {json.dumps(list(guess.suggested_levels))} # fixed intervals instead of tight ones"
                )
            if guess.type == ColumnType.CATEGORICAL and guess.role == Role.QUASI_IDENTIFIER and not guess.hierarchy:
                lines.append(
                    '# hierarchy = "FILE.csv" # without one, a cell is published as it is or as *; '
                    "`shoal hierarchy` makes one"
                )
            if guess.warning:
                lines.append(f"# WARNING: {guess.warning}")
        return "\n".join(lines) + "\n"


def _fields(guess: Guess) -> dict[str, object]:
    given = {
        "type": str(guess.type) if guess.type else None,
        "hierarchy": guess.hierarchy,
        "format": guess.format if guess.type == ColumnType.DATE else None,
        "decimal": guess.decimal if guess.type == ColumnType.NUMERIC else None,
        "thousands": guess.thousands if guess.type == ColumnType.NUMERIC else None,
        "missing": guess.missing if guess.role in (Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.INSENSITIVE) else None,
    }
    return {name: value for name, value in given.items() if value}
