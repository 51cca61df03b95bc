"""What files tell by themselves: the order of rows, what looks like a name, how numbers are written, what is left over
in a file, and rare values that lead from a row of one release to its row in another.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from tests.attacks.files import Cells, Line
from tests.attacks.knowledge import Class, Knowledge, Person


class Link(NamedTuple):
    """A row of one release and a row of another that must be the same person's: their numbers in the files."""

    first: int
    second: int


def rare_links(first: Sequence[Line], second: Sequence[Line], columns: Sequence[str]) -> list[Link]:
    """Rows whose values in these columns (those that are published as they are) are unique in both files.

    It is a guess: whoever had them may have left as another came with them. The fewer changes, the better it is.
    """
    here, there = _unique(first, columns), _unique(second, columns)
    return [Link(here[values], there[values]) for values in here if values in there]


def _unique(lines: Sequence[Line], columns: Sequence[str]) -> dict[Cells, int]:
    found: dict[Cells, list[int]] = {}
    for number, line in enumerate(lines):
        found.setdefault(tuple(line[name] for name in columns), []).append(number)
    return {values: numbers[0] for values, numbers in found.items() if len(numbers) == 1}


def linked_people(knowledge: Knowledge, classes: Iterable[tuple[Class, Class]]) -> list[set[Person]]:
    """Who can be meant by linked rows: those who are in the one class in the first release and in the other in the
    second. Each link is given by the classes of its rows.
    """
    one, other = knowledge.releases
    return [
        {knowledge.person(unknown) for unknown in one.holders.get(here, ())}
        & {knowledge.person(unknown) for unknown in other.holders.get(there, ())}
        for here, there in classes
    ]


@dataclass(frozen=True)
class Order:
    """How the places of linked rows go together in two files."""

    links: int
    correlation: float

    @property
    def surprise(self) -> float:
        """By how many standard deviations this is off what random orders give."""
        return abs(self.correlation) * math.sqrt(max(self.links - 1, 0))


def order(links: Sequence[Link]) -> Order:
    """The rank correlation of the places of linked rows: 1 if they come in the same order, about 0 if at random."""
    if len(links) < 2:
        return Order(len(links), 0.0)
    ranks = [_ranks([link[side] for link in links]) for side in (0, 1)]
    middle = (len(links) - 1) / 2
    covariance = sum((a - middle) * (b - middle) for a, b in zip(*ranks, strict=True))
    return Order(len(links), covariance / sum((a - middle) ** 2 for a in ranks[0]))


def _ranks(numbers: Sequence[int]) -> list[int]:
    rank = {number: place for place, number in enumerate(sorted(numbers))}
    return [rank[number] for number in numbers]


def naming_columns(first: Sequence[Line], second: Sequence[Line]) -> list[str]:
    """Columns that name rows: at least nine of ten cells are unique in their file, and many are in the other one too.

    A key, a number of a record, a label that stays with a person or with a group of one.
    """
    columns = [name for name in (first[0] if first else {}) if second and name in second[0]]
    return [
        name
        for name in columns
        if len(_unique(first, [name])) >= 0.9 * len(first) and 2 * len(rare_links(first, second, [name])) >= len(first)
    ]


def mentioned(paths: Iterable[Path], secrets: Iterable[str]) -> set[str]:
    """Secrets (keys, names, values of people who have left) that stand in a file, its manifest, or a file's name."""
    content = b"\n".join(path.name.encode() + b"\n" + path.read_bytes() for path in paths)
    words = set(re.findall(rb"[\w-]+", content))  # as a whole: key-1 is not in key-17
    return {secret for secret in secrets if set(re.findall(rb"[\w-]+", secret.encode())) <= words}


def spellings(lines: Sequence[Line], column: str) -> dict[str, Counter[str]]:
    """Values of a column that are written in several ways, as `1` and `1.0`: how a cell is written marks a row."""
    found: dict[str, Counter[str]] = {}
    for line in lines:
        found.setdefault(_plain(line[column]), Counter())[line[column]] += 1
    return {value: ways for value, ways in found.items() if len(ways) > 1}


def _plain(cell: str) -> str:
    """One text for all ways to write a value; of an interval, for both ends."""
    return re.sub(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", lambda number: repr(float(number[0])), cell.strip().casefold())


def leftovers(path: Path) -> dict[str, set[str]]:
    """Values that a Parquet file has in its dictionaries or statistics, by column, and no row shows."""
    found: dict[str, set[str]] = {}
    with pq.ParquetFile(path) as file:
        names, metadata = file.schema_arrow.names, file.metadata
        shown = {name: set(map(str, file.read([name])[name].to_pylist())) for name in names}
        read = pq.read_table(path, read_dictionary=names)
        for name in names:
            for chunk in read[name].chunks:
                if hasattr(chunk, "dictionary"):
                    found.setdefault(name, set()).update(map(str, chunk.dictionary.to_pylist()))
        for group in range(metadata.num_row_groups):
            for number in range(metadata.num_columns):
                column = metadata.row_group(group).column(number)
                if column.is_stats_set and column.statistics.has_min_max:
                    ends = {str(column.statistics.min), str(column.statistics.max)}
                    found.setdefault(column.path_in_schema, set()).update(ends)
    return {name: values - shown[name] for name, values in found.items() if values - shown[name]}


def notes(path: Path) -> dict[str, str]:
    """What a Parquet file says beside its rows."""
    with pq.ParquetFile(path) as file:
        metadata = {**(file.metadata.metadata or {}), **(file.schema_arrow.metadata or {})}
        fields = {field.name: field.metadata for field in file.schema_arrow if field.metadata}
        fields = {name: kept for name, kept in fields.items() if set(kept) - {b"PARQUET:field_id"}}
    told = {key.decode(): value.decode(errors="replace") for key, value in metadata.items()}
    return told | {f"column {name}": repr(kept) for name, kept in fields.items()}


def facts(manifest: Mapping[str, Any] | Path) -> dict[str, Any]:
    """Every single thing that a manifest says, by the way to it: `columns.age.domain.0`."""
    content = json.loads(manifest.read_text()) if isinstance(manifest, Path) else manifest
    return dict(_leaves(content, ""))


def _leaves(content: Any, way: str) -> Iterator[tuple[str, Any]]:
    inside: Iterable[tuple[Any, Any]] = ()
    if isinstance(content, Mapping):
        inside = content.items()
    elif isinstance(content, list):
        inside = enumerate(content)
    else:
        yield way, content
    for name, part in inside:
        yield from _leaves(part, f"{way}.{name}" if way else str(name))


def manifest_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.manifest.json")
