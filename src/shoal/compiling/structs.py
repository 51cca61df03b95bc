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

import hashlib
import sys
from collections import namedtuple
from types import ModuleType
from typing import Any, Self, TypeVar

import numba
from numba import types
from numba.core import cgutils, imputils
from numba.core.extending import lower_getattr
from numba.core.runtime.nrtdynmod import meminfo_data_ty
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
        made: Self = object.__new__(cls) if numba.config.DISABLE_JIT else cls._new(fields)
        made.fields = fields
        return made

    def __getattr__(self, name: str) -> Any:
        if name == "fields":  # made by a kernel
            raise AttributeError(name)
        return getattr(self.fields, name)

    def replace(self, **changed: object) -> Self:
        """The same with other fields: those that are named. Itself, where they are what they were."""
        if all(getattr(self.fields, name) is value for name, value in changed.items()):
            return self
        return type(self)(*self.fields._replace(**changed))


def struct(described: type[S]) -> type[S]:
    """Make a struct of a class that lists its fields."""
    module, name, fields = _defined(described)
    # A kernel is known by the file where it stands: this one stands where the class does.
    line = sys._getframe(1).f_lineno
    given = ", ".join(f"given.{field}" for field in fields)
    source = "\n" * (line - 1) + f"def {name}New(given): return {name}({given})"
    exec(compile(source, str(module.__file__), "exec"), vars(module))  # noqa: S102  # of names in our own sources
    described._new = staticmethod(kernel(vars(module)[f"{name}New"]))
    return described


def struct_in_kernels(described: type[S]) -> type[S]:
    """The same of one that kernels make, and Python never does."""
    _defined(described)
    return described


def _defined(described: type[S]) -> tuple[ModuleType, str, list[str]]:
    """Tell Numba of a struct; its module, its name and its fields."""
    module, name, fields = sys.modules[described.__module__], described.__name__, list(described.__annotations__)

    def named(suffix: str, made: Any) -> Any:
        """Where the cache of compiled kernels finds it again."""
        made.__module__, made.__name__, made.__qualname__ = module.__name__, name + suffix, name + suffix
        setattr(module, name + suffix, made)
        return made

    def preprocess_fields(self: object, given: Any) -> tuple[tuple[str, Any], ...]:
        return tuple((field, types.unliteral(kind)) for field, kind in given)

    def begin(self: Any, given: Any) -> None:
        types.StructRef.__init__(self, given)
        # Numba spells out all fields, and the names of all functions that take one spell it out again.
        self.name = f"{name}_{hashlib.sha256(self.name.encode()).hexdigest()[:12]}"

    kind = named("Type", type(name, (types.StructRef,), {"preprocess_fields": preprocess_fields, "__init__": begin}))
    structref.register(kind)
    for field in fields:
        _can_be_borrowed(kind, field)
    structref.define_constructor(described, kind, fields)
    structref.define_boxing(kind, described)
    described._tuple = named("Fields", namedtuple(name, fields))  # made of what the class lists
    return module, name, fields


def _can_be_borrowed(kind: Any, field: str) -> None:
    """A field is read as in Numba's own structs, but without its runtime: functions that only borrow have none."""

    @lower_getattr(kind, field)  # type: ignore[untyped-decorator]  # Numba is untyped
    def read(context: Any, builder: Any, struct: Any, value: Any) -> Any:
        data_type = struct.get_data_type()
        meminfo = cgutils.create_struct_proxy(struct)(context, builder, value=value).meminfo
        where = cgutils.get_or_insert_function(builder.module, meminfo_data_ty, "NRT_MemInfo_data_fast")
        layout = context.data_model_manager[data_type].get_value_type()
        data = builder.bitcast(builder.call(where, [meminfo]), layout.as_pointer())
        found = getattr(cgutils.create_struct_proxy(data_type)(context, builder, ref=data), field)
        return imputils.impl_ret_borrowed(context, builder, struct.field_dict[field], found)
