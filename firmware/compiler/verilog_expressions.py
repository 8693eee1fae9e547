"""Verilog of a state's operations: expressions with exact widths.

Every operand is brought to the width of the operation before it: no expression depends on
Verilog's rules for mixed widths and signs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from firmware.compiler.intermediate_form import Constant
from firmware.compiler.state_machine import Operand, Step

SYMBOLS = {"add": "+", "sub": "-", "bitand": "&", "bitor": "|", "bitxor": "^"}
ORDERS = {"lt": "<", "le": "<=", "eq": "==", "ne": "!=", "min": "<", "max": ">"}
LFSR_BITS = 64
SHIFT_BITS = 6
"""Bits of a shift's distance, 0 to 63."""


@dataclass(frozen=True)
class Named:
    """A signed signal of Verilog and its width."""

    text: str
    bits: int


Names = Callable[[Operand], Named | Constant]


def literal(value: int, bits: int) -> str:
    """A constant of this width, in two's complement."""
    return f"{bits}'h{value & ((1 << bits) - 1):x}"


def resized(value: Named | Constant, bits: int) -> str:
    """A number extended by its sign, or cut, to this width."""
    if isinstance(value, Constant):
        return literal(value.value, bits)
    if bits == value.bits:
        return value.text
    if bits < value.bits:
        return f"{value.text}[{bits - 1}:0]"
    sign = f"{value.text}[{value.bits - 1}]"
    return f"{{{{{bits - value.bits}{{{sign}}}}}, {value.text}}}"


def signed(value: Named | Constant, bits: int) -> str:
    """The same as a signed expression."""
    return f"$signed({resized(value, bits)})"


def is_true(value: Named | Constant) -> str:
    """Whether a number is not 0."""
    if isinstance(value, Constant):
        return "1'b1" if value.value else "1'b0"
    return f"({value.text} != {literal(0, value.bits)})"


def bits_of_value(value: Named | Constant) -> int:
    """Bits of a signed number."""
    if isinstance(value, Named):
        return value.bits
    return (value.value if value.value >= 0 else ~value.value).bit_length() + 1


def step_lines(step: Step, names: Names, name: str) -> list[str]:
    """Declaration of the wire `name` of a step."""
    bits = step.target.bits
    given = [names(one) for one in step.operands]
    begin = f"wire signed [{bits - 1}:0] {name} = "
    if step.op in SYMBOLS:
        both = [resized(one, bits) for one in given]
        return [f"{begin}{both[0]} {SYMBOLS[step.op]} {both[1]};"]
    if step.op in ("resize", "data"):
        return [f"{begin}{resized(given[0], bits)};"]
    if step.op == "shl":
        return [f"{begin}{resized(given[0], bits)} << {resized(given[1], SHIFT_BITS)};"]
    if step.op in ("shr", "lfsr"):
        return _by_wide_wire(step, given, begin, name)
    if step.op == "select":
        both = [resized(one, bits) for one in given[1:]]
        return [f"{begin}{is_true(given[0])} ? {both[0]} : {both[1]};"]
    if step.op == "table":
        return [f"{begin}{_table(given[0], step.table, bits)};"]
    wide = max(map(bits_of_value, given))
    order = f"{signed(given[0], wide)} {ORDERS[step.op]} {signed(given[1], wide)}"
    if step.op in ("min", "max"):
        both = [resized(one, bits) for one in given]
        return [f"{begin}({order}) ? {both[0]} : {both[1]};"]
    return [f"{begin}({order}) ? {literal(1, bits)} : {literal(0, bits)};"]


def _by_wide_wire(step: Step, given: list[Named | Constant], begin: str, name: str) -> list[str]:
    """An operation whose result is cut or extended behind it."""
    wide = LFSR_BITS if step.op == "lfsr" else bits_of_value(given[0])
    if step.op == "lfsr":
        text = f"drawn({resized(given[0], wide)})"
    else:
        text = f"{signed(given[0], wide)} >>> {resized(given[1], SHIFT_BITS)}"
    cut = resized(Named(f"{name}_wide", wide), step.target.bits)
    return [f"wire signed [{wide - 1}:0] {name}_wide = {text};", f"{begin}{cut};"]


def _table(index: Named | Constant, table: tuple[int, ...], bits: int) -> str:
    wide = max(bits_of_value(index), len(table).bit_length() + 1)
    at, text = resized(index, wide), literal(table[-1], bits)
    for number in range(-len(table), len(table)):
        same = f"{at} == {literal(number, wide)}"
        text = f"({same}) ? {literal(table[number], bits)} :\n            {text}"
    return text
