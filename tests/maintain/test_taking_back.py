"""Changes that come to nothing: no memory, an interruption, no acceptance. The partition is what it was."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.maintain import table as table_module
from shoal.maintain.live import LivePartition, Settings
from shoal.progress import Progress
from shoal.records.changes import ChangeBatch
from tests.support.live_partitions import rows, rules, schema


def test_running_out_of_memory_while_numbers_are_given_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = schema(n={"role": "insensitive"})
    live = LivePartition.start(rows(0, 3000, n=str), plain, Settings(k=3, seed=1))
    live.apply(ChangeBatch.of(plain, deletes=[str(i) for i in range(2500)]))
    before = live.records().passthrough.to_pylist()

    def fails(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(table_module, "grow", fails)
        with pytest.raises(MemoryError):
            live.apply(ChangeBatch.of(plain, deletes=["2600"]))
    assert live.records().passthrough.to_pylist() == before
    live.apply(ChangeBatch.of(plain, deletes=["2600"]))
    assert live.table.used < 1000
    live.partition().check()
    assert live.partition().publishable


class Interrupting(Progress):
    def stage(self, name: str, total: int | None = None) -> None:
        if name == "inserting":
            raise KeyboardInterrupt

    def advance(self, steps: int) -> None:
        pass


def test_what_closeness_is_measured_against_survives_a_batch_that_did_not() -> None:
    paid = schema(s={"role": "sensitive", "type": "numeric"})
    settings = Settings(k=3, seed=1, rules=rules(["s"], t={"s": 0.4}))
    live = LivePartition.start(rows(0, 40, s=lambda i: i % 4), paid, settings)
    before = live.partition().facts.found
    with pytest.raises(KeyboardInterrupt):
        live.apply(ChangeBatch.of(paid, inserts=rows(90, 91, s=lambda _: 99)), Interrupting())
    assert np.array_equal(live.partition().facts.found, before)


def test_what_is_not_accepted_is_taken_back() -> None:
    noted = schema(n={"role": "insensitive"})
    live, twin = (LivePartition.start(rows(0, 60, n=str), noted, Settings(k=3, seed=1)) for _ in range(2))

    def state(live: LivePartition) -> object:
        used = live.table.used
        return (
            live.labels[:used].tolist(),
            live.records().passthrough.to_pylist(),
            sorted(live.keys.items()),
            live.books,
        )

    before = state(live)
    batch = ChangeBatch.of(noted, inserts=rows(60, 2000, age=lambda i: i, n=str), deletes=["1", "2"])
    with live.changing(batch) as change:
        assert (change.applied.inserted, change.applied.deleted, len(live)) == (1940, 2, 1998)
    assert state(live) == before
    with pytest.raises(KeyError), live.changing(batch):
        raise KeyError
    assert state(live) == before
    with live.optimizing("breaking"):
        pass
    assert state(live) == before
    with live.changing(batch) as change:
        change.accept()
    twin.forget_engine()  # as taking back does
    twin.apply(batch)
    assert live.labels.tolist() == twin.labels.tolist()
    live.partition().check()
