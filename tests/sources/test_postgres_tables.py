"""Tables and queries of a PostgreSQL server."""

from __future__ import annotations

from datetime import date

import psycopg
import pytest

import shoal
from shoal.records.reading import read_for


def test_tables_views_and_queries_are_read_and_nothing_is_written(postgres_url: str) -> None:
    place = postgres_url
    with psycopg.connect(place) as connection:
        connection.execute("CREATE SCHEMA office")
        connection.execute('CREATE TABLE office."People here" (id bigint, town text, born date, pay numeric(10, 2))')
        rows = "(1, 'Köln', '1950-12-31', 1.50), (2, NULL, NULL, NULL)"
        connection.execute(f'INSERT INTO office."People here" VALUES {rows}')
        connection.execute('CREATE VIEW everybody AS SELECT * FROM office."People here"')
    joint = "&" if "?" in place else "?"
    for name in ("office.People here", "everybody"):
        table = shoal.read(f"{place}{joint}table={name}")
        assert table["id"].to_pylist() == [1, 2]
        assert table["town"].to_pylist() == ["Köln", None]
        assert table["born"].to_pylist() == [date(1950, 12, 31), None]
        assert table["pay"].to_pylist() == ["1.50", None]  # exact, as the schema's type reads it
    counted = shoal.read(f"{place}{joint}query=SELECT count(*) AS n FROM everybody WHERE town LIKE 'K%25'")
    assert counted["n"].to_pylist() == [1]
    deleting = 'WITH gone AS (DELETE FROM office."People here" RETURNING *) SELECT * FROM gone'
    with pytest.raises(shoal.DataError, match="cannot be read"):
        shoal.read(f"{place}{joint}query={deleting}")
    assert shoal.read(f"{place}{joint}table=everybody").num_rows == 2
    schema = shoal.Schema(
        columns={
            "id": {"role": "key"},
            "town": {"role": "identifier"},
            "born": {"role": "quasi-identifier", "type": "date"},
            "pay": {"role": "sensitive", "type": "numeric"},
        }
    )
    loaded, file = read_for(schema, f"{place}{joint}table=everybody")
    assert loaded.column_names == ["id", "born", "pay"]  # identifiers are never fetched
    assert file == "table 'everybody' of the PostgreSQL database"
