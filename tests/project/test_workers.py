"""Workers: parts of one piece of work side by side, whose outcome is that of one after the other."""

from __future__ import annotations

import multiprocessing
import threading
import time
from pathlib import Path

import pytest

import shoal
from shoal import datasets, workers
from shoal.errors import ParameterError
from shoal.workers import PARTS, count, mapped, side_by_side, using


def spans(items: int, least: int = 1) -> list[tuple[int, int]]:
    seen: list[tuple[int, int]] = []
    side_by_side(lambda first, last: seen.append((first, last)), items, least=least)
    return sorted(seen)


@pytest.mark.parametrize("workers", [1, 2, 7])
@pytest.mark.parametrize("items", [0, 1, 5, 1_000])
def test_the_parts_make_up_the_whole(workers: int, items: int) -> None:
    with using(workers):
        seen = spans(items)
        few = spans(items, least=400)
    assert [i for first, last in seen for i in range(first, last)] == list(range(items))
    assert [i for first, last in few for i in range(first, last)] == list(range(items))
    assert len(few) <= max(1, items // 400)
    assert len(seen) <= PARTS * workers


def test_one_worker_has_one_part() -> None:
    with using(1):
        assert spans(1_000) == [(0, 1_000)]


def test_all_cores_unless_something_is_said() -> None:
    outside = count()
    assert outside == workers.cores() >= 1
    with using(3):
        assert count() == 3
        with using(None):
            assert count() == 3
        with using(1):
            assert count() == 1
    assert count() == outside


def test_a_container_that_grants_less_is_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quota = tmp_path / "cpu.max"
    monkeypatch.setattr(workers, "QUOTA", quota)
    for text, most in (("100000 100000", 1), ("10000 100000", 1), ("max 100000", None), ("nonsense", None)):
        quota.write_text(text)
        workers.cores.cache_clear()
        assert workers.cores() == (most or workers.cores())
    workers.cores.cache_clear()


@pytest.mark.parametrize("given", [0, -1, 1.5, True, "2"])
def test_what_is_no_number_of_workers_is_refused(given: object) -> None:
    with pytest.raises(ParameterError, match="workers must be a whole number"):
        shoal.anonymize([], {}, k=2, workers=given)  # type: ignore[arg-type]


def test_work_is_done_side_by_side() -> None:
    """Each part waits for the other: one after the other it would never end."""
    both = threading.Barrier(2, timeout=30)
    with using(2):
        assert mapped(lambda i: (both.wait(), i)[1], range(2)) == [0, 1]


def test_what_a_worker_does_is_not_divided_further() -> None:
    with using(2):
        both = threading.Barrier(2, timeout=30)
        seen = mapped(lambda i: (both.wait(), count())[1], range(2))
        assert count() == 2
    assert seen == [1, 1]  # the one who asked is a worker, too


def test_the_first_of_several_errors_is_heard() -> None:
    def fail(i: int) -> int:
        time.sleep(0.02 if i == 1 else 0)
        if i:
            raise ValueError(str(i))
        return i

    for many in (1, 4):
        with using(many), pytest.raises(ValueError, match="1"):
            mapped(fail, range(6))


def test_after_a_failure_no_further_part_is_begun() -> None:
    begun = []

    def fail(first: int, last: int) -> None:
        begun.append(first)
        raise KeyboardInterrupt

    with using(2), pytest.raises(KeyboardInterrupt):
        side_by_side(fail, 1_000)
    assert len(begun) <= 2
    with using(2):
        assert mapped(str, range(3)) == ["0", "1", "2"]  # the workers are still there


def in_a_child() -> None:
    with using(2):
        assert mapped(str, range(8)) == [str(i) for i in range(8)]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_workers_of_its_own() -> None:
    in_a_child()
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("no forking here")
    child = multiprocessing.get_context("fork").Process(target=in_a_child)
    child.start()
    child.join(30)
    ended = child.exitcode
    child.kill()
    assert ended == 0


@pytest.mark.parametrize("method", ["shoal", "mondrian"])
def test_a_release_is_the_same_for_any_number_of_workers(method: str) -> None:
    table, schema = datasets.census(3_000, 2), datasets.census_schema()
    releases = [shoal.anonymize(table, schema, k=6, method=method, seed=4, workers=n) for n in (1, 2, 6)]
    for other in releases[1:]:
        assert other.labels.tolist() == releases[0].labels.tolist()
        assert other.measures() == pytest.approx(releases[0].measures())
    published = releases[0].table
    verdicts = [shoal.verify(published, schema, 6, workers=n).facts() for n in (1, 3)]
    assert verdicts[0] == verdicts[1]
    reports = [shoal.measure(published, schema, workers=n).facts() for n in (1, 3)]
    assert reports[0] == reports[1]
