"""A publisher who was interrupted: whoever opens the vault next finishes his work or undoes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import shoal
from shoal.release.write import _parts, manifest_path
from shoal.vault.releases import publish
from shoal.vault.store import tables
from tests.support.plain_vaults import PLAIN, make
from tests.support.vault_places import Place

pytestmark = pytest.mark.versions


def interrupted(vault: shoal.Vault, target: Path, monkeypatch: pytest.MonkeyPatch, at: str, **options: Any) -> None:
    """A publisher who is no more when this function is about to be called."""
    with monkeypatch.context() as broken:
        broken.setattr(publish, at, lambda *given, **more: (_ for _ in ()).throw(SystemExit))
        if at in ("write_parts", "_enter"):
            broken.setattr(publish, "_withdraw", lambda *given: None)
        with pytest.raises(SystemExit):
            vault.publish(target, **options)


def test_recovery_takes_nothing_away(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where, target = place(), tmp_path / "x.csv"
    with make(where) as vault:
        interrupted(vault, target, monkeypatch, "_forget_mark")
        content = target.read_bytes()
        manifest_path(target).rename(tmp_path / "moved.json")  # the steward has filed it already
    with shoal.Vault.open(where) as vault:
        assert target.read_bytes() == content
        assert len(vault.releases()) == 1
        assert vault.check().ok


@pytest.mark.parametrize("at", ["write_parts", "_enter", "place_parts", "discard_parts", "_forget_mark"])
@pytest.mark.parametrize("force", [False, True])
def test_recovery_finishes_or_undoes(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str, force: bool
) -> None:
    where, target = place(), tmp_path / "x.csv"
    if force:
        target.write_text("what was there before")
    with make(where) as vault:
        interrupted(vault, target, monkeypatch, at, force=force)
    with shoal.Vault.open(where) as vault:
        done = at not in ("write_parts", "_enter")
        assert len(vault.releases()) == int(done)
        if done:
            assert shoal.verify(target, PLAIN, k=3).ok
            assert manifest_path(target).exists()
        else:
            assert target.exists() == force
        assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
        assert vault.publish(tmp_path / "next.csv", even_if_unchanged=True).number == int(done) + 1
        assert vault.check().ok


def test_files_of_another_machine_are_left_to_it(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = place()
    with make(where) as vault:
        interrupted(vault, tmp_path / "x.csv", monkeypatch, "place_parts")
        with vault._store.write() as connection:
            connection.execute(sa.update(tables.releases).values(host="elsewhere", file="/nowhere/x.csv"))
    with shoal.Vault.open(where) as vault:
        assert vault.publish(tmp_path / "y.csv", even_if_unchanged=True).number == 2
        assert len(_parts(tmp_path / "x.csv", "")) == 2
        with vault._store.read() as connection:
            marks = connection.scalars(sa.select(tables.releases.c.part)).all()
        assert [mark is None for mark in marks] == [False, True]
