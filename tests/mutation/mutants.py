"""The mutants of a source file."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

import cosmic_ray.ast  # before the operators: parso's modules import each other
from cosmic_ray.mutating import MutationVisitor
from cosmic_ray.operators.provider import OperatorProvider

from tests.mutation.removing import RemoveStatement

BINARY = (
    *("Add_Sub", "Sub_Add", "Mul_FloorDiv", "Div_Mul", "FloorDiv_Mul", "Mod_FloorDiv", "Pow_Mul"),
    *("RShift_LShift", "LShift_RShift", "BitOr_BitAnd", "BitAnd_BitOr", "BitXor_BitOr"),
)
COMPARISONS = (
    *("Eq_NotEq", "NotEq_Eq", "Is_IsNot", "IsNot_Is"),
    *("Lt_LtE", "Lt_GtE", "LtE_Lt", "LtE_Gt", "Gt_GtE", "Gt_LtE", "GtE_Gt", "GtE_Lt"),
)
OTHERS = (
    *("ReplaceUnaryOperator_USub_UAdd", "ReplaceUnaryOperator_Delete_Not", "AddNot"),
    *("ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd"),
    *("ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "ExceptionReplacer"),
    *("NumberReplacer", "ZeroIterationForLoop"),
)
OPERATORS = (
    *(f"ReplaceBinaryOperator_{pair}" for pair in BINARY),
    *(f"ReplaceComparisonOperator_{pair}" for pair in COMPARISONS),
    *OTHERS,
)
"""Of cosmic-ray's, those of which one does not tell what another has told: a sum that becomes a
difference, not each of ten operations; a comparison off by its edge, and the other way round."""
UNIT = 1e6
Change = tuple[str, Any, int, int]
"""Name of an operator, the operator, the number of its place in the file, and that one's line."""


@dataclass(frozen=True)
class Mutant:
    """A file's text with one change, at a line; `first` to `last` is the statement around it."""

    line: int
    operator: str
    before: str
    after: str
    text: str
    first: int
    last: int

    @property
    def key(self) -> str:
        """What it is called where lines move."""
        return f"{self.before}  ->  {self.after}"


def mutants(path: Path) -> list[Mutant]:
    """All of a file, by line. What is an annotation is not a fault when it is wrong."""
    text = path.read_text(encoding="utf-8")
    seen, spans = {_meaning(text)}, _spans(ast.parse(text))
    made = (_mutant(text, change, seen, spans) for change in _changes(text))
    return sorted((one for one in made if one is not None), key=lambda mutant: mutant.line)


def drawn_mutant(path: Path, draw: random.Random) -> Mutant | None:
    """One of a file's mutants, drawn evenly; None where it has none. The others are not made."""
    text = path.read_text(encoding="utf-8")
    seen, spans = {_meaning(text)}, _spans(ast.parse(text))
    changes = list(_changes(text))
    draw.shuffle(changes)
    made = (_mutant(text, change, seen, spans) for change in changes)
    return next((one for one in made if one is not None), None)


def _changes(text: str) -> Iterator[Change]:
    """Operators with the number and the line of each of their places."""
    tree = ast.parse(text)
    idle, units = {*_annotations(tree), *_cache_sizes(tree)}, set(_units(tree))
    provider = OperatorProvider()
    operators = {name: provider[name]() for name in OPERATORS}
    operators["RemoveStatement"] = RemoveStatement()
    nodes = list(cosmic_ray.ast.ast_nodes(cosmic_ray.ast.get_ast(text)))
    for name, operator in operators.items():
        places = [start for node in nodes for start, _ in operator.mutation_positions(node)]
        for number, place in enumerate(places):
            if place in idle or (name == "NumberReplacer" and place in units):
                continue
            yield name, operator, number, place[0]


def _mutant(
    text: str, change: Change, seen: set[Any], spans: dict[int, tuple[int, int]]
) -> Mutant | None:
    """The mutant of a change; None where what it does was made before, or is no Python."""
    name, operator, number, line = change
    changed = _changed(text, operator, number)
    if changed is None or (means := _meaning(changed)) is None or means in seen:
        return None
    seen.add(means)
    before, after = _difference(text, changed)
    return Mutant(line, name, before, after, changed, *spans.get(line, (line, line)))


def _changed(text: str, operator: Any, number: int) -> str | None:
    """The text with one change; None where cosmic-ray cannot make it: its ExceptionReplacer takes
    no dotted name, as that of `except queue.Empty`."""
    try:
        found: str | None = MutationVisitor.mutate_code(text, operator, number)
    except AttributeError:
        return None
    return found


def _meaning(text: str) -> Any:
    """What a text is compiled to, wherever it stands; None: it is no Python."""
    try:
        return meaning_of(compile(text, "mutant", "exec", dont_inherit=True))
    except SyntaxError:
        return None


def meaning_of(code: CodeType) -> Any:
    """Code without where it stands: equal for what does the same, step by step."""
    constants = (
        meaning_of(one) if isinstance(one, CodeType) else (type(one), repr(one))
        for one in code.co_consts
    )
    names = (code.co_names, code.co_varnames, code.co_freevars)
    return code.co_name, code.co_code, tuple(constants), names, code.co_exceptiontable


def _difference(old: str, new: str) -> tuple[str, str]:
    """The lines that differ, without what surrounds them."""
    a, b = old.splitlines(), new.splitlines()
    head = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), 0)
    while a and b and a[-1] == b[-1] and min(len(a), len(b)) > head + 1:
        a.pop()
        b.pop()
    return tuple(" ".join(" ".join(side[head:]).split()) for side in (a, b))  # type: ignore[return-value]


def _annotations(tree: ast.AST) -> Iterator[tuple[int, int]]:
    """Where the tokens of annotations begin: they are not carried out."""
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            part = getattr(node, name, None)
            for inner in ast.walk(part) if part is not None else ():
                if isinstance(inner, ast.expr):
                    yield from _tokens(inner)


def _units(tree: ast.AST) -> Iterator[tuple[int, int]]:
    """Where numbers like 1e12 stand: one more or less than a unit's size is no fault."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, float) and node.value >= UNIT:
            yield node.lineno, node.col_offset


def _cache_sizes(tree: ast.AST) -> Iterator[tuple[int, int]]:
    """Where the tokens of an lru_cache's size begin: it says how often a function is called that
    has the same result each time, not what the result is."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("lru_cache"):
            sizes = (key.value for key in node.keywords if key.arg == "maxsize")
            for size in (*node.args[:1], *sizes):
                yield from _tokens(size)


def _tokens(part: ast.expr) -> Iterator[tuple[int, int]]:
    for column in range(part.col_offset, (part.end_col_offset or 0) + 1):
        yield part.lineno, column


def _spans(tree: ast.AST) -> dict[int, tuple[int, int]]:
    """Line -> the lines of the innermost statement there; of a block only its head."""
    spans: dict[int, tuple[int, int]] = {}
    for node in ast.walk(tree):  # outer ones come first
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
            for line in range(node.lineno, max(last, node.lineno) + 1):
                spans[line] = node.lineno, max(last, node.lineno)
    return spans
