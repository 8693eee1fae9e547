"""What a user of Python writes; mypy reads it against the installed distribution."""

from pathlib import Path

import tailback
from orchestrator.recording import Event

run: tailback.Run = tailback.load("latest")
value: int | float | None = run.metrics["run"]["switch.sink"]["utilization"]
events: list[Event] = run.events
captures: list[Path] = run.captures
names: dict[str, Path] = tailback.plans()
for expectation in run.expectations:
    met: bool = expectation.met

reveal_type(run.verdict)  # noqa: F821
tailback.run("quickstart", seed="seven")
run.verdikt  # noqa: B018
