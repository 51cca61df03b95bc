"""python -m tests.torture [--sample] [--only WORD]… [--doc FILE]

Does all attacks (or those whose group or subject has the word), says what must not have happened, and ends with 1 if
there is anything. --doc: the results go into the table of this document; rows of attacks that were not done stay.
"""

from __future__ import annotations

import argparse
import logging
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

from tests.torture.shim import PRELOAD, compiled

LOADED = "SHOAL_TORTURE"  # says that the shim is loaded
MEMORY_DISK = Path("/dev/shm")


def main() -> int:
    asked = argparse.ArgumentParser(prog="python -m tests.torture")
    asked.add_argument("--sample", action="store_true", help="a few tries of a few attacks of each kind")
    asked.add_argument("--only", action="append", default=[], help="attacks with this word in group or subject")
    asked.add_argument("--doc", type=Path, help="the document that gets the table of results")
    asked.add_argument("--seed", type=int, default=1, help="other points, other damage")
    asked.add_argument("--share", type=float, default=1, help="of the tries")
    given = asked.parse_args()
    # Nothing that is tried depends on a real disk, and calls that bring things to one take most of the time.
    place = MEMORY_DISK if os.access(MEMORY_DISK, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="shoal-torture-", dir=place) as folder:
        if os.environ.get(LOADED):
            return attack(Path(folder).resolve(), given)
        environment = os.environ | {PRELOAD: str(compiled(Path(folder))), LOADED: "1"}
        return subprocess.run([sys.executable, "-m", "tests.torture", *sys.argv[1:]], env=environment).returncode


def attack(folder: Path, given: argparse.Namespace) -> int:
    """In a process that has the shim, and all kernels."""
    from tests.support.vault_worker import compile_kernels
    from tests.torture import table
    from tests.torture.attacks import FULL, SAMPLE
    from tests.torture.listed import ATTACKS

    warnings.simplefilter("ignore")
    logging.disable()  # psycopg says there what it could not end in an orderly way
    compile_kernels()
    size = (SAMPLE if given.sample else FULL).share(given.share)._replace(seed=given.seed)
    results = {}
    for chosen in ATTACKS:
        named = not given.only or any(word in (chosen.group, chosen.subject) for word in given.only)
        if not named or (given.sample and not chosen.sampled):
            continue
        began = time.monotonic()
        tally = results[chosen.subject] = chosen.run(folder, size)
        tried = ", ".join(f"{kind} {count}" for kind, count in tally.struck.items())
        print(f"{chosen.subject}: {tried}; broken {tally.broken} ({time.monotonic() - began:.0f} s)", flush=True)
        for complaint in tally.complaints:
            print(f"  {complaint}", flush=True)
    if given.doc is not None:
        table.paste(given.doc, results, [attack.subject for attack in ATTACKS])
    return int(any(tally.broken for tally in results.values()))


if __name__ == "__main__":
    sys.exit(main())
