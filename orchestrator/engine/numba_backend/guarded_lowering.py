"""Lowering of kernels with guards: answers, divisions, products, shifts, indices and values of the
engine's fields are checked where they are made; messages, where the kernel answers that it sends
one.

A check costs a branch that is not taken; of an answer that is a constant LLVM leaves nothing. What
a fault leaves behind is described in `engine.kernel_guards`.
"""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Collection, Iterator
from typing import Any

import llvmlite.binding as llvm  # type: ignore[import-untyped]
from llvmlite import ir as llvm_ir
from numba.core import cgutils, types
from numba.core import ir as numba_ir

from orchestrator.engine import kernel_guards
from orchestrator.engine.kernel_answers import SEND
from orchestrator.engine.kernel_limits import Limits
from orchestrator.engine.numba_backend.fast_lowering import PlainLower
from orchestrator.engine.numba_backend.numba_import import numba
from orchestrator.engine.settable_fields import (
    AT_END,
    ENTITY,
    FRAME,
    MESSAGE,
    RECORDS,
    Bounds,
    numbered_bounds,
)

WORD = llvm_ir.IntType(64)
DIVISIONS = (operator.floordiv, operator.mod)
NOTE = "tailback_note_kernel_fault"

llvm.add_symbol(kernel_guards.CELL_SYMBOL, kernel_guards.CELL.ctypes.data)


@functools.cache
def _words() -> dict[Any, str]:
    """Type of a record of the engine -> word for it."""
    return {numba.from_dtype(dtype): word for word, dtype in RECORDS.items()}


