"""Groups do not age: small histories, the estimate of the drift, and time that is left for it.

The bounds are loose: small tables have luck, and begin from the best of several starts. (`make bench NAMES=drift`
measures at full size.)
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from benchmarks.histories import History, Step, adult, batches_of, growing, independent, mixed, shrinking, survey
from shoal.boxes.geometry import without_gaps
from shoal.cluster import cluster
from shoal.errors import ParameterError
from shoal.maintain.live import LivePartition, Settings
from shoal.maintain.shoal import AGED, Shoal
from shoal.measures import total_loss
from shoal.optimize import optimized
from shoal.partition import Partition
from shoal.progress import SILENT
from tests.support.live_partitions import rows, schema

SMALL = {
    "growing": History(survey, 300, growing(300, 10, 6)),
    "shrinking": History(survey, 3_000, shrinking(3_000, 10, 6)),
    "updates": History(adult, 1_500, [Step(replaced=100)] * 12),
    "pairs": History(adult, 1_000, mixed(1_000, 12, 0.1), k=2),
}
AT_MOST = 1.06


@cache
def followed(name: str, maintainer: str = "shoal") -> LivePartition:
    history = SMALL[name]
    table, schema = history.make(history.rows, 1)
    settings = Settings(k=history.k, maintainer=maintainer, method="shoal", seed=1)
    live = LivePartition.start(table.slice(0, history.first), schema, settings)
    for batch in batches_of(history, table, schema, 1):
        live.apply(batch)
    return live


def drift(live: LivePartition) -> float:
    records = live.records()
    again = [total_loss(cluster(records, live.k, seed=seed), live.books) for seed in (1, 2)]
    return live.loss() / float(np.mean(again))


@pytest.mark.parametrize("name", SMALL)
def test_the_loss_stays_near_that_of_starting_again(name: str) -> None:
    live = followed(name)
    assert live.partition().publishable
    assert drift(live) <= AT_MOST


@pytest.mark.parametrize("name", SMALL)
def test_the_drift_is_estimated_from_what_pools_gain(name: str) -> None:
    live, other = followed(name), followed(name, "i3m")
    before = live.labels.copy()
    estimate, larger = live.drift(), other.drift()
    assert np.array_equal(live.labels, before)
    assert estimate is not None
    assert larger is not None
    assert estimate == live.drift()
    assert 1.0 <= estimate < larger
    assert estimate == pytest.approx(max(1.0, drift(live)), abs=0.05)


def test_the_drift_of_what_cannot_be_published_is_not_told() -> None:
    live = LivePartition.start(rows(0, 2), schema(), Settings(k=3, seed=1))
    assert live.drift() is None


def test_time_that_is_left_is_used() -> None:
    live = followed("growing", "i3m")
    before, groups = live.loss(), live.labels.copy()
    with live.optimizing(max_seconds=0):
        assert np.array_equal(live.labels, groups)
    with live.optimizing(max_seconds=60) as change:  # it ends when there is nothing to gain
        assert live.loss() < before
        assert len(change.applied.moved)
        live.partition().check()
        assert live.partition().publishable
    assert np.array_equal(live.labels, groups)
    with live.optimizing("breaking", max_seconds=0):
        assert np.array_equal(live.labels, groups)
    for wrong in (-1, float("nan"), True, "soon"):
        with pytest.raises(ParameterError, match="max_seconds must be a number of at least 0"):
            live.optimize(max_seconds=wrong)  # type: ignore[arg-type]


TURNED_OVER, GROWN = mixed(6_000, 10, 0.1), [Step(come=700, go=100)] * 10


def unrelated(maintainer: str, steps: list[Step]) -> LivePartition:
    """Columns that have nothing to do with each other: groups that have aged stay so, however long they are refined."""
    history = History(independent, 6_000, steps)
    table, schema = history.make(history.rows, 1)
    settings = Settings(k=5, maintainer=maintainer, method="shoal", seed=1)
    live = LivePartition.start(table.slice(0, history.first), schema, settings)
    for batch in batches_of(history, table, schema, 1):
        live.apply(batch)
        live.partition().check()
        assert live.partition().publishable
        assert live.labels.max() < len(live) / 4  # numbers do not grow
        assert live.engine.loss() == pytest.approx(live.loss())
    return live


@pytest.mark.parametrize("steps", [TURNED_OVER, GROWN], ids=["turned over", "grown"])
def test_where_refining_does_not_come_large_batches_make_groups_anew(
    steps: list[Step], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun_again = drift(unrelated("shoal", steps))
    monkeypatch.setattr("shoal.maintain.shoal.AGED", np.inf)
    assert begun_again <= 1.04
    assert begun_again < drift(unrelated("shoal", steps)) - 0.01


def test_where_groups_made_anew_lose_more_they_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not that anything is left of them: the engine goes on with what it had."""
    monkeypatch.setattr("shoal.maintain.shoal.HARDLY_MORE", 0.0)
    live = unrelated("shoal", TURNED_OVER)
    engine = live.engine
    assert isinstance(engine, Shoal)
    assert engine.aged > AGED
    before, loss = live.labels.copy(), engine.loss()
    assert not engine._begun_again(SILENT)
    assert np.array_equal(live.labels, before)
    assert engine.loss() == loss


def test_where_refining_does_not_come_optimizing_makes_groups_anew() -> None:
    live = unrelated("i3m", TURNED_OVER)
    records, alive = live.records(), live.alive()
    labels = without_gaps(live.labels[alive])
    refined = optimized("refine", records.codes, labels, live.costs, live.privacy_of(records))
    loss = total_loss(Partition.from_labels(records.codes, refined, live.privacy_of(records)), live.books)
    live.optimize()
    assert live.partition().publishable
    assert live.loss() < 0.99 * loss
    assert drift(live) < 1.01
    kept = live.labels.copy()
    live.optimize()  # they are as good as new: for next to nothing groups are not made anew
    assert (live.labels == kept).mean() > 0.5
