"""All attacks, in the order in which docs/reliability.md tells of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path

from tests.support.postgres import Server, programs
from tests.torture import damage, inputs, scenarios, servers, tables
from tests.torture.attacks import Attack, Size, Tally
from tests.torture.scenarios import Scenario
from tests.torture.shim import FAILURES, LOST, Shim
from tests.torture.striking import strike
from tests.torture.worlds import World

FILES, SERVER, DAMAGE, INPUTS = "files", "server", "damage", "inputs"
SAMPLED = ("create", "apply", "publish --force", "backup --force", "anonymize --force")


@cache
def shim() -> Shim:
    return Shim()


def with_files(folder: Path, size: Size, *, scenario: Scenario) -> Tally:
    return strike(shim(), World(folder / "world"), scenario, FAILURES, size)


@contextmanager
def _server() -> Iterator[Server]:
    binaries = programs()
    if binaries is None:
        raise RuntimeError("PostgreSQL is not installed: see tools/postgres.sh")
    server = Server(binaries)
    try:
        yield server
    finally:
        server.stop()


def with_server(folder: Path, size: Size, *, scenario: Scenario) -> Tally:
    with _server() as server:
        world = servers.ServerWorld(folder / "server-world", server.url(servers.HERE), server.url("postgres"))
        to_files = scenario.release is not None or scenario.backup is not None
        if size.whole:  # a database for every try takes its time
            size = size.share(1 / 4)
        return strike(shim(), world, scenario, LOST + (FAILURES[:2] if to_files else ()), size)


def _all() -> Iterator[Attack]:
    for scenario in scenarios.ALL:
        yield Attack(FILES, scenario.name, partial(with_files, scenario=scenario), scenario.name in SAMPLED)
    for scenario in scenarios.ALL:
        if scenario.server:
            run = partial(with_server, scenario=scenario)
            yield Attack(SERVER, f"{scenario.name}, PostgreSQL", run, scenario.name == "apply")
    for what, name in damage.FILES.items():
        yield Attack(DAMAGE, f"damage to {what}", partial(damage.damaged, name=name), name in ("vault", "vault-wal"))
    for command in inputs.COMMANDS:
        run = partial(inputs.broken_inputs, command=command)
        yield Attack(INPUTS, f"broken input of {command}", run, command in ("anonymize", "apply"))
    yield Attack(INPUTS, "strange tables", tables.strange_tables)


ATTACKS = list(_all())
GROUPS = tuple(dict.fromkeys(attack.group for attack in ATTACKS))
