"""An operator that cosmic-ray lacks: a statement that is not carried out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cosmic_ray.ast import get_ast
from cosmic_ray.operators.operator import Example, Operator


class RemoveStatement(Operator):
    """A call, or a value given to an attribute or an item, becomes `pass`.

    Names are left alone: without them the next line is a NameError, which any test finds.
    """

    def mutation_positions(self, node: Any) -> Iterable[tuple[Any, Any]]:
        if node.type == "simple_stmt" and self._telling(node.children[0]):
            yield node.children[0].start_pos, node.children[0].end_pos

    @staticmethod
    def _telling(statement: Any) -> bool:
        if statement.type == "expr_stmt":
            given = statement.children[0]
            augmented = statement.children[1].type == "operator" and (
                statement.children[1].value not in ("=", ":")
            )
            return bool(given.type in ("atom_expr", "power") or augmented)
        return statement.type in ("atom_expr", "power", "raise_stmt")

    def mutate(self, node: Any, index: int) -> Any:
        made = get_ast("pass\n").children[0]
        statement = node.children[0]
        made.children[0].prefix = statement.get_first_leaf().prefix
        node.children[0] = made.children[0]
        made.children[0].parent = node
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (Example("a.b()\n", "pass\n"), Example("a[1] += 2\n", "pass\n"))
