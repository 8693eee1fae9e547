"""Congestion control of HPCC's configurations as tables of a plan: values, marks, refusals."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.errors import BadInput
from orchestrator.interchange.hpcc_files import read_config
from orchestrator.interchange.hpcc_schemes import Fabric, Scheme, scheme_of
from orchestrator.interchange.source_text import SourceText

US = 10**6
FABRIC = Fabric(round_trip=13 * US, stamps=5, switches=3, host_rate=100 * 10**9)
MAPS = "KMIN_MAP 1 25000000000 100\nKMAX_MAP 1 25000000000 400\nPMAX_MAP 1 25000000000 0.2\n"
RATE = 25 * 10**9


def made(text: str, fabric: Fabric = FABRIC) -> Scheme:
    source = SourceText("config", tuple(text.split("\n")))
    return scheme_of(read_config(source), fabric)


def point(scheme: Scheme) -> dict[str, Any]:
    found: dict[str, Any] = scheme.host_tables["reaction_point"]
    return found


def refusal(text: str) -> tuple[str, Any, str]:
    with pytest.raises(BadInput) as caught:
        made(text).port(RATE)
    (problem,) = caught.value.problems
    return problem.where, problem.value, problem.accepted


def test_a_configuration_without_a_mode_has_no_congestion_control() -> None:
    found = made("ENABLE_QCN 1\n")
    assert (found.host_tables, found.keys, found.stamps) == ({}, frozenset(), False)
    assert found.port(RATE) == {}
    assert found.host(RATE, 1000) == {}


def test_dcqcn_has_the_values_of_its_keys() -> None:
    text = (
        "CC_MODE 1\nEWMA_GAIN 0.00390625\nALPHA_RESUME_INTERVAL 1\nRP_TIMER 300\n"
        "FAST_RECOVERY_TIMES 1\nRATE_AI 50Mb/s\nRATE_HAI 100Mb/s\nMIN_RATE 100Mb/s\n"
        f"RATE_DECREASE_INTERVAL 4\n{MAPS}"
    )
    found = made(text)
    assert point(found) == {
        "plugin": "dcqcn-rp",
        "g": "1/256",
        "alpha_time": "1us",
        "increase_time": "300us",
        "threshold": 1,
        "ai_rate": "50Mb/s",
        "hai_rate": "100Mb/s",
        "min_rate": "100Mb/s",
    }
    assert found.host_tables["notification_point"] == {
        "plugin": "notification-point",
        "preset": "dcqcn",
        "interval": "4us",
    }
    assert {"CC_MODE", "ENABLE_QCN", "EWMA_GAIN", "KMIN_MAP", "PMAX_MAP"} <= found.keys
    assert (found.stamps, found.not_taken) == (False, [])
    assert len(found.taken) == 1


def test_dcqcn_has_the_defaults_of_the_simulator() -> None:
    found = point(made(f"CC_MODE 1\n{MAPS}"))
    assert (found["g"], found["alpha_time"], found["increase_time"]) == ("1/16", "55us", "1.5ms")
    assert (found["threshold"], found["ai_rate"], found["hai_rate"]) == (5, "5Mb/s", "50Mb/s")
    assert found["min_rate"] == "100Mb/s"
    assert point(made(f"CC_MODE 1\nFAST_RECOVERY_TIMES 0\n{MAPS}"))["threshold"] == 1
    lacking = made(f"CC_MODE 1\nCLAMP_TARGET_RATE 1\n{MAPS}").not_taken
    assert lacking == ["CLAMP_TARGET_RATE: the target rate follows every decrease"]


@pytest.mark.parametrize("mode", [1, 8])
def test_ports_mark_by_the_thresholds_of_their_rate(mode: int) -> None:
    found = made(f"CC_MODE {mode}\n{MAPS}")
    assert found.port(RATE) == {
        "plugin": "red",
        "low": "100KB",
        "high": "400KB",
        "max_probability": "0.2",
    }
    off = made(f"CC_MODE {mode}\nENABLE_QCN 0\n{MAPS}")
    assert off.port(RATE) == {}
    assert off.not_taken[-1] == "marks: ENABLE_QCN is 0, so no port marks a frame"


@pytest.mark.parametrize(("at", "low", "high"), [(400, "399999B", "400KB"), (0, "0B", "1B")])
def test_equal_thresholds_are_a_step(at: int, low: str, high: str) -> None:
    text = MAPS.replace(" 100\n", f" {at}\n").replace(" 400\n", f" {at}\n")
    found = made(f"CC_MODE 8\n{text}").port(RATE)
    assert (found["low"], found["high"]) == (low, high)
    assert found["max_probability"] in ("1", "100%")


def test_marks_that_are_wrong_are_refused() -> None:
    other = MAPS.replace("25000000000 100", "10000000000 100")
    assert refusal(f"CC_MODE 1\n{other}") == (
        "KMIN_MAP",
        "missing",
        "a value for links of 25Gb/s is expected",
    )
    assert refusal("CC_MODE 1\n")[:2] == ("KMIN_MAP", "missing")
    below = MAPS.replace("25000000000 400", "25000000000 99")
    assert refusal(f"CC_MODE 1\n{below}") == (
        "KMAX_MAP",
        "99",
        "no less than KMIN_MAP, 100, is expected",
    )
    where, value, _ = refusal(f"CC_MODE 1\n{MAPS.replace('0.2', '1.5')}")
    assert (where, value) == ("PMAX_MAP", "1.5")


def test_hpcc_has_the_longest_round_trip_and_its_growth() -> None:
    """W_AI = RATE_AI T: 50 Mb/s over 13 us are 81 octets."""
    found = made("CC_MODE 3\nRATE_AI 50Mb/s\nU_TARGET 0.95\nMI_THRESH 0\nMIN_RATE 100Mb/s\n")
    assert point(found) == {
        "plugin": "hpcc",
        "mode": "rate",
        "base_rtt": "13us",
        "eta": "19/20",
        "max_stage": 0,
        "w_ai": "81B",
        "min_rate": "100Mb/s",
        "hops": 5,
    }
    assert found.port(RATE) == {"plugin": "int"}
    assert (found.stamps, found.not_taken) == (True, [])
    assert "T = 13us" in found.taken[0]
    assert made("CC_MODE 3\nGLOBAL_T 0\n").not_taken == [
        "GLOBAL_T 0: all hosts have the longest round trip as T"
    ]
    assert point(made("CC_MODE 3\n"))["max_stage"] == 5
    short = Fabric(1, 2, 1, RATE)
    assert point(made("CC_MODE 3\n", short))["base_rtt"] == "1us"
    long = Fabric(10**11, 2, 1, RATE)
    assert point(made("CC_MODE 3\n", long))["base_rtt"] == "10ms"


def test_timely_and_dctcp_have_what_is_theirs() -> None:
    timely = made("CC_MODE 7\nRATE_AI 10Mb/s\nMIN_RATE 1Gb/s\n")
    assert point(timely) == {"plugin": "timely", "delta": "10Mb/s", "min_rate": "1Gb/s"}
    assert (timely.stamps, timely.port(RATE), len(timely.not_taken)) == (False, {}, 1)
    assert point(made(f"CC_MODE 8\nEWMA_GAIN 0.0625\n{MAPS}")) == {"plugin": "dctcp", "g": "1/16"}


def test_a_mode_without_a_scheme_says_so_and_others_are_refused() -> None:
    pint = made("CC_MODE 10\n")
    assert (pint.host_tables, pint.keys) == ({}, {"CC_MODE"})
    assert pint.not_taken[0].startswith("CC_MODE 10, HPCC-PINT: there is no probabilistic")
    where, value, accepted = refusal("CC_MODE 2\n")
    assert (where, value) == ("CC_MODE", "2")
    assert accepted == (
        "1 (dcqcn), 3 (hpcc), 7 (timely), 8 (dctcp) or 10 (HPCC-PINT, without its congestion "
        "control) is expected"
    )


def test_a_host_has_a_limiter_by_its_rate_and_segments_where_frames_count() -> None:
    """The period is that of 10 Gb/s and a microsecond, between 0.1 and 1 us."""
    hpcc = made("CC_MODE 3\n")
    found = hpcc.host(100 * 10**9, 1048)
    assert found["limiter"] == {"depth": "3KB", "period": "100ns"}
    assert found["reaction_point"]["segment"] == "1048B"
    assert hpcc.host(10**9, 1048)["limiter"]["period"] == "1us"
    assert hpcc.host(20 * 10**9, 1048)["limiter"]["period"] == "500ns"
    assert hpcc.host(10**12, 1048)["limiter"] == {"depth": "25KB", "period": "100ns"}
    assert hpcc.host(10**13, 1048)["limiter"]["depth"] == "100KB"
    timely = made("CC_MODE 7\n").host(10**9, 1048)
    assert "segment" not in timely["reaction_point"]
