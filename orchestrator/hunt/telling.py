"""Coverage report in lines for people: branches of each algorithm, and the missing ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

SHOWN = 160
"""Letters of why a plan was refused."""


def lines(reached: dict[str, Any], where: str = "") -> Iterator[str]:
    """Of one target; `where` is its name, none for `simulated`.

    What is missing of an algorithm that no plan has run is all of it, and is not listed.
    """
    known = set[str]()
    for one in reached["algorithms"]:
        if one["branches"]:
            count = f"{one['reached']:4} of {one['branches']:3}"
            modules = ", ".join(
                f"{part['name']} {part['reached']} of {part['branches']}"
                for part in one.get("modules", [])
            )
            yield f"{count}  {one['name']} ({one['kind']})" + (f": {modules}" if modules else "")
        if not one["reached"]:
            continue
        for kind in ("missing", "contradicted"):
            for text in one[kind]:
                if text not in known:
                    yield f"  {kind}: {text}"
                known.add(text)
    if where:
        yield from _of_target(reached, where)
    kernels, node = reached["kernels"], reached["node"]
    yield (
        f"{kernels['reached']} of {kernels['branches']} branches of kernels were reached"
        f"{f' on {where}' if where else ''} ({kernels['excused']} more never are), "
        f"{node['reached']} of {node['branches']} of the node logic"
    )


def _of_target(reached: dict[str, Any], where: str) -> Iterator[str]:
    """Algorithms that it does not run, and the plans that it refused."""
    others: dict[str, list[str]] = {}
    for one in reached["not_run"]:
        others.setdefault(one["reason"], []).append(f"{one['name']} ({one['kind']})")
    for reason, names in others.items():
        yield f"not run on {where}: {reason}: {', '.join(names)}"
    for one in reached["refused"]:
        reason = one["reason"]
        yield f"refused on {where}: {one['plan']}: {reason[:SHOWN]}{'…' * (len(reason) > SHOWN)}"
