"""Kernels, and what becomes a part of them."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.compiling import KERNELS, entered, inner, kernel
from shoal.progress import COMPILING, Progress, announced, seconds_spent_compiling

pytestmark = pytest.mark.versions


@inner
def doubled(numbers: np.ndarray) -> int:
    total = 0
    for number in np.sort(numbers):
        total += 2 * number
    return total


@kernel
def doubled_and_one(numbers: np.ndarray) -> int:
    return doubled(numbers) + 1


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
    del KERNELS[f"{__name__}.{calls_another.py_func.__qualname__}"]  # type: ignore[attr-defined]


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
