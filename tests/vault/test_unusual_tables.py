"""Tables that are not as usual: columns without a value, columns of odd types, batches without a row."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shoal
from tests.support.plain_vaults import INSENSITIVE, NUMBER, SENSITIVE, make, people, schema
from tests.support.vault_places import Place, by_key

pytestmark = pytest.mark.versions


@pytest.mark.parametrize("seed", range(6))
def test_a_maintainer_that_splits_when_it_is_made(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)

    def row(i: int) -> dict[str, Any]:
        return {"id": f"p{i}", "age": rng.randint(0, 99), "h": rng.randint(140, 200), "s": rng.choice("xyz")}

    where, described = str(tmp_path / "v.vault"), schema(age=NUMBER, h=NUMBER, s=SENSITIVE)
    data = [row(i) for i in range(60)]
    with shoal.Vault.create(
        where, described, republication="none", k=4, data=data, maintainer="similar-b-tree", seed=seed
    ) as vault:
        vault.insert([row(100 + i) for i in range(15)])
        vault.optimize()
        release = vault.publish()
        assert vault.release(1).table.equals(release.table)
        assert vault.check().ok
    with shoal.Vault.open(where) as vault:
        vault.insert([row(200 + i) for i in range(15)])
        assert vault.check().ok


def test_a_column_in_which_nobody_has_a_value(place: Place) -> None:
    described = schema(age=NUMBER, x=INSENSITIVE, s=SENSITIVE)
    empty = [{**row, "x": None} for row in people(6)]
    first, second = place(), place()
    with shoal.Vault.create(first, described, republication="none", k=2, data=empty) as vault:
        vault.publish()
    with shoal.Vault.create(second, described, republication="none", k=2) as vault:
        vault.insert(empty)
    for where in (first, second):
        with shoal.Vault.open(where) as vault:
            vault.insert([{**row, "x": "at last"} for row in people(2, 10)])
        with shoal.Vault.open(where) as vault:
            assert by_key(vault.export())["p10"]["x"] == "at last"
            assert vault.check().ok


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[1], [2]]),
        pa.array([{"a": 1}, {"a": 2}]),
        pa.array([b"\xff\xfe", b"x"]),
        pa.array([1, 2], pa.duration("s")),
        pa.array([1, 2], pa.time64("us")),
    ],
    ids=["lists", "structs", "bytes", "durations", "times"],
)
def test_what_comes_to_an_empty_vault_can_be_read_back(tmp_path: Path, column: pa.Array) -> None:
    """It is refused, or it is there when the vault is opened again."""
    where = str(tmp_path / "v.vault")
    rows = pa.table({"id": ["a", "b"], "age": [1, 2], "x": column})
    with shoal.Vault.create(where, schema(age=NUMBER, x=INSENSITIVE), republication="none", k=2) as vault:
        try:
            vault.insert(rows)
            kept = rows["x"].to_pylist()
        except shoal.DataError:
            kept = []
    with shoal.Vault.open(where) as vault:
        assert vault.export()["x"].to_pylist() == kept
        assert vault.check().ok


def test_nothing_to_do_is_done(place: Place) -> None:
    with make(place()) as vault:
        assert vault.insert([]).version == vault.delete([]).version == vault.update([]).version == 1
        assert vault.apply(ChangeNothing, source_position="here").version == 1
        assert vault.source_position == "here"
        vault.publish()
        vault.insert([])
        with pytest.raises(shoal.Unchanged):
            vault.publish()


ChangeNothing = pa.table({"op": pa.array([], pa.string()), "id": pa.array([], pa.string())})
