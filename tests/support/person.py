"""A person who types commands over a vault, and the tables that she has."""

from __future__ import annotations

import json
from typing import Any

from typer.testing import CliRunner

from shoal.cli.app import app

# Every value of a record has one of these in it, and nothing else does.
MARKS = ("Qx", "918273")
PASSWORD = "Hunter2"
SCHEMA = """
[columns.id]
role = "key"
[columns.name]
role = "identifier"
[columns.income]
role = "quasi-identifier"
type = "numeric"
domain = [0, 100_000_000]  # a manifest says the domain; what is declared here is nobody's value
[columns.town]
role = "quasi-identifier"
type = "categorical"
[columns.ill]
role = "sensitive"
"""
HEADER = "id,name,income,town,ill"


def row(number: int, *, town: int | None = None) -> str:
    place = number % 7 if town is None else town
    return f"QxKey{number:03},QxName{number},{91827300 + number % 40},QxTown{place},QxIll{number % 3}"


def table(numbers: range) -> str:
    return "\n".join([HEADER, *map(row, numbers)]) + "\n"


class Person:
    """Types commands. What she reads of them is searched for values each time."""

    def __init__(self) -> None:
        self.runner = CliRunner()
        self.said = self.heard = ""  # on standard error, on standard output

    def types(self, *words: object, code: int = 0, **environment: str) -> str:
        """The output of a command that ends with this code, in one line."""
        done = self.runner.invoke(app, list(map(str, words)), env=environment)
        self.heard, self.said = " ".join(done.stdout.split()), " ".join(done.stderr.split())
        assert done.exit_code == code, f"{words}: {done.exit_code}\n{done.stdout}\n{done.stderr}"
        for mark in (*MARKS, PASSWORD):
            assert mark not in done.stdout, words
            assert mark not in done.stderr, words
        assert "bug" not in done.stderr
        return self.heard

    def asks(self, *words: object, **environment: str) -> dict[str, Any]:
        """The same facts as a program has them."""
        found: dict[str, Any] = json.loads(self.types(*words, "--json", code=0, **environment))
        return found

    def is_refused(self, *words: object, code: int = 2, **environment: str) -> str:
        """What is said on standard error, to a person and to a program."""
        assert self.types(*words, code=code, **environment) == ""
        message = self.said
        self.types(*words, "--json", code=code, **environment)
        told = json.loads(self.said)
        assert " ".join(told["message"].split()) in message
        return message
