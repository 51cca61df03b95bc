"""`shoal warmup`: compile everything ahead, so that nobody waits for it later."""

from __future__ import annotations

from shoal.cli.bars import progress
from shoal.cli.screen import AsJson, ShowValues, command, number, plural, print_json, screen
from shoal.warmup import warm_up


@command
def warmup(as_json: AsJson = False, show_values: ShowValues = False) -> None:
    """Compile what is not compiled yet, on all cores: the first run of any command is then as quick as the next."""
    with progress(as_json=as_json, counting=True) as bar:
        warmed = warm_up(bar)
    if as_json:
        print_json(warmed._asdict())
        return
    if warmed.compiled:
        done = f"{plural(warmed.compiled, 'kernel')} compiled in {number(round(warmed.seconds))} s"
        screen.print(f"Ready: {done}, {number(warmed.kernels)} in all.")
    else:
        screen.print(f"Ready: all {number(warmed.kernels)} kernels were there.")
