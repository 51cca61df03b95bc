"""Where Spark reads and writes: files of this machine, or a store such as hdfs:// or s3a://, by Hadoop's own means."""

from __future__ import annotations

import codecs
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.addresses import is_store
from shoal.errors import DataError, OutputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SUFFIXES = (".parquet", ".csv")
SEPARATORS = ",;\t|"
ENCODINGS = {"utf-8": "UTF-8", "ascii": "US-ASCII", "iso8859-1": "ISO-8859-1"}  # Python's names, and Spark's


def uri_of(place: str | Path) -> str:
    """A path is one of this machine, whatever Hadoop takes for its default."""
    return str(place) if is_store(place) else f"file://{Path(place).resolve()}"  # Hadoop does not decode %20


class Place:
    """A file or folder that Spark can reach."""

    def __init__(self, session: SparkSession, place: str | Path) -> None:
        self.given, self.uri = str(place), uri_of(place)
        self._session = session
        with self._reached():
            self._path = self._java(self.uri)
            self._files = self._path.getFileSystem(self._context._jsc.hadoopConfiguration())

    @property
    def _context(self) -> Any:
        return self._session.sparkContext

    def _java(self, uri: str) -> Any:
        return self._context._jvm.org.apache.hadoop.fs.Path(uri)

    @contextmanager
    def _reached(self) -> Iterator[None]:
        from py4j.protocol import Py4JJavaError

        try:
            yield
        except Py4JJavaError as error:
            kind = error.java_exception.getClass().getSimpleName()
            raise DataError(f"Spark cannot reach it ({kind}).", file=self.given) from None

    def exists(self) -> bool:
        with self._reached():
            return bool(self._files.exists(self._path))

    def read(self, encoding: str | None, names: list[str] | None) -> DataFrame:
        """A Parquet file or folder, or CSV. Cells of a CSV stay texts. `names`: of the columns, if it has no header."""
        from pyspark.errors import AnalysisException

        if not self.exists():
            raise DataError("there is no such file.", file=self.given)
        try:
            if not self.uri.endswith(".csv"):
                return self._session.read.parquet(self.uri)
            head = self._session.read.text(self.uri).head()
            separator = max(SEPARATORS, key=(head[0] if head else "").count)
            reader = self._session.read.option("quote", '"').option("escape", '"').option("multiLine", "true")
            reader = reader.option("sep", separator).option("encoding", self._encoding(encoding or "utf-8"))
            return reader.csv(self.uri).toDF(*names) if names else reader.option("header", "true").csv(self.uri)
        except AnalysisException as error:
            raise DataError(f"Spark cannot read it ({error.getCondition()}).", file=self.given) from None

    def _encoding(self, name: str) -> str:
        """Spark's name of an encoding."""
        try:
            return ENCODINGS[codecs.lookup(name).name]
        except LookupError:
            raise DataError(
                f"Spark reads CSV in {', '.join(ENCODINGS.values())} only.",
                hint="Convert the file, or use --engine here.",
                file=self.given,
            ) from None

    def write(self, released: DataFrame) -> None:
        """All rows or none, in as many parts as there are. What was there before is gone then, not sooner."""
        mark = secrets.token_hex(4)
        made, old = self._java(f"{self.uri}.{mark}.partial"), self._java(f"{self.uri}.{mark}.old")
        try:
            writer = released.write.mode("errorifexists")
            if self.uri.endswith(".csv"):
                writer.option("header", "true").option("escape", '"').csv(made.toString())
            else:
                writer.parquet(made.toString())
            with self._reached():
                aside = self._files.exists(self._path) and self._files.rename(self._path, old)
                if self._files.exists(self._path) or not self._files.rename(made, self._path):
                    if aside:
                        self._files.rename(old, self._path)
                    raise OutputError("the release could not be put there.", file=self.given)
                self._files.delete(old, True)
        finally:
            with self._reached():
                self._files.delete(made, True)


def check_output(output: str | Path, sources: list[str | Path]) -> None:
    """What was read is never overwritten."""
    if not str(output).endswith(SUFFIXES):
        raise OutputError(f"Spark writes {' or '.join(SUFFIXES)} here.", file=str(output))
    for source in sources:
        if (uri_of(source) + "/").startswith(uri_of(output) + "/"):
            raise OutputError("the release would overwrite what it is made from.", file=str(output))
        if uri_of(output).startswith(uri_of(source) + "/"):
            raise OutputError("the release would lie in the folder that it is made from.", file=str(output))
