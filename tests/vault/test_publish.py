"""Publishing from a vault: releases that are linked, and refused with a reason and without a trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shoal
from shoal.release.write import write_parts
from tests.support.live_tables import as_table
from tests.support.vault_places import Place
from tests.support.vaults import make, rows_of


def test_the_order_of_rows_tells_nothing(place: Place) -> None:
    """Two releases of the same records have different orders, and neither is that of the records."""
    with make(place()) as vault:
        first, second = vault.publish(), vault.publish(even_if_unchanged=True)
        assert first.table.sort_by("note").num_rows == second.table.num_rows
        assert not first.table.equals(second.table)
        notes = vault.export()["note"].to_pylist()
        assert first.table["note"].to_pylist() != notes


def test_manifests_are_linked(place: Place, tmp_path: Path) -> None:
    with make(place()) as vault:
        vault.publish(tmp_path / "1.csv")
        vault.delete(["key-1"])
        vault.publish(tmp_path / "2.csv")
        manifests = [json.loads((tmp_path / f"{n}.csv.manifest.json").read_text()) for n in (1, 2)]
        assert manifests[0]["previous"] is None
        assert manifests[1]["previous"] == {"release": 1, "sha256": manifests[0]["sha256"]}
        assert [entry.sha256 for entry in vault.releases()] == [manifest["sha256"] for manifest in manifests]
        assert [manifest["release"] for manifest in manifests] == [1, 2]


def test_publishing_is_refused_with_a_reason(place: Place, tmp_path: Path) -> None:
    with make(place()) as vault:
        vault.publish()
        with pytest.raises(shoal.Unchanged, match="nothing has changed since release 1"):
            vault.publish(tmp_path / "x.csv")
        assert vault.publish(even_if_unchanged=True).number == 2
        (tmp_path / "taken.csv").write_text("mine")
        vault.delete(["key-1"])
        with pytest.raises(shoal.OutputError, match="exists already"):
            vault.publish(tmp_path / "taken.csv")
        with pytest.raises(shoal.OutputError, match=r"\.csv or \.parquet"):
            vault.publish(tmp_path / "x.docx")
        vault.delete([f"key-{i}" for i in range(2, 60)])
        with pytest.raises(shoal.VerificationError, match="fewer than k = 3"):
            vault.publish(tmp_path / "x.csv")
        assert len(vault.releases()) == 2
        assert [path.name for path in tmp_path.iterdir() if "vault" not in path.name] == ["taken.csv"]
        vault.insert(as_table(rows_of(20, first=100)))
        assert vault.publish(tmp_path / "taken.csv", force=True).number == 3


def test_a_verifier_that_says_no_keeps_everything_as_it_was(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with make(place()) as vault:

        def strict(table: pa.Table, schema: shoal.Schema, _: int, **more: Any) -> shoal.Verdict:
            return shoal.verify(table, schema, 50, **more)

        monkeypatch.setattr("shoal.release.making.verify", strict)
        with pytest.raises(shoal.VerificationError):
            vault.publish(tmp_path / "x.csv")
        assert vault.releases() == []
        assert not list(tmp_path.glob("*x.csv*"))


def test_a_file_that_cannot_be_placed_leaves_no_trace_but_the_history(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name is taken at the last moment: the release is in the history, and can be written again."""
    from shoal.vault.releases import publish

    with make(place()) as vault:
        write = write_parts

        def taken(*given: Any) -> str:
            (tmp_path / "x.csv").write_text("mine")
            return write(*given)

        monkeypatch.setattr(publish, "write_parts", taken)
        with pytest.raises(shoal.OutputError, match="exists already; release 1 is in the history"):
            vault.publish(tmp_path / "x.csv")
        assert (tmp_path / "x.csv").read_text() == "mine"
        assert not list(tmp_path.glob(".*.part"))
        vault.release(1).write(tmp_path / "y.csv")
        assert vault.releases()[0].file is None
        assert vault.check().ok  # what is there under that name is not the vault's business
