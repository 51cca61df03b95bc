"""Columns and values that earlier epochs knew: gone from what is stored, and from history."""

from __future__ import annotations

from pathlib import Path

import pytest

import shoal
from tests.support.plain_vaults import CATEGORY, IDENTIFIER, NUMBER, SENSITIVE, people, schema

pytestmark = pytest.mark.versions


def stored(where: str) -> bytes:
    return b"".join(path.read_bytes() for path in Path(where).parent.iterdir() if path.name.startswith("v.vault"))


def test_what_earlier_epochs_froze_is_forgotten(tmp_path: Path) -> None:
    where = str(tmp_path / "v.vault")
    described = schema(age=NUMBER, s=SENSITIVE, w={**SENSITIVE, "type": "numeric"})
    rows = [{**row, "w": 1.5 * i} for i, row in enumerate(people(30))]
    rows[0] |= {"age": 777123, "s": "LEPROSYX", "w": 987654.25}
    with shoal.Vault.create(where, described, republication="none", k=3, data=rows, t=0.95, seed=1) as vault:
        vault.rebase()
        vault.delete(["p0"])
        vault.rebase()
        vault.compact()
        assert not [mark for mark in (b"777123", b"LEPROSYX", b"987654") if mark in stored(where)]
        assert vault.check().ok


def test_a_column_that_becomes_an_identifier_leaves_history(tmp_path: Path) -> None:
    where = str(tmp_path / "v.vault")
    described = schema(age=NUMBER, town=CATEGORY, s=SENSITIVE)
    rows = [
        {**row, "town": ["Springfield", "Shelbyville"][i % 2], "s": ["smallpox", "cowpox"][i % 2 ^ (i % 3 == 0)]}
        for i, row in enumerate(people(30))
    ]
    with shoal.Vault.create(where, described, republication="none", k=3, data=rows, l=1.1, t=0.9, seed=1) as vault:
        vault.publish()
        vault.rebase(schema=schema(age=NUMBER, town=IDENTIFIER, s=IDENTIFIER), clear_rules=True)
        vault.compact()
        assert not [mark for mark in (b"pox", b"Springfield", b"Shelbyville") if mark in stored(where)]
        release = vault.release(1)
        assert release.table.column_names == ["age"]
        assert set(release.manifest["hidden"]) == {"s", "town"}  # type: ignore[call-overload]  # JSON
        vault.publish()
        assert vault.check().ok
        vault.backup(tmp_path / "copy")
        with shoal.Vault.restore(tmp_path / "copy", tmp_path / "again") as again:
            assert again.release(1).table.equals(release.table)
