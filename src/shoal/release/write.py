"""Writing a release: both files or none, and never half a file."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from shoal.errors import OutputError
from shoal.release.manifest import now

PARQUET_COMPRESSION = "zstd"
FORMATS = (".csv", ".parquet")


def manifest_path(path: Path) -> Path:
    return path.with_name(path.name + ".manifest.json")


def check_target(path: Path, *, force: bool, source: str | None) -> None:
    """Refuse a place that cannot be written to, before any work is done for it."""
    if path.suffix.lower() not in FORMATS:
        raise OutputError(
            f"a release is written as {' or '.join(FORMATS)}.", hint="Choose such an ending.", file=str(path)
        )
    if not path.parent.is_dir():
        raise OutputError(f"the folder {path.parent} does not exist.", hint="Make it first.", file=str(path))
    if not os.access(path.parent, os.W_OK):
        raise OutputError(f"the folder {path.parent} cannot be written to.", file=str(path))
    if source is not None and path.exists() and Path(source).exists() and path.samefile(source):
        raise OutputError("is the file that the records come from; it would be lost.", file=str(path))
    for target in (path, manifest_path(path)):
        if target.is_dir():
            raise OutputError("is a folder.", file=str(target))
        if target.exists() and not force:
            raise OutputError(
                "exists already.", hint="Choose another name, or overwrite it with --force.", file=str(target)
            )


def write_release(table: pa.Table, facts: Mapping[str, object], path: Path) -> None:
    """Write the table and its manifest beside it.

    Guarantee: on an error or an interruption neither is left behind, and what was there before is untouched until both
    are complete on disk.
    """
    mark = f".{secrets.token_hex(4)}.part"
    data_part = path.with_name(f".{path.name}{mark}")
    facts_part = path.with_name(f".{path.name}.manifest{mark}")
    try:
        _write_table(table, data_part, path.suffix.lower())
        digest = _sync(data_part)
        content = {"file": path.name, "sha256": digest, "created": now(), **facts}
        facts_part.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        _sync(facts_part)
        # The old manifest must not stand beside the new data, not even if the power fails between the two moves.
        manifest_path(path).unlink(missing_ok=True)
        data_part.replace(path)
        facts_part.replace(manifest_path(path))
    except OSError as problem:
        raise OutputError(f"cannot be written: {problem.strerror or problem}.", file=str(path)) from None
    finally:
        for part in (data_part, facts_part):
            with suppress(OSError):
                part.unlink(missing_ok=True)


def _write_table(table: pa.Table, path: Path, suffix: str) -> None:
    if suffix == ".parquet":
        # store_schema=False: the Arrow schema that would be stored can name where the data came from.
        pq.write_table(table, path, compression=PARQUET_COMPRESSION, store_schema=False)
        return
    try:
        try:
            # Quotes only where they are needed, which Arrow decides for a file as a whole.
            pa_csv.write_csv(table, path, pa_csv.WriteOptions(quoting_style="none", quoting_header="none"))
        except pa.ArrowInvalid:
            pa_csv.write_csv(table, path, pa_csv.WriteOptions(quoting_style="needed", quoting_header="needed"))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        raise OutputError(
            "a column holds values that CSV cannot express.", hint="Write Parquet.", file=str(path)
        ) from None


def _sync(path: Path) -> str:
    """Bring a file to disk; its SHA-256."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
        return hashlib.file_digest(file, "sha256").hexdigest()
