"""Capabilities of targets by name: a target declares them, algorithms and plans need them."""

from __future__ import annotations

import enum


class Capability(enum.StrEnum):
    """One thing that a target may be able to do."""

    KERNELS = "kernels"
    """Runs algorithms from their kernels."""
    VERILOG = "verilog"
    """Runs those that have a module in Verilog, from that."""
    ACKNOWLEDGEMENTS = "acknowledgements"
    """Carries segments of a transport, and its acknowledgements back."""
    STAMPS = "stamps"
    """Lets ports add stamps to data frames, and echoes them on acknowledgements."""
    RECEIVERS = "receivers"
    """Lets a node pace the sources of what it gets, by frames of its own."""
    TRIMMING = "trimming"
    """Lets a congestion point cut a frame to its header."""
    LANES = "lanes"
    """Lets a congestion point send a frame on in another lane, and rewrites its priority."""
    SCHEDULERS = "schedulers"
    """Lets a scheduler choose the lane that a port sends from."""
    BUFFER_MANAGEMENT = "buffer-management"
    """Lets an algorithm limit what each buffer holds of the memory that the ports share."""
    ENTROPY = "entropy"
    """Takes a frame's way among several by the path entropy that its source has given it."""
    DEPENDENCIES = "dependencies"
    """Lets a message begin when those that it waits for have arrived whole."""
    PROGRAMS = "programs"
    """Starts programs on nodes and carries their frames."""
    LIVE = "live"
    """Can be watched and changed while it runs: `run` takes a session."""
    PACE = "pace"
    """Its seconds can be longer or shorter than those of a clock, as the session says."""
    CORES = "cores"
    """Takes as many cores as the session says, or its data path spins on so many."""
    DATAPATH = "datapath"
    """Its frames are carried by what the session says (`tailback run --datapath`)."""
    CARDS = "cards"
    """Runs on the cards that a testbed names: `at` gives the same target on those."""
    EXTERNAL = "external"
    """Joins its nodes by devices of others, on interfaces that a testbed names."""
    STAND_INS = "stand-ins"
    """Has, in the place of an external node, a node that does what the plan says of it (`as`)."""
    HELD = "held"
    """A machine of a testbed runs a plan on it alone, for clients of a controller."""


OF_SESSIONS = frozenset({Capability.LIVE, Capability.PACE, Capability.CORES, Capability.DATAPATH})
"""A target with one of these gets the session, by which it is watched or bounded."""
IN_ENGINE = frozenset(
    {
        Capability.KERNELS,
        Capability.ACKNOWLEDGEMENTS,
        Capability.STAMPS,
        Capability.RECEIVERS,
        Capability.TRIMMING,
        Capability.LANES,
        Capability.SCHEDULERS,
        Capability.BUFFER_MANAGEMENT,
        Capability.ENTROPY,
        Capability.DEPENDENCIES,
    }
)
"""Capabilities of the simulator's engine, alone or for nodes next to others."""
IN_SOFTWARE = IN_ENGINE | {Capability.PROGRAMS}
"""Capabilities of the data path on real frames."""
