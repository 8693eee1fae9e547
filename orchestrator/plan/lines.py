"""Line numbers of keys in a TOML text, determined when an error is shown."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

from tree_sitter import Language, Node, Parser
from tree_sitter_toml import language

Path = tuple[str | int, ...]
DEEPEST = 100
"""Tables within tables; what lies deeper has the line of what it lies in."""
KEYS = ("bare_key", "quoted_key", "dotted_key")


def lines(text: str) -> dict[Path, int]:
    """Key path -> line, from 1. Of tables in a list, such as [[expect]], the path has the index.

    A table has the line of its header, or of the first key that leads through it.
    """
    found: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    document = Parser(Language(language())).parse(text.encode("utf-8", "replace")).root_node
    _pairs(document, (), found, 0)
    for node in document.named_children:
        if node.type not in ("table", "table_array_element"):
            continue
        path = _in_last(_parts(node), counts)
        if node.type == "table_array_element":
            counts[path] = counts.get(path, 0) + 1
            _note(found, path, node)
            path = (*path, counts[path] - 1)
        _note(found, path, node)
        _pairs(node, path, found, 0)
    return found


def _pairs(table: Node, above: Path, found: dict[Path, int], depth: int) -> None:
    for pair in table.named_children:
        whole = pair.type == "pair" and len(pair.named_children) > 1
        if whole and depth < DEEPEST:
            path = (*above, *_parts(pair))
            _note(found, path, pair)
            _, *value = pair.named_children  # the key, the value; maybe a comment
            _value(value[0], path, found, depth + 1)


def _value(value: Node, path: Path, found: dict[Path, int], depth: int) -> None:
    if value.type == "inline_table":
        _pairs(value, path, found, depth)
    elif value.type == "array":
        elements = [node for node in value.named_children if node.type != "comment"]
        for index, element in enumerate(elements):
            if element.type == "inline_table":
                _note(found, (*path, index), element)
                _pairs(element, (*path, index), found, depth)


def _note(found: dict[Path, int], path: Path, node: Node) -> None:
    """Note the line of a path, and of what leads to it where that has none yet."""
    for length in range(1, len(path) + 1):
        found.setdefault(path[:length], node.start_point.row + 1)


def _in_last(parts: list[str], counts: dict[Path, int]) -> Path:
    """The path of a header: below a list of tables it means the last of them."""
    path: Path = ()
    for number, part in enumerate(parts):
        path = (*path, part)
        if path in counts and number < len(parts) - 1:
            path = (*path, counts[path] - 1)
    return path


def _parts(node: Node) -> list[str]:
    """The key of a pair or a header, part by part."""
    key = next((child for child in node.named_children if child.type in KEYS), None)
    return list(_words(key)) if key is not None else []


def _words(key: Node) -> Iterator[str]:
    if key.type == "dotted_key":
        for child in key.named_children:
            yield from _words(child)
        return
    text = (key.text or b"").decode("utf-8", "replace")
    if key.type == "quoted_key":
        text = str(tomllib.loads(f"key = {text}")["key"])
    yield text
