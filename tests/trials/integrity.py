"""Many short runs, half of them distorted on purpose: does fidelity find those, and no other?

    python -m tests.trials.integrity --out build/integrity

Each run that is distorted (tests/trials/distortions.py: kinds, strengths) has a twin of the same
plan, seed and pace that is left alone. The table goes to OUT/integrity.md and OUT/integrity.json.
Same numbers, same distortions; `--first 17 --runs 1` is run 17 and its twin again. Run it on a
machine with nothing else to do: on another the twins are distorted by that.

Exit code 1 when a distorted run is `valid`, or found for reasons none of which is of its kind; or
when a quiet one is `invalid`, or does not come to its end.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import threading
import time
from pathlib import Path
from typing import Any

from orchestrator.errors import RunFailed, TailbackError
from orchestrator.plan import Plan
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from orchestrator.run.fidelity_thresholds import ORDER
from orchestrator.targets.software import plan_job
from orchestrator.targets.software.worker_process import Worker
from tests.trials import plans
from tests.trials.distorted import BEGINS, kind_of
from tests.trials.distortions import KINDS, LATE
from tests.trials.integrity_table import FAILED, page, red, show
from tests.trials.lab import ends_on_signals

DURATION_S = 0.5
LINKS = ("up", "down")
ALL = sum(len(kind.strengths) for kind in KINDS.values())


def chosen(number: int, kinds: list[str]) -> dict[str, Any]:
    """What is done in a run of this number, to which link of which plan."""
    turn, place = divmod(number, len(kinds))
    kind = kinds[place]
    return {
        "run": number,
        "kind": kind,
        "strength": KINDS[kind].strengths[turn % len(KINDS[kind].strengths)],
        "link": LINKS[(place + turn) % len(LINKS)],
        "plan": list(plans.KINDS)[(place + turn) % len(plans.KINDS)],
    }


def one(what: dict[str, Any], distorted: bool, seed: int, pace: float) -> dict[str, Any]:
    """A run and what fidelity says of it."""
    text = plans.of_kind(what["plan"], f"{DURATION_S:g}s", seed + what["run"])
    text = Plan.load(text).check(Registry.load()).plan.to_toml()
    if KINDS[what["kind"]].named == LATE:
        pace = max(pace, 1.0)  # a slower clock waits for who has no core: nothing is distorted then
    most = 1 if KINDS[what["kind"]].rule is not None else None  # the other core is the relay's
    began = time.monotonic()
    try:
        fidelity = ran(text, what if distorted else {}, pace, most).fidelity or {}
        verdict, reasons = fidelity["verdict"], fidelity["reasons"]
    except RunFailed as ended:
        verdict, reasons = FAILED, [str(ended)]
    named = verdict == FAILED or any(re.search(KINDS[what["kind"]].named, one) for one in reasons)
    return what | {
        "distorted": distorted,
        "verdict": verdict,
        "named": named if distorted else None,
        "reasons": reasons,
        "took_s": round(time.monotonic() - began, 1),
    }


def ran(text: str, what: dict[str, Any], pace: float, most: int | None) -> Recording:
    """What a run measures that is distorted; without a distortion, where there is none."""
    with Worker("tests.trials.distorted:run", text, what, pace, most) as worker:
        stopper = None
        for news in worker.reports():
            if news == plan_job.STARTED and what and kind_of(what, pace).stop is not None:
                words = (what, worker.process.pid, pace)
                stopper = threading.Thread(target=_stop, args=words, daemon=True)
                stopper.start()
        if stopper is not None:
            stopper.join()
        recording: Recording = worker.result
        return recording


def _stop(what: dict[str, Any], worker: int, pace: float) -> None:
    kind = kind_of(what, pace)
    stop = kind.stop
    assert stop is not None
    slow = 1 / pace if kind.unit == "s" else 1.0
    until = time.monotonic() + plan_job.LEAD_NS / 1e9 + 0.9 * DURATION_S / pace
    time.sleep(plan_job.LEAD_NS / 1e9 + BEGINS * DURATION_S / pace)
    stop(worker, what["strength"] * slow, until)


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--runs", type=int, default=ALL, help=f"of each half; all kinds: {ALL}")
    parser.add_argument("--first", type=int, default=0, help="number of the first run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pace", type=float, default=1.0, help="seconds of the run per second")
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="these alone")
    parser.add_argument("--draw", type=int, help="so many distortions, drawn by the seed")
    parser.add_argument("--out", type=Path, default=Path("build/integrity"))
    asked = parser.parse_args()
    ends_on_signals()
    try:
        plans.compile_once()
    except TailbackError as refused:
        print(refused, file=sys.stderr)
        return refused.exit_code
    if asked.draw is not None:
        from tests.trials import drawn_integrity  # which runs what is here

        return drawn_integrity.trial(asked.draw, asked.first, asked.seed, asked.pace, asked.out)
    rows = []
    for number in range(asked.first, asked.first + asked.runs):
        what = chosen(number, asked.kind or list(KINDS))
        for distorted in (True, False):
            rows.append(one(what, distorted, asked.seed, asked.pace))
            print(show(rows[-1]), flush=True)
    asked.out.mkdir(parents=True, exist_ok=True)
    words = page(rows, [*ORDER, FAILED], f"seed {asked.seed}, pace {asked.pace:g}")
    (asked.out / "integrity.md").write_text(words, encoding="utf-8")
    (asked.out / "integrity.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(words)
    return int(any(red(row) for row in rows))


if __name__ == "__main__":
    sys.exit(main())
