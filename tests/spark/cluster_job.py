"""A job on executors of their own, in a process of its own: `python -m tests.spark.cluster_job FOLDER [kill]`.

The executors have a home and a cache folder where nothing is. Prints JSON: the groups, and what was found where.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pyarrow.parquet as pq

import shoal
from tests.support.spark_tables import SERIAL, groups_of, numbered_census

ROWS, K, SEED, REGION, ROUNDS = 3_000, 4, 7, 800, 2
MASTER = "local-cluster[2,1,1024]"


def main(folder: Path, *, kill: bool) -> None:
    import pyspark

    from shoal import spark as on_spark

    table, schema = numbered_census(ROWS)
    path = folder / "people.parquet"
    pq.write_table(table, path, row_group_size=500)
    os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
    empty = folder / "empty"
    empty.mkdir()
    settings = {
        "spark.executor.memory": "512m",
        "spark.executorEnv.HOME": str(empty),
        "spark.executorEnv.XDG_CACHE_HOME": str(empty),
        "spark.executorEnv.NUMBA_CACHE_DIR": str(empty / "kernels"),
        "spark.sql.shuffle.partitions": "3",
        "spark.local.dir": str(folder / "local"),
    }
    session = on_spark.session(MASTER, settings)
    session.sparkContext.setLogLevel("ERROR")
    killed: list[int] = []
    if kill:
        threading.Thread(target=kill_one_while_it_groups, args=(killed,), daemon=True).start()
    released = on_spark.anonymize(
        session.read.parquet(str(path)), schema, K, seed=SEED, max_region=REGION, rounds=ROUNDS, progress=STAGES
    )
    verdict = on_spark.verify(released, schema, K)
    rows = released.toArrow()
    groups = sorted(sorted(group) for group in groups_of(rows, schema.quasi_identifiers))
    left = [str(found.relative_to(empty)) for found in empty.rglob("*.kernel")]
    told = {"ok": verdict.ok, "rows": len(set(rows[SERIAL].to_pylist())), "killed": len(killed), "compiled": left}
    print(json.dumps({**told, "groups": groups}))
    session.stop()


def kill_one_while_it_groups(killed: list[int]) -> None:
    """The first executor, in the middle of a round."""
    while "round 1" not in STAGES.names:
        time.sleep(0.05)
    time.sleep(0.3)
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and not killed:
            try:
                words = (folder / "cmdline").read_text().split("\0")
            except OSError:
                continue
            if any("CoarseGrainedExecutorBackend" in word for word in words) and descends(int(folder.name)):
                os.kill(int(folder.name), signal.SIGKILL)
                killed.append(int(folder.name))


def descends(process: int) -> bool:
    """Whether this process has started that one, or started who did."""
    while process > 1:
        if process == os.getpid():
            return True
        try:
            process = int((Path("/proc") / str(process) / "stat").read_text().rpartition(") ")[2].split()[1])
        except OSError:
            return False
    return False


class Stages(shoal.Progress):
    """The stages that were told of."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def stage(self, name: str, total: int | None = None) -> None:
        self.names.append(name)


STAGES = Stages()

if __name__ == "__main__":
    main(Path(sys.argv[1]), kill="kill" in sys.argv[2:])
