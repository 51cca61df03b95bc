"""Closeness is meant to the table as it is: groups follow it while its sensitive values turn over completely."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shoal
from shoal.maintain.live import LivePartition, Settings
from shoal.privacy.requirements import Requirements
from shoal.privacy.tables import shares_in
from shoal.release.making import released
from tests.support.drifting import DISTANCES, drift
from tests.support.live_partitions import rules


def check_as_from_scratch(live: LivePartition) -> None:
    """What the maintainer holds groups to is what anybody finds who looks at the records alone."""
    fresh = live.privacy_of(live.records())
    assert [column.texts for column in live.privacy._columns] == [column.texts for column in fresh.columns]
    for j in range(len(fresh.columns)):
        assert np.allclose(shares_in(live.privacy.tables, j), shares_in(fresh.tables, j))
        row, known = fresh.tables.columns[j], live.privacy.tables.columns[j]
        assert [row["first"], row["tree_total"]] == pytest.approx([known["first"], known["tree_total"]])


@pytest.mark.parametrize("maintainer", ["shoal", "i3m"])
@pytest.mark.parametrize("distance", DISTANCES)
def test_a_table_that_turns_over_stays_publishable(distance: str, maintainer: str) -> None:
    schema, first, batches = drift(distance, missing=distance in ("equal", "ordered"))
    asked: dict[str, Any] = {"l": 2, "t": 0.35, "diversity": "distinct"}
    live = LivePartition.start(first, schema, Settings(4, rules(["ill"], **asked), maintainer=maintainer, seed=1))
    for number, batch in enumerate(batches):
        live.apply(batch)
        assert live.standing().publishable, number
        assert live.partition().publishable, number
        check_as_from_scratch(live)
        if number % 10 == 9:
            made = released(live.records(), live.partition(), Requirements(4, **asked), method="", measure="il")
            assert shoal.verify(made.table, schema, 4, **asked).ok
    assert live.standing().groups > 5  # it did not help itself by one large group


def test_people_are_counted_while_the_table_turns_over() -> None:
    schema, first, batches = drift("equal", people=True)
    live = LivePartition.start(first, schema, Settings(4, rules(["ill"], l=2, t=0.4), seed=1))
    for batch in batches:
        live.apply(batch)
        assert live.standing().publishable
        assert live.partition().publishable
        check_as_from_scratch(live)


def test_only_groups_that_do_not_fit_any_more_are_mended() -> None:
    """One record more moves everybody's reference a little; nearly all groups are as they were."""
    schema, first, batches = drift("equal", records=600)
    live = LivePartition.start(first, schema, Settings(4, rules(["ill"], t=0.5), maintainer="i3m", seed=1))
    before = live.labels.copy()
    live.apply(batches[0])
    kept = (live.labels[:600] == before[:600])[20:]  # without those who have left
    assert kept.mean() > 0.8
