"""Process that runs a whole plan on one target for an agent.

Started as `python -m orchestrator.testbed.agent.plan_process DESCRIPTOR PARENT`. It is sent one
job,
tells how far it is, and leaves what was measured in a folder. It ends with its parent, and all that
it has started ends with it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from orchestrator.errors import Refused, RunFailed
from orchestrator.progress import Progress
from orchestrator.run import disk_space
from orchestrator.targets.software.worker_main import Control, run
from orchestrator.targets.software.worker_stages import BUILDING, COLLECTED, ENDED, RUNNING


@dataclass(frozen=True)
class Spec:
    """Order of an agent to the process."""

    plan: str
    target: str
    sources: str
    """The digest that results are to be of."""
    spool: str


def hold(control: Any, fields: dict[str, Any]) -> None:
    """Run the plan, write what was measured. Raises what the target does, and Refused."""
    from orchestrator.plan import Plan
    from orchestrator.plan.algorithm_params import without_files
    from orchestrator.registry import Registry
    from orchestrator.run import manifest
    from orchestrator.run.execute_run import refuse_unsupported
    from orchestrator.run.source_digest import digest_of
    from orchestrator.testbed.wire.recording_codec import packed

    spec = Spec(**fields)
    control.report((BUILDING, {}))
    registry = Registry.load()
    if (ours := digest_of(registry)) != spec.sources:
        text = f"its tailback, its plugins or its libraries are others ({ours[:12]} there, "
        raise Refused(
            f"target {spec.target}",
            f"{text}{spec.sources[:12]} is expected)",
            "Install the same on both machines.",
        )
    with without_files():
        resolved = Plan.load(spec.plan + "\n").check(registry)
    place = registry.target(spec.target)
    refuse_unsupported(place, resolved)

    def tell(news: Progress) -> None:
        stage = BUILDING if news.stage == BUILDING else RUNNING
        control.report((stage, {"detail": news.detail, "done": news.done}))

    try:
        recording = place.run(resolved, tell)
    except OSError as error:
        if not disk_space.is_full(error):
            raise
        raise RunFailed(f"target {spec.target}: no room left on the disk; free some") from None
    control.report((ENDED, {}))
    arrays, words = packed(resolved, recording)
    plan = resolved.plan
    said = manifest.build_manifest(plan.name, spec.target, plan.seed, "virtual")
    words["made_on"] = {key: said[key] for key in manifest.OF_MACHINE}
    _write(Path(spec.spool), arrays, words)
    control.report((COLLECTED, {}))


def _write(spool: Path, arrays: dict[str, Any], words: dict[str, Any]) -> None:
    import numpy as np

    try:
        np.savez(spool / "part.npz", **arrays)
        (spool / "part.json").write_text(json.dumps(words), encoding="utf-8")
    except OSError as error:
        if not disk_space.is_full(error):
            raise
        raise RunFailed(f"no room left on the disk for results in {spool}") from None


def _end_all() -> None:
    """End this process and all its children: it leads its process group."""
    os.killpg(0, signal.SIGKILL)


def _on_termination(number: int, frame: Any) -> None:
    raise SystemExit(128 + number)


def main(descriptor: int, parent: int) -> None:
    """Take one job, run it, tell the result, end."""
    parent_handle = os.pidfd_open(parent)
    if os.getppid() != parent:
        os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _on_termination)  # what it was making is removed on the way
    pipe = Connection(descriptor)
    control = Control(pipe, _end_all)
    try:
        job, arguments = pipe.recv()
    except EOFError:
        os._exit(1)
    threading.Thread(target=control.watch, args=(parent_handle,), daemon=True).start()
    outcome = run(control, job, arguments)
    control.answered = True
    pipe.send(outcome)
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
