"""What is made of releases that follow others: the vault's choice, and the numbers that go with it.

| republication | one more release |
| ------------- | ---------------- |
| `audit`       | is held against those before, and refused if they say together what none of them says alone |
| `safe`        | shows cohorts, whose contents never change: nothing to refuse, but newcomers wait for company |
| `none`        | is looked at alone: only one release is ever in anybody's hands |
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from shoal.cohorts.vacancies import VACANCIES
from shoal.errors import ParameterError, one_of
from shoal.vault.store.rows import as_json

NONE, AUDIT, SAFE = "none", "audit", "safe"
MODES = (AUDIT, SAFE, NONE)
DEFAULT_MODE = AUDIT
FIRST_COHORT = 2**32  # beyond every number of a group: both have labels in release snapshots


@dataclass(frozen=True)
class Republication:
    """The choice of a vault."""

    mode: str = DEFAULT_MODE
    max_hold: int | str | None = None  # releases, or days as "30d"; None: as long as it takes
    vacancies: str = VACANCIES[0]
    salt: str = ""  # of the hashes by which somebody who comes back is known
    next_place: int = 1
    next_cohort: int = FIRST_COHORT
    next_former: int = 1
    doubtful: bool = False  # places do not say all: somebody has two, or releases are not in them

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ParameterError(one_of("republication", self.mode, MODES))
        if self.vacancies not in VACANCIES:
            raise ParameterError(one_of("vacancies", self.vacancies, VACANCIES))
        _check_hold(self.max_hold)

    @property
    def keeps_places(self) -> bool:
        return self.mode != NONE

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Republication:
        """Of a vault's row. One from before there was a choice is audited from now on."""
        stored = row["republication"]
        return new_republication() if stored is None else cls(**json.loads(stored))

    def stored(self) -> str:
        return as_json(asdict(self))

    def changed(
        self, mode: str | None = None, max_hold: int | str | None = None, vacancies: str | None = None
    ) -> Republication:
        """With another choice, where one is given."""
        _check_waiting(self.mode if mode is None else mode, max_hold)
        return replace(
            self,
            mode=self.mode if mode is None else mode,
            max_hold=self.max_hold if max_hold is None else max_hold,
            vacancies=self.vacancies if vacancies is None else vacancies,
        )

    def hash_of(self, text: str, role: str) -> str:
        """By what a key, or a person, is known again."""
        return hashlib.blake2b(
            text.encode(), key=bytes.fromhex(self.salt), digest_size=16, person=role.encode()
        ).hexdigest()

    @property
    def hold_in_days(self) -> float | None:
        return float(self.max_hold.removesuffix("d")) if isinstance(self.max_hold, str) else None

    @property
    def hold_in_releases(self) -> int | None:
        return self.max_hold if isinstance(self.max_hold, int) else None


def new_republication(
    mode: str = DEFAULT_MODE, max_hold: int | str | None = None, vacancies: str = VACANCIES[0]
) -> Republication:
    _check_waiting(mode, max_hold)
    return Republication(mode, max_hold, vacancies, salt=secrets.token_hex(32))


def _check_waiting(mode: str, max_hold: object) -> None:
    _check_hold(max_hold)
    if mode != SAFE and max_hold is not None:
        raise ParameterError(
            f'max_hold says how long newcomers wait; with republication "{mode}" nobody does.',
            hint='Choose republication="safe" (--republication safe) as well, or leave max_hold out.',
        )


def _check_hold(given: object) -> None:
    whole = isinstance(given, int) and not isinstance(given, bool) and given >= 1
    days = isinstance(given, str) and re.fullmatch(r"[1-9][0-9]{0,4}d", given) is not None
    if given is not None and not whole and not days:
        raise ParameterError(
            'max_hold must be a number of releases, as 10, or of days, as "30d". Got something else instead.'
        )
