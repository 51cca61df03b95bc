"""Files that are the holder's alone: only their owner can read them, and nothing is overwritten unasked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from shoal.errors import OutputError
from shoal.files import (
    EXISTS,
    OVERWRITE,
    OWNER_ONLY,
    draft_of,
    drafting,
    place_together,
    refuse_sources,
    refuse_vaults,
)
from shoal.release.write import FORMATS, refuse_releases
from shoal.vault.store.drafts import noted_draft
from shoal.vault.store.store import Store


def check_private(path: Path, *, force: bool, sources: Sequence[str], own: Path | None) -> None:
    """Refuse a place that cannot be written to, before any work is done for it."""
    try:
        _check_place(path, force=force, sources=sources, own=own)
    except OSError as problem:
        raise OutputError(f"cannot be written: {problem.strerror}.", file=str(path)) from None


def _check_place(path: Path, *, force: bool, sources: Sequence[str], own: Path | None) -> None:
    if path.suffix.lower() not in FORMATS:
        raise OutputError(f"is written as {' or '.join(FORMATS)}.", hint="Choose such an ending.", file=str(path))
    if not path.parent.is_dir():
        raise OutputError(f"the folder {path.parent} does not exist.", hint="Make it first.", file=str(path))
    if path.is_dir():
        raise OutputError("is a folder.", file=str(path))
    refuse_sources(path, sources)
    refuse_vaults(path, own=own)
    refuse_releases(path)
    if path.exists() and not force:
        raise OutputError(EXISTS, hint=OVERWRITE, file=str(path))


def write_private(store: Store | None, table: pa.Table, path: Path, *, force: bool) -> None:
    """Write the table as `.csv` or `.parquet`: whole or not at all, its owner's alone from the first byte on.

    `store`: of the vault that it is from, which notes what is left behind if this is interrupted.
    """
    try:
        with drafting(path.parent) if store is None else noted_draft(store, path.parent) as mark:
            draft = draft_of(path, mark, "private")
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY), "wb") as file:
                _write(table, file, path)
                file.flush()
                os.fsync(file.fileno())
            place_together([draft], [path], force=force)
    except OSError as problem:
        raise OutputError(f"cannot be written: {problem.strerror or type(problem).__name__}.", file=str(path)) from None


def _write(table: pa.Table, file: BinaryIO, path: Path) -> None:
    try:
        if path.suffix.lower() == ".parquet":
            pq.write_table(table, file)
        else:
            pa_csv.write_csv(table, file)
        return
    except pa.ArrowException:  # its message may quote a value
        pass
    raise OutputError(f"a column holds values that {path.suffix} cannot express.", file=str(path))
