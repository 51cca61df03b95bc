"""What becomes of a kernel and of all that it calls: one piece of machine code.

Numba gives each function a library of its own: optimized together with what it calls, turned into machine code, and
then optimized once more inside each of its callers. Here only kernels, which Python enters, go all that way. What they
call, Numba's own functions among it, waits as it is (`Part`) and is optimized once, in the kernel that it is linked
into. That is a third of the time and less than half of the code; and it runs as fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite.binding import parse_assembly
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

from shoal.compiling.shipped import why_not
from shoal.progress import compiling


class Part(JITCodeLibrary):  # type: ignore[misc]  # Numba is untyped
    """A library that is only ever linked into others."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0  # there is no code to point to

    @property
    def codegen(self) -> Any:
        return _WithoutEnvironment(self._codegen)


class _WithoutEnvironment:
    """Numba's code generator, for a function that has no address to note an environment at."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def set_env(self, name: str, environment: object) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)


def may_compile(name: str) -> None:
    """Asked before a kernel is compiled. Where nothing may be, it is replaced by one that raises."""


class WholeKernels(Compiler):  # type: ignore[misc]  # Numba is untyped
    """Numba's compiler, for a kernel."""

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        codegen = self.state.targetctx.codegen()
        refuse_within_kernels(codegen, function.__qualname__)
        may_compile(f"{function.__module__}.{function.__qualname__}")
        with libraries_of(codegen, JITCodeLibrary):
            self.state.library = codegen.create_library(function.__qualname__)
        self.state.library.enable_object_caching()
        with compiling(why_not()), libraries_of(codegen, Part):
            return super().compile_extra(function)


def code_alone(serialized: tuple[str, str, tuple[bytes, bytes]], entry: str) -> tuple[str, str, tuple[bytes, bytes]]:
    """A library as Numba keeps it, without what others would link, which is most of it: only the name of the entry."""
    name, kind, (code, _) = serialized
    return name, kind, (code, parse_assembly(f'define void @"{entry}"() {{ ret void }}').as_bitcode())


def refuse_within_kernels(codegen: Any, name: str) -> None:
    """A kernel inside another would be optimized twice; and from the cache it comes without what can be linked."""
    if "create_library" in vars(codegen):
        raise TypeError(f"{name} is a kernel, and a kernel calls it: make it an inner function.")


@contextmanager
def libraries_of(codegen: Any, kind: type[JITCodeLibrary]) -> Iterator[None]:
    """Let new libraries be of this kind. Whoever compiles holds Numba's lock."""
    before = vars(codegen).get("create_library")
    codegen.create_library = lambda name, **options: kind(codegen, name, **options)
    try:
        yield
    finally:
        if before is None:
            del codegen.create_library
        else:
            codegen.create_library = before
