"""Functions that count no references, because they only borrow the arrays that they are given.

Numba itself refuses to make an array where nothing is counted. An array that another function has made would be lost,
so that is refused here.
"""

from __future__ import annotations

from typing import Any

from numba.core import ir, types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.typed_passes import AnnotateTypes


@register_pass(mutates_CFG=False, analysis_only=True)
class NothingIsHandedOver(AnalysisPass):  # type: ignore[misc]  # Numba is untyped
    """Refuses a function that calls one of ours which gives it an array to keep."""

    _name = "nothing_is_handed_over"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        for called, signature in state.calltypes.items():
            if isinstance(called, ir.Expr) and called.op == "call":
                function, given = state.typemap[called.func.name], signature.return_type
                ours = isinstance(function, types.Dispatcher)
                if ours and state.targetctx.data_model_manager[given].contains_nrt_meminfo():
                    name = function.dispatcher.py_func.__qualname__
                    raise TypeError(f"{state.func_id.func_qualname} gets an array from {name}: it is `allocating`.")
        return False


class Borrowing(CompilerBase):  # type: ignore[misc]  # Numba is untyped
    """Numba's compiler, for a function that borrows."""

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(NothingIsHandedOver, AnnotateTypes)
        passes.finalize()
        return [passes]
