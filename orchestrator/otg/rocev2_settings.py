"""RoCEv2 settings of a port in the OTG model: CNPs, acknowledgements, retransmission, DCQCN.

They become parameters of the algorithms `notification-point`, `rc` and `dcqcn-rp`. Names and units
of the model are those of ConnectX adapters, but for rates, which are percentages of the line rate
of the port, and the greatest cut, which is a share that is taken and not one that is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orchestrator.otg.otg_reader import Reader

ECN = {"non_ect": 0, "ect_1": 1, "ect_0": 2, "ce": 3}
LONGEST_US = 10**7
Table = dict[str, Any]


@dataclass
class Settings:
    """RoCEv2 settings of a port; those of the algorithms by the names of their parameters."""

    cnp_tos: int
    ack_tos: int
    nak_tos: int
    notification: Table
    connection: Table
    reaction: Table | None
    """None: DCQCN is off, and CNPs are counted alone."""
    first_rate_bps: int
    """Rate with the first CNP; 0: what the reaction point makes it."""


def read_ecn(reader: Reader, key: str) -> int:
    """ECN codepoint of a field."""
    text = reader.text(key, "ect_1")
    if text not in ECN:
        reader.refuse(key, text, f"one of {', '.join(ECN)} is expected")
    return ECN.get(text, 0)


def _tos(reader: Reader) -> int:
    reader.choice(["ip_dscp"], "ip_dscp")
    value = reader.child("ip_dscp")
    tos = value.number("value", 48, 0, 63) << 2 | read_ecn(reader, "ecn_value")
    value.close()
    return tos


def read_settings(settings: Reader, speed_bps: int) -> Settings:
    """Settings of a port of this speed (bit/s)."""
    cnp = settings.child("cnp")
    cnp_tos, delay = _tos(cnp), cnp.number("cnp_delay_timer", 55, 0, 255)
    cnp.close()
    kind = settings.child("connection_type")
    kind.choice(["reliable_connection"], "reliable_connection")
    of = kind.child("reliable_connection")
    answers = []
    for key in ("ack", "nak"):
        answer = of.child(key)
        answers.append(_tos(answer))
        answer.close()
    if of.take("enable_retransmission_timeout", True) is not True:
        of.problems.append(
            f"{of.at('enable_retransmission_timeout')} is not supported but for true"
        )
    connection = {
        "timeout": f"{of.number('retransmission_timeout_value', 1, 1, 5369)}ms",
        "retry_count": of.number("retransmission_retry_count", 3, 0, 7),
    }
    of.close()
    kind.close()
    reaction, first_rate_bps = _read_reaction(settings.child("dcqcn_settings"), speed_bps)
    settings.close()
    notification = {"message": "cnp", "interval": f"{delay}us"}
    ack_tos, nak_tos = answers
    return Settings(cnp_tos, ack_tos, nak_tos, notification, connection, reaction, first_rate_bps)


def _read_reaction(dcqcn: Reader, speed_bps: int) -> tuple[Table | None, int]:
    """Parameters of the reaction point, and the rate with the first CNP (bit/s)."""

    def rate(key: str, default: float) -> int:
        return int(speed_bps * dcqcn.real(key, default, 0.0, 100.0) / 100)

    enabled = dcqcn.take("enable_dcqcn", True) is True
    first_rate_bps = rate("initial_rate_after_first_cnp", 0.002)
    table = {
        "g": f"{1024 - dcqcn.number('alpha_g', 1019, 1, 1023)}/1024",
        "initial_alpha": f"{dcqcn.number('initial_alpha', 1023, 1, 1023)}/1024",
        "alpha_time": f"{dcqcn.number('alpha_update_period', 21, 1, LONGEST_US)}us",
        "alpha_update": "period",
        "cut_interval": f"{dcqcn.number('rate_reduction_time_period', 21, 0, LONGEST_US)}us",
        "min_rate": f"{max(rate('minimum_rate_limmit', 0.002), 1)}b/s",
        "least_share": f"{100 - dcqcn.number('maximum_rate_decrement_at_time', 10, 0, 100)}/100",
        "clamp_target": dcqcn.flag("clamp_target_rate"),
        "increase_time": f"{dcqcn.number('rate_increment_time', 250, 1, LONGEST_US)}us",
        "byte_reset": f"{dcqcn.number('rate_increment_byte_counter', 32_767, 64, 32_767)}B",
        "threshold": dcqcn.number("rate_increment_threshold", 25, 1, 31),
        "ai_rate": f"{rate('additive_increment_rate', 0.001)}b/s",
        "hai_rate": f"{rate('hyper_increment_rate', 0.001)}b/s",
    }
    dcqcn.close()
    return (table if enabled else None), first_rate_bps
