"""Structured Streaming into a vault: every micro-batch is a batch of changes, applied as a whole and once.

Spark gives a micro-batch again when it cannot know whether it was done: after a crash, or a restart from a checkpoint.
Each is known to the vault by the stream's own id, which its checkpoint keeps, and the number of the batch. Both are
stored in the transaction that applies the changes: a batch that has been applied is passed over, and one that has not
been leaves no trace.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import Doubtful, InputError
from shoal.spark.sessions import check_frame, no_word_of_pandas

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from shoal.vault.facts import Changed

QUERY = "sql.streaming.queryId"  # what Spark calls the stream that a thread works for


def into_vault(
    vault: str | Path,
    *,
    stream: str | None = None,
    told: Callable[[int, Changed | None], object] | None = None,
    **opening: Any,
) -> Callable[[DataFrame, int], None]:
    """What `foreachBatch` is given: applies each micro-batch to a vault.

        changes.writeStream.foreachBatch(into_vault("people.vault")).option("checkpointLocation", "…").start()

    The rows have the columns of the vault's schema and a column `op` (insert, update, upsert, delete); a micro-batch
    names a key once. `stream`: a name that the batches are known by, where the checkpoint's own id should not be it.
    `told` hears of each batch: its number, and what it changed (None: it had been applied before, or was empty).
    `opening`: more for `Vault.open`, as `key_secret`.

    Guarantee: when a micro-batch is done, all of it lasts in the vault, and it is applied once, however often Spark
    gives it. If it is refused, nothing of it is applied, and the stream stops with the reason.
    """

    def apply(df: DataFrame, number: int) -> None:
        from shoal.vault.vault import Vault  # loads SQLAlchemy

        name = stream if stream is not None else _query(df)
        with no_word_of_pandas():
            changes = check_frame(df).toArrow()
        changed = None
        with Vault.open(vault, **opening) as held:
            batch = f"{name}/{number}"
            if changes.num_rows and not _known(held, batch):
                try:
                    changed = held.apply(changes, batch_id=batch, source_position=batch)
                except Doubtful:
                    if not _known(held, batch):  # another process was faster
                        raise
        if told is not None:
            told(number, changed)

    return apply


def _known(vault: Any, batch: str) -> bool:
    """Whether the batch was applied. The last one is asked for first: it is the one that comes again."""
    return vault.source_position == batch or any(entry.batch_id == batch for entry in vault.log())


def _query(df: DataFrame) -> str:
    found = df.sparkSession.sparkContext.getLocalProperty(QUERY)
    if not found:
        raise InputError(
            "into_vault is for foreachBatch of a stream, and this is none.",
            hint="Say stream=…, a name that these batches are known by.",
        )
    return f"spark/{found}"
