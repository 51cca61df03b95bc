"""Small pasts for hypothesis: people who come, go, move, change, and what was published of them."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.attacks.knowledge import Knowledge, Pair, Seen
from tests.attacks.tiny import true_release

VALUES = ("flu", "HIV", "gout")


class Past(NamedTuple):
    knowledge: Knowledge
    truth: dict[Any, Any]


@st.composite
def pasts(draw: Any) -> Past:
    """Up to five people and four releases. A person may change once, which the attacker knows or does not; two may be
    known to have the same; and rows may be nobody's.
    """
    people = list("abcde"[: draw(st.integers(2, 5))])
    count = draw(st.integers(1, 4))
    value = st.sampled_from(VALUES[: draw(st.integers(2, 3))])
    truth: dict[Any, Any] = {}
    people_of: dict[Any, Any] = {}
    different: list[Pair] = []
    spell: dict[str, list[Any]] = {}
    changers = draw(st.sets(st.sampled_from(people), max_size=1))
    for person in people:
        first: Any = (person, 1)
        truth[first], people_of[first] = draw(value), person
        spell[person] = [first] * count
        if person in changers:
            when, second = draw(st.integers(1, count)), (person, 2)
            truth[second], people_of[second] = draw(value), person
            spell[person][when:] = [second] * (count - when)
            if truth[second] != truth[first] and draw(st.booleans()):
                different.append((first, second))
    releases = []
    for number in range(count):
        classes: dict[str, list[Any]] = {}
        for person in people:
            klass = draw(st.sampled_from(["A", "B", None]))
            if klass is not None:
                classes.setdefault(klass, []).append(spell[person][number])
        releases.append(true_release(classes, truth))
    unnamed = draw(st.integers(0, 6))
    if unnamed == 0:  # of one row, the attacker cannot say whose it is
        releases = [*releases[:-1], _without_one(releases[-1])]
    equal = [(a, b) for a in truth for b in truth if a < b and truth[a] == truth[b]]
    known = draw(st.lists(st.sampled_from(equal), max_size=1)) if equal else []
    allowed = {}
    if draw(st.integers(0, 4)) == 0:
        told = draw(st.sampled_from(sorted(truth)))
        allowed[told] = frozenset({truth[told]})
    return Past(Knowledge(releases, people_of, known, different, allowed), truth)


def _without_one(release: Seen) -> Seen:
    classes = list(release.holders)
    if not classes:
        return release
    return Seen(release.counts, {**release.holders, classes[0]: list(release.holders[classes[0]])[1:]})
