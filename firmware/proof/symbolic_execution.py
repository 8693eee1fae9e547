"""Symbolic executor of a kernel's syntax tree, one path after the other.

Where a condition is undecided, both branches are executed, each under its assumption. Loops with a
known, small number of rounds are unrolled; in other loops the names that a round changes are
arbitrary within inductive bounds (firmware.proof.loop_analysis). Every operation is an obligation:
its result fits an int64, no divisor is 0, no shift and no index is out of range.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from firmware.proof.field_ranges import bounds_after_event
from firmware.proof.function_contracts import contract_of
from firmware.proof.kernel_source import Source, python_function, source_of
from firmware.proof.loop_analysis import execute_loop
from firmware.proof.path_enumeration import LoopExited, PathChoices, ReturnReached
from firmware.proof.path_merge import merge_paths
from firmware.proof.symbolic_state import (
    Grid,
    Infeasible,
    Key,
    Obligation,
    Record,
    State,
    Untranslated,
)
from firmware.proof.term_graph import INT64_RANGE, Interval, Term, Terms
from firmware.proof.time_limit import check_limits
from orchestrator.engine.frames.telemetry_header import FIRST

OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.FloorDiv: "div",
    ast.Mod: "mod",
    ast.LShift: "shl",
    ast.RShift: "shr",
    ast.BitAnd: "bitand",
    ast.BitOr: "bitor",
    ast.BitXor: "bitxor",
}
NATURAL: Interval = (0, 1 << 62)


@dataclass
class ExecutionContext:
    """Context that all paths of a proof share."""

    terms: Terms
    obligations: dict[tuple[object, ...], Obligation] = field(default_factory=dict)
    loops: dict[tuple[object, ...], Any] = field(default_factory=dict)
    exact: bool = False
    """True: all loops and helpers are executed, none is replaced by a contract."""
    named: frozenset[Any] = frozenset()
    """Uninterpreted functions."""
    quiet: bool = False
    """True: obligations are not recorded, while the bounds of a loop are searched."""
    states: Callable[[Term], Record] | None = None
    """The state of a flow, of a receiver's."""
    declared: frozenset[str] = frozenset()
    """Fields of the state whose bounds the algorithm declares."""
    join: bool = False
    """True: paths are merged behind every statement (firmware.proof.path_merge)."""
    records: dict[str, Record] = field(default_factory=dict)
    """Records that were used, by name."""
    until: float = float("inf")
    """Limit of time.process_time(), after which it gives up."""
    count: int = 0
    joins: int = 0

    def fresh(self, name: str, bounds: Interval) -> Term:
        self.count += 1
        return self.terms.var(f"{name}~{self.count}", bounds)


