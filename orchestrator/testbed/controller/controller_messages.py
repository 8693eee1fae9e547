"""Messages between clients and a controller."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from orchestrator.targets.software.pace_step import FASTEST, SLOWEST
from orchestrator.testbed.wire.chunked_transfer import Stored
from orchestrator.testbed.wire.envelope import TOKEN, WireMessage

REMOTE = "software"
"""The target whose nodes machines share; every other one that they have, one holds alone."""


class Status(WireMessage):
    """Ask for the machines and the runs."""


class Submit(WireMessage):
    """Run a plan. `run` is made by the asker, so that a retry cannot start it twice."""

    run: str = TOKEN
    plan: str = Field(max_length=4_000_000)
    source: str = Field(default="plan", max_length=500)
    """What messages about the plan call it."""
    target: str = Field(default=REMOTE, pattern=r"^[a-z][a-z0-9_-]{0,62}$")
    sources: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    """The digest that results are to be of; None: whatever the controller has."""
    report: bool = True
    pace: float = Field(default=1.0, ge=SLOWEST, le=FASTEST)
    """Seconds of the run per second."""


class OfRun(WireMessage):
    """A request about one run."""

    run: str = TOKEN


class Follow(OfRun):
    """Ask how far it is, and for the lines said since line `after`."""

    after: int = Field(default=0, ge=0)


class FetchOf(OfRun):
    """Ask for the chunk at an offset of file `number` of the list that `files` gave."""

    number: int = Field(ge=0, lt=2**20)
    offset: int = Field(ge=0, lt=2**40)


class RunFiles(WireMessage):
    """The answer to `files`: the run folder `plan`/`name` and what is in it."""

    plan: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$")
    name: str = Field(pattern=r"^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{1,16}$")
    files: list[Stored] = Field(max_length=2**20)


class MachineState(WireMessage):
    """A machine of the inventory."""

    name: str
    state: str
    why: str = ""
    lease: str | None = None
    part: str = ""
    """State of its part of the run."""
    nics: list[str] = Field(default=[])
    cores: int | None = None
    holds: dict[str, str] = Field(default={})
    """Targets of which it can hold a whole plan -> nothing, or why it cannot."""
    clock: dict[str, Any] = Field(default={})


class State(WireMessage):
    """The answer to `status`."""

    name: str
    machines: list[MachineState]
    runs: list[str]
    """Those that wait or go on."""
    feeds: dict[str, str] = Field(default={})
    """Run -> where its feed is served, for those that can be watched."""


class Progress(WireMessage):
    """The answer to `follow`."""

    stage: str
    detail: str = ""
    done: float = 0.0
    lines: list[str] = Field(default=[])
    over: bool = False
    exit_code: int = 0
    error: str | None = None
    """Why there is no result."""
    folder: str | None = None
    result: dict[str, Any] | None = None
