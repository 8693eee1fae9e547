"""Captures of devices that no plan knows: their messages, judged by parameters given by hand."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from scapy.layers.l2 import Dot1Q, Ether

from orchestrator.errors import BadInput
from tests.traces.capture.captures import pcap
from tests.traces.oracle.test_replay_command import replay
from traces.oracle.feedback_quantization import level
from traces.scapy_layers import CNM

SET_POINT, UNIT = 33_000, 64
GIVEN = ("--point", "set_point=33KB", "--point", "weight=2")
MACS = ("00:1b:21:00:00:01", "00:1b:21:00:00:02")


def messages(seed: int, count: int, weight: int = 2, cpid: int = 0xABCD) -> list[CNM]:
    """What a congestion point would say of a queue that goes up and down."""
    rng = random.Random(seed)
    made, old = [], SET_POINT
    while len(made) < count:
        queue = rng.randrange(0, 120_000)
        offset, delta = queue - SET_POINT, queue - old
        old = queue
        value = level(SET_POINT, weight, offset, delta)
        if value > 0:
            made.append(
                CNM(feedback=value, cpid=cpid, offset=offset // UNIT, delta=delta // UNIT)
                / bytes(64)
            )
    return made


def write(path: Path, *devices: list[CNM]) -> Path:
    """A capture of messages in turn, each device with an address of its own."""
    frames = []
    for turn in zip(*devices, strict=True):
        for mac, message in zip(MACS, turn, strict=False):
            frames.append(bytes(Ether(src=mac, dst="00:1b:21:00:00:09") / Dot1Q(prio=6) / message))
    records = [(5, 1000 * n, frame, len(frame)) for n, frame in enumerate(frames)]
    path.write_bytes(pcap(records))
    return path


def test_sound_devices_conform_and_what_is_not_decided_is_said(tmp_path: Path) -> None:
    path = write(tmp_path / "any.pcap", messages(1, 300), messages(2, 300, cpid=1))
    done = replay(path, *GIVEN, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert [node["frames"] for node in found["nodes"]] == [300, 300]
    assert found["nodes"][0]["node"] == f"000000000000abcd of {MACS[0]}"
    assert "what it took in is not known" in found["nodes"][0]["undecided"][0]


def changed(**fields: int) -> list[CNM]:
    """Sound messages, of which the 200th is not."""
    made = messages(1, 300)
    for name, value in fields.items():
        made[199].setfieldval(name, value)
    return made


@pytest.mark.parametrize(
    ("made", "rule", "number"),
    [
        (messages(1, 300, weight=1), "cp.feedback", None),
        (changed(feedback=0), "cp.send", 200),
        (changed(version=1), "cp.message", 200),
        (changed(offset=-600), "cp.offset", 200),
        (changed(delta=30_000), "cp.delta", 200),
    ],
)
def test_a_message_that_breaks_a_rule_is_found(made, rule, number, tmp_path: Path) -> None:
    path = write(tmp_path / "any.pcap", made, messages(2, 300, cpid=1))
    done = replay(path, *GIVEN, "--json")
    assert done.exit_code == 1, done.output
    found = json.loads(done.stdout)
    assert [node["finding"] and node["finding"]["rule"] for node in found["nodes"]] == [rule, None]
    if number is None:
        assert found["first"]["why"] == "all is as if the weight were 1"
        return
    assert found["first"]["seen"]["number"] == 2 * number - 1
    assert found["nodes"][0]["frames"] == number - 1


def test_one_level_too_many(tmp_path: Path) -> None:
    made = messages(1, 300)
    # offset and delta are told in 64 octets: one where that leaves no choice
    least = (level(SET_POINT, 2, UNIT * one.offset, UNIT * one.delta) for one in made)
    most = (level(SET_POINT, 2, UNIT * one.offset + 63, UNIT * one.delta + 63) for one in made)
    sure = [a == b < 60 for a, b in zip(least, most, strict=True)]
    made[sure.index(True, 150)].feedback += 1
    done = replay(write(tmp_path / "any.pcap", made), *GIVEN)
    assert done.exit_code == 1
    assert "cp.quantise" in done.stdout
    off = replay(write(tmp_path / "any.pcap", made), *GIVEN, "--without", "cp.quantise")
    assert off.exit_code == 0, off.output


def test_what_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "any.pcap", messages(1, 3))
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(pcap([(1, 1, bytes(60), 60)]))
    for words, said in (
        ((path, "--point", "colour=red"), "set_point=VALUE or weight=VALUE"),
        ((path, "--point", "weight=2"), "set_point is missing"),
        ((path, "--point", "weight=2", "--point", "set_point=33"), "set_point"),
        ((path, *GIVEN, "--plan", "quickstart"), "without a plan"),
        ((empty, *GIVEN), "there is no CNM in it"),
        (GIVEN, "give captures"),
    ):
        done = replay(*words)
        assert isinstance(done.exception, BadInput), (words, done.output, done.exception)
        assert said in str(done.exception)
