"""Going through what is doubtful, question by question, in a terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from shoal.cli.screen import plural, screen
from shoal.errors import ParameterError
from shoal.inference import Guess, Sure
from shoal.inference.levels import CALENDAR
from shoal.roles import ColumnType, Role


def ask_about(guesses: Sequence[Guess]) -> None:
    """Ask for role and type of each; an empty answer keeps what is proposed. The guesses are changed."""
    if not sys.stdin.isatty():
        raise ParameterError("--ask needs a terminal to ask in.")
    if not guesses:
        screen.print("Nothing is doubtful.")
    for done, guess in enumerate(guesses, start=1):
        values = plural(guess.profile.distinct, "different value") if guess.profile else "values of its own kind"
        label = f" ({guess.label})" if guess.label else ""
        screen.print(f"{done} of {len(guesses)}: column {guess.name!r}{label}, {values}.", markup=False)
        screen.print(f"  {guess.role}: {guess.why}", markup=False)
        role = Role(_answer("role", str(guess.role), [str(role) for role in Role]))
        needs_type = role == Role.QUASI_IDENTIFIER and guess.profile is not None
        kind = guess.type or (ColumnType.CATEGORICAL if needs_type else None)
        if needs_type:
            kind = ColumnType(_answer("type", str(kind), [str(kind) for kind in ColumnType]))
        _decide(guess, role, kind)


def _answer(what: str, proposed: str, known: list[str]) -> str:
    """One of the known words, or the beginning of one."""
    while True:
        screen.print(f"  {what} ({', '.join(known)}) [{proposed}]: ", end="", markup=False, soft_wrap=True)
        try:
            given = input().strip().lower()
        except EOFError:
            raise ParameterError("the questions were not answered; nothing was written.") from None
        fitting = [word for word in known if word == given] or [
            word for word in known if given and word.startswith(given)
        ]
        if not given:
            return proposed
        if len(fitting) == 1:
            return fitting[0]
        screen.print(f"  That is none of them: {', '.join(known)}.", markup=False)


def _decide(guess: Guess, role: Role, kind: ColumnType | None) -> None:
    if (role, kind) == (guess.role, guess.type):
        guess.why = f"confirmed; {guess.why}"
    else:
        guess.why = "decided by whoever was asked"
        if kind != guess.type:
            guess.suggested_levels = CALENDAR if kind == ColumnType.DATE else None
        if kind != guess.reads:
            guess.format = guess.decimal = guess.thousands = None
        if role != Role.QUASI_IDENTIFIER:
            guess.suggested_levels = guess.hierarchy = None
            numbers = (ColumnType.NUMERIC, ColumnType.DATE)
            kind = guess.type if role == Role.SENSITIVE and guess.type in numbers else None
    guess.role, guess.type, guess.sure = role, kind, Sure.SURE
