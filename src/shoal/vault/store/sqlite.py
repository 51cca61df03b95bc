"""A vault in a SQLite file (or in memory): the embedded default.

Write-ahead logging lets readers read while somebody writes; `synchronous=FULL` makes a commit last through a power cut;
`secure_delete` overwrites what is deleted; temporary tables stay in memory, so that no value lands in another file. The
file is readable by its owner alone, and so are the files that SQLite puts beside it.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from operator import itemgetter
from pathlib import Path
from typing import Any
from urllib.parse import quote

import filelock
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from shoal.errors import ParameterError, VaultBusy, VaultError
from shoal.files import HEAD
from shoal.vault.store import tables
from shoal.vault.store.damage import damaged
from shoal.vault.store.head import Head, acknowledge, acknowledged_head
from shoal.vault.store.queries import Row
from shoal.vault.store.sqlite_errors import explained

IN_MEMORY = ":memory:"
BUSY_MS = 10_000  # a writer holds the database itself for as long as a commit takes
CACHE_KIB = 64 * 1024
BESIDE = ("-wal", "-shm", "-journal")


class Sqlite:
    def __init__(self, path: str) -> None:
        if "\0" in path:
            raise ParameterError("a path cannot hold a zero byte.")
        self.in_memory = path == IN_MEMORY
        self.keeps_head = not self.in_memory
        # Through links, and from the root: the process may go elsewhere, and the log and the lock must be one, whatever
        # name the vault is opened by.
        self.path = _real(path)
        self.file = None if self.in_memory else self.path
        self.where = path
        self._acknowledged: Head | None = None
        self._as_found: tuple[int, ...] | None = None  # the file, where it is only read: see `only_read`
        self._turns = threading.Lock()  # of writers, where there is no file to lock
        # Of a file, a connection for every transaction that is open; of a database in memory there is but one.
        pool: dict[str, Any] = {"poolclass": sa.pool.StaticPool}
        if not self.in_memory:
            pool = {"poolclass": sa.pool.QueuePool, "max_overflow": -1}
        self.engine = sa.create_engine("sqlite://", creator=self._connect, hide_parameters=True, **pool)
        sa.event.listen(self.engine, "begin", _begin)

    def _connect(self) -> sqlite3.Connection:
        """A connection with our settings; transactions begin when we say so (see `_begin`)."""
        name = IN_MEMORY
        if not self.in_memory:
            name = f"file:{quote(str(self.path))}?mode={'rw' if self._writable() else 'ro&immutable=1'}"
        connection = sqlite3.connect(name, uri=True, check_same_thread=False, isolation_level=None)
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        return connection

    def _writable(self) -> bool:
        """On a read-only disk a vault can be read if nothing is waiting in its write-ahead log."""
        if self._as_found is not None:
            return False
        if os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK):
            return True
        return self._log_waits()  # SQLite will say why it cannot

    def _log_waits(self) -> bool:
        waiting = self._beside("-wal")
        return waiting.exists() and waiting.stat().st_size > 0

    def only_read(self) -> None:
        """Leave nothing beside the file, not even when killed; SQLite makes a log in order to read.

        Nobody is kept from writing to it meanwhile: ask `as_found` when all is read. A file with something waiting in
        its log is read as any other.
        """
        if not self.in_memory and self.path.is_file() and not self._log_waits():
            self._as_found = self._stamp()

    def as_found(self) -> bool:
        """Whether nobody has written to a file since it is only read."""
        return self._as_found in (None, self._stamp())

    def _stamp(self) -> tuple[int, ...]:
        found = self.path.stat()
        return found.st_ino, found.st_size, found.st_mtime_ns

    def _beside(self, suffix: str) -> Path:
        return self.path.with_name(self.path.name + suffix)

    def exists(self) -> bool:
        if self.in_memory:
            return False
        if not self.path.parent.is_dir():
            raise VaultError(f"the folder {self.path.parent} does not exist.", file=self.where)
        if not self.path.exists():
            return False
        if self.path.is_dir():
            raise VaultError("is a folder, not a vault.", file=self.where)
        if self.path.stat().st_nlink > 1:
            raise VaultError(
                "has a second name (a hard link); its log and its lock would be found under one of them only.",
                hint="Remove the other name, or make a copy with: shoal backup.",
                file=self.where,
            )
        if not self.path.stat().st_size and self.acknowledged() is not None:
            raise damaged(self.where, "its file is empty")
        if not self.path.stat().st_size:  # the making of a vault has got this far, or somebody has made room for one
            return False
        # Through SQLite, never by opening the file: closing it again would take from this process the locks that
        # another connection of its own has on it, as POSIX wants it, and the next process would think itself alone.
        with self.engine.connect() as connection:
            if connection.exec_driver_sql("PRAGMA application_id").scalar() != tables.APPLICATION:
                if not sa.inspect(connection).get_table_names():  # its making was cut off before it could say so
                    return False
                raise VaultError("is not a vault, or is damaged.", hint="Make one with: shoal init.", file=self.where)
            return sa.inspect(connection).has_table(tables.vault.name)

    def create(self) -> None:
        if not self.in_memory:
            if self.path.exists() and not self.exists():  # one that was never finished
                self._remove()
            try:
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            except FileExistsError:
                raise VaultError("exists already.", hint="Choose another name.", file=self.where) from None
            except OSError as problem:
                self.discard()
                raise VaultError(f"cannot be created: {problem.strerror}.", file=self.where) from None
        try:
            with self.engine.connect() as connection:
                raw = connection.connection.driver_connection
                assert isinstance(raw, sqlite3.Connection)
                raw.execute(f"PRAGMA application_id = {tables.APPLICATION}")
                raw.execute("PRAGMA journal_mode = WAL")
        except BaseException:
            self.discard()
            raise

    def discard(self) -> None:
        if not self.in_memory:
            self._remove(".lock")

    def _remove(self, *more: str) -> None:
        self.close()
        for path in (self.path, *map(self._beside, (*BESIDE, HEAD, *more))):
            with suppress(OSError):
                path.unlink(missing_ok=True)

    def checkpoint(self) -> None:
        """Bring everything into the one file, and close it."""
        with self.engine.connect() as connection:
            busy = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").first()
        if busy is not None and busy[0]:
            raise VaultBusy("somebody is using the file.", hint="Try again.", file=self.where)
        self.close()

    def acknowledged(self) -> Head | None:
        return acknowledged_head(self._beside(HEAD)) if self.keeps_head else None

    def head_is_damaged(self) -> bool:
        head = self._beside(HEAD)  # an empty one has just been begun
        return self.keeps_head and head.exists() and head.stat().st_size > 0 and self.acknowledged() is None

    def acknowledge(self, head: Head) -> None:
        if head != self._acknowledged:
            acknowledge(self._beside(HEAD), head)
            self._acknowledged = head

    def replace_by(self, draft: Path) -> None:
        """Put a complete vault in the place of this file, whatever that is. It is there, or what was there still is."""
        if self._beside("-wal").exists():  # it would be taken for the new file's own: first into its own file with it
            self.checkpoint()
            for suffix in BESIDE:
                self._beside(suffix).unlink(missing_ok=True)
        draft.replace(self.path)
        for suffix in (HEAD, ".lock"):
            with suppress(OSError):
                self._beside(suffix).unlink(missing_ok=True)

    @contextmanager
    def try_to_be_writer(self) -> Iterator[bool]:
        if self.in_memory:
            worked = self._turns.acquire(blocking=False)
            try:
                yield worked
            finally:
                if worked:
                    self._turns.release()
            return
        lock = filelock.FileLock(self._beside(".lock"), mode=0o600, thread_local=False)
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            pass
        except OSError as problem:
            reason = problem.strerror or "it cannot be locked"
            raise VaultError(f"the vault cannot be written to: {reason}.", file=self.where) from None
        try:
            yield lock.is_locked
        finally:
            lock.release()

    def insert(self, connection: sa.Connection, table: sa.Table, names: Sequence[str], rows: Sequence[Row]) -> None:
        self.many(connection, sa.insert(table).values({name: sa.bindparam(name) for name in names}), names, rows)

    def many(
        self, connection: sa.Connection, statement: sa.Executable, names: Sequence[str], rows: Sequence[Row]
    ) -> None:
        """SQLAlchemy writes the statement, and the driver gets the rows as they are: that is five times as fast."""
        compiled: Any = statement.compile(dialect=connection.dialect)  # type: ignore[attr-defined]
        order = [list(names).index(name) for name in compiled.positiontup]
        if order != list(range(len(names))):
            rows = list(map(itemgetter(*order), rows))
        connection.exec_driver_sql(str(compiled), list(rows))

    def explained(self, problem: DBAPIError) -> VaultError:
        return explained(problem, self.where)

    def integrity(self) -> list[str]:
        """SQLite's own check of its pages and indexes."""
        with self.engine.connect() as connection:
            found = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalars().all()
        return [] if found == ["ok"] else ["SQLite finds the file damaged"]

    def compact(self) -> None:
        """Rewrite the file without what was deleted, then empty the write-ahead log."""
        with self.engine.connect() as connection:
            raw = connection.connection.driver_connection
            assert isinstance(raw, sqlite3.Connection)
            raw.execute("VACUUM")
            busy = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if busy and busy[0]:
                raise VaultBusy(
                    "somebody is reading the vault, so its write-ahead log could not be emptied.",
                    hint="Compact it again when nobody is.",
                    file=self.where,
                )

    def size(self, connection: sa.Connection) -> int | None:
        if self.in_memory:
            return None
        files = (self.path, self._beside("-wal"))
        return sum(path.stat().st_size for path in files if path.exists())

    def close(self) -> None:
        self.engine.dispose()


def _real(path: str) -> Path:
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError):  # links in a circle: SQLite will say that it cannot be opened
        return Path(path).absolute()


def _begin(connection: sa.Connection) -> None:
    """Whoever writes takes the lock at once: two that read first and then want to write would wait for each other."""
    writes = connection.get_execution_options().get("shoal_writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
