"""What cannot be done is refused in words, and no error holds a row or a secret."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

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
