"""Sets of people whose sensitive counts follow from those of two releases, by subtracting.

Of two unions of classes, one of each release, the counts are published. What only the first shows minus what only the
second shows is their difference: those who are in both cancel out. If nobody is only in the second, the counts of
those who are only in the first are known. If some are in either, their counts are known as soon as the difference
shows as many values too many as there are people only in the first: nothing can have cancelled out then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

from tests.attacks.knowledge import Class, Contradiction, Filler, Knowledge, Person, Seen, Unknown, Value, complete

COMPONENT, CLASS, COVER = "component", "class", "cover"  # what was compared


@dataclass(frozen=True)
class Known:
    """Unknowns that are in no release a class of their own, and how often each value is among them."""

    unknowns: frozenset[Unknown]
    counts: tuple[tuple[Value, int], ...]
    releases: tuple[int, int]  # that tell: these have more than those
    compared: str

    @property
    def values(self) -> set[Value]:
        return {value for value, _ in self.counts}


def known_sets(knowledge: Knowledge) -> list[Known]:
    """Every set of unknowns whose counts follow from two releases: of one, all that is known by the first comparison.

    Compared are, for every two releases: classes with classes that share people; a class with all classes of the other
    release that share people with it; and whole components of classes that are connected in this way.
    """
    releases = complete(knowledge)
    classes = {frozenset(named) for seen in releases for named in seen.holders.values()}
    found: dict[frozenset[Unknown], Known] = {}
    for i, j in combinations(range(len(releases)), 2):
        for compared, left, right in _to_compare(releases[i], releases[j]):
            for pair, counted in zip(((i, j), (j, i)), _difference(*left, *right), strict=True):
                if counted is None or not counted[0] or counted[0] in classes:
                    continue
                known = Known(counted[0], tuple(sorted(counted[1].items(), key=repr)), pair, compared)
                if dict(found.setdefault(known.unknowns, known).counts) != dict(known.counts):
                    raise Contradiction("two comparisons count the same people otherwise")
    return list(found.values())


def determined(known: Iterable[Known]) -> dict[Unknown, Value]:
    """The value of each unknown of which it follows: all of its set have the same."""
    return {
        one: value
        for some in known
        for value in (some.values if len(some.values) == 1 else ())
        for one in some.unknowns
        if not isinstance(one, Filler)
    }


def too_small(knowledge: Knowledge, known: Iterable[Known], k: int, ell: int = 1) -> list[Known]:
    """The sets of fewer than k people, or with fewer than `ell` values: no release would have published them.

    Rows of nobody (`Filler`) hide nobody.
    """
    return [some for some in known if len(people(knowledge, some)) < k or len(some.values) < ell]


def people(knowledge: Knowledge, known: Known) -> set[Person]:
    return {knowledge.person(one) for one in known.unknowns if not isinstance(one, Filler)}


Side = tuple[list[Unknown], Counter[Value]]


def _difference(
    left: list[Unknown], counts: Counter[Value], right: list[Unknown], others: Counter[Value]
) -> tuple[tuple[frozenset[Unknown], Counter[Value]] | None, tuple[frozenset[Unknown], Counter[Value]] | None]:
    """Those who are only left, and only right, with their counts: where these follow. (What is equal is one unknown,
    and may be shown twice: such sets are left to the solver.)
    """
    only_left, only_right = Counter(left) - Counter(right), Counter(right) - Counter(left)
    more, fewer = counts - others, others - counts
    if more.total() > only_left.total():
        raise Contradiction("there are more new values than new people")
    twice = any(times > 1 for one in (only_left, only_right) for times in one.values())
    if more.total() < only_left.total() or twice:
        return None, None
    return (frozenset(only_left), more), (frozenset(only_right), fewer)


def _to_compare(one: Seen, other: Seen) -> Iterator[tuple[str, Side, Side]]:
    """What of two releases is worth comparing."""
    left, right = _places(one), _places(other)
    for compared, classes, others in _pairs(_met(one, right), _met(other, left)):
        yield compared, _together(one, classes), _together(other, others)


def _pairs(
    right_of: dict[Class, set[Class]], left_of: dict[Class, set[Class]]
) -> Iterator[tuple[str, set[Class], set[Class]]]:
    for klass, met in right_of.items():
        for other in met:
            yield CLASS, {klass}, {other}
        yield COVER, {klass}, met
    for klass, met in left_of.items():
        yield COVER, met, {klass}
    done: set[Class] = set()
    for klass in right_of:
        if klass not in done:
            component, others = _component(klass, right_of, left_of)
            done |= component
            yield COMPONENT, component, others


def _component(
    start: Class, right_of: dict[Class, set[Class]], left_of: dict[Class, set[Class]]
) -> tuple[set[Class], set[Class]]:
    """The classes of both releases that hang together with one."""
    here, there, todo = {start}, set[Class](), [start]
    while todo:
        for other in right_of[todo.pop()] - there:
            there.add(other)
            new = left_of[other] - here
            here |= new
            todo += new
    return here, there


def _places(seen: Seen) -> dict[Unknown, list[Class]]:
    """The classes of each unknown."""
    found: dict[Unknown, list[Class]] = {}
    for klass, named in seen.holders.items():
        for one in named:
            found.setdefault(one, []).append(klass)
    return found


def _met(seen: Seen, places: dict[Unknown, list[Class]]) -> dict[Class, set[Class]]:
    """Of each class, the classes of the other release that share unknowns with it."""
    return {klass: {other for one in named for other in places.get(one, ())} for klass, named in seen.holders.items()}


def _together(seen: Seen, classes: set[Class]) -> Side:
    named = [one for klass in classes for one in seen.holders[klass]]
    return named, sum((seen.counts[klass] for klass in classes), Counter[Value]())
