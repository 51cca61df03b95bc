"""What must be true afterwards, looked at from outside, by a process that was not there."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import shoal
from tests.torture.children import Ended
from tests.torture.scenarios import Scenario
from tests.torture.worlds import State, World, goes_on, sha256, state

MANIFEST = ".manifest.json"
IN_HISTORY = "is in the history, but not in this file"  # what publish says when only the last step has failed
LATER = "gets its file when the vault is next opened"  # and when that could not be stored either
ERASED = "but compacting the vault has failed"  # what erase says when the records are deleted


@dataclass(frozen=True)
class Picture:
    """Of a world, when nobody is at work in it."""

    files: dict[str, str | None]  # their hashes
    vault: State | None
    backup: State | None

    @classmethod
    def of(cls, world: World, scenario: Scenario) -> Picture:
        backup = None if scenario.backup is None else copied_state(world, world.out / scenario.backup)
        vault = there(world)
        return cls({name: sha256(world.folder / name) for name in world.files()}, vault, backup)


def there(world: World) -> State | None:
    """None: there is no vault, and the error says so."""
    try:
        return state(world.where)
    except shoal.VaultError as error:
        if "there is no vault here" in error.message:
            return None
        raise


def copied_state(world: World, backup: Path) -> State | None:
    """A backup as a vault. A copy of it is opened: whoever opens one writes beside it. Releases are not beside it."""
    if not backup.exists():
        return None
    aside = world.folder.with_name("opened-backup")
    aside.unlink(missing_ok=True)
    shutil.copy(backup, aside)
    return state(aside)


class Judge:
    def __init__(self, world: World, scenario: Scenario, before: Picture, after: Picture) -> None:
        self.world, self.scenario, self.before, self.after = world, scenario, before, after

    def complaints(self, end: Ended, *, dead_disk: bool) -> Iterator[str]:
        """`dead_disk`: from the fault on nothing could be written, so nothing could be put in order either."""
        acknowledged, failed = bool(end.told("done")), end.told("error") is not None
        yield from self._of_its_end(end, acknowledged=acknowledged)
        put_in_order = not end.killed and not dead_disk
        if put_in_order:
            yield from self._at_once(end, failed=failed and not acknowledged)
        now = there(self.world)  # the next opening
        as_before, as_after = now == self.before.vault, groups_aside(now) == groups_aside(self.after.vault)
        if IN_HISTORY in str(end.told("message")):  # then it is, and its file is as it was
            good = now == in_no_file(self.after.vault)
        elif LATER in str(end.told("message")) or ERASED in str(end.told("message")):
            good = as_after
        else:
            good = as_after if acknowledged else as_before or (as_after and not put_in_order)
        if not good:
            expected = self.after.vault if acknowledged else self.before.vault
            yield f"the vault is not as it must be: {self._difference(now, expected)}"
        yield from self._of_the_files(put_in_order=put_in_order, acknowledged=acknowledged)
        if self.scenario.backup is not None:
            found = copied_state(self.world, self.world.out / self.scenario.backup)
            if found not in ([self.after.backup] if acknowledged else [self.before.backup, self.after.backup]):
                yield "the backup is lost" if found is None else "the backup is neither the old nor the new one"
        if now is None and self.after.vault is not None:
            self.scenario.do(self.world, lambda: None)  # it can be made now
            now = there(self.world)
        if ERASED in str(end.told("message")):  # to do it once more does the rest, and nothing else
            self.scenario.finish(self.world)
            again = there(self.world)
            if groups_aside(again) != groups_aside(self.after.vault):
                yield f"once more it does something else: {self._difference(again, self.after.vault)}"
        if now is not None:
            goes_on(self.world.where)

    def _of_its_end(self, end: Ended, *, acknowledged: bool) -> Iterator[str]:
        if end.signal not in (0, signal.SIGKILL):
            yield "it hangs" if end.signal == signal.SIGALRM else f"it crashes with signal {end.signal}"
        if end.told("raw"):
            yield f"a raw error: {end.told('raw')}"
        if end.told("error") == "InternalError":
            yield f"an internal error: {end.told('message')}"
        if end.told("error") and not end.told("message"):
            yield "an error that says nothing"
        if acknowledged and end.told("error"):
            yield f"it has worked, and then raises {end.told('error')}"

    def _at_once(self, end: Ended, *, failed: bool) -> Iterator[str]:
        """When it has ended by itself there is nothing for others to clean up; if it failed, all is as it was."""
        removing = str(end.first("fired")).startswith("unlink")  # then it cannot be blamed
        before, files = self.before.files, self.world.files()
        left = {name for name in files if name not in before and (failed or hidden(name))}
        if LATER in str(end.told("message")):
            left = {name for name in left if not hidden(name)}
        if left and not (removing and all(map(hidden, left))):
            yield f"left behind: {kinds(left)}"
        if failed:
            yield from (f"lost: {name}" for name in sorted(before.keys() - files))
            changed = {name for name in before.keys() & files if before[name] != sha256(self.world.folder / name)}
            yield from (f"not as it was: {name}" for name in sorted(changed))
        if failed and self.before.vault is None and self.world.url is None:
            beside = {path.name for path in self.world.folder.glob("vault*")}
            if beside:
                yield f"left behind: {', '.join(sorted(beside))}"

    def _of_the_files(self, *, put_in_order: bool, acknowledged: bool) -> Iterator[str]:
        """After the next opening of the vault. Without one there is nobody who would find what a dead one has left."""
        files, known = self.world.files(), self.before.files.keys() | self.after.files.keys()
        lock = f"out/{self.scenario.backup}.lock"  # a backup is a vault, and may have its own
        known |= {lock}
        one_shot = (self.scenario.release is not None and not self._published()) or self.after.vault is None
        left = {name for name in files - known if not (one_shot and hidden(name))}
        if left and not put_in_order:
            yield f"left behind, and the next opening does not remove it: {kinds(left)}"
        of_release = f"out/{self.scenario.release}"
        for name in sorted((self.before.files.keys() & self.after.files.keys()) - {of_release + MANIFEST}):
            if name not in files:
                yield f"lost: {name}"
        for name in sorted(files & known - {of_release, of_release + MANIFEST, f"out/{self.scenario.backup}", lock}):
            if sha256(self.world.folder / name) not in (self.before.files.get(name), self.after.files.get(name)):
                yield f"neither the old nor the new content: {name}"
        if self.scenario.release is not None:
            # A pair without a manifest is what a dead one may leave, where no vault comes to finish it.
            whole = acknowledged or self._published()
            yield from self._of_the_release(self.world.out / self.scenario.release, whole=whole)

    def _published(self) -> bool:
        return self.after.vault is not None and self.before.vault != self.after.vault

    def _of_the_release(self, path: Path, *, whole: bool) -> Iterator[str]:
        data, manifest = sha256(path), path.with_name(path.name + MANIFEST)
        name = f"out/{path.name}"
        good = {self.before.files.get(name), None if self._published() else self.after.files.get(name)}
        if self._published():  # rows are shuffled with a new key each time: the history knows the hash
            with shoal.Vault.open(self.world.where) as vault:
                last = vault.releases()[-1]
            if last.file == str(path) and last.number == self.after.vault["releases"][-1][0]:  # type: ignore[index]
                good = {last.sha256}
        if data not in good:
            yield "the release is not the old one and not the new one" if data else "the release is not there"
        if manifest.exists() and data is None:
            yield "a manifest without its release"
        elif manifest.exists() and json.loads(manifest.read_text())["sha256"] != data:
            yield "the manifest is that of another release"
        elif data is not None and whole and not manifest.exists():
            yield "the manifest is not there"

    def _difference(self, now: State | None, expected: State | None) -> str:
        if now is None or expected is None:
            return f"it is {'not ' if now is None else ''}there"
        return ", ".join(f"{name}: {now[name]}" for name in now if now[name] != expected[name])


def groups_aside(found: State | None) -> State | None:
    """Who is grouped with whom may differ from one time to the next."""
    return found and {**found, "groups": None}


def in_no_file(found: State | None) -> State | None:
    """With its last release in no file."""
    if found is None:
        return None
    *others, last = found["releases"]
    return {**found, "releases": [*others, [*last[:-1], None]]}


def hidden(name: str) -> bool:
    return Path(name).name.startswith(".")


def kinds(names: set[str]) -> str:
    """Names without the marks that are new each time."""
    shown = {name if not hidden(name) else str(Path(name).with_name("." + name.split(".", 2)[-1])) for name in names}
    return ", ".join(sorted(shown))
