"""Compiling kernels: once per machine, kept where the next process finds them, and said so while it happens.

This is the only room that others get Numba through. What is particular about it:

- Only a `kernel` becomes machine code, with everything that it calls inside (`libraries.py`): Numba alone would
  optimize every function by itself, and once more in each of its callers.
- Compiled kernels are kept by what they are made of, not by where they lie (`cache.py`), and may come with the package
  (`shipped.py`).
- Structs make one argument of fifty (`structs.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

from shoal.compiling.borrowing import Borrowing
from shoal.compiling.cache import KernelCache
from shoal.compiling.libraries import WholeKernels

__all__ = ["KERNELS", "ZERO", "allocating", "constant", "entered", "inlined", "inner", "kernel"]

F = TypeVar("F", bound=Callable[..., Any])
KERNELS: dict[str, Any] = {}  # every kernel that there is in this process, by module and name


def kernel(function: F) -> F:
    """Compile a function to machine code when Python first calls it, and keep the code for the next time."""
    compiled = numba.njit(nogil=True, no_cfunc_wrapper=True, pipeline_class=WholeKernels)(function)
    compiled._cache = KernelCache(function)
    KERNELS[f"{function.__module__}.{function.__qualname__}"] = compiled
    return compiled


def inner(function: F) -> F:
    """A function that only kernels call: it becomes a part of them, and has no way in from Python.

    It makes no array and gives none back: it borrows those that it is given. Numba counts who holds an array, for every
    name that it is bound to, and in innermost loops that takes as long as all else. What is borrowed outlives the call
    anyway, so here nothing is counted. One that makes arrays does not compile: it is `allocating`.
    """
    return _part(function, _nrt=False, pipeline_class=Borrowing)


def allocating(function: F) -> F:
    """The same for one that makes arrays, or is given new ones by those that it calls."""
    return _part(function, _nrt=True)


def inlined(function: F) -> F:
    """As `inner`, for one that must be written out where it is called, and that LLVM would not: measure it."""
    return _part(function, _nrt=False, pipeline_class=Borrowing, forceinline=True)


def _part(function: F, **options: Any) -> F:
    def refuse(*given: object, **named: object) -> None:
        raise TypeError(f"{function.__qualname__} is a part of kernels, and cannot be called from Python.")

    compiled = numba.njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)(function)
    # Numba would call it all the same, at address 0.
    compiled._compile_for_args = refuse
    compiled._insert = lambda *overload, **named: None
    return compiled


def entered(function: F) -> F:
    """A kernel that does what an inner function does: a way in from Python."""
    return kernel(getattr(function, "py_func", function))


def constant(number: int) -> int:
    """A whole number that kernels call each other with. Numba compiles a function once more for every literal."""
    return np.int64(number)  # type: ignore[return-value]  # for Python it is as good as an int


ZERO = constant(0)
