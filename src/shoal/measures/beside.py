"""The manifest beside a release: where it lies, and what a reader of the file needs from it."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

from shoal.errors import ShoalWarning


def manifest_path(path: Path) -> Path:
    return path.with_name(path.name + ".manifest.json")


def withheld_beside(source: object, rows: int) -> int:
    """How many records of a release were withheld, by the manifest beside its file; 0 if there is none.

    The file's own rows cannot tell. A manifest of another table (other rows) is not believed, with a warning.
    """
    if not isinstance(source, str | Path) or not manifest_path(Path(source)).is_file():
        return 0
    try:
        facts = json.loads(manifest_path(Path(source)).read_bytes())
        there, withheld = facts["rows"], facts.get("withheld", 0)
        if there == rows and isinstance(withheld, int) and withheld >= 0:
            return withheld
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    note = "the manifest beside the file is not that of its rows: if records were withheld, they are not counted."
    warnings.warn(note, ShoalWarning, stacklevel=3)
    return 0
