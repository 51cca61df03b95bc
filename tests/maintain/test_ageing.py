"""What a record has lost before, and what that says of the groups."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.maintain.ageing import DOUBT, Ageing
from shoal.maintain.beginning_again import has_aged, other_groups, power_of_growth
from shoal.maintain.live import LivePartition, Settings
from shoal.progress import SILENT
from shoal.records.changes import ChangeBatch
from tests.support.live_partitions import AGE, KEY, rows, schema


def noted(*standings: tuple[int, float]) -> Ageing:
    """After batches that left so many records, and that loss of each."""
    ageing = Ageing()
    for records, each in standings:
        ageing.note(records, records * each)
    return ageing


@pytest.mark.parametrize(
    ("standings", "shown"),
    [
        ([], 1.0),
        ([(100, 2.0)], 1.0),
        ([(100, 2.0), (100, 2.2)], 1.1),
        ([(100, 2.0), (100, 1.0), (100, 2.5), (100, 2.0)], 2.0),
        ([(101, 2.0), (100, 2.2)], 1.1),
        ([(200, 2.0), (100, 2.2)], 1.0),  # a larger table loses less, and is no measure
        ([(50, 2.0), (100, 2.2)], 1.1 * 2**-DOUBT),  # a smaller one loses more, and is
        ([(100, 2.0), (100, 1.8)], 1.0),
        ([(100, 0.0), (100, 1.0)], 1.0),
        ([(100, 2.0), (0, 0.0)], 1.0),
        ([(100, 2.0), (100, 2.2), (0, 0.0)], 1.1),
    ],
)
def test_a_record_that_has_lost_less_before_shows_it(standings: list[tuple[int, float]], shown: float) -> None:
    assert noted(*standings).shown(0.0) == pytest.approx(
        shown, rel=0.08 if len({n for n, _ in standings}) > 1 else 1e-9
    )


def test_a_table_that_has_grown_should_lose_less_for_each_record() -> None:
    ageing = noted((100, 2.0), (104, 2.0))
    assert not ageing.has_grown()
    ageing.note(200, 200 * 1.5)
    assert ageing.has_grown()
    assert ageing.shown(1.0) == pytest.approx(1.5 * 2**-DOUBT, rel=0.01)  # it should be 1, as far as that is known
    assert ageing.shown(0.415) == pytest.approx(1.0, abs=0.01)
    assert noted((200, 1.5), (100, 2.0)).shown(1.0) == 1.0
    assert not noted((200, 1.5), (100, 2.0)).has_grown()


def numbers(rows: int) -> LivePartition:
    """Live groups of as many numbers that are all different."""
    table = pa.table({"id": [str(i) for i in range(rows)], "age": list(range(rows))})
    return LivePartition.start(table, schema(), Settings(k=4, method="mondrian", seed=1))


def test_how_much_less_is_told_by_half_of_the_records() -> None:
    assert power_of_growth(numbers(4_096)) == pytest.approx(1.0, abs=0.15)  # half the records, twice as far apart
    same = LivePartition.start(rows(0, 64, age=lambda i: 7), schema(), Settings(k=4, seed=1))
    assert power_of_growth(same) == 0.0


def test_groups_have_aged_if_records_lose_more_than_they_have() -> None:
    live = numbers(1_024)
    assert not has_aged(live, 1.0)
    live.ageing = noted((1_024, 1.0), (1_024, 1.1))
    assert has_aged(live, 1.05)
    assert not has_aged(live, 1.15)
    live.ageing = noted((512, 1.0), (1_024, 0.8))  # it should be 0.5
    assert has_aged(live, 1.3)
    assert not has_aged(live, 1.7)


@pytest.mark.parametrize("columns", [1, 3])
def test_other_groups_have_what_is_asked(columns: int) -> None:
    """Whether from straight cuts or from the default start."""
    rng = np.random.default_rng(1)
    names = [f"q{j}" for j in range(columns)]
    table = pa.table({"id": [str(i) for i in range(600)], **{name: rng.integers(0, 50, 600) for name in names}})
    live = LivePartition.start(
        table, shoal.Schema(columns={"id": KEY, **dict.fromkeys(names, AGE)}), Settings(k=4, seed=1)
    )
    for loss in (0.0, np.inf):
        labels = other_groups(live, loss, SILENT)
        assert len(labels) == 600
        assert np.bincount(labels).min() >= 4


def test_every_batch_is_noted_once_it_is_accepted() -> None:
    live = LivePartition.start(rows(0, 40), schema(), Settings(k=3, seed=1))
    assert live.ageing.past[-1] == pytest.approx((40, live.loss() / 40))
    live.apply(ChangeBatch.of(schema(), inserts=rows(40, 44)))
    assert len(live.ageing.past) == 2
    assert live.ageing.past[-1] == pytest.approx((44, live.loss() / 44))
    before = list(live.ageing.past)
    with live.changing(ChangeBatch.of(schema(), inserts=rows(44, 48))):
        pass  # not accepted
    assert list(live.ageing.past) == before
    live.optimize()
    assert len(live.ageing.past) == 3


def test_an_epoch_has_no_past() -> None:
    live = LivePartition.start(rows(0, 40), schema(), Settings(k=3, seed=1))
    live.apply(ChangeBatch.of(schema(), deletes=list(live.keys)))
    with live.changing(ChangeBatch.of(schema(), inserts=rows(40, 60))):
        pass  # not accepted
    assert [records for records, _ in live.ageing.past] == [40]
    live.apply(ChangeBatch.of(schema(), inserts=rows(40, 60)))
    assert [records for records, _ in live.ageing.past] == [20]
