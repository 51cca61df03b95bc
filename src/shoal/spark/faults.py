"""What executors find wrong, said as on one machine, and not as the last of a hundred lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from shoal import errors

OURS = re.compile(r"^shoal\.errors\.(\w+): (.+)$", re.MULTILINE)


@contextmanager
def of_executors() -> Iterator[None]:
    """A fault that shoal found on an executor is raised here as itself. Its text never has a value in it."""
    from pyspark.errors import PythonException

    said = None
    try:
        yield
    except PythonException as error:
        said = OURS.search(str(error))
        if said is None:
            raise
    if said is not None:
        kind = getattr(errors, said[1], errors.InputError)
        raise kind(said[2].strip())
