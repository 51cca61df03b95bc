"""What is asked of every group: k, and rules for the sensitive columns. Parameters only, no data.

| model       | asks of every group                                                                      |
| ----------- | ---------------------------------------------------------------------------------------- |
| frequency   | no sensitive value has a share above 1/ℓ (Goldberger & Tassa, Section 7)                  |
| distinct    | at least ℓ different values (p-sensitive k-anonymity is the same)                         |
| entropy     | the entropy of the values is at least log ℓ (Machanavajjhala et al. 2007)                 |
| recursive   | r₁ < c · (r_ℓ + … + r_m), with counts r in descending order (the same paper)              |
| t-closeness | the distribution is at most t from the whole table's, by earth mover's distance (Li 2007) |
| alpha       | a value's share is at most α, for all values or some: (α, k)-anonymity (Wong et al. 2006) |
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

from shoal.errors import ParameterError, one_of, whole_number
from shoal.schema import Role, Schema

DIVERSITIES = ("frequency", "entropy", "distinct", "recursive")
CLOSENESS, ALPHA = "t-closeness", "alpha"
MODELS = (*DIVERSITIES, CLOSENESS, ALPHA)

LARGEST = 1e15

# A number for all sensitive columns, or one for each that is named.
PerColumn = float | Mapping[str, float]
# What ℓ means, and the largest share of a value: for all sensitive columns, or by column (a share also by value).
Diversity = str | Sequence[str] | Mapping[str, str | Sequence[str]]
Alpha = float | Mapping[str, float | Mapping[str, float]]


@dataclass(frozen=True)
class Rule:
    """One demand on one sensitive column."""

    column: str
    model: str  # one of MODELS
    bound: float  # ℓ, t or α
    c: float = 0.0  # of recursive
    value: str | None = None  # of alpha: the one value that it is about; None: every value

    @property
    def symbol(self) -> str:
        """What the bound is called, as a parameter."""
        return {CLOSENESS: "t", ALPHA: "alpha"}.get(self.model, "l")

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Rule:
        """A rule from what `facts` made of it."""
        bound = next(facts[symbol] for symbol in ("l", "t", "alpha") if symbol in facts)
        return cls(facts["column"], facts["model"], bound, facts.get("c", 0.0), facts.get("value"))

    def __str__(self) -> str:
        match self.model:
            case "t-closeness":
                return f"t-closeness {self.bound:g} of {self.column!r}"
            case "alpha":
                values = "every value" if self.value is None else "a value"
                return f"α = {self.bound:g} for {values} of {self.column!r}"
            case "recursive":
                return f"recursive ({self.c:g}, {self.bound:g})-diversity of {self.column!r}"
        return f"{self.model} {self.bound:g}-diversity of {self.column!r}"

    def facts(self) -> dict[str, object]:
        """For a program, and for the manifest."""
        facts: dict[str, object] = {"column": self.column, "model": self.model, self.symbol: self.bound}
        if self.model == "recursive":
            facts["c"] = self.c
        if self.value is not None:
            facts["value"] = self.value
        return facts


@dataclass(frozen=True)
class Requirements:
    """What is asked, as it was given: k, and of the sensitive columns l, t, diversity, c and alpha."""

    k: int
    l: PerColumn | None = None  # noqa: E741  # the interface's name
    t: PerColumn | None = None
    diversity: Diversity | None = None
    c: float | None = None
    alpha: Alpha | None = None

    def options(self) -> dict[str, Any]:
        """All but k, by the names that they have as parameters."""
        return {"l": self.l, "t": self.t, "diversity": self.diversity, "c": self.c, "alpha": self.alpha}

    @property
    def more_than_k(self) -> bool:
        """Whether anything is asked of the sensitive columns."""
        return any(given is not None for given in self.options().values())

    def rules(self, schema: Schema) -> tuple[Rule, ...]:
        """What is asked of the sensitive columns of a schema."""
        sensitive = schema.names(Role.SENSITIVE)
        others = [name for name in schema.columns if name not in sensitive]
        return make_rules(sensitive, **self.options(), others=others)

    def about(self, sensitive: Collection[str]) -> Requirements:
        """What is left of it where these columns alone are sensitive."""
        if not sensitive:
            return Requirements(self.k)
        left: dict[str, Any] = {
            option: {name: value for name, value in given.items() if name in sensitive} or None
            for option, given in self.options().items()
            if isinstance(given, Mapping)
        }
        return replace(self, **left)


def make_rules(
    sensitive: Sequence[str],
    *,
    l: PerColumn | None = None,  # noqa: E741  # the interface's name
    t: PerColumn | None = None,
    diversity: Diversity | None = None,
    c: float | None = None,
    alpha: Alpha | None = None,
    others: Sequence[str] = (),
) -> tuple[Rule, ...]:
    """The rules that these parameters mean. `others`: columns that exist and are not sensitive, for messages.

    Guarantee: every parameter that was given is in some rule, or a ParameterError says why it cannot be.
    """
    rules: list[Rule] = []
    if l is not None:
        ells = {name: _number("l", given, least=1) for name, given in _by_column("l", l, sensitive, others).items()}
        chosen = _diversities(diversity, list(ells), sensitive, others)
        for name, bound in ells.items():
            for model in chosen[name]:
                if model in ("distinct", "recursive"):
                    _check_whole(bound, model)
                rules.append(Rule(name, model, bound, _c(c) if model == "recursive" else 0.0))
    elif diversity is not None:
        raise ParameterError("diversity says how l is meant, and l was not given.", hint="Give l as well: l=2.")
    if c is not None and not any(rule.model == "recursive" for rule in rules):
        raise ParameterError('c belongs to diversity="recursive", which was not asked for.')
    if t is not None:
        for name, given in _by_column("t", t, sensitive, others).items():
            rules.append(Rule(name, CLOSENESS, _number("t", given, least=0, most=1)))
    if alpha is not None:
        for name, given in _by_column("alpha", alpha, sensitive, others).items():
            if isinstance(given, Mapping) and not given:
                raise ParameterError(f"alpha names no value of {name!r}.", hint="Name some, or give a number for all.")
            for value, share in given.items() if isinstance(given, Mapping) else [(None, given)]:
                most = _number("alpha", share, least=0, most=1)
                rules.append(Rule(name, ALPHA, most, value=None if value is None else str(value)))
    return tuple(dict.fromkeys(rules))


def check_k(k: object) -> int:
    return whole_number("k", k, least=2)


def _by_column(
    what: str, given: object, sensitive: Sequence[str], others: Sequence[str]
) -> dict[str, float | Mapping[str, float]]:
    """A number for each column that it is asked of."""
    if not sensitive:
        raise ParameterError(
            f"{what} protects sensitive columns, and there is none.",
            hint='Give the column that an attacker must not learn the role "sensitive", or leave it out.',
        )
    if not isinstance(given, Mapping):
        return dict.fromkeys(sensitive, given)  # type: ignore[arg-type]  # checked by `_number`
    if not given:
        raise ParameterError(f"{what} names no column.", hint=f"Name some of {', '.join(sensitive)}, or give a number.")
    for name in given:
        _check_column(what, name, sensitive, others)
    return dict(given)


def _check_column(what: str, name: object, sensitive: Sequence[str], others: Sequence[str]) -> None:
    if name in sensitive:
        return
    if name in others:
        raise ParameterError(
            f"{what} is for sensitive columns, and {name!r} has another role.",
            hint="A column that an attacker may know cannot be kept from him: choose one role for it.",
        )
    raise ParameterError(one_of(f"a column of {what}", name, sensitive))


def _diversities(
    given: object, asked: Sequence[str], sensitive: Sequence[str], others: Sequence[str]
) -> dict[str, list[str]]:
    """The definitions of diversity that each column is held to."""
    if not isinstance(given, Mapping):
        return dict.fromkeys(asked, _models(given))
    for name in given:
        _check_column("diversity", name, sensitive, others)
        if name not in asked:
            raise ParameterError(f"diversity names {name!r}, which l does not.", hint="Give l for it as well.")
    return {name: _models(given.get(name)) for name in asked}


def _models(given: object) -> list[str]:
    if given is None:
        return [DIVERSITIES[0]]
    models: list[Any] = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    if not models:
        raise ParameterError("diversity names no definition.", hint=f"Name some of {', '.join(DIVERSITIES)}.")
    for model in models:
        if model not in DIVERSITIES:
            raise ParameterError(one_of("diversity", model, DIVERSITIES))
    return list(dict.fromkeys(models))


def _number(what: str, given: object, least: float, most: float = math.inf) -> float:
    wanted = f"a number of at least {least:g}" if most == math.inf else f"a number from {least:g} to {most:g}"
    number: Any = (
        given  # numbers of any kind compare with ours; an infinity or a huge one must not become a float first
    )
    if isinstance(given, bool) or not isinstance(given, Real) or not least <= number <= most:
        raise ParameterError(f"{what} must be {wanted}. Got {given!r} instead.")
    if number > LARGEST:
        raise ParameterError(f"{what} must be at most {LARGEST:g}. Got more instead.")
    return float(given)


def _check_whole(given: float, model: str) -> None:
    if given != int(given):
        raise ParameterError(f"l counts values in {model} diversity: it must be whole. Got {given!r} instead.")


def _c(given: object) -> float:
    if given is None:
        raise ParameterError(
            'diversity="recursive" is (c, ℓ)-diversity and needs c.',
            hint="c=3 lets the most common value be up to three times as frequent as all but the ℓ − 1 most common.",
        )
    c = _number("c", given, least=0)
    if c == 0:
        raise ParameterError("c must be above 0: no group is (0, ℓ)-diverse.")
    return c
