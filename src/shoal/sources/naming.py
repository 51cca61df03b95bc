"""Whether the names of a table's columns are names.

A table that was read without its header has a record in their place: somebody's name and diagnosis. So a name that
the schema does not have is shown only if the others leave no doubt; it is sealed in the error otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from shoal.errors import DataError


def surely_names(columns: Collection[str], known: Collection[str]) -> bool:
    """Most of the known names are among them, and more than one: a single one may be a value that is called so."""
    found = len(set(columns) & set(known))
    return found > 1 and 2 * found > len(known)


def refuse_doubtful(columns: Sequence[str], known: Collection[str], file: str | None) -> None:
    """Raise if there are columns that are not known, and that may be no names."""
    extra = [name for name in columns if name not in known]
    if extra and not surely_names(columns, known):
        raise DataError(
            f"{len(extra)} of its {len(columns)} columns are not in the schema, and what should be their names may be "
            "a record: they are not named here.",
            hint=f"Name the columns: {some(known)}. If a CSV file has no header, say header = false at the top of the "
            "schema.",
            file=file,
            values=extra,
        )


def some(names: Collection[str]) -> str:
    """A list of names, or its beginning."""
    listed = list(map(repr, names))
    return ", ".join(listed) if len(listed) <= 20 else f"{', '.join(listed[:20])}, …"
