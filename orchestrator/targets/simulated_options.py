"""Options of target `simulated`."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from orchestrator.plan.target_options import File, Metavar, TargetOptions

CARRIED_OUT = ("as", "as_pace")
"""Options that change the plan before it is run."""


class SimulatedOptions(TargetOptions):
    """Options of the simulator."""

    target = "simulated"

    pace: Annotated[float, Metavar("FACTOR")] | None = Field(
        None,
        ge=1e-6,
        le=1e6,
        description="Seconds of the run per second, to watch it. Default: as fast as possible.",
    )
    cores: int | None = Field(
        None,
        ge=1,
        le=1024,
        description="Run on so many cores, with the same result; by default on one. Such a run "
        "shows its progress alone.",
    )
    eager: bool | None = Field(
        None,
        description="An event for each departure and delivery of a frame: the reference for runs "
        "that defer them, with the same result, slower (as TAILBACK_EAGER=1).",
    )
    as_: Annotated[File, Metavar("PROFILE")] | None = Field(
        None,
        alias="as",
        description="Run it as the machine of this device profile would, with its lateness and "
        "stalls. With --seeds the result has intervals.",
    )
    as_pace: Annotated[float, Metavar("FACTOR")] | None = Field(
        None,
        ge=0.001,
        le=100.0,
        description="With --as: at this pace of the machine, as --pace is on software.",
    )

    @model_validator(mode="after")
    def _pace_of_a_machine(self) -> Self:
        if self.as_pace is not None and self.as_ is None:
            raise ValueError("--as-pace (as_pace) is for --as (as); name a profile or leave it out")
        return self
