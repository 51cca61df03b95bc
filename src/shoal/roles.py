"""What a column may be: to an attacker, and to whoever reads its values."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """What a column is to an attacker, and so what happens to it."""

    IDENTIFIER = "identifier"  # names somebody: never enters, never leaves
    KEY = "key"  # unique per record: the holder's handle, never published
    PERSON = "person"  # whose record it is, where one person has several: never published
    QUASI_IDENTIFIER = "quasi-identifier"  # may be known to an attacker: generalized
    SENSITIVE = "sensitive"  # what an attacker must not learn: published as it is
    INSENSITIVE = "insensitive"  # published as it is


class ColumnType(StrEnum):
    """How the values of a column are read and ordered."""

    NUMERIC = "numeric"
    DATE = "date"
    CATEGORICAL = "categorical"
    PREFIX = "prefix"
