"""What cannot be done is refused in words, and no error holds a row or a secret."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import shoal
from tests.support.plain_vaults import make, people

pytestmark = pytest.mark.versions


def test_errors_hold_no_rows(tmp_path: Path, postgres_url: str) -> None:
    """Nor does what Python hangs on them."""

    def chain(error: BaseException | None) -> list[BaseException]:
        return [] if error is None else [error, *chain(error.__context__), *chain(error.__cause__)]

    with pytest.raises(shoal.VaultError) as refused:
        make(postgres_url, data=[{**row, "id": f"SECRET{row['id']}\0"} for row in people(9)])
    for error in chain(refused.value):
        assert "SECRET" not in repr(error) + repr(vars(error))
        if not isinstance(error, shoal.ShoalError):
            assert error.__traceback__ is None


def test_a_secret_is_a_text_or_bytes(tmp_path: Path) -> None:
    with pytest.raises(shoal.ParameterError, match="a text or bytes"):
        make(str(tmp_path / "v.vault"), key_secret=64)
    with make(str(tmp_path / "v.vault"), key_secret="a secret that is long enough") as vault:
        assert vault.hashed(1.0) == vault.hashed(1) == vault.hashed(" 1 ")


def test_odd_arguments_are_refused_in_words(tmp_path: Path) -> None:
    where = str(tmp_path / "v.vault")
    with make(where) as vault:
        vault.publish()
        attempts: list[Callable[[], object]] = [
            lambda: vault.release(2**70),
            lambda: vault.release(True),
            lambda: vault.rebase(seed="x"),  # type: ignore[arg-type]
            lambda: vault.rebase(schema=5),  # type: ignore[arg-type]
            lambda: vault.publish(5, even_if_unchanged=True),  # type: ignore[arg-type]
            lambda: vault.backup(5),  # type: ignore[arg-type]
            lambda: vault.backup("a\0b"),
            lambda: vault.delete(["p1"], source_position="\ud800"),
            lambda: shoal.Vault.open(where, wait="x"),  # type: ignore[arg-type]
            lambda: shoal.Vault.open("a\0b"),
            lambda: shoal.Vault.open("postgresql://u:p@ss:Hunter2@localhost/db"),
        ]
        for attempt in attempts:
            with pytest.raises(shoal.ParameterError) as refused:
                attempt()
            assert "Hunter2" not in str(refused.value)
        (tmp_path / "link.csv").symlink_to(tmp_path / "nowhere" / "x.csv")
        with pytest.raises(shoal.OutputError, match="leads nowhere"):
            vault.publish(tmp_path / "link.csv", even_if_unchanged=True)
        with pytest.raises(shoal.OutputError, match="is a folder"):
            vault.backup(tmp_path, force=True)
        assert len(vault.releases()) == 1


HUGE = 10**30


@pytest.mark.parametrize(
    "verb", ["insert", "upsert", "update", "apply", "replace", "delete", "erase", "data", "default"]
)
def test_a_number_that_no_column_holds_is_named_by_column_and_row(verb: str) -> None:
    columns: dict[str, dict[str, object]] = {
        "id": {"role": "key"},
        "age": {"role": "quasi-identifier", "type": "numeric"},
        "ill": {"role": "sensitive"},
    }
    data = [{"id": i, "age": 20 + i, "ill": "ab"[i % 2]} for i in range(8)]
    wider = shoal.Schema(columns={**columns, "pay": {"role": "insensitive"}})
    with shoal.Vault.create(":memory:", shoal.Schema(columns=columns), data=data, k=2) as vault:
        row = {"id": 1, "age": HUGE, "ill": "a"}
        verbs: dict[str, Callable[[], object]] = {
            "insert": lambda: vault.insert([row]),
            "upsert": lambda: vault.insert([row], upsert=True),
            "update": lambda: vault.update([row]),
            "apply": lambda: vault.apply([{"op": "update", **row}]),
            "replace": lambda: vault.replace([row]),
            "delete": lambda: vault.delete([HUGE]),
            "erase": lambda: vault.erase([-HUGE]),
            "data": lambda: vault.change_schema(wider, data=[{"id": 1, "pay": HUGE}]),
            "default": lambda: vault.change_schema(wider, defaults={"pay": HUGE}),
        }
        with pytest.raises(shoal.DataError, match="row 1: beyond 64 bits") as refused:
            verbs[verb]()
        assert refused.value.column in ("id", "age", "pay")
        assert "000000" not in str(refused.value)
        assert vault.status().version == 1


def test_arguments_of_the_wrong_kind() -> None:
    columns: dict[str, dict[str, object]] = {
        "id": {"role": "key"},
        "age": {"role": "quasi-identifier", "type": "numeric"},
    }
    wider = shoal.Schema(columns={**columns, "pay": {"role": "insensitive"}})
    with shoal.Vault.create(":memory:", shoal.Schema(columns=columns), k=2) as vault:
        wrong: Any
        for wrong in ([1], "pay", 0, {1: 2}, {"pay": [1, "a"]}, {"pay": object()}, {"pay": "\ud800"}, {"pay": {}}):
            with pytest.raises(shoal.ParameterError):
                vault.change_schema(wider, defaults=wrong)
        for wrong in ([("age", "years")], "age", {"age": 3}, {3: "age"}):
            with pytest.raises(shoal.ParameterError):
                vault.change_schema(wider, renamed=wrong)
        for wrong in (None, [], {}, 3):
            with pytest.raises(shoal.ParameterError, match="optimize must be one of"):
                vault.optimize(wrong)
