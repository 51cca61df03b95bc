"""What `anonymize` tells the holder: dropped columns, values given away, costly columns, flattered losses."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal.cluster import ALL_MEASURES, METHODS
from shoal.fit import check_fit
from shoal.release.notes import classes_of

SCHEMA = {
    "id": {"role": "key"},
    "name": {"role": "identifier"},
    "age": {"role": "quasi-identifier", "type": "numeric"},
    "ill": {"role": "sensitive"},
}
TABLE = pa.table(
    {
        "id": [str(number) for number in range(8)],
        "name": ["Rumpelstiltskin"] * 8,
        "age": [20, 20, 30, 30, 40, 40, 50, 50],
        "ill": ["flu", "flu", "gout", "gout", "flu", "gout", "gout", "flu"],
    }
)


def anonymized(**more: object) -> shoal.Release:
    return shoal.anonymize(TABLE, SCHEMA, k=2, method="mondrian", **more)  # type: ignore[arg-type]


def test_the_holder_is_told_and_the_recipient_is_not() -> None:
    release = anonymized()
    assert release.notes[0] == "not published: id (key), name (identifier)"
    assert "in 2 of 4 classes all rows share one value of ill (50.0% of the rows)" in release.notes[1]
    assert "l=2 (-l ill=2)" in release.notes[1]
    assert "Rumpelstiltskin" not in str(release.notes)
    assert "flu" not in str(release.notes)
    assert "not published" in release._repr_html_()
    assert not pickle.loads(pickle.dumps(release)).notes
    assert "share one value" not in str(release.manifest)
    assert len(anonymized(l=2).notes) == 1


def test_many_columns_are_named_by_their_cost() -> None:
    rng = np.random.default_rng(1)
    table = {f"q{number}": rng.integers(0, 1 + number, 60).tolist() for number in range(21)}
    schema = {name: {"role": "quasi-identifier", "type": "numeric"} for name in table}
    (note,) = shoal.anonymize(table, schema, k=5, method="mondrian").notes
    assert note.startswith("21 quasi-identifiers are many")
    losses = shoal.anonymize(table, schema, k=5, method="mondrian").measures(public=True, by="column")["il"]
    assert max(losses, key=losses.__getitem__) in note


ROOMS = pa.table({"rooms": [*np.linspace(2, 8, 299).tolist(), 59875.0]})


def rooms(**more: object) -> dict[str, dict[str, object]]:
    return {"rooms": {"role": "quasi-identifier", "type": "numeric", **more}}


def test_an_outlier_flatters_and_a_winsorized_domain_does_not() -> None:
    with pytest.warns(shoal.ShoalWarning, match=r"'rooms': the middle 98 % of its values span 0.01% of its domain"):
        flattered = shoal.anonymize(ROOMS, rooms(), k=5, method="mondrian").measures()
    honest = shoal.anonymize(ROOMS, rooms(domain="winsorized"), k=5, method="mondrian")
    assert honest.measures()["il_share"] > 2 * flattered["il_share"]  # the outlier's own class costs both of them
    assert honest.measures(public=True)["il_share"] == pytest.approx(honest.measures()["il_share"], rel=0.2)
    assert "domain" not in honest.manifest["columns"]["rooms"]  # type: ignore[index]  # its ends are somebody's values
    declared = shoal.anonymize(ROOMS, rooms(domain=[0, 60000]), k=5, method="mondrian")
    assert declared.k == 5  # who declares a domain means it
    with pytest.raises(shoal.SchemaError, match="winsorized"):
        shoal.Schema.load(rooms(domain="quantile"))
    assert check_fit(ROOMS, shoal.Schema.load(rooms(domain="winsorized"))).records == 300


def test_a_release_is_a_frame_where_people_want_one() -> None:
    release = anonymized()
    assert isinstance(release.to_pandas(), pd.DataFrame)
    assert isinstance(release.to_polars(), pl.DataFrame)
    assert list(release.to_pandas().columns) == ["age", "ill"]


def test_help_names_every_option_method_and_measure() -> None:
    text = inspect.getdoc(shoal.anonymize) or ""
    named = inspect.signature(shoal.anonymize).parameters
    for method, known in METHODS.items():
        assert f'"{method}"' in text
        for option in known.options:
            assert option in named
            assert f"`{option}`" in text
    for measure in ALL_MEASURES:
        assert f'"{measure}"' in text
    with pytest.raises(shoal.ParameterError, match="an option"):
        anonymized(effort="fast")
    with pytest.raises(shoal.ParameterError):
        anonymized(nonsense=1)


def test_short_views_for_notebooks() -> None:
    release = anonymized()
    verdict = shoal.verify(release.table, shoal.Schema.load(SCHEMA), 2)
    comparison = shoal.compare(TABLE, SCHEMA, k=2, methods=["mondrian"])
    with shoal.Vault.create(":memory:", SCHEMA, k=2, data=TABLE, method="mondrian") as vault:
        vault.publish()
        changed = vault.insert([{"id": "x", "name": "y", "age": 20, "ill": "flu"}])
        vault.publish(accept_findings=True)
        shown: list[Any] = [release.report(public=True), verdict, comparison, vault.status(), changed, vault.diff(1, 2)]
    starts = [
        "<Report: 8 rows in 4",
        "<Verdict: yes, k = 2",
        "<Comparison of 1 trial",
        "<Status: 9 records in",
        "<Changed: 1 inserted",
        "<Diff: release 1 to 2",
    ]
    for one, start in zip(shown, starts, strict=True):
        assert repr(one).startswith(start)
        assert len(repr(one)) < 250
        assert "<table>" in one._repr_html_()
        assert "Rumpelstiltskin" not in one._repr_html_()


def test_what_nothing_is_left_of_is_said() -> None:
    born = [f"{1930 + n}-0{1 + n % 9}-11" for n in range(60)]
    columns = {"born": {"role": "quasi-identifier", "type": "date", "levels": ["month", "year"]}}
    (note,) = shoal.anonymize({"born": born}, columns, k=5, method="mondrian").notes
    assert note.startswith("nothing but * is left of born:")
    del columns["born"]["levels"]
    assert not shoal.anonymize({"born": born}, columns, k=5, method="mondrian").notes


def test_groups_that_look_the_same_are_one_class() -> None:
    generalized = pa.table(
        {"a": pa.array(["x", "x", "x", "y"]).dictionary_encode(), "b": pa.array(["1"] * 4).dictionary_encode()}
    )
    assert classes_of(generalized, np.array([4, 0, 4, 2], np.int32)).tolist() == [0, 0, 0, 1]
