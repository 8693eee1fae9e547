"""Guard of a run's own files against hooks of other plugins, which write into the same folder.

A file that such a hook changed or removed gets its content back, and the plugin is named. Content
is kept in memory up to `MOST_KEPT` octets of a file; beyond that the run is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator.errors import BadInput
from orchestrator.registry import Registry

MOST_KEPT = 16 << 20
PAGE = "report.html"
_State = tuple[int, int, int] | None


def write_files(registry: Registry, folder: Path, **arguments: Any) -> None:
    """Call `tailback_run_files` of every plugin; an error of tailback's own plugins goes on.

    Raises BadInput for a file that another plugin changed and that cannot be put back.
    """
    hook = "tailback_run_files"
    registry.insist_by_plugin(hook, but=registry.others(), folder=folder, **arguments)
    _call_others(registry, hook, folder, frozenset(), arguments)


def draw_report(registry: Registry, folder: Path, *, own: bool = True) -> None:
    """Call `tailback_report` of every plugin; `own`: of tailback's too, which write the page.

    Other plugins add to the page. Raises BadInput as `write_files` does.
    """
    hook = "tailback_report"
    if own:
        registry.call_by_plugin(hook, but=registry.others(), folder=folder)
    _call_others(registry, hook, folder, frozenset({PAGE}), {})


def _call_others(
    registry: Registry, hook: str, folder: Path, may_change: frozenset[str], arguments: Any
) -> None:
    """Call a hook of the plugins that are not tailback's own, each held to the files before it."""
    for plugin in registry.others(hook):
        paths = [path for path in _files(folder) if str(path.relative_to(folder)) not in may_change]
        before = {path: (_state(path), _content(path)) for path in paths}
        registry.call_single(plugin, hook, folder=folder, **arguments)
        _put_back(registry, plugin, hook, folder, before)


def _files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file()]


def _state(path: Path) -> _State:
    """What tells that a file was written: inode, octets and time of change; None: it is gone."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _content(path: Path) -> bytes | None:
    """Content of a file that is small enough to be kept."""
    return path.read_bytes() if path.stat().st_size <= MOST_KEPT else None


def _put_back(
    registry: Registry,
    plugin: str,
    hook: str,
    folder: Path,
    before: Mapping[Path, tuple[_State, bytes | None]],
) -> None:
    for path, (state, content) in before.items():
        if _state(path) == state:
            continue
        name = path.relative_to(folder)
        what = "changed" if path.exists() else "removed"
        text = f"{hook}: it {what} {name}, which was there before; give its files other names"
        if content is None:
            raise BadInput(f"plugin {plugin}", text)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        registry.blame(plugin, f"{text} ({name} was put back)")
