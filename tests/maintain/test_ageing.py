"""What a record has lost before, and what that says of the groups."""

from __future__ import annotations

import pytest

from shoal.maintain.ageing import Ageing
from shoal.maintain.live import LivePartition, Settings
from shoal.records.changes import ChangeBatch
from tests.support.live_partitions import rows, schema


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
        ([(50, 2.0), (100, 2.2)], 1.1),  # a smaller one loses more, and is
        ([(100, 2.0), (100, 1.8)], 1.0),
        ([(100, 0.0), (100, 1.0)], 1.0),
        ([(100, 2.0), (0, 0.0)], 1.0),
        ([(100, 2.0), (100, 2.2), (0, 0.0)], 1.1),
    ],
)
def test_a_record_that_has_lost_less_before_shows_it(standings: list[tuple[int, float]], shown: float) -> None:
    assert noted(*standings).shown() == pytest.approx(shown)


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
