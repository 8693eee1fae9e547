"""What a target may be asked is in its base class: nobody looks whether it has something."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PACKAGES = ("firmware", "orchestrator", "plugins", "tailback", "traces", "traffic")
LOOKS = {"getattr", "hasattr"}


def looked_into(text: str) -> list[str]:
    """What `getattr` and `hasattr` are called on that is called a target."""
    if not any(look in text for look in LOOKS):
        return []  # most files: not worth a syntax tree
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    looks = [one for one in calls if isinstance(one.func, ast.Name) and one.func.id in LOOKS]
    on = [ast.unparse(one.args[0]) for one in looks if one.args]
    return [what for what in on if "target" in what.replace("tailback_target", "").lower()]


def files() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("getattr(target, 'pace', None)", ["target"]),
        ("hasattr(self.target, 'run')", ["self.target"]),
        ("getattr(registry.target(name), 'at')(x)", ["registry.target(name)"]),
        ("getattr(node, 'target', None)", []),
    ],
)
def test_such_a_look_would_be_seen(text: str, found: list[str]) -> None:
    assert looked_into(text) == found


def test_no_target_is_looked_into() -> None:
    found = {str(path): what for path in files() if (what := looked_into(path.read_text("utf-8")))}
    assert found == {}


def test_no_event_goes_by_another_ones_name() -> None:
    """Each kind has events of its own; none is called after a slot."""
    assert [path for path in files() if "ON_SPECIAL" in path.read_text("utf-8")] == []
