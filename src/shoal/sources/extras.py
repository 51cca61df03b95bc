"""What only some files need: packages of an extra, asked for when such a file comes."""

from __future__ import annotations

import importlib
from types import ModuleType

from shoal.errors import InputError


def needed(module: str, extra: str | None, what: str, file: str | None = None) -> ModuleType:
    """The module, or a message that says how to get it: by an extra, or by itself."""
    try:
        return importlib.import_module(module)
    except ImportError:
        pass
    package = module if extra is None else f"'shoal[{extra}]'"
    raise InputError(
        f"{what} needs the package {module.partition('.')[0]}, which is not installed.",
        hint=f"Install it with: pip install {package}.",
        file=file,
    )
