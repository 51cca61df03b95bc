"""From a table to a proposal."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from shoal.errors import DataError, ShoalWarning
from shoal.inference.beside import hierarchies_beside
from shoal.inference.columns import Guess, Sure, guess
from shoal.inference.days import differ_in_order, is_month_first
from shoal.inference.missing import means_missing
from shoal.inference.names import KEY, meaning_of, words_of
from shoal.inference.proposal import Proposal
from shoal.inference.thousands import settle_thousands
from shoal.roles import ColumnType, Role
from shoal.sources.csv_files import CsvFile, Expected
from shoal.sources.encodings import UTF8, checked_encoding
from shoal.sources.excel import ExcelFile
from shoal.sources.normalize import looks_like_a_number, number_text
from shoal.sources.opening import Source, open_source
from shoal.sources.statistics_files import StatisticsFile

NO_VALUE = ("", "na", "n a", "nan", "null", "nil", "none", "no", "missing", "unknown", "not known", "empty", "x")
SEVERAL = 3  # columns that show that the first line is a header


def propose(
    source: object, *, header: bool | None = None, encoding: str | None = None, sheet: str | None = None
) -> Proposal:
    """Look at a file or table and propose a schema for it.

    `header`: whether the first line of a CSV names the columns. If it is not said, the file has to leave no doubt: a
    proposal shows names, and a first line that is none is a record.
    """
    encoding = None if encoding is None else checked_encoding(encoding)
    opened = open_source(source, Expected(header=header, encoding=encoding, sheet=sheet))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShoalWarning)  # of the encoding: the proposal says it
        table = opened.load(opened.columns)
    if table.num_rows == 0:
        raise DataError("the table has no records to learn from.", file=opened.file)
    labels = opened.labels if isinstance(opened, StatisticsFile) else {}
    guesses = [guess(name, table[name], labels.get(name)) for name in table.column_names]
    settle_thousands(guesses, table)
    if isinstance(opened, StatisticsFile):
        _labelled_missing(guesses, opened)
    by_lines = isinstance(opened, CsvFile | ExcelFile)
    if by_lines and opened.header and header is None and not _are_names(guesses):  # type: ignore[attr-defined]
        raise DataError(
            "the first line may be a record: nothing in the file shows that it names the columns.",
            hint="Say --header if it does, or --no-header if it is a record (in Python, header=True or False).",
            file=opened.file,
            line=1,
            values=table.column_names,
        )
    if by_lines and not opened.header and header is None:  # type: ignore[attr-defined]
        _refuse_half_a_header(table, opened.file)
    _keep_one_key(guesses)
    _same_order_of_days(guesses)
    if isinstance(source, str | Path) and opened.file:
        hierarchies_beside(Path(opened.file), guesses)
    return Proposal(
        guesses,
        sorted({word for one in guesses if one.profile for word in one.profile.missing_words}),
        False if by_lines and not opened.header else None,  # type: ignore[attr-defined]
        _encoding(opened, encoding),
        sheet,
    )


def _labelled_missing(guesses: list[Guess], opened: StatisticsFile) -> None:
    """Numbers among others whose label says that there is no value: 998, refused."""
    for one in guesses:
        for number in one.profile.numbers.tolist() if one.profile and one.profile.is_number else ():
            label, text = opened.value_label(one.name, number), number_text(number)
            if label is not None and means_missing(label) and text not in one.missing:
                one.missing.append(text)


def _encoding(opened: Source, said: str | None) -> str | None:
    """What the schema has to say of it: a mark at the beginning of a file speaks for itself."""
    if said is not None:
        return None if isinstance(opened, CsvFile) and opened.not_as_said else said
    return opened.encoding if isinstance(opened, CsvFile) and opened.detected and opened.encoding != UTF8 else None


def _are_names(guesses: Sequence[Guess]) -> bool:
    """Most columns, or several, have a name as columns have them, or a text above nothing but numbers or dates."""
    telling = [one for one in guesses if _tells(one)]
    return len(telling) >= SEVERAL or 2 * len(telling) > len(guesses)


def _refuse_half_a_header(table: pa.Table, file: str | None) -> None:
    """A first line with a name twice, or without one, is no header that can be used, and no record either."""
    first = ["" if cell is None else str(cell).strip() for cell in table.slice(0, 1).to_pylist()[0].values()]
    twice = [number for number, name in enumerate(first, start=1) if name and first.count(name) > 1]
    blank = [number for number, name in enumerate(first, start=1) if not name]
    names = [name for name in first if name]
    if not (twice or blank) or table.num_rows < 2 or not names or any(map(looks_like_a_number, names)):
        return
    below = table.slice(1)
    if not _are_names([guess(name, below.column(place)) for place, name in enumerate(first) if name]):
        return
    alike = [number for number in twice if first[number - 1] == first[twice[0] - 1]]
    raise DataError(
        f"the header has one name for columns {', '.join(map(str, alike[:-1]))} and {alike[-1]}."
        if twice
        else f"the header has no name for column {blank[0]}.",
        hint="Give every column a name of its own; or say --no-header if the first line is a record.",
        file=file,
        line=1,
        values=[first[alike[0] - 1]] if twice else [],
    )


def _tells(one: Guess) -> bool:
    words = words_of(one.name)
    if words in NO_VALUE or not one.name[0].isalpha():  # `unknown` above numbers is the first record's
        return False
    if KEY.search(words) or meaning_of(words) is not None:
        return True
    profile = one.profile
    return profile is not None and bool(profile.texts) and (profile.is_number or profile.is_date)


def _keep_one_key(guesses: list[Guess]) -> None:
    """The surest is the key; others that are unique name records, too."""
    keys = [one for one in guesses if one.role == Role.KEY]
    if len(keys) < 2:
        return
    order = list(Sure)
    best = min(keys, key=lambda one: (order.index(one.sure), guesses.index(one)))
    for one in keys:
        if one is not best:
            one.role, one.why = Role.IDENTIFIER, f"unique as well, but {best.name!r} is the key"


def _same_order_of_days(guesses: list[Guess]) -> None:
    """Where a column leaves open whether day or month comes first, others of the table may tell."""
    dates = [one for one in guesses if one.reads == ColumnType.DATE and one.profile and one.profile.days]
    told = [one.format for one in dates if one.format and one.profile and not differ_in_order(one.profile.days)]
    if not told:
        return
    month_first = is_month_first(told[0])
    for one in dates:
        if one.profile and differ_in_order(one.profile.days):
            one.format = next(form for form in one.profile.days if form and is_month_first(form) == month_first)
            if one.type == ColumnType.DATE:
                one.sure = Sure.LIKELY
                one.why = f"{one.why.partition(', and nothing shows')[0]}, in the order of the other dates"
