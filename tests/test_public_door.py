"""The public packages: who may import what, and what `tailback.plugin` exports."""

from __future__ import annotations

import ast
import inspect
import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import tailback.plugin as door
from orchestrator import kernel_contracts, message_views
from orchestrator.algorithm import ENTITIES
from orchestrator.engine import kernel_answers, records
from orchestrator.engine.jit import plain
from orchestrator.engine.kernel_events import EVENTS
from orchestrator.pages.algorithms_page import RECORDS
from orchestrator.pages.source_docs import attribute_docs, record_fields

ROOT = Path(__file__).parents[1]
PUBLIC = ("tailback", "tailback.plugin")
OURS = ("orchestrator", "plugins", "traffic", "traces", "firmware", "tailback")
SIBLINGS = ("plugins", "traffic")
BLOCK = re.compile(r"^( *)```(?:python|py)\b[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
LINE = re.compile(r"^\s*(?:from\s+([\w.]+)\s+import\b|import\s+([\w., ]+))", re.MULTILINE)


def imported(source: str) -> set[str]:
    """Modules that Python source imports; lines that look like imports if it is no Python."""
    try:
        tree = ast.parse(textwrap.dedent(source))
    except SyntaxError:
        return {name.strip() for pair in LINE.findall(source) for name in ",".join(pair).split(",")}
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= imported(node.value) if "import " in node.value else set()
    return found


def internal(source: str, siblings: tuple[str, ...] = ()) -> set[str]:
    """Of these, those of tailback that are not public."""
    return {
        name
        for name in imported(source)
        if name.partition(".")[0] in OURS
        and name not in PUBLIC
        and name.partition(".")[0] not in siblings
    }


def notebook_cells(path: Path) -> Iterator[str]:
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            yield "".join(line for line in cell["source"] if not line.startswith(("!", "%")))


def test_plugins_and_third_parties_import_the_public_packages_alone() -> None:
    files = [path for folder in SIBLINGS for path in sorted((ROOT / folder).rglob("*.py"))]
    found = {path: internal(path.read_text(encoding="utf-8"), SIBLINGS) for path in files}
    outside = sorted((ROOT / "tests" / "third_party").rglob("*.py"))
    found |= {path: internal(path.read_text(encoding="utf-8")) for path in outside}
    assert len(files) > 50
    assert len(outside) > 4
    assert {str(path): names for path, names in found.items() if names} == {}


def test_pages_import_the_public_packages_alone() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    blocks = {
        f"{path.name}: {text[:40]}": internal(text)
        for path in pages
        for _, text in BLOCK.findall(path.read_text(encoding="utf-8"))
    }
    for path in sorted((ROOT / "docs").rglob("*.ipynb")):
        blocks |= {f"{path.name}: {cell[:40]}": internal(cell) for cell in notebook_cells(path)}
    assert len(blocks) > 20
    assert {place: names for place, names in blocks.items() if names} == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from orchestrator.engine.jit import compiled", {"orchestrator.engine.jit"}),
        ("def f():\n    import traces.capture as c", {"traces.capture"}),
        ("if TYPE_CHECKING:\n    from firmware import plugin", {"firmware"}),
        ("X = '''\nfrom orchestrator.hookspecs import hookimpl\n'''", {"orchestrator.hookspecs"}),
        ("from tailback._private import x", {"tailback._private"}),
        ("from plugins.pause import refresh", {"plugins.pause"}),
        ("$ python\nfrom orchestrator.plan import Plan", {"orchestrator.plan"}),
        ("import tailback\nfrom tailback.plugin import DROP\nimport numpy", set()),
    ],
)
def test_an_internal_import_is_found(source: str, found: set[str]) -> None:
    assert internal(source) == found


def test_type_checkers_and_the_interpreter_see_the_same_names() -> None:
    tree = ast.parse(inspect.getsource(door))
    (block,) = [node for node in tree.body if isinstance(node, ast.If) and len(node.body) > 5]
    typed = {
        alias.asname or alias.name: f"{node.module}:{alias.name}"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed == door._EXPORTS
    assert sorted(typed) == sorted(door.__all__) == sorted(set(door.__all__))


@pytest.mark.parametrize("public", sorted(door.__all__))
def test_every_public_name_is_documented(public: str) -> None:
    module, _, own = door._EXPORTS[public].partition(":")
    value = getattr(door, public)
    assert value is getattr(import_module(module), own)
    has_own = inspect.isclass(value) or inspect.isroutine(plain(value))
    text = inspect.getdoc(plain(value)) if has_own else None
    assert text or attribute_docs(import_module(module)).get(own), f"{public} has no docstring"


def test_every_answer_and_view_is_exported() -> None:
    answers = {name for name in vars(kernel_answers) if name.isupper()}
    views = {name for name in vars(message_views) if name.endswith("Message")}
    assert answers | views <= set(door.__all__)


def test_the_contract_of_kernels_covers_every_event_with_answers_that_exist() -> None:
    for kind, events in EVENTS.items():
        assert set(kernel_contracts.CONTRACTS[kind]) == set(events)
    named = set()
    for contracts in kernel_contracts.CONTRACTS.values():
        for contract in contracts.values():
            words = set(re.findall(r"\b[A-Z][A-Z_]{3,}\b", contract.answers))
            words |= set(re.findall(r"\bFCS_[A-Z]+\b", contract.sets))  # of `message.mark`
            named |= words & set(dir(kernel_answers))
            views = re.findall(r"\b\w+Message\b", contract.answers + contract.sets)
            assert all(hasattr(message_views, view) for view in views)
            known = {*dir(kernel_answers), "PROBE"}
            assert words <= known, words - known
    assert named == {name for name in vars(kernel_answers) if name.isupper()}


def test_a_contract_names_fields_of_its_records() -> None:
    """`queue.bytes` in the text of a contract is a field of QUEUE, and so for every record."""
    named = {parameter: getattr(records, record) for record, parameter in RECORDS.items()}
    named["message"] = records.FRAME
    checked = 0
    for kind, contracts in kernel_contracts.CONTRACTS.items():
        for contract in contracts.values():
            texts = contract.called + contract.answers + contract.sets
            for parameter, field in re.findall(r"`(\w+)\.(\w+)", texts):
                assert field in named[parameter].names, f"{kind}: {parameter}.{field}"
                assert parameter in ("frame", "message") or named[parameter] is ENTITIES[kind]
                checked += 1
    assert checked > 25


@pytest.mark.parametrize("record", RECORDS)
def test_every_field_of_a_record_has_a_meaning(record: str) -> None:
    fields = record_fields(records, record)
    assert tuple(fields) == getattr(records, record).names
    assert [name for name, text in fields.items() if not text] == []


def test_a_view_lists_fields_of_the_message() -> None:
    for name, view in vars(message_views).items():
        if name.endswith("Message"):
            assert set(view.__annotations__) <= set(records.FRAME.names or ()), name


@pytest.mark.parametrize(
    ("script", "absent"),
    [
        ("from tailback.plugin import hookimpl", ("numpy", "pydantic", "numba", "traces.facade")),
        ("import tailback", ("numpy", "pydantic", "numba", "traces.facade")),
        ("import plugins, traffic", ("numpy", "pydantic", "numba")),
        (
            "import plugins, traffic; plugins.tailback_algorithms(); traffic.tailback_algorithms()",
            ("numba", "pyarrow", "matplotlib", "typer", "traces"),
        ),
    ],
)
def test_an_import_loads_no_more_than_it_needs(script: str, absent: tuple[str, ...]) -> None:
    code = f"import sys; {script}; print([m for m in {absent!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
