"""How text is written: found out, or said; never guessed where it may be damage."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import shoal
from shoal.records.reading import read_for
from shoal.sources.encodings import is_western, marked

TEXT = "name;town;born\nJürgen;Köln;31.12.1950\nZoë;Besançon;01.02.1960\n"
SCHEMA = shoal.Schema(
    columns={
        "name": {"role": "identifier"},
        "town": {"role": "quasi-identifier", "type": "categorical"},
        "born": {"role": "quasi-identifier", "type": "date", "format": "%d.%m.%Y"},
    }
)


@pytest.mark.versions
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1"])
def test_what_people_have_is_read(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(TEXT.encode(encoding))
    if encoding in ("latin-1", "utf-16-le", "utf-16-be"):
        with pytest.warns(shoal.ShoalWarning, match="is not UTF-8, and was read as"):
            table, _ = read_for(SCHEMA, path)
    else:
        table, _ = read_for(SCHEMA, path)
    assert table["town"].to_pylist() == ["Köln", "Besançon"]
    said = {"utf-8-sig": "utf-8"}.get(encoding, encoding)
    assert read_for(SCHEMA.reading(encoding=said), path)[0]["town"].to_pylist() == ["Köln", "Besançon"]


def test_an_umlaut_on_page_two_is_found_late(tmp_path: Path) -> None:
    path = tmp_path / "people.csv.gz"
    lines = "name;town;born\n" + "x;Ulm;31.12.1950\n" * 20_000 + "y;Köln;31.12.1950\n"
    path.write_bytes(gzip.compress(lines.encode("cp1252")))
    with pytest.warns(shoal.ShoalWarning, match="cp1252"):
        table, _ = read_for(SCHEMA, path)
    assert table["town"].to_pylist()[-1] == "Köln"


@pytest.mark.parametrize(
    "data",
    [
        "Köln".encode() + "Köln".encode("latin-1"),  # both: it is damaged
        "Москва".encode("cp1251"),  # another alphabet
        b"K\x81ln",  # what CP1252 does not have
        b"plain",
    ],
)
def test_what_may_be_damage_or_another_alphabet_is_not_latin(data: bytes) -> None:
    assert not is_western(iter([data]))


def test_blocks_may_end_inside_a_character() -> None:
    data = ("ü" * 3 + "x").encode() * 50
    assert not any(is_western(iter([data[:cut], data[cut:]])) for cut in range(len(data)))
    assert marked("people".encode("utf-16-le") * 10) == "utf-16-le"


def test_an_encoding_that_is_none_is_refused(tmp_path: Path) -> None:
    for name in ("klingon", "rot13", "", "utf-8\0"):
        with pytest.raises(shoal.SchemaError, match="encoding must name"):
            shoal.Schema(columns={"a": {"role": "key"}}, encoding=name)
    (tmp_path / "people.csv").write_bytes(TEXT.encode("latin-1"))
    with pytest.raises(shoal.DataError, match=r"not (UTF|utf)-8"):
        read_for(SCHEMA.reading(encoding="utf-8"), tmp_path / "people.csv")
    with pytest.raises(shoal.DataError, match="utf-16"):
        read_for(SCHEMA.reading(encoding="utf-16"), tmp_path / "people.csv")


@pytest.mark.parametrize("said", ["cp1252", "latin-1", "iso-8859-15"])
def test_utf8_is_read_as_such_although_the_schema_says_western(said: str, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(TEXT.encode())
    with pytest.warns(shoal.ShoalWarning, match="is UTF-8, and was read so"):
        table, _ = read_for(SCHEMA.reading(encoding=said), path)
    assert table["town"].to_pylist() == ["Köln", "Besançon"]


def test_a_batch_in_utf8_comes_whole_into_a_vault_made_of_cp1252(tmp_path: Path) -> None:
    first, batch = tmp_path / "first.csv", tmp_path / "batch.csv"
    first.write_bytes(("id;town\n" + "".join(f"{n};Köln\n" for n in range(4))).encode("cp1252"))
    batch.write_bytes("op;id;town\ninsert;9;Düren\n".encode())
    columns = {"id": {"role": "key"}, "town": {"role": "quasi-identifier", "type": "categorical"}}
    schema = shoal.Schema(columns=columns, encoding="cp1252")
    with shoal.Vault.create(tmp_path / "v.vault", schema, k=2, data=first) as vault:
        with pytest.warns(shoal.ShoalWarning, match="is UTF-8"):
            vault.apply(batch)
        assert set(vault.export()["town"].to_pylist()) == {"Köln", "Düren"}
