"""Documentation strings and comments of constants and record fields, read from the sources."""

from __future__ import annotations

import ast
import functools
import inspect
import io
import tokenize
from types import ModuleType


@functools.cache
def attribute_docs(module: ModuleType) -> dict[str, str]:
    """Docstrings of a module's constants: name -> string below its assignment."""
    return docs_of_body(ast.parse(inspect.getsource(module)).body)


def docs_of_body(body: list[ast.stmt]) -> dict[str, str]:
    """Docstrings of assignments in a module or class body; a tuple of names shares one.

    A string that stands below several assignments in succession documents the last of them.
    """
    found: dict[str, str] = {}
    for statement, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        else:
            continue
        if not (
            isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
            and isinstance(after.value.value, str)
        ):
            continue
        for target in targets:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            for name in names:
                if isinstance(name, ast.Name):
                    found[name.id] = inspect.cleandoc(after.value.value)
    return found


def record_fields(module: ModuleType, record: str) -> dict[str, str]:
    """Fields of the class of a record, by the record's name, each with the comment that documents
    it.

    That is the comment behind the field, or else those on the lines between it and the field before
    it. A field without either has the empty text.
    """
    source = inspect.getsource(module)
    kind = next(
        statement
        for statement in ast.parse(source).body
        if isinstance(statement, ast.ClassDef) and statement.name == record.capitalize()
    )
    comments = {
        token.start[0]: (token.string.lstrip("# "), token.line.lstrip().startswith("#"))
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    fields, above = dict[str, str](), kind.lineno
    for field in kind.body:
        if isinstance(field, ast.AnnAssign):
            beside, alone = comments.get(field.lineno, ("", False))
            lines = [comments[n][0] for n in range(above + 1, field.lineno) if n in comments]
            text = beside if beside and not alone else " ".join(lines)
            fields[ast.unparse(field.target)] = text
            above = field.lineno
    return fields
