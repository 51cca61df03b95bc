"""Tables that nobody expects: they are anonymized, and verify, or it is said why not."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

import shoal
from tests.torture.attacks import BROKEN, Size, Tally
from tests.torture.children import Say, in_child

QI = {"role": "quasi-identifier"}
NUMBER, DATE, CODE, WORD = ({**QI, "type": kind} for kind in ("numeric", "date", "prefix", "categorical"))
KEY, ILL = {"role": "key"}, {"role": "sensitive"}
STRANGE = ["", " ", "*", "?", "null", "[1..2]", "a,b", 'quo"te', "line\nbreak", "nul\0l", "\u00e9", "e\u0301", "İ", "ß"]
STRANGE += ["🐟", "\u202e"]
MANY = {f"column {number}": [f"{number}", None, "x"] for number in range(1000)}

Made = tuple[object, dict[str, dict[str, Any]]]

TABLES: dict[str, Callable[[], Made]] = {
    "no rows": lambda: (pa.table({"age": pa.array([], pa.int64())}), {"age": NUMBER}),
    "one row": lambda: (pa.table({"age": [1]}), {"age": NUMBER}),
    "nothing but missing values": lambda: (
        pa.table({"age": pa.nulls(9, pa.int64()), "town": pa.nulls(9, pa.string())}),
        {"age": NUMBER, "town": WORD},
    ),
    "columns without a type": lambda: (pa.table({"a": pa.nulls(9), "b": pa.nulls(9)}), {"a": NUMBER, "b": DATE}),
    "all rows equal": lambda: (pa.table({"age": [3] * 9, "zip": ["12"] * 9}), {"age": NUMBER, "zip": CODE}),
    "one value per row": lambda: (pa.table({"town": [f"t{i}" for i in range(99)]}), {"town": WORD}),
    "1 000 columns": lambda: (pa.table(MANY), dict.fromkeys(MANY, WORD)),
    "huge numbers": lambda: (pa.table({"x": [1e300, -1e300, 1.7e308, -1.7e308, 5e-324, 0.0]}), {"x": NUMBER}),
    "close numbers": lambda: (pa.table({"x": [1e15 + i / 8 for i in range(9)]}), {"x": NUMBER}),
    "huge whole numbers": lambda: (pa.table({"x": [2**63 - 1, -(2**63), 0, 1, 2**53 + 1, 2**53]}), {"x": NUMBER}),
    "infinities": lambda: (pa.table({"x": [float("inf"), -float("inf"), 1.0, 2.0]}), {"x": NUMBER}),
    "not a number": lambda: (pa.table({"x": [float("nan"), float("nan"), 1.0, 2.0]}), {"x": NUMBER}),
    "very long texts": lambda: (
        pa.table({"t": ["x" * 10**6, "y" * 10**6] * 2, "ill": ["z" * 10**6] * 4}),
        {"t": WORD, "ill": ILL},
    ),
    "codes that are too long": lambda: (pa.table({"zip": ["1" * 200, "2" * 3] * 3}), {"zip": CODE}),
    "empty texts": lambda: (pa.table({"t": ["", "", " ", "", None, ""]}), {"t": WORD}),
    "strange texts": lambda: (
        pa.table({"t": STRANGE, "zip": STRANGE, "ill": STRANGE}),
        {"t": WORD, "zip": CODE, "ill": ILL},
    ),
    "strange names": lambda: (
        pa.table({name or "x": [1, 2, 3, 4] for name in dict.fromkeys(STRANGE)}),
        {name or "x": NUMBER for name in dict.fromkeys(STRANGE)},
    ),
    "nothing but a key": lambda: (pa.table({"id": ["a", "b", "c"]}), {"id": KEY}),
    "nothing to generalize": lambda: (pa.table({"ill": ["a", "b", "c"]}), {"ill": ILL}),
    "keys that are there twice": lambda: (
        pa.table({"id": ["a", "b", "a"], "age": [1, 2, 3]}),
        {"id": KEY, "age": NUMBER},
    ),
    "several kinds in a column": lambda: (pa.table({"x": ["1", "two", "3.5", "", "1e5"]}), {"x": NUMBER}),
    "dates at the ends of time": lambda: (
        pa.table({"d": ["0001-01-01", "9999-12-31", "1970-01-01", "0000-00-00"]}),
        {"d": DATE},
    ),
    "a column of lists": lambda: (pa.table({"x": [[1], [2, 3], None]}), {"x": NUMBER}),
    "two columns of one name": lambda: (
        pa.Table.from_arrays([pa.array([1, 2, 3])] * 2, names=["x", "x"]),
        {"x": NUMBER},
    ),
    "text where bytes are": lambda: (pa.table({"x": [b"\xff\xfe", b"a", b"b"]}), {"x": WORD}),
}


def complaints(folder: Path, name: str, ending: str) -> list[str]:
    def work(mouth: int, say: Say) -> None:
        warnings.simplefilter("ignore")
        table, columns = TABLES[name]()
        path = folder / f"release{ending}"
        try:
            schema = shoal.Schema(columns=columns)
            shoal.anonymize(table, schema, k=2).write(path)
        except shoal.InternalError:
            raise
        except shoal.ShoalError as error:
            if not error.message:
                say(complaint="an error that says nothing")
            if list(folder.iterdir()):
                say(complaint="left behind: something")
        else:
            verdict = shoal.verify(path, schema, k=2)
            if not verdict.ok:
                say(complaint=f"does not verify: {verdict.reasons}")
        say(judged=True)

    folder.mkdir()
    ended = in_child(work)
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    found = [line["complaint"] for line in ended.said if "complaint" in line]
    if not ended.told("judged"):
        found.append(f"a raw error or crash: {ended.told('raw') or ended.told('message') or ended.signal}")
    return found


def strange_tables(folder: Path, size: Size) -> Tally:
    tally = Tally()
    quick = [name for name in TABLES if name != "1 000 columns"]
    for name in TABLES if size.whole else quick:
        for ending in (".csv", ".parquet") if size.whole else (".csv",):
            tally.count(BROKEN, f"{name}, {ending}", complaints(folder / "tables", name, ending))
    return tally
