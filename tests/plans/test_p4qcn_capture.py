"""P4QCN, figure 11: the message is seen in a capture, with 11 in the ECN field."""

from __future__ import annotations

from pathlib import Path

from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from traces.capture import frames

HEADER = 18
"""Octets of Ethernet with its tag, before IPv4."""


def test_the_message_comes_back_marked_and_nothing_else_is(tmp_path: Path) -> None:
    registry = Registry.load()
    plan = Plan.load(registry.plans()["p4qcn-fig11"], registry)
    folder = run(plan, out=tmp_path, report=False, live=False).folder
    assert folder is not None
    (capture,) = (folder / "captures").glob("*.pcapng")
    sent, messages = [], []
    for frame in frames(capture):
        header = frame.octets[HEADER:]
        assert header[0] == 0x45
        source, destination = header[12:16], header[16:20]
        (sent if destination > source else messages).append((source, destination, header[1] & 3))
    (message,) = messages
    assert message[2] == 0b11
    assert message[:2] == (sent[0][1], sent[0][0]), "from whom it was sent to, to who sent it"
    assert len(sent) > 1000
    assert {ecn for *_, ecn in sent} == {0}
