"""Writing a release: both files or none, and never half a file."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from shoal.errors import OutputError
from shoal.measures.beside import manifest_path as manifest_path
from shoal.release.manifest import now

PARQUET_COMPRESSION = "zstd"
FORMATS = (".csv", ".parquet")
EXISTS, OVERWRITE = "exists already.", "Choose another name, or overwrite it (--force; in Python, force=True)."


def check_target(path: Path, *, force: bool, source: str | None) -> None:
    """Refuse a place that cannot be written to, before any work is done for it."""
    if path.suffix.lower() not in FORMATS:
        raise OutputError(
            f"a release is written as {' or '.join(FORMATS)}.", hint="Choose such an ending.", file=str(path)
        )
    try:
        if not path.parent.is_dir():
            raise OutputError(f"the folder {path.parent} does not exist.", hint="Make it first.", file=str(path))
        if not os.access(path.parent, os.W_OK):
            raise OutputError(f"the folder {path.parent} cannot be written to.", file=str(path))
        for target in (path, manifest_path(path)):
            _check_free(target, force=force, source=source)
    except OSError as problem:
        raise OutputError(f"cannot be written: {problem.strerror}.", file=str(path)) from None


def _check_free(target: Path, *, force: bool, source: str | None) -> None:
    if not os.path.lexists(target):
        return
    if target.is_symlink() and not target.exists():
        raise OutputError("is a link that leads nowhere.", file=str(target))
    if source is not None and Path(source).exists() and target.samefile(source):
        raise OutputError("is the file that the records come from; it would be lost.", file=str(target))
    if target.is_dir():
        raise OutputError("is a folder.", file=str(target))
    if not force:
        raise OutputError(EXISTS, hint=OVERWRITE, file=str(target))


def write_release(table: pa.Table, facts: Mapping[str, object], path: Path, *, force: bool) -> None:
    """Write the table and its manifest beside it.

    Guarantee: on an error or an interruption neither is left behind, and what was there before is there again. Without
    `force` nothing that exists is overwritten, not even what another process wrote a moment ago.
    """
    mark = secrets.token_hex(8)
    try:
        write_parts(table, facts, path, mark)
        place_parts(path, mark, force=force)
    finally:
        discard_parts(path, mark)


def write_parts(table: pa.Table, facts: Mapping[str, object], path: Path, mark: str) -> str:
    """Write both files beside where they will be, under names with a mark; the SHA-256 of the table's."""
    data, manifest = _parts(path, mark)
    try:
        _write_table(table, data, path)
        digest = _sync(data)
        content = {"file": path.name, "sha256": digest, "created": now(), **facts}
        manifest.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        _sync(manifest)
        return digest
    except OSError as problem:
        raise _not_written(problem, path) from None


def place_parts(path: Path, mark: str, *, force: bool) -> None:
    """Give both files their names, or neither."""
    try:
        _move_both(_parts(path, mark), [path, manifest_path(path)], force=force)
    except OSError as problem:
        raise _not_written(problem, path) from None


def complete_parts(path: Path, mark: str, *, force: bool) -> None:
    """Finish what `place_parts` may have begun before the power failed.

    A part that is gone has got its name; what is there under that name is nobody's business any more. Without `force`,
    a file that another has put there meanwhile stays.
    """
    parts, targets = _parts(path, mark), [path, manifest_path(path)]
    waiting = [(part, target) for part, target in zip(parts, targets, strict=True) if part.exists()]
    taken = any(os.path.lexists(target) and not _same(part, target) for part, target in waiting)
    if not taken or force:
        for part, target in waiting:
            part.replace(target)
        sync_folder(path.parent)
    discard_parts(path, mark)


def _same(part: Path, target: Path) -> bool:
    return target.exists() and target.samefile(part)


def has_parts(path: Path, mark: str) -> bool:
    return any(part.exists() for part in _parts(path, mark))


def discard_parts(path: Path, mark: str) -> None:
    """Leave nothing of what has not been given its name."""
    for part in _parts(path, mark):
        for leftover in (part, part.with_suffix(".kept")):
            with suppress(OSError):
                leftover.unlink(missing_ok=True)


def digest_of(table: pa.Table) -> str:
    """The SHA-256 that the Parquet file of a table would have."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression=PARQUET_COMPRESSION, store_schema=False)
    return hashlib.sha256(sink.getvalue()).hexdigest()


def _parts(path: Path, mark: str) -> list[Path]:
    return [path.with_name(f".{mark}.{kind}.part") for kind in ("data", "manifest")]


def _not_written(problem: OSError, path: Path) -> OutputError:
    return OutputError(f"cannot be written: {problem.strerror or problem}.", file=str(path))


def _move_both(parts: Sequence[Path], targets: Sequence[Path], *, force: bool) -> None:
    """Put both files in place, or neither: what was there is kept aside until the second one stands."""
    kept = [part.with_suffix(".kept") for part in parts]
    try:
        for part, target, old in zip(parts, targets, kept, strict=True):
            if force and target.exists():
                target.replace(old)
            place(part, target)
        sync_folder(targets[0].parent)
    except BaseException:
        for part, target, old in zip(parts, targets, kept, strict=True):
            # A target that another process wrote is not ours to remove. Ours is linked to our part, or was moved there.
            if not part.exists() or (target.exists() and target.samefile(part)):
                target.unlink(missing_ok=True)
            if old.exists():
                old.replace(target)
        raise
    for old in kept:
        with suppress(OSError):
            old.unlink(missing_ok=True)


def place(part: Path, target: Path) -> None:
    """Give the finished part its name, unless that name is taken."""
    try:
        target.hardlink_to(part)
    except FileExistsError:
        raise OutputError(EXISTS, hint=OVERWRITE, file=str(target)) from None
    except OSError:  # a file system without links
        if target.exists():
            raise OutputError(EXISTS, hint=OVERWRITE, file=str(target)) from None
        part.replace(target)


def _write_table(table: pa.Table, part: Path, path: Path) -> None:
    try:
        if path.suffix.lower() == ".parquet":
            # store_schema=False: the Arrow schema that would be stored can name where the data came from.
            pq.write_table(table, part, compression=PARQUET_COMPRESSION, store_schema=False)
        else:
            _write_csv(table, part)
        return
    except pa.ArrowException:  # its message may quote a value
        pass
    raise OutputError(f"a column holds values that {path.suffix} cannot express.", file=str(path))


def _write_csv(table: pa.Table, part: Path) -> None:
    """Quotes only where they are needed, which Arrow decides for a file as a whole."""
    if table.num_columns == 1:  # a row without a value would be an empty line, which many readers pass over
        table = table.set_column(0, table.column_names[0], pc.fill_null(table[0].cast(pa.string()), ""))
    header = io.StringIO()
    csv.writer(header, lineterminator="\n").writerow(table.column_names)
    for quoting in ("needed",) if table.num_columns == 1 else ("none", "needed"):
        with part.open("wb") as file:
            file.write(header.getvalue().encode())
            try:
                pa_csv.write_csv(table, file, pa_csv.WriteOptions(include_header=False, quoting_style=quoting))
                return
            except pa.ArrowInvalid:
                if quoting == "needed":
                    raise


def sync_folder(folder: Path) -> None:
    """Bring the new names to disk, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _sync(path: Path) -> str:
    """Bring a file to disk; its SHA-256."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
        return hashlib.file_digest(file, "sha256").hexdigest()
