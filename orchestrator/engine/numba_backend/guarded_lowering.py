"""Lowering of kernels with guards: answers, divisions and sums are checked where they are made.

A check costs a branch that is not taken; of an answer that is a constant LLVM leaves nothing. What
a fault leaves behind is described in `engine.kernel_guards`.
"""

from __future__ import annotations

import operator
from collections.abc import Collection
from typing import Any

import llvmlite.binding as llvm  # type: ignore[import-untyped]
from llvmlite import ir as llvm_ir
from numba.core import cgutils, types
from numba.core import ir as numba_ir

from orchestrator.engine import kernel_guards
from orchestrator.engine.numba_backend.fast_lowering import PlainLower

WORD = llvm_ir.IntType(64)
DIVISIONS = (operator.floordiv, operator.mod)
NOTE = "tailback_note_kernel_fault"

llvm.add_symbol(kernel_guards.CELL_SYMBOL, kernel_guards.CELL.ctypes.data)


class GuardedLower(PlainLower):
    """Lowers a kernel, or a function of a plugin that kernels call."""

    def lower_inst(self, inst: Any) -> None:
        function = self.func_ir.func_id.func
        answers = kernel_guards.answers_of_kernels.get(function)
        if isinstance(inst, numba_ir.Return) and answers is not None:
            self._line = inst.loc.line
            self._lower_answer(self.loadvar(inst.value.name), answers)
            return
        super().lower_inst(inst)

    def _lower_answer(self, answer: Any, answers: Collection[int]) -> None:
        builder = self.builder
        if isinstance(answers, range):
            low, high = (
                builder.icmp_signed(">=", answer, WORD(answers.start)),
                builder.icmp_signed("<", answer, WORD(answers.stop)),
            )
            known = builder.and_(low, high)
        else:
            bits = WORD(sum(1 << one for one in answers))
            shift = builder.and_(answer, WORD(63))
            bit = builder.trunc(builder.lshr(bits, shift), llvm_ir.IntType(1))
            known = builder.and_(builder.icmp_unsigned("<", answer, WORD(64)), bit)
        made_in = builder.block
        with builder.if_then(builder.not_(known), likely=False):
            self._note(kernel_guards.ANSWER, answer, WORD(0))
            noted_in = builder.block
        chosen = builder.phi(WORD)
        chosen.add_incoming(answer, made_in)
        chosen.add_incoming(WORD(0), noted_in)
        returned = self.context.get_return_value(builder, self.fndesc.restype, chosen)
        self.call_conv.return_value(builder, returned)

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        plain = expr.immutable_fn if expr.op == "inplace_binop" else op
        signature = self.fndesc.calltypes[expr]
        if not all(one == types.int64 for one in (*signature.args, signature.return_type)):
            return super().lower_binop(resty, expr, op)
        self._line = expr.loc.line
        if plain in DIVISIONS:
            left, right = self._operands(expr, signature)
            zero = self.builder.icmp_signed("==", right, WORD(0))
            with self.builder.if_then(zero, likely=False):
                self._note(kernel_guards.DIVISION, left, right)
        if resty != types.int64 or plain not in (operator.mul, operator.lshift):
            return super().lower_binop(resty, expr, op)
        left, right = self._operands(expr, signature)
        value, overflows = (self._product if plain is operator.mul else self._shifted)(left, right)
        with self.builder.if_then(overflows, likely=False):
            kind = kernel_guards.OVERFLOW if plain is operator.mul else kernel_guards.SHIFT
            self._note(kind, left, right)
        return value

    def _product(self, left: Any, right: Any) -> tuple[Any, Any]:
        """Product of two int64, and whether it is beyond one."""
        pair = llvm_ir.LiteralStructType([WORD, llvm_ir.IntType(1)])
        shape = llvm_ir.FunctionType(pair, [WORD, WORD])
        name = "llvm.smul.with.overflow.i64"
        function = cgutils.get_or_insert_function(self.builder.module, shape, name)
        both = self.builder.call(function, [left, right])
        return self.builder.extract_value(both, 0), self.builder.extract_value(both, 1)

    def _shifted(self, left: Any, places: Any) -> tuple[Any, Any]:
        """A number shifted to the left, and whether bits of it are lost."""
        builder = self.builder
        far = builder.icmp_unsigned(">", places, WORD(63))
        value = builder.shl(left, builder.and_(places, WORD(63)))
        back = builder.ashr(value, builder.and_(places, WORD(63)))
        return value, builder.or_(far, builder.icmp_signed("!=", back, left))

    def _operands(self, expr: Any, signature: Any) -> tuple[Any, Any]:
        left, right = (
            self.context.cast(self.builder, self.loadvar(one.name), self.typeof(one.name), kind)
            for one, kind in zip((expr.lhs, expr.rhs), signature.args, strict=True)
        )
        return left, right

    def _note(self, kind: int, first: Any, second: Any) -> None:
        """Write down a fault, unless there was one before."""
        builder, code = self.builder, self.func_ir.func_id.func.__code__
        identity = self.func_ir.func_id
        name = f"{identity.modname}:{identity.func_qualname}".encode()
        text = cgutils.global_constant(
            builder.module, "tailback.kernel", cgutils.make_bytearray(name)
        )
        address = builder.ptrtoint(text, WORD)
        line = WORD(self._line - code.co_firstlineno)
        words = [WORD(kind), line, first, second, address, WORD(len(name))]
        builder.call(_note_function(builder.module), words)


def _note_function(module: Any) -> Any:
    """The function that writes down a fault: out of line, as it is called once at the most."""
    known = module.globals.get(NOTE)
    if known is not None:
        return known
    shape = llvm_ir.FunctionType(llvm_ir.VoidType(), [WORD] * kernel_guards.CELL_WORDS)
    function = llvm_ir.Function(module, shape, NOTE)
    function.linkage = "internal"
    function.attributes.add("noinline")
    function.attributes.add("cold")
    cell = module.globals.get(kernel_guards.CELL_SYMBOL)
    if cell is None:
        cell = llvm_ir.GlobalVariable(module, WORD, kernel_guards.CELL_SYMBOL)
    builder = llvm_ir.IRBuilder(function.append_basic_block("entry"))
    free = builder.icmp_signed("==", builder.load(cell), WORD(kernel_guards.FREE))
    with builder.if_then(free):
        for place in reversed(range(kernel_guards.CELL_WORDS)):  # the kind last: then it is whole
            builder.store(function.args[place], builder.gep(cell, [WORD(place)]))
    builder.ret_void()
    return function
