"""Files that come back from the disk different from how they were written."""

from __future__ import annotations

import json
import os
import random
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import shoal
from tests.support.vault_answers import Failed, everything
from tests.torture.attacks import BROKEN, Size, Tally
from tests.torture.children import Say, in_child
from tests.torture.worlds import OWN, SCRIPT, World

PAGE = 4096
ACKNOWLEDGED = 13  # steps, the last two of which are in the write-ahead log alone

Change = Callable[[bytearray, random.Random], None]


def flip(content: bytearray, chance: random.Random) -> None:
    """One bit, where something is more often than not."""
    at = chance.randrange(len(content))
    for _ in range(20):
        if content[at]:
            break
        at = chance.randrange(len(content))
    content[at] ^= 1 << chance.randrange(8)


def flip_many(content: bytearray, chance: random.Random) -> None:
    for _ in range(chance.randrange(2, 40)):
        flip(content, chance)


def zero_page(content: bytearray, chance: random.Random) -> None:
    first = chance.randrange((len(content) + PAGE - 1) // PAGE) * PAGE
    content[first : first + PAGE] = bytes(len(content[first : first + PAGE]))


def garble_page(content: bytearray, chance: random.Random) -> None:
    first = chance.randrange((len(content) + PAGE - 1) // PAGE) * PAGE
    content[first : first + PAGE] = chance.randbytes(len(content[first : first + PAGE]))


def swap_pages(content: bytearray, chance: random.Random) -> None:
    one, other = (number * PAGE for number in chance.sample(range(len(content) // PAGE), 2))
    content[one : one + PAGE], content[other : other + PAGE] = content[other : other + PAGE], content[one : one + PAGE]


def cut(content: bytearray, chance: random.Random) -> None:
    del content[chance.randrange(len(content)) :]


def cut_tail(content: bytearray, chance: random.Random) -> None:
    """The last page or a part of it, as when a file was not written to its end."""
    del content[-chance.randrange(1, PAGE + 1) :]


def lengthen(content: bytearray, chance: random.Random) -> None:
    content += chance.randbytes(chance.randrange(1, 2 * PAGE))


def remove(content: bytearray, chance: random.Random) -> None:
    content.clear()


CHANGES: dict[str, Change] = {
    "a flipped bit": flip,
    "several flipped bits": flip_many,
    "a page of zeros": zero_page,
    "a page of noise": garble_page,
    "two pages swapped": swap_pages,
    "cut anywhere": cut,
    "cut near its end": cut_tail,
    "lengthened": lengthen,
    "emptied": remove,
}
PAGED = {"vault", "vault-wal"}


def same_but_for_domains(one: bytes, other: bytes) -> bool:
    """Where somebody is erased, the vault does not know the ends of domains: they may be that person's."""

    def known(manifest: bytes) -> object:
        facts = json.loads(manifest)
        for column in facts["columns"].values():
            column.pop("domain", None)
        return facts

    try:
        return known(one) == known(other)
    except (ValueError, LookupError, TypeError, AttributeError):
        return False


class KeptVault:
    """A vault as it was acknowledged, whole, and copies of it that are damaged one after the other."""

    def __init__(self, folder: Path, *, killed: bool) -> None:
        """`killed`: its last process was, so that there is a write-ahead log."""
        self.world, self.aside = World(folder / "world"), folder / "whole"
        self.world.make(vault=True)

        def work(mouth: int, say: Say) -> None:
            self.world.go_on(7, ACKNOWLEDGED - 2)
            vault = shoal.Vault.open(self.world.where)
            for number in range(ACKNOWLEDGED - 1, ACKNOWLEDGED + 1):
                SCRIPT.step(number).do(vault, self.world.out)
            if killed:
                os.kill(os.getpid(), signal.SIGKILL)
            vault.close()

        ended = in_child(work)
        assert not ended.said, ended
        assert (self.world.folder / "vault-wal").exists() == killed
        (self.world.folder / "vault-shm").unlink(missing_ok=True)  # as after a crash of the machine
        self.world.keep(self.aside)
        self.told = self._look()
        assert self.told["check()"] is True, self.told
        assert self.told["status()"]["version"] == SCRIPT.moment(ACKNOWLEDGED).version

    def _look(self) -> dict[str, Any]:
        """All that it tells. Groups and records are as they are in whatever order."""
        found = everything(Path(self.world.where))
        for what in ("groups()", "export()"):
            if isinstance(columns := found.get(what), dict):
                found[what] = sorted(zip(*columns.values(), strict=True), key=str)
        return found

    def complaints(self, name: str, change: Change, chance: random.Random) -> list[str]:
        """Damage is told of, or what is served is what was acknowledged last."""
        self.world.put_back(self.aside)
        path = self.world.folder / name
        content = bytearray(path.read_bytes())
        before = bytes(content)
        change(content, chance)
        if content == before:
            return []
        path.write_bytes(content)
        beside = name not in {f"vault{ending}" for ending in OWN} and not same_but_for_domains(before, bytes(content))

        def work(mouth: int, say: Say) -> None:
            for complaint in self._faults(self._look(), must_tell=beside):
                say(complaint=complaint)
            say(judged=True)

        judged = in_child(work)
        crash = [] if judged.told("judged") else [f"it cannot be looked at: {judged.told('raw') or judged.signal}"]
        return [line["complaint"] for line in judged.said if "complaint" in line] + crash

    def _faults(self, now: dict[str, Any], *, must_tell: bool) -> Iterator[str]:
        noticed = now.get("check()") is not True
        answers = {what: found for what, found in now.items() if what != "check()"}
        failed = {what: found for what, found in answers.items() if isinstance(found, Failed)}
        wrong = [what for what, found in answers.items() if what not in failed and found != self.told[what]]
        yield from (f"{what} fails with {found.kind}" for what, found in failed.items() if not found.ours)
        if failed and not noticed:
            yield f"check() is content, but {', '.join(failed)} fails"
        if wrong:
            how = "although check() notices" if noticed else "in silence"
            yield f"{', '.join(wrong)}: something else is served, {how}"
        if must_tell and not noticed:
            yield "check() is content with a file that is not what was published"


def damaged(folder: Path, size: Size, *, name: str) -> Tally:
    """Every kind of damage to one file: the vault's own, or one that was published from it."""
    kept, tally = KeptVault(folder, killed=name in ("vault-wal", "vault.head")), Tally()
    chance = random.Random(f"{name} {size.seed}")
    if not (kept.aside / name).exists():
        return tally
    kinds = {what: change for what, change in CHANGES.items() if name in PAGED or "page" not in what}
    for number in range(size.damages):
        what = list(kinds)[number % len(kinds)]
        tally.count(BROKEN, f"{name}, {what}, try {number}", kept.complaints(name, kinds[what], chance))
    return tally


FILES = {
    "the vault": "vault",
    "the write-ahead log": "vault-wal",
    "the head": "vault.head",
    "a release, CSV": f"out/{SCRIPT.step(2).file}",
    "a release, Parquet": f"out/{SCRIPT.step(5).file}",
    "a manifest": f"out/{SCRIPT.step(5).file}.manifest.json",
}
