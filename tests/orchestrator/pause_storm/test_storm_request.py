"""What a storm is asked for: read, or refused with every mistake and what would be right."""

from __future__ import annotations

import pytest

from orchestrator.errors import BadInput, Refused
from orchestrator.pause_storm import storm_interfaces
from orchestrator.pause_storm.storm_request import Pattern, StormRequest, hold_of, read

GIGABIT = 10**9


def asked(interfaces: list[str] | None = None, **words: object) -> StormRequest:
    usual: dict[str, object] = {
        "priorities": None,
        "quanta": 65_535,
        "rate": None,
        "duration": "10s",
        "pattern": None,
        "margin": None,
        "far_ends": [],
        "in_use": False,
    }
    return read(interfaces or ["eth1"], **(usual | words))  # type: ignore[arg-type]


def test_everything_that_is_said_is_asked_for() -> None:
    found = asked(
        ["eth1", "eth2"],
        priorities="0,3-4",
        quanta=100,
        rate="100Gb/s",
        duration="10m",
        pattern="on=200ms,off=0.3s",
        margin="1us",
        far_ends=["a", "b"],
        in_use=True,
    )
    assert found == StormRequest(
        ("eth1", "eth2"),
        600.0,
        (0, 3, 4),
        100,
        100 * GIGABIT,
        Pattern(200_000_000, 300_000_000),
        1000,
        ("a", "b"),
        True,
    )


@pytest.mark.parametrize(("text", "seconds"), [("1min", 60), ("2s", 2), ("1ms", 0.001)])
def test_a_storm_may_be_told_in_minutes(text: str, seconds: float) -> None:
    assert asked(duration=text).seconds == seconds


@pytest.mark.parametrize(
    ("words", "where", "accepted"),
    [
        ({"priorities": "3,8"}, "--priorities", "0 to 7"),
        ({"priorities": ""}, "--priorities", "0 to 7"),
        ({"quanta": 0}, "--quanta", "1 to 65535"),
        ({"quanta": 65_536}, "--quanta", "1 to 65535"),
        ({"rate": "100"}, "--rate", "unit"),
        ({"rate": "11Tb/s"}, "--rate", "1b/s to 10Tb/s"),
        ({"duration": "0s"}, "--for", "1ms to a day"),
        ({"duration": "9999999m"}, "--for", "unit"),
        ({"pattern": "on=1ms"}, "--pattern", "on=200ms,off=300ms"),
        ({"pattern": "on=1ms,off=1ns"}, "--pattern", "from 1us on"),
        ({"pattern": "on=1ms,off=x"}, "--pattern", "unit"),
        ({"margin": "0s"}, "--margin", "1ns"),
        ({"far_ends": ["a", "b"]}, "--far-end", "1 in all"),
    ],
)
def test_a_mistake_is_told_with_what_would_be_right(
    words: dict[str, object], where: str, accepted: str
) -> None:
    with pytest.raises(BadInput) as caught:
        asked(**words)
    (problem,) = caught.value.problems
    assert problem.where == where
    assert accepted in problem.accepted


def test_all_mistakes_are_told_at_once_and_no_interface_twice() -> None:
    with pytest.raises(BadInput) as caught:
        asked(["eth1", "eth1"], quanta=0, rate="1")
    assert {one.where for one in caught.value.problems} == {"--quanta", "--rate", "INTERFACE"}


def test_quanta_that_are_over_before_the_next_frame_is_there_are_refused() -> None:
    with pytest.raises(BadInput, match="4 or more are expected"):
        hold_of(asked(quanta=2), "eth1", GIGABIT)
    assert hold_of(asked(quanta=4), "eth1", GIGABIT) == 2048
    with pytest.raises(BadInput, match="holds eth1 for 2048 ns"):
        hold_of(asked(quanta=4, margin="2048ns"), "eth1", GIGABIT)


def test_without_the_right_to_send_it_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storm_interfaces, "capabilities", lambda: {12})
    with pytest.raises(Refused, match="CAP_NET_RAW") as caught, storm_interfaces.opened(asked()):
        pass
    assert caught.value.exit_code == 2
