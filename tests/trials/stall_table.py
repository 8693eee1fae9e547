"""Stalls that were planted against those that a run told: found, of another cause, missed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

STOP, CORE = "stop", "core"
CAUSE = {STOP: "stopped", CORE: "processes"}
"""What was planted, and the cause that it must be told as."""
THREADS = {STOP: 2, CORE: 1}
"""How many threads it takes at the least."""
COVERED = 0.5
"""Of a planted stall, what must lie within one that is told: the machine may part it in two."""
WITHIN = "within another"
"""What a planted stall is told as that makes less than half of a longer one: that one's cause is
the machine's own. On a machine with nothing else to do there is none."""


@dataclass(frozen=True)
class Planted:
    """What was done to a run: times by the machine's clock since its time 0."""

    kind: str
    asked_s: float
    from_s: float
    to_s: float


def match(planted: list[Planted], told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row per planted stall: how it was told, if at all."""
    rows = []
    for one in planted:
        met = [(row, share) for row in told if (share := _covers(row, one)) >= COVERED]
        right = [each for each in met if each[0]["cause"] == CAUSE[one.kind]]
        best = max(right or met, key=lambda each: each[1], default=(None, 0.0))[0]
        found = best is not None and best["cause"] == CAUSE[one.kind]
        cause = "missed" if best is None else best["cause"]
        if best is not None and not found and best["time_s"] > 2 * (one.to_s - one.from_s):
            cause = WITHIN
        rows.append(
            {
                "kind": one.kind,
                "asked_s": one.asked_s,
                "planted_s": one.to_s - one.from_s,
                "told_s": None if best is None else best["time_s"],
                "told_as": cause,
                "found": found,
                "whole": best is not None and best["threads"] >= THREADS[one.kind],
                "gone_s": None if best is None else best["gone_s"],
            }
        )
    return rows


def unplanted(planted: list[Planted], told: list[dict[str, Any]]) -> dict[str, int]:
    """Of the stalls that nobody planted, how many by cause: the machine's own, or false ones."""
    found: dict[str, int] = {}
    for row in told:
        if not any(_overlap(row, one) > 0 for one in planted):
            found[row["cause"]] = found.get(row["cause"], 0) + 1
    return found


def false(others: dict[str, int]) -> int:
    """Of those, the ones that were none: nobody else stops a data path."""
    return others.get(CAUSE[STOP], 0)


def buried(rows: list[dict[str, Any]]) -> list[str]:
    """Kinds and lengths of which fewer than half were told by themselves: little is known then."""
    found: dict[tuple[str, float], list[bool]] = {}
    for row in rows:
        found.setdefault((row["kind"], row["asked_s"]), []).append(row["told_as"] != WITHIN)
    return [
        f"{kind} of {asked * 1e3:g} ms: only {sum(told)} of {len(told)} stand for themselves"
        for (kind, asked), told in found.items()
        if 2 * sum(told) < len(told)
    ]


def _overlap(row: dict[str, Any], one: Planted) -> float:
    begins, ends = row["at_s"], row["at_s"] + row["time_s"]
    return max(min(ends, one.to_s) - max(begins, one.from_s), 0.0)


def _covers(row: dict[str, Any], one: Planted) -> float:
    return _overlap(row, one) / (one.to_s - one.from_s)


def page(rows: list[dict[str, Any]], others: dict[str, int], runs: int) -> str:
    """The table, as Markdown."""
    lines = [
        "| planted | length | times | told as planted | as | of all its threads | length off |"
    ]
    lines.append("|---|---|---|---|---|---|---|")
    for kind in CAUSE:
        for asked in sorted({row["asked_s"] for row in rows if row["kind"] == kind}):
            mine = [row for row in rows if row["kind"] == kind and row["asked_s"] == asked]
            found = [row for row in mine if row["found"]]
            off = sorted(abs(row["told_s"] - row["planted_s"]) for row in found)
            other = sorted({row["told_as"] for row in mine if not row["found"]}) or ["-"]
            median = f"{off[len(off) // 2] * 1e6:.0f} us" if off else "-"
            whole = sum(row["whole"] for row in found)
            lines.append(
                f"| {kind} | {asked * 1e3:g} ms | {len(mine)} | {len(found)} | "
                f"{', '.join(other)} | {whole} | {median} |"
            )
    told = ", ".join(f"{count} {cause}" for cause, count in sorted(others.items())) or "none"
    return "\n".join([*lines, "", f"{runs} runs; told and not planted: {told}."])
