"""Where kernels are kept: by what they are made of; and nothing else is ever loaded."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from shoal.compiling import cache
from tests.support.compiled import ROOT, TWO_KERNELS, counted, in_folder


def compiled(folder: Path, sources: Path = ROOT / "src") -> int:
    """How much a process has to compile that keeps its kernels there."""
    return int(counted(TWO_KERNELS, in_folder(folder, sources))[-1])


@pytest.mark.versions
def test_kernels_are_kept_by_content_and_damaged_ones_are_made_anew(tmp_path: Path) -> None:
    cold = tmp_path / "cold"
    assert compiled(cold) > 0
    assert compiled(cold) == 0
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(ROOT / "src", elsewhere, ignore=shutil.ignore_patterns("__pycache__"))
    assert compiled(cold, elsewhere) == 0  # the same sources at another place
    (folder,) = cold.glob(f"{cache.FOLDER}*")
    files = sorted(folder.glob(f"*{cache.SUFFIX}"))
    first, second = files[0].read_bytes(), files[1].read_bytes()
    files[0].write_bytes(second)  # of the same sources, and whole, but another kernel
    assert compiled(cold) > 0
    assert files[0].read_bytes() != second
    damaged = first
    files[0].write_bytes(damaged[:-1] + bytes([damaged[-1] ^ 1]))
    assert compiled(cold) > 0
    assert compiled(cold) == 0
    kernels = elsewhere / "shoal" / "cluster" / "mondrian.py"
    kernels.write_text(kernels.read_text(encoding="utf-8") + "\n# Another version.\n", encoding="utf-8")
    assert compiled(cold, elsewhere) > 0  # in a folder of its own
    (its_own,) = {*cold.glob(f"{cache.FOLDER}*")} - {folder}
    for file in files:  # what belongs to other sources is not loaded from there either
        shutil.copy(folder / file.name, its_own / file.name)
    assert compiled(cold, elsewhere) > 0


def test_a_folder_that_cannot_be_written_is_no_obstacle(tmp_path: Path) -> None:
    closed = tmp_path / "file"
    closed.write_text("not a folder")
    assert compiled(closed) > 0


def test_folders_of_older_sources_are_removed(tmp_path: Path) -> None:
    folders = [tmp_path / f"{cache.FOLDER}{number:016x}" for number in range(6)]
    for age, folder in enumerate(folders):
        folder.mkdir()
        used = time.time() - age * 3600
        os.utime(folder, (used, used))
    stranger = tmp_path / f"{cache.FOLDER}of-my-thesis"
    stranger.mkdir()
    cache.remove_old(folders[0])
    assert {path.name for path in tmp_path.iterdir()} == {*(path.name for path in folders[:3]), stranger.name}
    long_ago = time.time() - 2 * cache.LONG_UNUSED
    os.utime(folders[1], (long_ago, long_ago))
    cache.remove_old(folders[0])
    assert folders[0].exists()
    assert not folders[1].exists()
    assert folders[2].exists()


def test_a_user_without_a_home_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(name: str) -> Path:
        raise RuntimeError("no home")

    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr("platformdirs.user_cache_path", nobody)
    monkeypatch.setattr(cache, "cache_folder", cache.cache_folder.__wrapped__)
    assert cache.kept("some.kernel") is None
    with pytest.raises(OSError, match=r"Not a directory|File exists"):
        cache.keep("some.kernel", b"code")
