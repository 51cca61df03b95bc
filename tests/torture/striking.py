"""A scenario again and again, with a kill or a failing call at another point each time."""

from __future__ import annotations

import errno
import gc
import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from tests.torture.attacks import FAILING, KILLED, Size, Tally
from tests.torture.children import Ended, Say, in_child
from tests.torture.judges import Judge, Picture
from tests.torture.scenarios import Scenario
from tests.torture.shim import KILLS, Action, Do, Shim
from tests.torture.worlds import World

NOTHING = Action(Do.COUNT)


class Stage:
    """A scenario in its world, rehearsed: what is there before and after it, and how many calls it makes."""

    def __init__(self, shim: Shim, world: World, scenario: Scenario) -> None:
        self.shim, self.world, self.scenario = shim, world, scenario
        self.aside = world.folder.with_name("aside")
        world.make(vault=scenario.vault)
        scenario.prepare(world)
        before = Picture.of(world, scenario)
        world.keep(self.aside)
        scenario.do(world, lambda: None)  # here, so that every child finds all that it needs loaded
        self.judge = Judge(world, scenario, before, Picture.of(world, scenario))
        gc.freeze()  # what children share with us stays shared
        self.calls = int(self.play(0, NOTHING).told("calls"))
        complaints = self.judged(Ended([{"done": True}], 0), NOTHING)
        assert not complaints, f"{scenario.name} without any fault: {complaints}"

    def play(self, nth: int, action: Action) -> Ended:
        """In a world as it was, until its end."""
        self.world.put_back(self.aside)

        def work(mouth: int, say: Say) -> None:
            self.shim.arm(self.world.folder, nth, action, mouth, sockets=self.world.url is not None)
            try:
                self.scenario.do(self.world, lambda: say(done=True))
            finally:
                self.shim.disarm()
                say(calls=self.shim.count())

        ended = in_child(work)
        self.world.wait_until_idle()
        return ended

    def judged(self, ended: Ended, action: Action) -> list[str]:
        """By another child."""
        dead_disk = action == Action(Do.FAIL_ON, errno.EIO)

        def work(mouth: int, say: Say) -> None:
            for complaint in self.judge.complaints(ended, dead_disk=dead_disk):
                say(complaint=complaint)
            say(judged=True)

        judged = in_child(work)
        found = [line["complaint"] for line in judged.said if "complaint" in line]
        if not judged.told("judged"):
            told = judged.told("raw") or judged.told("message") or f"signal {judged.signal}"
            found.append(f"afterwards it cannot be looked at: {told}")
        return found

    def points(self, actions: Sequence[Action], most: int, chance: random.Random) -> list[tuple[int, Action]]:
        """All, or some from everywhere: of so many parts of all points, one of each."""
        every = [(nth, action) for nth in range(1, self.calls + 1) for action in actions]
        if len(every) <= most:
            return every
        bounds = [len(every) * part // most for part in range(most + 1)]
        return [every[chance.randrange(first, last)] for first, last in pairwise(bounds)]


def strike(shim: Shim, world: World, scenario: Scenario, failing: Sequence[Action], size: Size) -> Tally:
    """With kills, and with failing calls."""
    stage, tally = Stage(shim, world, scenario), Tally()
    for kind, actions, most in ((KILLED, KILLS, size.kills), (FAILING, failing, size.failures)):
        for nth, action in stage.points(actions, most, random.Random(f"{scenario.name} {kind} {size.seed}")):
            ended = stage.play(nth, action)
            struck = ended.first("fired") is not None
            call = f"{ended.first('fired')} {Path(ended.first('path')).name}" if struck else "none that suits"
            what = f"{scenario.name}, call {nth} of {stage.calls} ({call}), {action}"
            tally.count(kind, what, stage.judged(ended, action), struck=struck)
    return tally
