"""Writing a release: both files or none, and never half a file."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from shoal.errors import OutputError
from shoal.files import (
    EXISTS,
    OVERWRITE,
    discard,
    draft_of,
    drafting,
    place_together,
    refuse_sources,
    refuse_vaults,
    sync_folder,
)
from shoal.measures.beside import manifest_path as manifest_path
from shoal.release.manifest import now

PARQUET_COMPRESSION = "zstd"
FORMATS = (".csv", ".parquet")


def check_target(path: Path, *, force: bool, sources: Iterable[str | Path] = ()) -> None:
    """Refuse a place that cannot be written to, before any work is done for it.

    `sources`: the files that the release is made from; they are not overwritten, whatever is asked.
    """
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
            _check_free(target, force=force, sources=sources)
    except OSError as problem:
        raise OutputError(f"cannot be written: {problem.strerror}.", file=str(path)) from None


def refuse_releases(path: Path) -> None:
    """What only the holder may see never takes the place of a release: its manifest would vouch for it."""
    if manifest_path(path).exists():
        raise OutputError(
            "is a release, or was: its manifest lies beside it.", hint="Choose another name.", file=str(path)
        )


def _check_free(target: Path, *, force: bool, sources: Iterable[str | Path]) -> None:
    if not os.path.lexists(target):
        refuse_vaults(target)  # what lies beside one may not be there now
        return
    if target.is_symlink() and not target.exists():
        raise OutputError("is a link that leads nowhere.", file=str(target))
    refuse_sources(target, sources)
    refuse_vaults(target)
    if target.is_dir():
        raise OutputError("is a folder.", file=str(target))
    if not force:
        raise OutputError(EXISTS, hint=OVERWRITE, file=str(target))


def write_release(
    table: pa.Table,
    facts: Mapping[str, object],
    path: Path,
    *,
    force: bool,
    drafts: Callable[[Path], AbstractContextManager[str]] = drafting,
) -> None:
    """Write the table and its manifest beside it. `drafts` gives the mark of drafts in a folder, and tidies up.

    Guarantee: on an error or an interruption neither is left behind, and what was there before is there again. A
    process that is killed leaves the old or the new table under its name, and no manifest that is of another. Without
    `force` nothing that exists is overwritten, not even what another process wrote a moment ago.
    """
    try:
        with drafts(path.parent) as mark:
            write_parts(table, facts, path, mark)
            place_parts(path, mark, force=force)
    except OSError as problem:
        raise _not_written(problem, path) from None


def write_parts(table: pa.Table, facts: Mapping[str, object], path: Path, mark: str) -> str:
    """Write both files beside where they will be, under names with a mark; the SHA-256 of the table's."""
    data, manifest = _parts(path, mark)
    try:
        _write_table(table, data, path)
        digest = _sync(data)
        content = manifest_content(facts, path, digest)
        manifest.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        _sync(manifest)
        return digest
    except OSError as problem:
        raise _not_written(problem, path) from None


def manifest_content(facts: Mapping[str, object], path: Path, digest: str) -> dict[str, object]:
    """What stands in the manifest beside a file."""
    return {"file": path.name, "sha256": digest, "created": now(), **facts}


def place_parts(path: Path, mark: str, *, force: bool) -> None:
    """Give both files their names, or neither."""
    try:
        place_together(_parts(path, mark), [path, manifest_path(path)], force=force)
    except OSError as problem:
        raise _not_written(problem, path) from None


def complete_parts(path: Path, mark: str, *, force: bool) -> bool:
    """Finish what `place_parts` may have begun before the power failed; False if the names are taken.

    A part that is gone has got its name; what is there under that name is nobody's business any more. Without `force`,
    a file that another has put there meanwhile stays. Raises OSError if the folder cannot be reached.
    """
    if not path.parent.is_dir():  # not mounted, maybe
        raise FileNotFoundError(path.parent)
    parts, targets = _parts(path, mark), [path, manifest_path(path)]
    waiting = [(part, target) for part, target in zip(parts, targets, strict=True) if part.exists()]
    taken = any(os.path.lexists(target) and not _same(part, target) for part, target in waiting)
    if not taken or force:
        for part, target in waiting:
            part.replace(target)
        sync_folder(path.parent)
    discard_parts(path, mark)
    return not taken or force


def _same(part: Path, target: Path) -> bool:
    return target.exists() and target.samefile(part)


def has_parts(path: Path, mark: str) -> bool:
    return any(part.exists() for part in _parts(path, mark))


def discard_parts(path: Path, mark: str) -> None:
    """Leave nothing of what has not been given its name."""
    discard(path.parent, mark)


def digest_of(table: pa.Table) -> str:
    """The SHA-256 that the Parquet file of a table would have."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression=PARQUET_COMPRESSION, store_schema=False)
    return hashlib.sha256(sink.getvalue()).hexdigest()


def _parts(path: Path, mark: str) -> list[Path]:
    return [draft_of(path, mark, kind) for kind in ("data", "manifest")]


def _not_written(problem: OSError, path: Path) -> OutputError:
    return OutputError(f"cannot be written: {problem.strerror or problem}.", file=str(path))


def _write_table(table: pa.Table, part: Path, path: Path) -> None:
    try:
        if path.suffix.lower() == ".parquet":
            _check_moments(table)
            # store_schema=False: the Arrow schema that would be stored can name where the data came from.
            pq.write_table(table, part, compression=PARQUET_COMPRESSION, store_schema=False)
        else:
            _write_csv(table, part)
        return
    except pa.ArrowException:  # its message may quote a value
        pass
    raise OutputError(f"a column holds values that {path.suffix} cannot express.", file=str(path))


def _check_moments(table: pa.Table) -> None:
    """Parquet has no whole seconds: they become milliseconds, of which older Arrows have been seen to lose some."""
    for column in table.columns:
        if pa.types.is_timestamp(column.type) and column.type.unit == "s":
            column.cast(pa.timestamp("ms", column.type.tz))


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


def _sync(path: Path) -> str:
    """Bring a file to disk; its SHA-256."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
        return hashlib.file_digest(file, "sha256").hexdigest()
