"""What programs were denied, and what they did not do: of runs made up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from orchestrator.plan import Plan
from orchestrator.recording import Column, ProgramRun, Recording
from orchestrator.registry import Registry
from orchestrator.run.program_fidelity import program_notes, with_program_fidelity

SECOND = 10**12
PLAN = """
name = "talk"
target = "software"
duration = "6s"

[nodes."h{1..2}"]
kind = "nic"

[links.cable]
ends = ["h1", "h2"]
rate = "1Gb/s"
delay = "50us"

[traffic.tcp]
plugin = "sockets"
from = "h1"
to = "h2"
bidirectional = true

[programs.client]
node = "h1"
command = ["iperf3", "--client", "{h2}"]

[programs.server]
node = "h2"
command = ["iperf3", "--server"]
"""
RESOLVED = Plan.load(PLAN).check(Registry.load())
CLIENT = ProgramRun("client", "h1", ["iperf3"], 0, 6 * SECOND, 0, b"", b"", 0.01)
SERVER = replace(CLIENT, name="server", node="h2")
QUIET: dict[str, Any] = {"verdict": "valid", "reasons": [], "held": {"share": 0.0}}


def recorded(*ran: ProgramRun, sent: tuple[int, int] = (1000, 500)) -> Recording:
    flows = RESOLVED.plan.flows()
    return Recording(
        target="software",
        times_ps=np.array([0, 6 * SECOND]),
        columns=[Column(f.node, f.entity, "frames_sent", "1", "counter") for f in flows],
        values=np.array([[0, 0], sent]),
        latency={},
        latency_marks_ps=np.zeros(0, np.int64),
        latency_edges_ps=np.zeros(0, np.int64),
        events=[],
        captures=[],
        epoch_ns=1,
        data_frames=0,
        cpu_s=0.0,
        wall_s=0.0,
        programs=list(ran),
    )


def notes(*ran: ProgramRun, sent: tuple[int, int] = (1000, 500)) -> list[str]:
    return list(program_notes(RESOLVED, recorded(*ran, sent=sent)))


@pytest.mark.parametrize(
    ("waited_s", "held", "verdict"),
    [
        (0.1, 0.0, "valid"),
        (0.0, 0.019, "valid"),
        (0.2, 0.0, "degraded"),
        (0.1, 0.01, "degraded"),
        (3.7, 0.0, "invalid"),
        (0.0, 0.25, "invalid"),
    ],
)
def test_a_program_is_judged_by_what_it_was_denied(
    waited_s: float, held: float, verdict: str
) -> None:
    quiet = QUIET | {"held": {"share": held}}
    told = with_program_fidelity(
        quiet, [replace(CLIENT, waited_s=waited_s), replace(SERVER, waited_s=0)]
    )
    assert told["verdict"] == verdict
    named = [reason for reason in told["reasons"] if "program client was denied" in reason]
    assert len(named) == (verdict != "valid")
    assert told["programs"]["client"]["waited_s"] == waited_s
    assert told["bounds"]["denied_share"] == [0.02, 0.2]


def test_it_is_a_share_of_the_programs_own_time() -> None:
    short = replace(CLIENT, start_ps=SECOND, end_ps=2 * SECOND, waited_s=0.25)
    assert with_program_fidelity(QUIET, [short])["verdict"] == "invalid"


def test_what_was_invalid_stays_so_and_a_run_without_programs_is_as_it_was() -> None:
    assert with_program_fidelity(QUIET | {"verdict": "invalid"}, [CLIENT])["verdict"] == "invalid"
    assert with_program_fidelity(QUIET, []) is QUIET
    assert with_program_fidelity(QUIET, [replace(CLIENT, waited_s=None)])["verdict"] == "valid"


def test_programs_that_did_what_they_should_are_not_noted() -> None:
    assert notes(CLIENT, replace(SERVER, code=None, err=b"the server has terminated\n")) == []


@pytest.mark.parametrize(("sent", "named"), [((0, 500), "h1 (client)"), ((1000, 0), "h2 (server)")])
def test_a_program_that_sent_nothing_is_noted(sent: tuple[int, int], named: str) -> None:
    assert notes(CLIENT, SERVER, sent=sent) == [f"the programs of {named} sent nothing"]


@pytest.mark.parametrize(
    ("out", "err", "said"),
    [
        (b'{\n\t"error":\t"unable to connect to server"\n}\n', b"", '"error"'),
        (b"iperf3: error - unable to connect\n", b"", "iperf3: error"),
        (b"fine\n", b"connect: Connection refused\nbye\n", "Connection refused"),
        (b"", b"FATAL: out of luck\n", "FATAL"),
    ],
)
def test_a_program_that_failed_though_it_exited_0_is_noted(
    out: bytes, err: bytes, said: str
) -> None:
    (note,) = notes(replace(CLIENT, out=out, err=err), SERVER)
    assert note.startswith("program client on h1 ended with code 0, but says: ")
    assert said in note


def test_a_program_that_ended_with_a_code_is_noted_with_its_last_word() -> None:
    (note,) = notes(replace(CLIENT, code=3, out=b"a\nb\n"), SERVER)
    assert note == "program client on h1 ended with code 3: b"