class SymbolicExecutor:
    """Executor of one function on one path. `run` returns its result."""

    def __init__(
        self,
        shared: ExecutionContext,
        state: State,
        choices: PathChoices,
        source: Source,
        names: dict[str, Any],
        depth: tuple[object, ...] = (),
    ) -> None:
        self.shared, self.state, self.choices = shared, state, choices
        self.source, self.names, self.depth = source, names, depth
        self.terms = shared.terms

    def run(self) -> Any:
        try:
            self.block(self.source.tree.body)
        except ReturnReached as returned:
            return returned.value
        return None

    # statements

    def block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            if self.shared.join:
                merge_paths(self, statement)
            else:
                self.step(statement)

    def step(self, node: ast.stmt) -> None:
        """Execute a statement on one path. Raises Late."""
        check_limits()
        if isinstance(node, ast.Assign):
            value = self.value(node.value)
            for target in node.targets:
                self.assign(target, value)
        elif isinstance(node, ast.AugAssign):
            before = self.number(self.value(node.target), node)
            after = self.operate(node.op, before, self.number(self.value(node.value), node), node)
            self.assign(node.target, after)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self.assign(node.target, self.value(node.value))
        elif isinstance(node, ast.If):
            self.block(node.body if self.holds(node.test) else node.orelse)
        elif isinstance(node, ast.Return):
            raise ReturnReached(None if node.value is None else self.value(node.value))
        elif isinstance(node, ast.Expr):
            if not isinstance(node.value, ast.Constant):
                self.value(node.value)
        elif isinstance(node, ast.For | ast.While) and not node.orelse:
            execute_loop(self, node)
        elif isinstance(node, ast.Break | ast.Continue):
            raise LoopExited(isinstance(node, ast.Continue))
        elif not isinstance(node, ast.Pass):
            raise self.unknown(node, f"{type(node).__name__} is not translated")

    def assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, ast.Tuple) and isinstance(value, tuple):
            for one, part in zip(target.elts, value, strict=True):
                self.assign(one, part)
        elif isinstance(target, ast.Attribute):
            self._store(self.value(target.value), target.attr, self.number(value, target), target)
        elif isinstance(target, ast.Subscript):
            grid = self.value(target.value)
            if not isinstance(grid, Grid):
                raise self.unknown(target, "only arrays of a record are assigned to by index")
            index = self._index(grid, target)
            key = (grid.record.name, grid.field)
            term = self.number(value, target)
            self.state.cells[key] = [(index, term)]
            self._put((grid.record.kind, grid.field), term)
            self._within(grid.record, grid.field, term, target)
        else:
            raise self.unknown(target, "what is assigned to is not translated")

    def _store(self, record: Any, name: str, term: Term, node: ast.expr) -> None:
        if not isinstance(record, Record) or name not in record.shapes:
            raise self.unknown(node, f"no record has a field {name!r} here")
        self.shared.records[record.name] = record
        if record.index is not None:  # another flow's record may be the same one
            alike = [key for key in self.state.store if key[1] == name and key[0] != record.name]
            for key in alike:
                if key[0].startswith(f"{record.kind}["):
                    self.state.store[key] = self.shared.fresh(".".join(key), record.bounds(name))
            self._put((record.kind, name), term)
            self._within(record, name, term, node)
        self.state.store[record.name, name] = term

    def _put(self, key: Key, term: Term) -> None:
        self.state.put.append((key, term, self.state.known.bounds(term)))

    def _within(self, record: Record, name: str, term: Term, node: ast.AST) -> None:
        searched = record.kind == "state" and name not in self.shared.declared
        if self.shared.quiet or searched:
            return  # its bounds are looked for by all that is written (`State.put`)
        what = f"{record.kind}.{name} is left outside of what it is taken for"
        self.oblige(what, term, bounds_after_event(record.kind, name, record.bounds(name)), node)

    # expressions

    def value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant):
            return self.wrap(node.value, node)
        if isinstance(node, ast.Name):
            if node.id in self.names:
                return self.names[node.id]
            if node.id not in self.source.names:
                raise self.unknown(node, f"{node.id!r} has no value on this path")
            return self.wrap(self.source.names[node.id], node)
        if isinstance(node, ast.Attribute):
            return self._attribute(self.value(node.value), node)
        if isinstance(node, ast.BinOp):
            left = self.number(self.value(node.left), node)
            return self.operate(node.op, left, self.number(self.value(node.right), node), node)
        if isinstance(node, ast.UnaryOp):
            return self._unary(node)
        if isinstance(node, ast.BoolOp):
            return self.terms.truth(self.holds(node))
        if isinstance(node, ast.Compare):
            return self._compare(node)
        if isinstance(node, ast.IfExp):
            return self.value(node.body if self.holds(node.test) else node.orelse)
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        if isinstance(node, ast.Tuple):
            return tuple(self.value(one) for one in node.elts)
        if isinstance(node, ast.Call):
            return self._call(node)
        raise self.unknown(node, f"{type(node).__name__} is not translated")

    def wrap(self, value: Any, node: ast.AST) -> Any:
        """Translation of a Python value."""
        if isinstance(value, bool | np.bool_):
            return self.terms.truth(bool(value))
        if isinstance(value, int | np.integer):
            return self.terms.const(int(value))
        if isinstance(value, float):
            raise self.unknown(node, "floats are not translated")
        return value

    def number(self, value: Any, node: ast.AST) -> Term:
        """A value as an integer; a condition is 0 or 1."""
        if not isinstance(value, Term):
            raise self.unknown(node, f"a number is expected, not {type(value).__name__}")
        if value.op == "truth":
            return self.terms.const(value.value)
        if value.is_condition:
            return self.terms.make("ite", value, self.terms.const(1), self.terms.const(0))
        return value

    def condition(self, value: Any, node: ast.AST) -> Term:
        if isinstance(value, Term) and value.is_condition:
            return value
        zero = self.terms.make("eq", self.number(value, node), self.terms.const(0))
        return self.terms.make("not", zero)

    def holds(self, node: ast.expr) -> bool:
        """Branch of a path at a condition; both are explored where it is undecided."""
        if isinstance(node, ast.BoolOp):
            stops = isinstance(node.op, ast.Or)
            for part in node.values:
                if self.holds(part) is stops:
                    return stops
            return not stops
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return not self.holds(node.operand)
        return self.decide(self.condition(self.value(node), node))

    def decide(self, condition: Term) -> bool:
        known = self.state.known.decide(condition)
        if known is None:
            known = self.choices.choose(2) == 0
            taken = condition if known else self.terms.make("not", condition)
            if not self.state.known.assume(taken):
                raise Infeasible
        return known

    def operate(self, op: ast.operator, left: Term, right: Term, node: ast.AST) -> Term:
        name = OPERATORS.get(type(op))
        if isinstance(op, ast.Pow) and left.op == right.op == "const" and right.value >= 0:
            return self.terms.const(left.value**right.value)
        if name is None:
            raise self.unknown(node, f"{type(op).__name__} is not translated")
        if name in ("div", "mod"):
            self.oblige("divides by 0", right, INT64_RANGE, node, 0)
        elif name in ("shl", "shr"):
            self.oblige("shifts by less than 0 or more than 63", right, (0, 63), node)
        term = self.terms.make(name, left, right)
        self.oblige("runs over an int64", term, INT64_RANGE, node)
        return term

    def oblige(
        self, what: str, term: Term, bounds: Interval, node: ast.AST, excluded: int | None = None
    ) -> None:
        """Record an obligation, unless the bounds imply it; then assume it."""
        known = self.state.known
        joined_one = term.op == "ite"  # after merging, `bounds` has the facts of each path
        low, high = known.bounds(term) if excluded is not None or joined_one else known.exact(term)
        inside = bounds[0] <= low and high <= bounds[1]
        if inside and (excluded is None or not low <= excluded <= high):
            return
        if not self.shared.quiet:
            line = getattr(node, "lineno", 0)
            key = (what, str(self.source.file), line, term, *known.assumed)
            if key not in self.shared.obligations:
                self.shared.obligations[key] = Obligation(
                    what, str(self.source.file), line, term, bounds, excluded, known.copy()
                )
        make, const = self.terms.make, self.terms.const
        holds = known.assume(make("le", const(bounds[0]), term))
        holds = holds and known.assume(make("le", term, const(bounds[1])))
        if excluded is not None:
            apart = make("not", make("eq", term, const(excluded)))
            holds = holds and known.assume(apart)
        if not holds:
            raise Infeasible

    def _attribute(self, value: Any, node: ast.Attribute) -> Any:
        if not isinstance(value, Record):
            if isinstance(value, Term):
                raise self.unknown(node, f"a number has no {node.attr!r}")
            return self.wrap(getattr(value, node.attr), node)
        if node.attr not in value.shapes:
            raise self.unknown(node, f"{value.name} has no field {node.attr!r}")
        if value.shapes[node.attr]:
            return Grid(value, node.attr)
        key = (value.name, node.attr)
        self.shared.records[value.name] = value
        if key not in self.state.store:
            name, bounds = f"{value.name}.{node.attr}", value.bounds(node.attr)
            loose = value.index is not None and self.state.loose
            term = self.shared.fresh(name, bounds) if loose else self.terms.var(name, bounds)
            self.state.store[key] = term
        return self.state.store[key]

    def _unary(self, node: ast.UnaryOp) -> Term:
        if isinstance(node.op, ast.Not):
            return self.terms.truth(not self.holds(node.operand))
        operand = self.number(self.value(node.operand), node)
        if isinstance(node.op, ast.USub):
            return self.operate(ast.Sub(), self.terms.const(0), operand, node)
        if isinstance(node.op, ast.Invert):
            return self.terms.make("sub", self.terms.const(-1), operand)
        return operand

    def _compare(self, node: ast.Compare) -> Term:
        left = self.number(self.value(node.left), node)
        result: Term | None = None
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.number(self.value(right_node), node)
            one = self._order(op, left, right, node)
            result = one if result is None else self.terms.make("and", result, one)
            left = right
        assert result is not None
        return result

    def _order(self, op: ast.cmpop, left: Term, right: Term, node: ast.AST) -> Term:
        make = self.terms.make
        if isinstance(op, ast.Lt | ast.Gt):
            return make("lt", *((left, right) if isinstance(op, ast.Lt) else (right, left)))
        if isinstance(op, ast.LtE | ast.GtE):
            return make("le", *((left, right) if isinstance(op, ast.LtE) else (right, left)))
        if isinstance(op, ast.Eq):
            return make("eq", left, right)
        if isinstance(op, ast.NotEq):
            return make("not", make("eq", left, right))
        raise self.unknown(node, f"{type(op).__name__} is not translated")

    def _subscript(self, node: ast.Subscript) -> Any:
        value = self.value(node.value)
        if isinstance(value, Grid):
            key, index = (value.record.name, value.field), self._index(value, node)
            rows = self.state.cells.setdefault(key, [])
            for where, term in rows:
                if where == index:
                    return term
            # "~": after a write of another cell the cell is unknown
            cell = f"{value.record.name}.{value.field}{list(index)}"
            bounds = value.record.bounds(value.field)
            seen = self._written(value)
            term = self._unknown_cell(cell, bounds) if seen else self.terms.var(cell, bounds)
            rows.append((index, term))
            return term
        if not isinstance(value, tuple):
            raise self.unknown(node, "only arrays of a record and constant tuples have an index")
        place = self.number(self.value(node.slice), node)
        self.oblige("has an index that is out of range", place, (0, len(value) - 1), node)
        return self._pick([self.wrap(one, node) for one in value], place)

    def _unknown_cell(self, cell: str, bounds: Interval) -> Term:
        """A cell with unknown content: the same variable on every execution of this path, so that
        facts from behind a loop still apply."""
        self.state.read += 1
        prefix = self.choices.made[: self.choices.place]
        key = ("cell", cell, self.state.read, self.depth, self.shared.quiet, *prefix)
        if key not in self.shared.loops:
            self.shared.loops[key] = self.shared.fresh(cell, bounds)
        return self.shared.loops[key]

    def _written(self, grid: Grid) -> bool:
        kind = (grid.record.kind, grid.field)
        return self.state.loose or any(key == kind for key, *_ in self.state.put)

    def _pick(self, values: list[Term], place: Term) -> Term:
        chosen = values[-1]
        for number in range(len(values) - 2, -1, -1):
            here = self.terms.make("eq", place, self.terms.const(number))
            chosen = self.terms.make("ite", here, values[number], chosen)
        return chosen

    def _index(self, grid: Grid, node: ast.Subscript) -> tuple[Term, ...]:
        given = self.value(node.slice)
        parts = given if isinstance(given, tuple) else (given,)
        shape = grid.record.shapes[grid.field]
        if len(parts) != len(shape):
            raise self.unknown(node, f"{grid.field} has {len(shape)} indices")
        index = tuple(self.number(part, node) for part in parts)
        for part, size in zip(index, shape, strict=True):
            self.oblige("has an index that is out of range", part, (0, size - 1), node)
        return index

    # calls

    def _call(self, node: ast.Call) -> Any:
        function = python_function(self.value(node.func))
        if node.keywords:
            raise self.unknown(node, "keywords in a call are not translated")
        given = [self.value(one) for one in node.args]
        if function in (min, max) and len(given) > 1:
            numbers = [self.number(one, node) for one in given]
            result = numbers[0]
            for one in numbers[1:]:
                result = self.terms.make(function.__name__, result, one)
            return result
        if function is abs:
            one = self.number(given[0], node)
            return self.terms.make(
                "max", one, self.operate(ast.Sub(), self.terms.const(0), one, node)
            )
        if function in (int, np.int64):
            return self.number(given[0], node)
        if function is bool:
            return self.condition(given[0], node)
        module, name = getattr(function, "__module__", ""), getattr(function, "__name__", "")
        if (module, name) == ("orchestrator.engine.jit", "flow_state") and self.shared.states:
            return self.shared.states(self.number(given[1], node))
        if (module, name) == ("orchestrator.engine.jit", "select"):
            condition = self.condition(given[0], node)
            return self.terms.make("ite", condition, *(self.number(g, node) for g in given[1:]))
        if function in self.shared.named:
            return self.terms.call(function, tuple(self.number(g, node) for g in given), NATURAL)
        contract = contract_of(module, name)
        if contract is not None and not (self.shared.exact and name == "lfsr_next"):
            numbers = [self.number(one, node) for one in given if not isinstance(one, Record)]
            return self._by_contract(function, contract, numbers, node)
        return self._enter(function, given, node)

    def _by_contract(self, function: Any, contract: Any, given: list[Term], node: ast.AST) -> Term:
        for one, bounds in zip(given, contract.arguments, strict=True):
            what = f"gives {function.__name__} what it is not made for"
            self.oblige(what, one, bounds, node)
        returned = contract.returns(*(self.state.known.bounds(one) for one in given))
        if function.__name__ in (
            "word_at",
            "stamp_of",
            "stamps_of",
        ):  # it does not depend on numbers only
            word = given[-1].value if given and given[-1].op == "const" else None
            name = function.__name__
            if name == "stamp_of" and word is not None:
                name = f"word[{FIRST + word}]"  # a counterexample has the first hop's (`replay`)
            return self.shared.fresh(name, returned)
        return self.terms.call(function, tuple(given), returned)

    def _enter(self, function: Any, given: list[Any], node: ast.AST) -> Any:
        try:
            source = source_of(function)
        except (LookupError, AttributeError, OSError):
            raise self.unknown(node, f"{function!r} is not translated") from None
        if len(self.depth) > 30:
            raise self.unknown(node, "calls go too deep")
        names = dict(zip(source.parameters, given, strict=True))
        inner = (*self.depth, getattr(node, "lineno", 0), getattr(node, "col_offset", 0))
        return SymbolicExecutor(self.shared, self.state, self.choices, source, names, inner).run()

    def unknown(self, node: ast.AST, what: str) -> Untranslated:
        return Untranslated(str(self.source.file), getattr(node, "lineno", 0), what)
