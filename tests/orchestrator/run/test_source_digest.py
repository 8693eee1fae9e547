"""The digest of what makes results: of every file, in one order, wherever it lies."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from orchestrator.python_command import ROOT
from orchestrator.registry import Registry
from orchestrator.run import source_digest
from orchestrator.run.manifest import library_versions


def by_the_book(registry: Registry) -> str:
    """The same by pathlib, file by file."""
    found = hashlib.sha256(source_digest.__version__.encode())
    for name in source_digest.COMPUTE:
        found.update(f"{name} {library_versions()[name]}\n".encode())
    core = ROOT / "orchestrator"
    files = set(core.glob("*.py"))
    for room in source_digest.CORE:
        files |= set((core / room).rglob("*.py"))
    for _, plugin in registry.manager.list_name_plugin():
        module = sys.modules[plugin.__name__.partition(".")[0]]
        if module.__name__ == "orchestrator":
            continue
        if not hasattr(module, "__path__"):
            files.add(Path(str(module.__file__)))
        for folder in getattr(module, "__path__", ()):
            files |= {p for end in source_digest.SUFFIXES for p in Path(folder).rglob(f"*{end}")}
    for path in sorted(files):
        within = path.is_relative_to(ROOT)
        found.update(str(path.relative_to(ROOT) if within else path).encode())
        found.update(path.read_bytes())
    return found.hexdigest()


def test_all_that_makes_results() -> None:
    registry = Registry.load()
    assert source_digest.digest_of.__wrapped__(registry) == by_the_book(registry)


@pytest.fixture
def guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Registry, Path]:
    """A registry with a package as its only plugin. `a-b` sorts before `a/`, but not as a path."""
    folder = tmp_path / "a_guest"
    (folder / "a" / "deep").mkdir(parents=True)
    (folder / "a-b").mkdir()
    for name in ("__init__.py", "a/one.py", "a/deep/two.v", "a-b/three.cpp", "notes.txt"):
        (folder / name).write_text(name)
    module = ModuleType("a_guest")
    module.__path__ = [str(folder)]
    monkeypatch.setitem(sys.modules, "a_guest", module)
    registry = Registry([])
    registry.manager.register(module, name="a_guest")
    return registry, folder


def test_files_of_a_guest(guest: tuple[Registry, Path]) -> None:
    registry, folder = guest
    before = source_digest.digest_of.__wrapped__(registry)
    assert before == by_the_book(registry)
    (folder / "notes.txt").write_text("nobody computes by it")
    assert source_digest.digest_of.__wrapped__(registry) == before
    for name in ("__init__.py", "a/one.py", "a/deep/two.v", "a-b/three.cpp"):
        (folder / name).write_text(f"{name}, changed")
        after = source_digest.digest_of.__wrapped__(registry)
        assert after != before, name
        before = after
