"""Reference page of the public packages `tailback` and `tailback.plugin`, from their docstrings."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from importlib import import_module
from typing import Any

from orchestrator.engine.jit import plain as uncompiled
from orchestrator.pages.markdown import code, plain, table
from orchestrator.pages.source_docs import attribute_docs, docs_of_body

INTRODUCTION = """# Python API

Two packages are public: `tailback` runs plans and reads runs ([Python](../python.md)), and
`tailback.plugin` has what an author of a plugin uses
([Write an algorithm](../write-an-algorithm.md), [Write a target](../write-a-target.md)). Every
other package is internal and may change with any version.

A kernel takes records; [Algorithms](algorithms.md#kernels) has their fields, and for each event the
answers that a kernel may return.
"""
FACADE = "tailback"
PLUGIN = "tailback.plugin"
"""Imported by name: the core does not depend on the public packages."""
LONG = 60
"""A default of more characters is left out."""


def page() -> str:
    """The whole page."""
    facade, door = import_module(FACADE), import_module(PLUGIN)
    parts = [INTRODUCTION, f"## `{FACADE}`\n"]
    parts += [_entry(name, getattr(facade, name), "") for name in facade.__all__ if name[0] != "_"]
    for section, modules in door.SECTIONS.items():
        parts.append(f"## `{PLUGIN}`: {section[0].lower()}{section[1:]}\n")
        constants, others = list[tuple[str, str, str]](), list[str]()
        for module, names in modules.items():
            home = import_module(module)
            for name in names.split():
                public, _, own = name.partition("=")
                value = getattr(door, public)
                doc = attribute_docs(home).get(own or public, "")
                if _is_constant(value):
                    shown = code(value) if isinstance(value, int | str) else ""
                    constants.append((code(public), shown, plain(doc)))
                else:
                    others.append(_entry(public, value, doc))
        if constants:
            parts.append(table(("name", "value", "meaning"), constants))
        parts += others
    return "\n".join(parts)


def _is_constant(value: Any) -> bool:
    return not (inspect.isclass(value) or inspect.isroutine(uncompiled(value)))


def _entry(name: str, value: Any, doc: str) -> str:
    """Heading, signature and documentation of a class, a function or an alias of a type."""
    if inspect.isclass(value):
        return _class(name, value)
    function = uncompiled(value)
    text = inspect.getdoc(function) or doc
    return f"### `{name}`\n\n```text\n{_signature(name, function)}\n```\n\n{_prose(text)}\n"


def _class(name: str, value: type) -> str:
    """Heading, docstring, fields and methods of a class."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]
    assert isinstance(tree, ast.ClassDef)
    docs = docs_of_body(tree.body)
    bases = [base.__name__ for base in value.__bases__ if base.__name__ in ("StrEnum", "Exception")]
    kind = f" ({', '.join(bases)})" if bases else ""
    parts = [f"### `{name}`{kind}\n", f"{_prose(value.__dict__.get('__doc__') or '')}\n"]
    fields = [
        (code(target.id), code(_annotation(node)), plain(docs.get(target.id, "")))
        for node in tree.body
        for target in _targets(node)
        if not target.id.startswith("_") and target.id != "model_config"
    ]
    if fields:
        parts.append(table(("field", "type or value", "meaning"), fields))
    methods = [
        (code(f"{node.name}{_arguments(node)}"), plain(_first(ast.get_docstring(node) or "")))
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    ]
    if methods:
        parts.append(table(("method", "meaning"), methods))
    return "\n".join(parts)


def _targets(node: ast.stmt) -> list[ast.Name]:
    if isinstance(node, ast.AnnAssign):
        return [node.target] if isinstance(node.target, ast.Name) else []
    if isinstance(node, ast.Assign):
        return [target for target in node.targets if isinstance(target, ast.Name)]
    return []


def _annotation(node: ast.stmt) -> str:
    if isinstance(node, ast.AnnAssign):
        default = "" if node.value is None else f" = {ast.unparse(node.value)}"
        text = ast.unparse(node.annotation)
        return text + default if len(text + default) <= LONG else text
    assert isinstance(node, ast.Assign)
    return ast.unparse(node.value)


def _arguments(node: ast.FunctionDef) -> str:
    """Arguments of a method as it is called; without them for a property."""
    if any(ast.unparse(one).endswith("property") for one in node.decorator_list):
        return ""
    names = [one.arg for one in (*node.args.args, *node.args.kwonlyargs)]
    return f"({', '.join(name for name in names if name not in ('self', 'cls'))})"


def _signature(name: str, function: Any) -> str:
    """Signature on lines of at most 100 characters, without addresses of objects."""
    text = re.sub(r"<function \w+ at 0x[0-9a-f]+>", "...", f"{name}{inspect.signature(function)}")
    text = re.sub(r"PosixPath\(('[^']*')\)", r"\1", text)
    text = re.sub(r"<(Capability\.\w+): '\w+'>", r"\1", text)
    text = re.sub(r"<class '(?:\w+\.)*(\w+)'>", r"\1", text)
    return "\n".join(textwrap.wrap(text, 100, subsequent_indent="    ", break_long_words=False))


def _first(text: str) -> str:
    """First paragraph."""
    return text.split("\n\n")[0]


def _prose(text: str) -> str:
    """Docstring as Markdown; indented blocks stay as they are."""
    blocks = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(b if b.startswith("    ") else plain(b) for b in blocks)
