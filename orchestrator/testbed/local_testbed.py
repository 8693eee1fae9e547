"""Testbed of a run on this machine, as the options of its target name it."""

from __future__ import annotations

from pathlib import Path

from orchestrator.plan.target_options import TargetOptions
from orchestrator.testbed.inventory import Testbed


def local_testbed(options: TargetOptions) -> Testbed | None:
    """The testbed of the option `testbed`, with the cables of the option `external`.

    None where a target has neither, or neither is given. Raises BadInput.
    """
    file, cables = (getattr(options, name, None) for name in ("testbed", "external"))
    if file is None and not cables:
        return None
    bed = Testbed() if file is None else Testbed.load(Path(file))
    return bed.with_cables(cables) if cables else bed
