"""Progress: how long work tells what it is doing. The library is silent by default; the command line draws a bar."""

from __future__ import annotations


class Progress:
    """Receives what long work reports. This one says nothing; subclass it to show something."""

    def stage(self, name: str, total: int | None = None) -> None:
        """Work of this kind begins; `total` is how many steps it will take, if that is known."""

    def advance(self, steps: int) -> None:
        """So many more steps are done."""

    def note(self, text: str) -> None:
        """Something worth telling of the work as it is at this moment, in a few words."""


SILENT = Progress()
