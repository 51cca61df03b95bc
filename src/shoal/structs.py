"""Structs: many arrays behind one pointer, so that a kernel takes one thing instead of fifty.

Numba passes a tuple of arrays as every number that each of its arrays consists of, and a kernel takes as long to
compile, and to call, as it has arguments. A struct is one argument. Its fields stay what they are when it is made; what
changes lies in its arrays, or in a field of a structured array with one row (`state`). In a loop a field is fetched
again each time: bind it to a name before.

    @struct
    class Members(Struct):
        labels: Ints
        heads: Ints

    members = Members(labels=…, heads=…)

Python reads the fields of what it has made by the same names, and they share their arrays with the kernels'.
"""

from __future__ import annotations

import sys
from collections import namedtuple
from typing import Any, Self, TypeVar

from numba import types
from numba.experimental import structref

from shoal.compiling import kernel

S = TypeVar("S", bound="Struct")


class Struct(structref.StructRefProxy):  # type: ignore[misc]  # Numba is untyped
    """What kernels take. `fields`: a tuple of what it was made of, for Python."""

    fields: Any
    _tuple: Any
    _new: Any

    def __new__(cls, *given: object, **named: object) -> Self:
        fields = cls._tuple(*given, **named)
        made: Self = cls._new(fields)
        made.fields = fields
        return made

    def __getattr__(self, name: str) -> Any:
        if name == "fields":  # made by a kernel
            raise AttributeError(name)
        return getattr(self.fields, name)

    def replace(self, **changed: object) -> Self:
        """The same with other fields: those that are named."""
        return type(self)(*self.fields._replace(**changed))


def struct(described: type[S]) -> type[S]:
    """Make a struct of a class that lists its fields."""
    module, name, fields = sys.modules[described.__module__], described.__name__, list(described.__annotations__)

    def named(suffix: str, made: Any) -> Any:
        """Where the cache of compiled kernels finds it again."""
        made.__module__, made.__name__, made.__qualname__ = module.__name__, name + suffix, name + suffix
        setattr(module, name + suffix, made)
        return made

    def preprocess_fields(self: object, given: Any) -> tuple[tuple[str, Any], ...]:
        return tuple((field, types.unliteral(kind)) for field, kind in given)

    kind = named("Type", type(name, (types.StructRef,), {"preprocess_fields": preprocess_fields}))
    structref.register(kind)
    structref.define_constructor(described, kind, fields)
    structref.define_boxing(kind, described)
    described._tuple = named("Fields", namedtuple(name, fields))  # made of what the class lists
    # A kernel is kept by the file and the line where it stands: this one stands where the class does.
    line = sys._getframe(1).f_lineno
    given = ", ".join(f"given.{field}" for field in fields)
    source = "\n" * (line - 1) + f"def {name}New(given): return {name}({given})"
    exec(compile(source, str(module.__file__), "exec"), vars(module))  # noqa: S102  # of names in our own sources
    described._new = staticmethod(kernel(vars(module)[f"{name}New"]))
    return described
