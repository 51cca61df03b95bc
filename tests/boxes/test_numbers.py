"""The numbers of groups."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.boxes.geometry import numbered_as


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 40)), min_size=1, max_size=30))
def test_groups_keep_numbers_and_others_get_the_lowest(pairs: list[tuple[int, int]]) -> None:
    labels, before = np.array(pairs).T
    found = numbered_as(labels, before)
    groups = {int(label): set(np.flatnonzero(labels == label).tolist()) for label in labels}
    numbers = {label: set(found[list(members)].tolist()) for label, members in groups.items()}
    assert all(len(one) == 1 for one in numbers.values())  # each group has one,
    assert len(set.union(*numbers.values())) == len(groups)  # and each its own
    # The first group, by its label, whose first record had a number has it again.
    kept: dict[int, int] = {}
    for label in sorted(groups):
        kept.setdefault(int(before[min(groups[label])]), label)
    for number, label in kept.items():
        assert numbers[label] == {number}
    others = sorted(set.union(*numbers.values()) - set(kept))
    assert others == [number for number in range(99) if number not in kept][: len(others)]
