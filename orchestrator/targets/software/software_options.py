"""Options of target `software`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from orchestrator.plan.target_options import File, Metavar, TargetOptions

CARRIED_OUT = ("profile",)
"""Options that count before the run alone."""


class SoftwareOptions(TargetOptions):
    """Options of real frames on this machine."""

    target = "software"

    pace: Annotated[float, Metavar("FACTOR")] | None = Field(
        None,
        ge=1e-6,
        le=1e6,
        description="Seconds of the run per second, also with --controller: below 1 its clock is "
        "slow, and there is more time for every frame (time dilation).",
    )
    cores: int | None = Field(
        None,
        ge=1,
        le=1024,
        description="How many cores its data path spins on at most; by default two where there "
        "are. 1 leaves one of two to a console.",
    )
    datapath: Literal["packet", "stamped", "xdp", "auto"] | None = Field(
        None,
        description="What carries its frames. packet (the default): AF_PACKET sockets, without "
        "privileges. stamped: the same, with the kernel's time of arrival of every frame: what it "
        "waits for this machine is left out of the delays that hosts measure. xdp: AF_XDP sockets, "
        "for root. auto: xdp where it is to be had, else packet. `tailback doctor` tells what "
        "there is.",
    )
    stamps: Literal["software", "hardware", "auto"] | None = Field(
        None,
        description="Timestamp source for received and sent frames, by which delays are measured. "
        "software: the kernel. hardware: the NICs, or a refusal that names what they lack. auto: "
        "the NICs where all can, else the kernel, and fidelity says why. Default: the user-space "
        "clock of the data path.",
    )
    launch: bool = Field(
        False,
        description="NICs send frames at their times (SO_TXTIME, queue etf), or a refusal that "
        "names what they lack.",
    )
    testbed: File | None = Field(
        None,
        description="The interfaces that lead to external devices ([external.NAME] in FILE).",
    )
    external: Annotated[list[str], Metavar("DEVICE.PORT=INTERFACE")] | None = Field(
        None,
        description="The interface of this machine that leads to a port of an external node, such "
        "as sw.sink=eth2; may be given again. Instead of --testbed, or on top.",
    )
    profile: Annotated[File, Metavar("FILE|newest|none")] | None = Field(
        None,
        description="What `tailback calibrate` has measured of this machine, to say before the run "
        "what it does not hold. Default: the newest, where there is one.",
    )
