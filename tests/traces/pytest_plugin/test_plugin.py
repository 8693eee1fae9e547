"""The pytest plugin, as a third party meets it: a test of theirs, in a session of its own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from traces.pytest_plugin.capabilities import CAPABILITIES, CARD, DEVICE, TARGETS, lack
from traces.pytest_plugin.dut_description import Device, QueueMap
from traces.pytest_plugin.figures import Figure
from traces.pytest_plugin.table import markdown, page

pytest_plugins = ["pytester"]
HOME = os.environ.get("HOME", "")

PLAN = Path(__file__).parents[2] / "hardware" / "plans" / "congestion_point.toml"
THEIRS = f"""
import pytest

@pytest.mark.needs("timestamping", "sampled-queue")
def test_switch(testbed, node, capture, figure):
    run = testbed.run({str(PLAN)!r}, "duration=2ms")
    assert run.result["target"] == testbed.target
    seen = capture("switch.nic1")
    assert len(seen.data.received) > 400
    assert len(seen.messages.sent) == node("switch").metric("switch.sink", "feedback.sent")
    assert node("switch").sampled("switch.sink", "queue_bytes")[-1] > 10_000
    assert testbed.run({str(PLAN)!r}, "duration=2ms") is run, "it was run already"
    figure("first message", rule="theirs", expected=1, seen=int(seen.messages["feedback"][0]),
           tolerance=3, unit="1", why="a frame")

def test_wrong(figure):
    figure("far off", rule="theirs", expected=1, seen=2, tolerance=0.5, unit="s", why="a guess")
"""


def test_a_third_partys_test_runs_a_plan_and_measures(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", HOME)  # pytester moves it, and compiled code is kept there
    pytester.makepyfile(THEIRS)
    done = pytester.runpytest_subprocess("--tailback-figures", "figures.json", "-p", "no:xdist")
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(
        [
            "*far off on simulated: 2 s, expected 1 ± 0.5 s (a guess); theirs*",
            "*tailback figures*",
            "figure *simulated*",
            "far off *2 ± 0.5 ✗*",
            "first message*",
        ]
    )
    told = json.loads((pytester.path / "figures.json").read_text())
    assert [(one["name"], one["kept"]) for one in told] == [
        ("far off", False),
        ("first message", True),
    ]


def test_what_a_testbed_lacks_is_skipped_with_the_instruction(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.needs("real-frames")
        def test_frames(testbed): assert False

        @pytest.mark.needs("card")
        def test_card(testbed): assert False
        """
    )
    done = pytester.runpytest_subprocess("-rs", "--tailback-target", "simulated,gateware")
    done.assert_outcomes(skipped=4)
    done.stdout.fnmatch_lines_random(
        [
            "*needs real-frames*not to be had on simulated. Use --tailback-target software*",
            "*needs card*not to be had on gateware. Name it in testbed.toml*",
        ]
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--tailback-target", "card"], "*'card' is not accepted; known: simulated, software, g*"),
        (["--tailback-figures", "a.pdf"], "*a.pdf is not accepted; its name ends with .json, *"),
        (["--tailback-testbed", "none.toml"], "*--tailback-testbed: none.toml: cannot be read: *"),
        ([], "*test_slip*needs('timestaming') is not accepted; known: real-frames, *"),
    ],
)
def test_slips_are_usage_errors(pytester: pytest.Pytester, arguments: list[str], said: str) -> None:
    pytester.makepyfile(
        test_slip="""
        import pytest

        @pytest.mark.needs("timestaming")
        def test_slip(testbed): pass
        """
    )
    done = pytester.runpytest_subprocess(*arguments)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([said])


def test_every_capability_is_had_somewhere_or_says_how_to_get_it() -> None:
    for name, capability in CAPABILITIES.items():
        without = [lack(name, target, machines=False) for target in (*TARGETS, CARD, DEVICE)]
        assert all(capability.remedy in text for text in without if text is not None)
        having = [t for t in (*TARGETS, CARD, DEVICE) if lack(name, t, machines=True) is None]
        assert having == list(capability.targets)


