"""Files that get their names when they are complete: whole or not at all, whatever happens meanwhile.

A draft lies beside where it will be, under a hidden name that begins with a mark: `.shoal-MARK.data.part`. Its
maker holds `.shoal-MARK.lock`, which the system takes back from a process that dies. So whoever writes to the folder
next can tell which drafts are nobody's any more, and removes them.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

import filelock

from shoal.errors import OutputError

EXISTS, OVERWRITE = "exists already.", "Choose another name, or overwrite it (--force; in Python, force=True)."
OWNER_ONLY = 0o600
VAULT = 0x53484F4C  # "SHOL": marks a SQLite file as a vault, for `file` and for us
HEAD = ".head"
BESIDE_A_VAULT = ("-wal", "-shm", "-journal", ".lock", HEAD)
LOCK = re.compile(r"\.shoal-([0-9a-f]{16})\.lock")


def new_mark() -> str:
    return secrets.token_hex(8)


def prefix(mark: str) -> str:
    """What the names of drafts with this mark begin with."""
    return f".shoal-{mark}."


def draft_of(path: Path, mark: str, kind: str) -> Path:
    """Where a file lies until it gets its name."""
    return path.with_name(f"{prefix(mark)}{kind}.part")


@contextmanager
def drafting(folder: Path, mark: str | None = None) -> Iterator[str]:
    """The mark of drafts in this folder. Whatever has not been given its name by the end is removed.

    Raises OSError if the folder cannot be written to.
    """
    sweep(folder)
    mark = mark or new_mark()
    lock = filelock.FileLock(_lock(folder, mark), mode=OWNER_ONLY, thread_local=False)
    lock.acquire(timeout=60)  # nobody else knows the mark; a sweeper may hold it for a moment, on a busy machine longer
    try:
        yield mark
    finally:
        try:
            if not discard(folder, mark):  # if something is left, whoever comes next finds it by its lock
                with suppress(OSError):
                    _lock(folder, mark).unlink(missing_ok=True)
        finally:
            lock.release()


def sweep(folder: Path) -> None:
    """Remove the drafts in a folder that processes have left which are no more."""
    with suppress(OSError):
        for path in folder.iterdir():
            if found := LOCK.fullmatch(path.name):
                sweep_mark(folder, found[1])


def sweep_mark(folder: Path, mark: str) -> Literal["gone", "in use", "left"]:
    """The same for one mark: whether it has worked, its maker is at work, or something could not be removed."""
    path = _lock(folder, mark)
    if not path.exists():
        return "left" if discard(folder, mark) else "gone"
    lock = filelock.FileLock(path, mode=OWNER_ONLY, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        return "in use"
    except OSError:
        return "left"
    try:
        if discard(folder, mark):
            return "left"
        with suppress(OSError):
            path.unlink(missing_ok=True)
        return "left" if path.exists() else "gone"
    finally:
        lock.release()


def discard(folder: Path, mark: str) -> bool:
    """Remove every file with this mark but its lock; whether any is left."""
    left = False
    with suppress(OSError):
        for path in list(folder.iterdir()):
            if path.name.startswith(prefix(mark)) and path != _lock(folder, mark):
                try:
                    path.unlink(missing_ok=True)
                except OSError:
                    left = True
    return left


def _lock(folder: Path, mark: str) -> Path:
    return folder / f"{prefix(mark)}lock"


def refuse_sources(target: Path, sources: Iterable[str | Path]) -> None:
    """What something is made from is not overwritten by it, whatever is asked."""
    if any(Path(source).exists() and target.exists() and target.samefile(source) for source in sources):
        raise OutputError("is a file that this is made from; it would be lost.", file=str(target))


def is_vault(path: Path) -> bool:
    """Whether this is the file of a vault, by the mark that SQLite keeps for its application.

    Not to be asked of a vault that this process has open: closing the file again takes away SQLite's locks on it.
    """
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            start = file.read(72)
    except OSError:
        return False
    return start.startswith(b"SQLite format 3\0") and start[68:] == VAULT.to_bytes(4, "big")


def refuse_vaults(target: Path, *, own: Path | None = None, but_a_copy: bool = False) -> None:
    """No vault is overwritten, nor what lies beside one.

    `own`: the vault that is open. `but_a_copy`: an older backup may be; one that has a head has been changed since it
    was made, and is a vault of its own.
    """
    copy = but_a_copy and not target.with_name(target.name + HEAD).exists()
    if not copy and is_vault(target):
        raise OutputError("is a vault; it would be lost.", hint="Choose another name.", file=str(target))
    for ending in BESIDE_A_VAULT:
        name = target.name.removesuffix(ending)
        vault = target.with_name(name or target.name)
        if vault != target and (vault.absolute() == own or is_vault(vault)):
            raise OutputError(f"belongs to the vault {name}.", hint="Choose another name.", file=str(target))


def write_text(text: str, path: Path, *, force: bool) -> None:
    """A text file, whole or not at all."""
    try:
        with drafting(path.parent) as mark:
            draft = draft_of(path, mark, "text")
            with draft.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            place_together([draft], [path], force=force)
    except OSError as problem:
        raise OutputError(f"cannot be written: {problem.strerror or problem}.", file=str(path)) from None


def place(draft: Path, target: Path) -> None:
    """Give a finished draft its name, unless that name is taken."""
    try:
        target.hardlink_to(draft)
    except FileExistsError:
        raise OutputError(EXISTS, hint=OVERWRITE, file=str(target)) from None
    except OSError:  # a file system without links
        if os.path.lexists(target):
            raise OutputError(EXISTS, hint=OVERWRITE, file=str(target)) from None
        draft.replace(target)


def place_together(drafts: Sequence[Path], targets: Sequence[Path], *, force: bool) -> None:
    """Give files that belong together their names: all of them, or an error is raised and what was there is there.

    The first is the one that the others tell about. A process that is killed on the way leaves the old or the new one
    under its name, and beside it either what tells about it or nothing: never what tells about another.
    """
    kept = [draft.with_suffix(".kept") for draft in drafts]
    try:
        if force:
            for target, old in zip(targets, kept, strict=True):
                if os.path.lexists(target):
                    _keep(target, old)
            for target in targets[1:]:
                target.unlink(missing_ok=True)
        for draft, target in zip(drafts, targets, strict=True):
            if force:
                draft.replace(target)
            else:
                place(draft, target)
        sync_folder(targets[0].parent)
    except BaseException:
        for draft, target, old in zip(drafts, targets, kept, strict=True):
            if os.path.lexists(old):
                old.replace(target)
            # A target that another process wrote is not ours to remove: ours is linked to our draft, or was the draft.
            elif not draft.exists() or (target.exists() and target.samefile(draft)):
                target.unlink(missing_ok=True)
        raise
    for old in kept:
        with suppress(OSError):
            old.unlink(missing_ok=True)


def _keep(target: Path, old: Path) -> None:
    """A second name for what is there; its own stays as it is."""
    try:
        old.hardlink_to(target)
    except OSError:  # a file system without links
        shutil.copy2(target, old, follow_symlinks=False)


def sync_folder(folder: Path) -> None:
    """Bring new names to disk, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
