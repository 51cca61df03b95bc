"""The options that say what is asked of sensitive columns: for all of them (`-l 2`), or for one (`-l diagnosis=2`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from shoal.errors import ParameterError
from shoal.privacy import DIVERSITIES

L = Annotated[
    list[str] | None,
    typer.Option(
        "-l", "--l", metavar="[COLUMN=]L", help="ℓ-diversity of the sensitive columns, or of one. Repeatable."
    ),
]
T = Annotated[
    list[str] | None,
    typer.Option(
        "-t", "--t", metavar="[COLUMN=]T", help="t-closeness of the sensitive columns, or of one. Repeatable."
    ),
]
Diversity = Annotated[
    list[str] | None,
    typer.Option(
        "--diversity",
        metavar="[COLUMN=]NAME",
        help=f"What ℓ means: {', '.join(DIVERSITIES)}. Repeatable: all must hold.",
    ),
]
C = Annotated[float | None, typer.Option("--c", help="The c of recursive (c, ℓ)-diversity.")]
Alpha = Annotated[
    list[str] | None,
    typer.Option(
        "--alpha",
        metavar="[COLUMN[:VALUE]=]A",
        help="The largest share of a sensitive value in a class, for all values or for one. Repeatable.",
    ),
]


def asked(
    l: list[str] | None,  # noqa: E741  # the interface's name
    t: list[str] | None,
    diversity: list[str] | None,
    c: float | None,
    alpha: list[str] | None,
    sensitive: Sequence[str],
) -> dict[str, Any]:
    """What the options say, as the library wants it. `sensitive`: the columns that they may be about."""
    return {
        "l": per_column("-l", l),
        "t": per_column("-t", t),
        "diversity": per_column("--diversity", diversity, str),
        "c": c,
        "alpha": per_value(alpha, sensitive),
    }


def per_column(option: str, given: list[str] | None, kind: type = float) -> Any:
    """`2`, or `{"diagnosis": 2}`; None if nothing was given. Words (diversity) may come several times."""
    if not given:
        return None
    general = [_value(option, text, kind) for text in given if "=" not in text]
    named: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.rpartition("=")
        if equals:
            named.setdefault(name.strip(), []).append(_value(option, value, kind))
    if general and named:
        raise ParameterError(f"{option} was given for all columns and for {next(iter(named))!r}: say one or the other.")
    if kind is str:
        return named or general
    if len(general) > 1 or any(len(values) > 1 for values in named.values()):
        raise ParameterError(f"{option} was given twice: which one counts?")
    return {name: values[0] for name, values in named.items()} or general[0]


def per_value(given: list[str] | None, columns: Sequence[str]) -> Any:
    """The same for alpha, where `diagnosis:HIV=0.2` is about one value. `columns`: the sensitive ones."""
    values: dict[str, dict[str, float]] = {}
    rest = []
    for text in given or []:
        name, equals, share = text.rpartition("=")
        column, value = _column_and_value(name.strip(), columns)
        if not equals or value is None:
            rest.append(text)
            continue
        if value in values.setdefault(column, {}):
            raise ParameterError(f"--alpha was given twice for a value of {column!r}: which one counts?")
        values[column][value] = _value("--alpha", share, float)
    general = per_column("--alpha", rest)
    if not values:
        return general
    if general is None:
        return values
    clash = general if not isinstance(general, dict) else next((name for name in general if name in values), None)
    if clash is not None:
        raise ParameterError("--alpha was given for a value and for all values of its column: say one or the other.")
    return {**general, **values}


def _column_and_value(name: str, columns: Sequence[str]) -> tuple[str, str | None]:
    """`diagnosis:HIV` as column and value; a column's name may have a colon of its own."""
    if name in columns:
        return name, None
    for column in sorted(columns, key=len, reverse=True):
        if name.startswith(column + ":"):
            return column, name[len(column) + 1 :].strip()
    column, colon, value = name.partition(":")
    return column.strip(), value.strip() if colon else None


def _value(option: str, text: str, kind: type) -> Any:
    try:
        return kind(text.strip())
    except ValueError:
        raise ParameterError(f"{option} must be a number, or COLUMN=number. Got {text!r} instead.") from None
