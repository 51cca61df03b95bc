"""Files that a vault lies in and publishes: links, releases that have happened or not, what is never overwritten."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app
from shoal.errors import VaultError
from shoal.release.write import manifest_path
from shoal.vault.releases import publish
from shoal.vault.store.store import Store
from tests.support.small_vaults import SCHEMA, hidden, make, people
from tests.support.vault_places import Place

# Publishing: it has happened, or it has not


@pytest.mark.parametrize("force", [False, True])
def test_a_release_that_has_happened_is_reported_as_such(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, force: bool
) -> None:
    """The disk fills, or the connection is lost, at the nth commit, before it or when it has worked."""
    where = place()
    with make(where) as vault:
        vault.publish(tmp_path / "r.csv")
    full = VaultError("there is no room left on the disk; what the vault holds is as it was.")
    for moment in ("before", "after"):
        for nth in range(1, 6):
            target = tmp_path / ("r.csv" if force else f"{moment}-{nth}.csv")
            old = target.read_bytes() if target.exists() else None
            with shoal.Vault.open(where) as vault:
                known = len(vault.releases())
                with monkeypatch.context() as broken:
                    failing(broken, nth, moment, full)
                    try:
                        made = vault.publish(target, force=force, even_if_unchanged=True)
                    except shoal.ShoalError:
                        made = None
                history = vault.releases()
                assert len(history) == known + (made is not None)
                if made is None:
                    assert (target.read_bytes() if target.exists() else None) == old
                else:
                    assert made.number == history[-1].number
                    assert shoal.verify(target, SCHEMA, 3).ok
                    assert json.loads(manifest_path(target).read_text())["release"] == made.number
            with shoal.Vault.open(where) as vault:
                assert vault.check().ok, vault.check().problems
                assert len(vault.releases()) == known + (made is not None)
            assert hidden(tmp_path) == []


def failing(monkeypatch: pytest.MonkeyPatch, nth: int, moment: str, problem: Exception) -> None:
    from contextlib import contextmanager

    write, count = Store.write, [0]

    @contextmanager
    def written(store: Store) -> Any:
        count[0] += 1
        here = count[0] == nth
        if here and moment == "before":
            raise problem
        with write(store) as connection:
            yield connection
        if here:
            raise problem

    monkeypatch.setattr(Store, "write", written)


def test_a_release_whose_file_got_no_name_is_in_no_file(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where, target = place(), tmp_path / "r.csv"
    with make(where) as vault:
        vault.publish(target)
        old = target.read_bytes()
        with monkeypatch.context() as broken:

            def refused(*_: object, **__: object) -> None:
                raise shoal.OutputError("cannot be written: Input/output error.", file=str(target))

            broken.setattr(publish, "place_parts", refused)
            with pytest.raises(shoal.OutputError, match="release 2 is in the history, but not in this file"):
                vault.publish(target, force=True, even_if_unchanged=True)
        assert target.read_bytes() == old
        assert [entry.file for entry in vault.releases()] == [str(target), None]
        checked = vault.check()
        assert checked.ok, checked.problems


def test_a_changed_file_or_manifest_is_found(place: Place, tmp_path: Path) -> None:
    with make(place()) as vault:
        vault.publish(tmp_path / "r.csv")
        assert vault.check().ok
        manifest = tmp_path / "r.csv.manifest.json"
        said = manifest.read_text()
        forgeries: list[dict[str, object]] = [{"k": 30}, {"rows": 41}, {"created": "2001-01-01"}, {"columns": {}}]
        forgeries += [{"more": 1}, {"sha256": ""}]
        for forged in forgeries:
            manifest.write_text(json.dumps({**json.loads(said), **forged}))
            assert "is not as it was published" in " ".join(vault.check().problems), forged
        for broken in ("", "[]", said[:-20], "\x00"):
            manifest.write_text(broken)
            assert not vault.check().ok
        manifest.write_text(said)
        assert vault.check().ok
        manifest.unlink()  # filed elsewhere
        assert vault.check().ok
        (tmp_path / "r.csv").write_text("age,ill\n")
        assert "r.csv is not as it was published" in " ".join(vault.check().problems)


# Links


def test_a_vault_has_one_lock_whatever_link_it_is_opened_through(tmp_path: Path) -> None:
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "v"
    with make(tmp_path / "v") as vault:
        link.symlink_to(tmp_path / "v")
        with shoal.Vault.open(link, wait=0) as other, vault._store.writer(0), pytest.raises(shoal.VaultBusy):
            other.insert(people(1, 100))
        with shoal.Vault.open(link) as other:
            other.insert(people(1, 100))
        assert vault.status().records == 41
    assert [path.name for path in (tmp_path / "links").iterdir()] == ["v"]


def test_a_reader_through_a_link_in_a_read_only_folder_sees_what_was_written_last(tmp_path: Path) -> None:
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "v"
    with make(tmp_path / "v") as vault:
        link.symlink_to(tmp_path / "v")
        (tmp_path / "links").chmod(0o555)
        vault.insert(people(2, 100))
        code = f"import shoal; print(shoal.Vault.open({str(link)!r}).status().records)"
        command = [sys.executable, "-c", code]
        if os.getuid() == 0 and shutil.which("setpriv"):  # rights mean nothing to root
            command = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *command]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        (tmp_path / "links").chmod(0o755)
        assert done.stdout.strip() == "42", done.stderr


def test_a_second_name_of_a_vault_is_noticed(tmp_path: Path) -> None:
    make(tmp_path / "v").close()
    (tmp_path / "w").hardlink_to(tmp_path / "v")
    for name in ("v", "w"):
        with pytest.raises(VaultError, match="second name"):
            shoal.Vault.open(tmp_path / name)
    done = CliRunner().invoke(app, ["status", str(tmp_path / "w")])
    assert done.exit_code == 2
    (tmp_path / "w").unlink()
    with shoal.Vault.open(tmp_path / "v") as vault:
        assert vault.check().ok


# What is never overwritten


def test_what_is_the_holders_never_takes_the_place_of_a_release(tmp_path: Path) -> None:
    with make(tmp_path / "v") as vault:
        vault.publish(tmp_path / "r.csv")
        published = (tmp_path / "r.csv").read_bytes()
        rows = lambda path, force: vault.release_rows(1, path, force=force)  # noqa: E731
        for write in (vault.export, vault.groups, vault.backup, rows):
            with pytest.raises(shoal.OutputError, match="manifest lies beside it"):
                write(tmp_path / "r.csv", force=True)
        assert (tmp_path / "r.csv").read_bytes() == published


def test_vaults_and_what_lies_beside_them_are_never_overwritten(tmp_path: Path) -> None:
    make(tmp_path / "other.csv").close()
    (tmp_path / "data.csv").write_text("id,age,ill\n" + "".join(f"{i},{i},x\n" for i in range(9)))
    schema = tmp_path / "schema.toml"
    schema.write_text(
        '[columns.id]\nrole = "key"\n[columns.age]\nrole = "quasi-identifier"\ntype = "numeric"\n'
        '[columns.ill]\nrole = "insensitive"\n'
    )
    with shoal.Vault.create(tmp_path / "v", schema, republication="none", k=3, data=tmp_path / "data.csv") as vault:
        before = {path: path.read_bytes() for path in tmp_path.iterdir() if "shm" not in path.name}
        for ending in (".head", ".lock", "-wal", "-journal"):
            with pytest.raises(shoal.OutputError, match="belongs to the vault"):
                vault.backup(tmp_path / f"v{ending}", force=True)
        for target in ("schema.toml", "data.csv", "v"):
            with pytest.raises(shoal.OutputError, match="is made from"):
                vault.backup(tmp_path / target, force=True)
        with pytest.raises(shoal.OutputError, match="is a vault"):
            vault.backup(tmp_path / "other.csv", force=True)
        for write in (vault.export, vault.groups, lambda path, force: vault.publish(path, force=force)):
            with pytest.raises(shoal.OutputError, match="is made from"):
                write(tmp_path / "data.csv", force=True)
            with pytest.raises(shoal.OutputError, match="is a vault"):
                write(tmp_path / "other.csv", force=True)
        for target in ("other.csv", "v.head"):
            done = CliRunner().invoke(
                app, ["schema", "infer", str(tmp_path / "data.csv"), "-o", str(tmp_path / target), "--force"]
            )
            assert done.exit_code == 2
        for path, content in before.items():
            assert path.read_bytes() == content, path.name


def test_a_killed_rewrite_of_a_release_is_tidied_up(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with make(tmp_path / "v") as vault:
        vault.publish()
    code = (
        "import os, signal, sys, shoal\n"
        "from shoal.release import write\n"
        "write.place_together = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"shoal.Vault.open({str(tmp_path / 'v')!r}).release(1, {str(tmp_path / 'out' / 'r.csv')!r})"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    assert hidden(tmp_path / "out")
    shoal.Vault.open(tmp_path / "v").close()
    assert hidden(tmp_path / "out") == []
