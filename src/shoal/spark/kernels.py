"""Compiled kernels travel to the executors: none of them compiles.

Where shoal's wheel carries its kernels, every executor has them. Else the driver sees to it that its own are there
(`shoal warmup`), and sends the folder as an archive; executors unpack it beside their other files. A kernel that an
executor lacks all the same (another processor, another Python) is an error that says so, not minutes of compiling in
every task.
"""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import InputError
from shoal.progress import COMPILING, SILENT, Progress

if TYPE_CHECKING:
    from pyspark import SparkContext

PARENT = "shoal-kernels"  # the folder on executors
_sent: dict[str, str] = {}  # by application: the name of the archive


def send(context: SparkContext, progress: Progress = SILENT) -> str | None:
    """Send the kernels, once per application; the name that executors find them by. None: they have their own."""
    from shoal.compiling import cache, shipped  # loads Numba
    from shoal.warmup import all_there, every_kernel

    if shipped.usable() and not shipped.why_not():
        return None
    application = str(context.applicationId)
    folder = cache.cache_folder()
    if application not in _sent:
        if not all_there(len(every_kernel())):
            progress.stage(COMPILING)
            # A process of its own: to start others from here would run the program that called us once more in each.
            subprocess.run([sys.executable, "-m", "shoal", "warmup"], check=True, stdout=subprocess.DEVNULL)
        made = tempfile.mkdtemp(prefix="shoal-kernels-")
        atexit.register(shutil.rmtree, made, ignore_errors=True)  # not before: executors that join later fetch it, too
        archive = shutil.make_archive(str(Path(made) / folder.name), "zip", folder.parent, folder.name)
        context.addArchive(f"{archive}#{PARENT}")
        _sent[application] = PARENT
    return _sent[application]


def receive(name: str | None) -> None:
    """On an executor: use the kernels that were sent, and compile nothing."""
    if name is not None:
        from pyspark import SparkFiles

        os.environ["NUMBA_CACHE_DIR"] = SparkFiles.get(name)
    from shoal.compiling import cache, libraries  # loads Numba

    if name is not None and cache.cache_folder().parent != Path(os.environ["NUMBA_CACHE_DIR"]):
        cache.cache_folder.cache_clear()
    libraries.may_compile = _refuse


def settle() -> None:
    """On an executor, when the kernels are loaded: they stay.

    Spark's daemon collects garbage after every task, and to look at all that Numba has takes a sixteenth of a second.
    """
    if not gc.get_freeze_count():
        gc.freeze()


def _refuse(name: str) -> None:
    raise InputError(
        f"an executor has no compiled kernel {name}: its processor, Python or Numba differs from the driver's.",
        hint="Install shoal's wheel, which carries its kernels, on every executor; or use machines of one kind.",
    )
