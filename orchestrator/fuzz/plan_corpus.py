"""Corpus of small plans: failing plans from earlier runs are replayed first."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from orchestrator.errors import TailbackError
from orchestrator.fuzz.invariant_check import SIMULATED, InvalidPlan, Table, check_plan
from orchestrator.plan import Plan
from orchestrator.progress import silent
from orchestrator.registry import Registry

SUFFIX = ".toml"


def plans_in(folder: Path) -> Iterator[tuple[Path, Plan]]:
    """The plans of a folder, by name. Raises BadInput for one that is none."""
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        yield path, Plan.load(path)


def as_numbers(plan: Plan) -> Table:
    """A plan's table with what was given, its own quantities as base units: as plans are drawn.

    Parameters of algorithms stay as they were written.
    """
    table: Table = _numbered(plan, plan.model_dump(by_alias=True, exclude_unset=True))
    return table


def _numbered(value: Any, dumped: Any) -> Any:
    """Dumped data, with integers in place of quantities that were dumped as text."""
    if isinstance(dumped, dict):
        if isinstance(value, BaseModel):
            value = _by_alias(value)
        inside = value if isinstance(value, dict) else {}
        return {key: _numbered(inside.get(key), inner) for key, inner in dumped.items()}
    if isinstance(dumped, list | tuple) and isinstance(value, list | tuple):
        return [_numbered(one, inner) for one, inner in zip(value, dumped, strict=True)]
    return value if type(value) is int else dumped


def _by_alias(model: BaseModel) -> dict[str, Any]:
    names = {name: one.alias or name for name, one in type(model).model_fields.items()}
    return {alias: getattr(model, name) for name, alias in names.items()} | (
        model.model_extra or {}
    )


def as_text(table: Table, remarks: Sequence[str] = ()) -> str:
    """A plan as a person would write it, with what it was found by as remarks above it."""
    written = _picked(table, check_plan(table).plan.to_table())
    lines = [f"# {' '.join(remark.split())}" for remark in remarks]
    for key, value in written.items():
        if key in ("nodes", "links", "traffic"):
            lines += [f"{key}.{name} = {_inline(inner)}" for name, inner in value.items()]
        else:
            lines.append(f"{key} = {_inline(value)}")
    return "\n".join(lines) + "\n"


def keep(folder: Path, what: str, text: str, title: str | None = None) -> Path:
    """Write a plan into a folder; what is found again goes to the same file."""
    folder.mkdir(parents=True, exist_ok=True)
    words = "".join(sign if sign.isalnum() else "-" for sign in (title or what).lower())
    stem = "-".join(part for part in words.split("-") if part)[:40].rstrip("-")
    path = folder / f"{stem}-{sha256(what.encode()).hexdigest()[:6]}{SUFFIX}"
    path.write_text(text, encoding="utf-8")
    return path


def _picked(table: Any, canonical: Any) -> Any:
    """Of a plan with every default the keys that were given, quantities as text."""
    if isinstance(table, dict) and isinstance(canonical, dict):
        return {key: _picked(table[key], canonical[key]) for key in table if key in canonical}
    if isinstance(table, list) and isinstance(canonical, list) and len(table) == len(canonical):
        return [_picked(one, other) for one, other in zip(table, canonical, strict=True)]
    return canonical


def _inline(value: Any) -> str:
    """A value as TOML has it within a line."""
    if isinstance(value, dict):
        inside = ", ".join(f"{key} = {_inline(inner)}" for key, inner in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_inline, value))}]"
    return json.dumps(value, ensure_ascii=False)


def write_captures(path: Path) -> list[Path]:
    """The frames at every port of a plan, as pcapng files in a folder beside it.

    A plan that cannot be run to its end has none: [].
    """
    plan = Plan.load(path)
    ports = [port.entity for port in plan.ports()]
    table = plan.model_dump(by_alias=True, exclude_unset=True) | {"capture": {"ports": ports}}
    try:
        resolved = check_plan(table)
        recording = Registry.load().target(SIMULATED).run(resolved, silent)
    except (InvalidPlan, TailbackError):
        return []
    folder = path.with_suffix("")
    folder.mkdir(exist_ok=True)
    captured = replace(recording, messages=None)
    Registry.load().insist(
        "tailback_run_files", folder=folder, recording=captured, plan=resolved.plan
    )
    (folder / "samples.parquet").unlink(missing_ok=True)
    return sorted((folder / "captures").glob("*.pcapng"))