def test_one_table_has_the_targets_side_by_side() -> None:
    figures = [
        Figure("a < b", target, "rule", 1, seen, 0.1, "s", "grain")
        for target, seen in (("simulated", 1.0), ("gateware", 1.05), ("software", 1.5))
    ]
    assert markdown(figures).splitlines() == [
        "| figure | unit | expected | simulated | gateware | software | rule | tolerance |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        "| a < b | s | 1 | 1 ± 0.1 | 1.05 ± 0.1 | 1.5 ± 0.1 ✗ | rule | grain |",
    ]
    assert "<td>a &lt; b</td>" in page(figures)


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        ("", ["--tailback-target", "software"], "*ports*"),
        (
            'ports = { nic1 = "a", nic2 = "b" }',
            ["--tailback-target", "software"],
            "*far is missing*",
        ),
        (
            'ports = { nic1 = "a", nic2 = "b", far = "b" }',
            ["--tailback-target", "software"],
            "*every port has an interface of its own*",
        ),
        (
            'ports = { nic1 = "a", nic2 = "b", far = "c" }\nrate = "3Gb/s"\ndoes = ["pause"]',
            ["--tailback-target", "software"],
            "*reaction: a time is expected*not for 3*",
        ),
        (
            'ports = { nic1 = "a", nic2 = "b", far = "c" }\ndoes = ["pfc", "dscp"]',
            ["--tailback-target", "software"],
            '*dscp: "dscp" among `does` and the table [[]dscp] are expected together*',
        ),
        (
            'ports = { nic1 = "a", nic2 = "b", far = "c" }\ndoes = ["dscp"]\n'
            "[dscp]\ndscp_to_tc = { 26 = 3 }",
            ["--tailback-target", "software"],
            '*does: "pfc" is expected beside "dscp"*',
        ),
        (
            'ports = { nic1 = "a", nic2 = "b", far = "c" }\ndoes = ["headroom"]\n'
            '[headroom]\nxoff_threshold = "40KB"\nsize = "20KB"',
            ["--tailback-target", "software"],
            '*does: "pfc" is expected beside "headroom": PFC holds the queue*',
        ),
        (
            'ports = { nic1 = "a", nic2 = "b", far = "c" }\ndoes = ["pfc", "headroom"]\n'
            '[headroom]\nxoff_threshold = "9MB"\nsize = "1MB"',
            ["--tailback-target", "software"],
            "*two times size are 11000000 octets; at most 9375000, which half of the rate*",
        ),
        (
            'ports = { nic1 = "a", nic2 = "b", far = "c" }\ndoes = ["pfc", "dscp"]\n'
            "[dscp]\ndscp_to_tc = { 64 = 3 }",
            ["--tailback-target", "software"],
            "*dscp_to_tc*a DSCP is a number from 0 to 63*",
        ),
        (
            'capture = "a.pcapng"\naddress = "10.1.0.2"\ndoes = ["cnp"]',
            ["--tailback-target", "software"],
            '*cnp: "cnp" among `does` and the table [[]cnp] are expected together*',
        ),
        (
            'capture = "a.pcapng"\ndoes = ["cnp"]\n[cnp]\n',
            ["--tailback-target", "software"],
            "*address: `capture` and the address of the NIC in it go together*",
        ),
        (
            'capture = "a.pcapng"\naddress = "10.1"\ndoes = ["cnp"]\n[cnp]\n',
            ["--tailback-target", "software"],
            "*address: '10.1' is not accepted; '10.1' does not appear to be an IPv4*",
        ),
        (
            'capture = "a.pcapng"\naddress = "10.1.0.2"\ndoes = ["pfc"]',
            ["--tailback-target", "software"],
            '*does: "pfc" is what a switch does; of a NIC "cnp"*can be tested*',
        ),
        (
            'ports = { nic1 = "a", nic2 = "b", far = "c" }\ndoes = ["cnp"]\n[cnp]\n',
            ["--tailback-target", "software"],
            '*does: "cnp" is what a NIC does; `capture`*is expected in place of `ports`*',
        ),
        (
            'capture = "a.pcapng"\naddress = "10.1.0.2"\n'
            'ports = { nic1 = "a", nic2 = "b", far = "c" }',
            ["--tailback-target", "software"],
            "*ports: a NIC has `capture` instead*",
        ),
        (
            'capture = "a.pcapng"\naddress = "10.1.0.2"\ndoes = ["cnp"]\n'
            "[cnp]\nmin_time_between_cnps = -1",
            ["--tailback-target", "software"],
            "*cnp.min_time_between_cnps*",
        ),
        (
            'capture = "a.pcapng"\naddress = "10.1.0.2"\ndoes = ["go_back_n"]\n'
            "[go_back_n]\ntimeout = 32",
            ["--tailback-target", "software"],
            "*go_back_n.timeout*",
        ),
        (
            'ports = { nic1 = "a", nic2 = "b", far = "c" }\nrate = 3',
            ["--tailback-target", "software"],
            "*rate*",
        ),
        (
            'ports = { nic1 = "a", nic2 = "b", far = "c" }',
            ["--tailback-target", "simulated"],
            "*goes with --tailback-target software alone*",
        ),
    ],
)
def test_mistakes_in_what_is_said_of_a_device_are_usage_errors(
    pytester: pytest.Pytester, text: str, arguments: list[str], said: str
) -> None:
    (pytester.path / "dut.toml").write_text(text)
    pytester.makepyfile("def test_nothing(testbed): pass")
    done = pytester.runpytest_subprocess(*arguments, "--tailback-device", "dut.toml")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([said])


def test_what_a_device_may_take_follows_from_its_rate() -> None:
    ports = {"nic1": "a", "nic2": "b", "far": "c"}
    fast = Device.model_validate({"ports": ports, "does": ["pause"], "rate": 10**10})
    assert fast.quantum_ps == 51_200
    assert fast.reaction_ps == 60 * 51_200
    said = Device.model_validate({"ports": ports, "rate": 10**10, "reaction": 10**9})
    assert said.reaction_ps == 10**9
    assert said.cables == ["dut.nic1=a", "dut.nic2=b", "dut.far=c"]


def test_the_queue_of_a_dscp_is_that_of_its_class() -> None:
    named = QueueMap.model_validate({"dscp_to_tc": {"26": 3, "46": 5}})
    assert named.queues() == {26: 3, 46: 5}
    every = QueueMap.model_validate(
        {"dscp_to_tc": {"26": 3}, "others": 1, "tc_to_queue": [0, 2, 1, 4, 3, 5, 6, 7]}
    )
    assert every.queues() == dict.fromkeys(range(64), 2) | {26: 4}
