"""Parameters of DCQCN by the names and units that NVIDIA documents for ConnectX adapters.

Source: NVIDIA's page "DCQCN CC Parameters" (DOCA documentation) and the descriptions of the
configuration tool mlxconfig: names, units, ranges and defaults. Each is one parameter of `dcqcn-rp`
or `notification-point`; a plan may use either name, and a resolved plan has ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tailback.plugin import BadInput, Problem


@dataclass(frozen=True)
class Documented:
    """A parameter of an adapter: ours, the documented range of whole numbers, their unit, and the
    text that our parameter has for one of them."""

    ours: str
    least: int
    most: int
    unit: str
    text: Callable[[int], Any]


def _microseconds(value: int) -> str:
    return f"{value}us"


def _megabits(value: int) -> str:
    return f"{value}Mb/s"


DOCUMENTED = {
    "rpg_time_reset": Documented("increase_time", 1, 131_071, "us", _microseconds),
    "rpg_byte_reset": Documented("byte_reset", 64, 32_767, "octets", lambda value: f"{value}B"),
    "rpg_threshold": Documented("threshold", 1, 31, "stages", lambda value: value),
    "rpg_ai_rate": Documented("ai_rate", 1, 1_000_000, "Mb/s", _megabits),
    "rpg_hai_rate": Documented("hai_rate", 1, 1_000_000, "Mb/s", _megabits),
    "rpg_gd": Documented("cut_shift", 10, 11, "log2, alpha in 2^-10", lambda value: value - 10),
    "rpg_min_dec_fac": Documented("least_share", 0, 100, "%", lambda value: f"{value}/100"),
    "rpg_min_rate": Documented("min_rate", 1, 1_000_000, "Mb/s", _megabits),
    "rate_reduce_monitor_period": Documented("cut_interval", 1, 10**7, "us", _microseconds),
    "dce_tcp_g": Documented("g", 0, 1023, "2^-10", lambda value: f"{1024 - value}/1024"),
    "dce_tcp_rtt": Documented("alpha_time", 1, 131_071, "us", _microseconds),
    "clamp_tgt_rate": Documented("clamp_target", 0, 1, "0 or 1", bool),
    "clamp_tgt_rate_after_time_inc": Documented("clamp_target_after_timer", 0, 1, "0 or 1", bool),
    "initial_alpha_value": Documented(
        "initial_alpha", 1, 1023, "2^-10", lambda value: f"{value}/1024"
    ),
}
"""Of a reaction point."""
OF_RECEIVERS = {
    "min_time_between_cnps": Documented("interval", 0, 10**7, "us", _microseconds),
}
"""Of a notification point."""


def translated(
    table: dict[str, Any], where: str, documented: dict[str, Documented] = DOCUMENTED
) -> dict[str, Any]:
    """A plan's table with our names and units in place of NVIDIA's. Raises BadInput for a value out
    of its documented range, and where both names of a parameter are given."""
    found, problems = dict(table), list[Problem]()
    for name, one in documented.items():
        if name not in table:
            continue
        key, value = f"{where}.{name}" if where else name, _as_integer(found.pop(name))
        if one.ours in table:
            problems.append(Problem(key, table[name], f"{one.ours!r} is the same; leave one out"))
        elif value is None or not one.least <= value <= one.most:
            accepted = f"a whole number from {one.least} to {one.most} ({one.unit}) is expected"
            problems.append(Problem(key, table[name], accepted))
        else:
            found[one.ours] = one.text(value)
    if problems:
        raise BadInput(where or "parameters", problems)
    return found


def _as_integer(value: object) -> int | None:
    """A whole number as a plan or the command line gives it, true and false as 1 and 0."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    return int(value) if isinstance(value, int) else None
