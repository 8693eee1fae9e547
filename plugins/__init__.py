"""Plugin registration of the shipped congestion and reaction points, PAUSE and delay lines."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from tailback.plugin import hookimpl

if TYPE_CHECKING:
    import typer

    from tailback.plugin import Algorithm, FrameType


@hookimpl
def tailback_algorithms() -> Iterable[Algorithm]:
    """The shipped congestion, reaction and notification points, pauses and delay lines."""
    from plugins.af_qcn import AF_QCN
    from plugins.bcn import BCN_CP, BCN_RP
    from plugins.bit_errors import BIT_ERRORS
    from plugins.burst_loss import GILBERT_ELLIOTT
    from plugins.class_marking import RED_BY_CLASS
    from plugins.codel import CODEL
    from plugins.credit_flow_control import LINK_CREDITS
    from plugins.csig import CSIG
    from plugins.cubic import CUBIC
    from plugins.dcqcn_rp import DCQCN_RP
    from plugins.dctcp import DCTCP
    from plugins.deficit_round_robin import DRR
    from plugins.dynamic_pfc import DYNAMIC_PFC
    from plugins.dynamic_threshold import DYNAMIC_THRESHOLD
    from plugins.ets import ETS
    from plugins.fecn_cp import FECN_CP
    from plugins.fecn_endpoints import FECN_REFLECTOR, FECN_RP
    from plugins.frame_duplication import DUPLICATION
    from plugins.frame_reordering import REORDERING
    from plugins.host_jitter import AS_MACHINE
    from plugins.hpcc import HPCC
    from plugins.inband_telemetry import INT
    from plugins.link_delay import FIXED, JITTERED
    from plugins.lossy_link import LOSSY
    from plugins.newreno import NEWRENO
    from plugins.notification_point import NOTIFY
    from plugins.nscc import NSCC
    from plugins.p4qcn_cp import P4QCN_CP
    from plugins.p4qcn_rp import P4QCN_RP
    from plugins.packet_trimming import TRIMMING
    from plugins.pause import PAUSE
    from plugins.pause_storm import STORM
    from plugins.pfc import PFC
    from plugins.pfc_watchdog import PFC_WATCHDOG
    from plugins.pie import PIE
    from plugins.priority_demotion import ASIDE
    from plugins.qcn_cp import QCN_CP
    from plugins.qcn_rp import QCN_RP
    from plugins.receiver_credits import CREDITS
    from plugins.red_marking import RED
    from plugins.round_robin import ROUND_ROBIN
    from plugins.scripted_cnm import CRAFTED_CP
    from plugins.scripted_pause import CRAFTED_PAUSE
    from plugins.static_buffer import STATIC
    from plugins.strict_priority import STRICT
    from plugins.stuck_pause import STUCK
    from plugins.swift import SWIFT
    from plugins.timely import TIMELY

    qcn = [QCN_CP, QCN_RP, AF_QCN]
    others = [
        BCN_CP,
        BCN_RP,
        P4QCN_CP,
        P4QCN_RP,
        RED,
        RED_BY_CLASS,
        DCQCN_RP,
        DCTCP,
        SWIFT,
        TIMELY,
        HPCC,
        INT,
        CSIG,
        NSCC,
        NEWRENO,
        CUBIC,
        FECN_CP,
        FECN_RP,
        FECN_REFLECTOR,
        NOTIFY,
        CODEL,
        PIE,
        TRIMMING,
        ASIDE,
        CREDITS,
    ]
    stimuli = [CRAFTED_CP, CRAFTED_PAUSE, STUCK, STORM]
    flow_control = [PAUSE, PFC, DYNAMIC_PFC, PFC_WATCHDOG, LINK_CREDITS]
    schedulers = [ROUND_ROBIN, STRICT, DRR, ETS]
    buffers = [STATIC, DYNAMIC_THRESHOLD]
    switches = [*flow_control, *schedulers, *buffers]
    lines = [FIXED, JITTERED, LOSSY, GILBERT_ELLIOTT, BIT_ERRORS, DUPLICATION, REORDERING]
    return [*qcn, *others, *switches, *stimuli, *lines, AS_MACHINE]


@hookimpl
def tailback_frame_types() -> Iterable[FrameType]:
    """The frames of the shipped schemes, data frames, and those of the simulated transport."""
    from tailback.plugin import CORE_FRAME_TYPES

    return CORE_FRAME_TYPES


@hookimpl
def tailback_commands(app: typer.Typer) -> None:
    """`tailback stability`, `tailback thresholds` and `tailback shootout`."""
    from plugins import shootout, stability_commands

    stability_commands.register(app)
    shootout.register(app)


@hookimpl
def tailback_plans() -> Iterable[Path]:
    """The shipped plans."""
    return sorted((Path(__file__).parent / "plans").glob("*.toml"))
