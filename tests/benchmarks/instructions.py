"""Instructions that the simulator takes for a stretch of two shipped plans, against what they were.

    python tests/benchmarks/instructions.py            # exit code 1: more than 5 % beyond
    python tests/benchmarks/instructions.py --renew    # write down what they are now

The engine is compiled for any x86-64 (NUMBA_CPU_NAME=generic), so that the same instructions are
run on every machine, and these are counted one by one. What was counted is kept beside this file,
with the versions that decide what is compiled; of other versions nothing can be said.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

os.environ.update(NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="", PYTHONHASHSEED="0")

from single_steps import Uncountable, instructions

from orchestrator.assembly import assemble
from orchestrator.engine.node.event_loop import simulate
from orchestrator.plan import Plan
from orchestrator.registry import Registry

KEPT = Path(__file__).with_suffix(".json")
US = 10**6
STRETCHES = {
    "netfpga-fig11": (3_050_100 * US, 3_050_900 * US),
    "ibm-rack64": (1_010 * US, 1_011 * US),
}
"""Plan -> [from, to) in ps, between two samples: where messages, limiters and drops are at work."""
MORE = 0.05
"""Share by which a stretch may take more than it did."""
ALL = 1 << 62


def versions() -> dict[str, str]:
    """What decides which instructions are compiled."""
    python = ".".join(platform.python_version_tuple()[:2])
    libraries = {name: metadata.version(name) for name in ("numba", "llvmlite")}
    return {"machine": platform.machine(), "python": python, **libraries}


def counted(name: str) -> dict[str, int]:
    """Instructions and events of a plan's stretch, and data frames delivered in it."""
    registry = Registry.load()
    begin, end = STRETCHES[name]
    plan = Plan.load(registry.plans()[name], registry)
    world = assemble(plan.check(registry)).world
    simulate(world, begin, ALL)
    print(f"{name}: taking it step by step", file=sys.stderr, flush=True)
    taken = instructions(lambda: simulate(world, begin, ALL), lambda: simulate(world, end, ALL))
    before = int(world.clock[0].events), int(world.flows.frames_received.sum())
    simulate(world, end, ALL)
    after = int(world.clock[0].events), int(world.flows.frames_received.sum())
    return {
        "instructions": taken,
        "events": after[0] - before[0],
        "frames": after[1] - before[1],
    }


def judged(name: str, now: dict[str, int], then: dict[str, int]) -> tuple[str, bool]:
    """A line about a plan, and whether it is as it was or better."""
    share = now["instructions"] / then["instructions"] - 1
    good = share <= MORE
    each = now["instructions"] / max(now["frames"], 1)
    text = (
        f"{name}: {now['instructions']} instructions, {each:.0f} per frame, "
        f"{now['events']} events ({then['events']}): {share:+.2%}"
    )
    if not good:
        return f"{text}, more than {MORE:.0%} beyond what it was", False
    return text + ("; --renew keeps the gain" if share < -MORE else ""), True


def main() -> int:
    """Count, and compare or keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--renew", action="store_true", help="Keep what is counted now.")
    options = parser.parse_args()
    if not options.renew and (said := _others()):
        print(f"not counted: {said}")
        return 0
    try:
        found = {name: counted(name) for name in STRETCHES}
    except Uncountable as error:
        print(f"not counted: {error}")
        return 0
    if options.renew:
        KEPT.write_text(json.dumps({"of": versions(), "plans": found}, indent=2) + "\n")
        print(f"kept in {KEPT}")
        return 0
    kept = _kept()["plans"]
    lines = [judged(name, now, kept[name]) for name, now in found.items()]
    for text, _ in lines:
        print(text)
    return int(not all(good for _, good in lines))


def _others() -> str:
    """Why what is kept says nothing about this installation; empty: it does."""
    of, here = _kept()["of"], versions()
    differ = [f"{key} {here[key]} ({of[key]} then)" for key in here if here[key] != of[key]]
    return f"{', '.join(differ)}: other instructions are compiled; --renew" if differ else ""


def _kept() -> dict[str, Any]:
    kept: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8"))
    return kept


if __name__ == "__main__":
    sys.exit(main())