class GuardedLower(PlainLower):
    """Lowers a kernel, or a function of a plugin that kernels call."""

    _bounded: tuple[str, Any] | None = None
    """Variable of the index that is used next, and the place within the array that stands for it.
    """

    def loadvar(self, name: str) -> Any:
        if self._bounded is not None and self._bounded[0] == name:
            return self._bounded[1]
        return super().loadvar(name)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        line = index_var.loc.line
        with self._index_within(target_var, index_var, signature.args[1], line):
            self._check_timer(target_var, index_var, value_var)
            return super().lower_setitem(target_var, index_var, value_var, signature)

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        with self._index_within(value, index, signature.args[1], expr.loc.line):
            return super().lower_getitem(resty, expr, value, index, signature)

    @contextlib.contextmanager
    def _index_within(self, array: Any, index: Any, kind: Any, line: int) -> Iterator[None]:
        """Within this block `index` is a place of the array: 0 after a fault was noted."""
        array_type, index_type = self.typeof(array.name), self.typeof(index.name)
        numbers = kind.types if isinstance(kind, types.UniTuple | types.Tuple) else (kind,)
        if not isinstance(array_type, types.Array | types.BaseTuple) or not all(
            isinstance(one, types.Integer) for one in numbers
        ):
            yield
            return
        self._line = line
        builder, given = self.builder, self.loadvar(index.name)
        lengths = self._lengths(array_type, array.name)
        is_tuple = isinstance(index_type, types.BaseTuple)
        parts = cgutils.unpack_tuple(builder, given) if is_tuple else [given]
        own = index_type.types if is_tuple else (index_type,)
        bounded = given
        for place, (part, part_type, length) in enumerate(zip(parts, own, lengths, strict=False)):
            number = self.context.cast(builder, part, part_type, types.int64)
            inside = builder.and_(
                builder.icmp_signed("<", number, length),
                builder.icmp_signed(">=", number, builder.neg(length)),
            )
            with builder.if_then(builder.not_(inside), likely=False):
                self._note(kernel_guards.INDEX, number, length)
            chosen = builder.select(inside, part, part.type(0))
            bounded = builder.insert_value(bounded, chosen, place) if is_tuple else chosen
        self._bounded = index.name, bounded
        try:
            yield
        finally:
            self._bounded = None

    def _lengths(self, kind: Any, name: str) -> list[Any]:
        """Length of each dimension of an array, or of a tuple."""
        if isinstance(kind, types.BaseTuple):
            return [WORD(len(kind))]
        array = self.context.make_array(kind)(self.context, self.builder, self.loadvar(name))
        return list(cgutils.unpack_tuple(self.builder, array.shape, kind.ndim))

    def lower_inst(self, inst: Any) -> None:
        function = self.func_ir.func_id.func
        limits = kernel_guards.limits_of_kernels.get(function)
        if isinstance(inst, numba_ir.Return) and limits is not None and limits.answers is not None:
            self._line = inst.loc.line
            self._lower_answer(self.loadvar(inst.value.name), limits.answers, limits)
            return
        if isinstance(inst, numba_ir.SetAttr | numba_ir.StaticSetItem):
            field = inst.attr if isinstance(inst, numba_ir.SetAttr) else inst.index
            if isinstance(field, str) and (found := self._bounds_of(inst.target, field)):
                self._line = inst.loc.line
                self._store_within(inst, *found)
                return
        super().lower_inst(inst)

    def _definition(self, variable: Any) -> Any:
        """What a variable was made of; None where there are several."""
        try:
            return self.func_ir.get_definition(variable)
        except KeyError:
            return None

    def _bounds_of(self, target: Any, field: str) -> tuple[int, Bounds] | None:
        """Number and bounds of a field of a record of the engine; None: it has none.

        Of a record FRAME they hold for the argument `frame` of a kernel alone.
        """
        word = _words().get(self.typeof(target.name), "")
        if word == "limiter" and field in AT_END:
            return None
        if word == "frame":
            function = self.func_ir.func_id.func
            limits = kernel_guards.limits_of_kernels.get(function)
            source = self._definition(target)
            place = source.index if isinstance(source, numba_ir.Arg) else None
            if limits is None or not limits.kind or place != FRAME:
                return None
        return numbered_bounds(word).get(field) if word else None

    def _store_within(self, inst: Any, number: int, bounds: Bounds) -> None:
        """Lower an assignment of a value between its bounds; another one is noted, and not made."""
        builder, record = self.builder, self.typeof(inst.target.name)
        value = self.context.cast(
            builder, self.loadvar(inst.value.name), self.typeof(inst.value.name), types.int64
        )
        outside = self._outside(value, bounds, record, self.loadvar(inst.target.name))
        with builder.if_else(outside, likely=False) as (noted, stored):
            with noted:
                self._note(kernel_guards.VALUE, value, WORD(number))
            with stored:
                super().lower_inst(inst)

    def _outside(self, value: Any, bounds: Bounds, record: Any, pointer: Any) -> Any:
        """1 where a value is not between its bounds: one comparison of unsigned numbers."""
        if isinstance(bounds.least, str):
            least = self._field(record, pointer, bounds.least)
            below = self.builder.icmp_signed("<", value, least)
            above = self.builder.icmp_signed(">", value, WORD(bounds.most))
            return self.builder.or_(below, above)
        span = WORD(bounds.most - bounds.least)
        return self.builder.icmp_unsigned(">", self.builder.sub(value, WORD(bounds.least)), span)

    def _field(self, record: Any, pointer: Any, field: str) -> Any:
        """The word in a field of a record."""
        offset = record.offset(field)
        return self.builder.load(cgutils.get_record_member(self.builder, pointer, offset, WORD))

    def _check_timer(self, target: Any, index: Any, value: Any) -> None:
        """Note a named timer's time that is none, and a place that has no name."""
        source = self._definition(target)
        if not isinstance(source, numba_ir.Expr) or source.op != "getattr":
            return
        found, owner = self._bounds_of(source.value, source.attr), self._definition(source.value)
        if found is None or not isinstance(owner, numba_ir.Arg):
            return
        number, bounds = found
        builder, record = self.builder, self.typeof(source.value.name)
        pointer = self.fnargs[owner.index]  # the variable may have been deleted before
        time = self.context.cast(
            builder, self.loadvar(value.name), self.typeof(value.name), types.int64
        )
        with builder.if_then(self._outside(time, bounds, record, pointer), likely=False):
            self._note(kernel_guards.VALUE, time, WORD(number))
        place = self.context.cast(
            builder, self.loadvar(index.name), self.typeof(index.name), types.int64
        )
        named = self._field(record, pointer, "named")
        with builder.if_then(builder.icmp_unsigned(">=", place, named), likely=False):
            self._note(kernel_guards.TIMER_PLACE, place, named)

    def _lower_answer(self, answer: Any, answers: Collection[int], limits: Limits) -> None:
        builder = self.builder
        known = self._is_among(answer, answers)
        made_in = builder.block
        with builder.if_then(builder.not_(known), likely=False):
            self._note(kernel_guards.ANSWER, answer, WORD(0))
            noted_in = builder.block
        chosen = builder.phi(WORD)
        chosen.add_incoming(answer, made_in)
        chosen.add_incoming(WORD(0), noted_in)
        if limits.kind == "reaction_point":
            self._check_limiter()
        if limits.sending:
            with builder.if_then(self._is_among(chosen, limits.sending)):
                self._check_message(limits)
        elif limits.alters:
            self._check_message(limits)
        elif limits.sends_segments:
            chosen = self._checked_segment(chosen)
        returned = self.context.get_return_value(builder, self.fndesc.restype, chosen)
        self.call_conv.return_value(builder, returned)

    def _is_among(self, number: Any, numbers: Collection[int]) -> Any:
        """1 where a number is one of some, which are a range or below 64."""
        builder = self.builder
        if isinstance(numbers, range):
            low, high = (
                builder.icmp_signed(">=", number, WORD(numbers.start)),
                builder.icmp_signed("<", number, WORD(numbers.stop)),
            )
            return builder.and_(low, high)
        bits = WORD(sum(1 << one for one in numbers))
        shift = builder.and_(number, WORD(63))
        bit = builder.trunc(builder.lshr(bits, shift), llvm_ir.IntType(1))
        return builder.and_(builder.icmp_unsigned("<", number, WORD(64)), bit)

    def _check_limiter(self) -> None:
        """Note a value of `AT_END` beyond its bounds, and leave 0 there."""
        builder, record, pointer = self.builder, self.fndesc.argtypes[ENTITY], self.fnargs[ENTITY]
        for field, (number, bounds) in numbered_bounds("limiter").items():
            if field in AT_END:
                place = cgutils.get_record_member(builder, pointer, record.offset(field), WORD)
                value = builder.load(place)
                with builder.if_then(self._outside(value, bounds, record, pointer), likely=False):
                    self._note(kernel_guards.VALUE, value, WORD(number))
                    builder.store(WORD(0), place)

    def _check_message(self, limits: Limits) -> None:
        """Note a kind of message that the algorithm does not send, and values beyond bounds."""
        builder, record, pointer = self.builder, self.fndesc.argtypes[MESSAGE], self.fnargs[MESSAGE]
        kind = self._field(record, pointer, "kind")
        if limits.kinds:
            with builder.if_then(builder.not_(self._is_among(kind, limits.kinds)), likely=False):
                self._note(kernel_guards.MESSAGE_KIND, kind, WORD(0))
        for number, (bounds, kinds) in enumerate(limits.message_bounds):
            value = self._field(record, pointer, bounds.field)
            outside = self._outside(value, bounds, record, pointer)
            if kinds:
                outside = builder.and_(outside, self._is_among(kind, kinds))
            with builder.if_then(outside, likely=False):
                self._note(kernel_guards.MESSAGE_VALUE, value, WORD(number))

    def _checked_segment(self, answer: Any) -> Any:
        """The answer of a transport, 0 where it sends a segment that its flow does not have."""
        builder = self.builder
        sequence = self._field(self.fndesc.argtypes[MESSAGE], self.fnargs[MESSAGE], "sequence")
        available = self._field(self.fndesc.argtypes[ENTITY], self.fnargs[ENTITY], "available")
        missing = builder.and_(
            builder.icmp_signed("==", answer, WORD(SEND)),
            builder.icmp_unsigned(">=", sequence, available),
        )
        with builder.if_then(missing, likely=False):
            self._note(kernel_guards.SEGMENT, sequence, available)
        return builder.select(missing, WORD(0), answer)

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
        if plain is operator.rshift:
            left, right = self._operands(expr, signature)
            with self.builder.if_then(
                self.builder.icmp_unsigned(">", right, WORD(63)), likely=False
            ):
                self._note(kernel_guards.SHIFT_BACK, left, right)
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
