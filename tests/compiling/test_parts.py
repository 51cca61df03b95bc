"""Kernels, and what becomes a part of them."""

from __future__ import annotations

import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

from shoal.compiling import KERNELS, allocating, entered, inner, kernel
from shoal.compiling.structs import Struct, struct
from shoal.progress import COMPILING, Progress, announced, seconds_spent_compiling

pytestmark = pytest.mark.versions


@allocating
def doubled(numbers: np.ndarray) -> int:
    total = 0
    for number in np.sort(numbers):
        total += 2 * number
    return total


@kernel
def doubled_and_one(numbers: np.ndarray) -> int:
    return doubled(numbers) + 1


@struct
class Pair(Struct):
    """Something to borrow."""

    left: np.ndarray
    right: np.ndarray


@inner
def borrowed(pair: Pair, among: tuple[np.ndarray, int]) -> int:
    total, rows = among[1], pair.left
    for i in range(len(rows)):
        row = rows[i]  # a view is borrowed, too
        total += row[0] + pair.right[i] + among[0][i]
    return total


@kernel
def borrowing(pair: Pair, numbers: np.ndarray) -> int:
    return borrowed(pair, (numbers, len(numbers)))


class Stages(Progress):
    def __init__(self) -> None:
        self.names: list[str] = []

    def stage(self, name: str, total: int | None = None) -> None:
        self.names.append(name)


def test_a_part_runs_in_kernels_alone() -> None:
    assert doubled_and_one(np.arange(4)) == 13
    with pytest.raises(TypeError, match="doubled is a part of kernels"):
        doubled(np.arange(4))  # compiled by now, but for kernels
    assert entered(doubled)(np.arange(4)) == 12


def test_a_kernel_cannot_call_a_kernel() -> None:
    @kernel
    def calls_another(numbers: np.ndarray) -> int:
        return doubled_and_one(numbers)

    with pytest.raises(TypeError, match="doubled_and_one is a kernel, and a kernel calls it"):
        calls_another(np.arange(4.0))
    forget(calls_another)


def forget(function: object) -> None:
    del KERNELS[f"{__name__}.{function.py_func.__qualname__}"]  # type: ignore[attr-defined]


def test_what_is_borrowed_is_neither_lost_nor_kept() -> None:
    def once() -> int:
        return borrowing(Pair(left=np.ones((3, 1), np.int64), right=np.arange(3)), np.arange(3))

    assert once() == 12
    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats()
    for _ in range(10):
        assert once() == 12
    after = rtsys.get_allocation_stats()
    _nrt_python.memsys_disable_stats()
    assert after.alloc > before.alloc
    assert after.alloc - before.alloc == after.free - before.free


def test_who_borrows_makes_no_array() -> None:
    @inner
    def makes(numbers: np.ndarray) -> int:
        return len(numbers.copy())

    @kernel
    def calls(numbers: np.ndarray) -> int:
        return makes(numbers)

    with pytest.raises(Exception, match="NRT required but not enabled"):
        calls(np.arange(4))
    forget(calls)


def test_who_borrows_is_given_no_array() -> None:
    @allocating
    def made(numbers: np.ndarray) -> np.ndarray:
        return numbers + 1

    @inner
    def is_given(numbers: np.ndarray) -> int:
        return made(numbers)[0]

    @kernel
    def calls(numbers: np.ndarray) -> int:
        return is_given(numbers)

    with pytest.raises(TypeError, match=r"is_given gets an array from .*made: it is `allocating`"):
        calls(np.arange(4))
    forget(calls)


def test_whoever_waits_is_told_and_the_time_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.compiling.cache.kept", lambda name: None)
    monkeypatch.setattr("shoal.compiling.cache.keep", lambda name, content: None)
    stages, before = Stages(), seconds_spent_compiling()
    new = entered(doubled)
    with announced(stages):
        assert new(np.arange(3, dtype=np.int16)) == 6
        assert new(np.arange(3, dtype=np.int16)) == 6
    assert stages.names == [COMPILING]
    spent = seconds_spent_compiling() - before
    assert spent > 0
    new(np.arange(3, dtype=np.int8))  # nobody waits, and nobody is told
    assert stages.names == [COMPILING]
    assert seconds_spent_compiling() - before > spent
