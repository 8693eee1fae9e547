"""Kernel edit: another body of one function of a plugin, and its application to this process.

The code of the function is exchanged in place, so that everything that refers to it has the edit.
The new code comes from no file: its machine code, and that of the kernels that call it, is never
cached, and what other processes and later runs load is not touched.
"""

from __future__ import annotations

import hashlib
import importlib
import sys
from dataclasses import dataclass
from types import CodeType, FunctionType


@dataclass(frozen=True)
class KernelEdit:
    """A function at the top of a module, with its new source."""

    module: str
    function: str
    source: str
    """Its `def` statement, without decorators."""
    change: str
    """What differs, for people."""

    @property
    def digest(self) -> str:
        """Key of the edit: equal for equal code."""
        parts = f"{self.module} {self.function} {self.source}"
        return hashlib.sha256(parts.encode()).hexdigest()

    def code(self) -> CodeType:
        """The code of the edited function. Raises SyntaxError."""
        place = f"<mutant of {self.module}.{self.function}>"
        of_module = compile(self.source, place, "exec", dont_inherit=True)
        return next(
            one
            for one in of_module.co_consts
            if isinstance(one, CodeType) and one.co_name == self.function
        )


_original: dict[FunctionType, CodeType] = {}
"""The functions of this process that are edited now, with their own code."""


def apply_edit(edit: KernelEdit | None) -> None:
    """Have this process run with the edit from now on, and with no earlier one; None: with none."""
    if edit is None and not _original:
        return
    from orchestrator.engine import jit

    for function, code in _original.items():
        function.__code__ = code
    _original.clear()
    if edit is not None:
        importlib.import_module(edit.module)
        edited = jit.plain(getattr(sys.modules[edit.module], edit.function))
        assert isinstance(edited, FunctionType)
        _original[edited] = edited.__code__
        edited.__code__ = edit.code()
    jit.forget_kernels(edited=edit is not None)
