"""Both backends of the data path: the same octets, the same verdicts, nothing left behind."""

from __future__ import annotations

import ctypes
import json
import os
import struct
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from orchestrator.errors import BadInput, Refused
from orchestrator.plan import Plan
from orchestrator.run.execute_run import RunResult, run
from orchestrator.targets.software.worker_process import Worker
from orchestrator.targets.software.xdp import bpf_program, privileged_setup, xdp_probe
from orchestrator.targets.software.xdp.xdp_backend import LONGEST, Xdp, entries_for, stride_for
from tests.orchestrator.targets.software import short_plans
from tests.orchestrator.targets.software.processes import as_nobody, ordinary_user_python
from tests.orchestrator.targets.software.xdp_jobs import PAIRS, PORTS
from tests.patience import PATIENCE_S
from traces.fidelity_text import sentences

JOBS = "tests.orchestrator.targets.software.xdp_jobs:"
ADDRESSES = bytes.fromhex("025442000002 025442000001")
TAGS = ["", "8100 a001", "8100 0000", "88a8 0fff", "88a8 6002 8100 a001"]

pytestmark = [
    pytest.mark.software,
    pytest.mark.shares_cores,
    pytest.mark.usefixtures("namespaces"),
]


@pytest.fixture(scope="module")
def xdp() -> None:
    """The test needs AF_XDP sockets and the right to load a program."""
    if (none := xdp_probe.xdp_refusal()) is not None:
        pytest.skip(str(none))


@pytest.fixture
def granted(xdp: None) -> Iterator[Callable[..., privileged_setup.Grant]]:
    made: list[privileged_setup.Grant] = []

    def ask(ports: int, queues: int = 1) -> privileged_setup.Grant:
        made.append(privileged_setup.make(ports, queues))
        return made[-1]

    yield ask
    for one in made:
        one.close()


def job(name: str, granted: privileged_setup.Grant, *arguments: Any) -> Any:
    with Worker(JOBS + name, granted, *arguments, handed=granted.descriptors, lends=True) as worker:
        for _ in worker.reports():
            pass
        return worker.result


@pytest.fixture(scope="module", params=[2048, 4096])
def carrier(xdp: None, request: pytest.FixtureRequest) -> Iterator[tuple[int, Any]]:
    """Carries frames between all pairs of backends; what came of an order."""
    made = privileged_setup.make(PORTS)
    stride = request.param
    with Worker(JOBS + "carry", made, stride, handed=made.descriptors, lends=True) as worker:
        reports = worker.reports()
        assert next(reports) == "ready"

        def carry(frames: list[tuple[bytes, int]]) -> Any:
            worker.order(frames)
            return next(reports)

        yield stride, carry
        worker.order(None)
    made.close()


def frame(tag: str, length: int, filler: int, known: int) -> tuple[bytes, int]:
    """A frame of `length` octets, of which those behind the first `known` are zeros."""
    head = ADDRESSES + bytes.fromhex(tag) + bytes.fromhex("88b5")
    body = bytes((filler + place * 7) % 256 for place in range(length - len(head)))
    return (head + body)[: max(min(known, length), len(head))], length


@settings(
    max_examples=25,
    deadline=None,
    phases=[Phase.generate],  # real frames that do not come are waited for: no shrinking
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_what_is_sent_arrives_octet_for_octet_by_every_pair_of_backends(carrier, data):
    stride, carry = carrier
    longest = 1518 if stride == 2048 else LONGEST
    edges = st.sampled_from([60, 61, 63, 64, 65, 128, 1514, 1518, longest])
    frames = data.draw(
        st.lists(
            st.builds(
                frame,
                st.sampled_from(TAGS),
                st.one_of(edges, st.integers(60, longest)),
                st.integers(0, 255),
                st.sampled_from([46, 100, 2000]),
            ),
            min_size=1,
            max_size=40,
        )
    )
    expected = [(0, length, known + bytes(length - len(known))) for known, length in frames]
    for names, (came, counted, sent, _) in zip(PAIRS, carry(frames), strict=True):
        if names[1] == "packet":  # the other's rows are longer; this one tells how long it was
            came = [(port, length, octets[:length]) for port, length, octets in came]
            held = [(port, length, octets[:2048]) for port, length, octets in expected]
        else:
            held = expected
        assert came == held, names
        assert counted == {"received": len(frames), "dropped": 0}, names
        assert sent[3] == 0, names


def test_rows_come_back_however_many_frames_go(carrier):
    _, carry = carrier
    frames = [frame("8100 a001", 60, number, 60) for number in range(250)]
    first = [free for *_, free in carry(frames)]
    for _ in range(20):  # more frames than there are rows
        told = carry(frames)
        assert [len(came) for came, *_ in told] == [250] * 4
    assert [free for *_, free in told] == first


def test_frames_beyond_the_rings_are_counted_as_lost_and_the_rest_arrives(granted):
    told = job("overflow", granted(2), 3000)
    entries = told["entries"]
    assert told["came"] == entries
    assert told["first"] == {"received": 3000, "dropped": 3000 - entries}
    assert told["losses"]["sockets"] == 3000 - entries
    assert told["losses"]["between"] == 0
    assert told["again"] == 100
    assert told["counters"]["received"] == 3100
    assert told["unsent"][3] == 0


def test_each_queue_of_a_port_has_a_socket(granted):
    assert job("queues", granted(2, 2)) == [[60, 70], [61, 71]]


def test_frames_that_an_interface_cannot_take_are_unsent_and_their_rows_come_back(granted):
    assert job("down", granted(2)) == {"unsent": 3, "rows_back": True, "came": [61]}


def programs() -> set[int]:
    """The numbers of all programs that the kernel has loaded."""
    library, found, last = ctypes.CDLL(None, use_errno=True), set[int](), 0
    while True:
        memory = ctypes.create_string_buffer(struct.pack("II", last, 0), bpf_program.ATTRIBUTES)
        if library.syscall(bpf_program.SYS_BPF, 11, memory, bpf_program.ATTRIBUTES) != 0:
            return found
        last = struct.unpack_from("II", memory)[1]
        found.add(last)


@pytest.mark.parametrize("how", ["killed", "ended"])
def test_no_program_and_no_namespace_stays(xdp, how):
    before = programs()
    made = privileged_setup.make(1)
    with Worker(JOBS + "hold", made, handed=made.descriptors, lends=True) as worker:
        network = next(worker.reports())
        made.close()  # from here on the worker alone has them
        mine = programs() - before
        assert mine
        if how == "killed":
            worker.process.kill()
    end = time.monotonic() + PATIENCE_S
    while programs() & mine and time.monotonic() < end:
        time.sleep(0.05)
    assert not programs() & mine
    assert network.startswith("net:")
    assert not [link for link in _networks() if link == network]


def _networks() -> Iterator[str]:
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit():
                yield os.readlink(folder / "ns" / "net")
        except OSError:
            continue


@pytest.fixture(scope="module")
def runs(xdp: None) -> Iterator[dict[str, RunResult]]:
    with tempfile.TemporaryDirectory() as folder:
        plan = Plan.load(short_plans.QCN)
        yield {
            name: run(plan, target="software", out=Path(folder), report=False, datapath=name)
            for name in ("packet", "xdp", "auto")
        }


def test_a_plan_has_the_same_verdict_on_both(runs):
    verdicts = {name: [row["met"] for row in done.result["expectations"]]
                for name, done in runs.items()}  # fmt: skip
    assert verdicts["packet"] == verdicts["xdp"] == verdicts["auto"]
    assert all(verdicts["xdp"])


def test_nothing_is_lost_outside_of_queues_and_every_link_is_balanced(runs):
    for name, done in runs.items():
        fidelity = done.result["fidelity"]
        assert set(fidelity["lost_outside_queues"].values()) == {0}, name
        for link in fidelity["links"].values():
            assert link["sent"] == link["received"] + link["under_way"], name
            assert link["duplicated"] == link["reordered"] == 0, name


def test_manifest_and_fidelity_name_what_carried_the_frames(runs):
    for name, done in runs.items():
        assert done.folder is not None
        manifest = json.loads((done.folder / "manifest.json").read_text())
        said = manifest["datapath"]
        assert said == done.result["fidelity"]["datapath"]
        assert said["asked"] == name
        assert said["backend"] == ("packet" if name == "packet" else "xdp")
    told = runs["xdp"].result["fidelity"]
    assert told["datapath"]["zero_copy"] is False
    assert "Frames went through AF_XDP sockets (generic program, copied)." in sentences(told)
    plain = sentences(runs["packet"].result["fidelity"])
    assert "Frames went through AF_PACKET sockets." in plain


def test_an_ordinary_user_is_told_what_is_missing_and_auto_takes_packets(xdp):
    python = ordinary_user_python()
    if python is None:
        pytest.skip("user nobody can execute no Python of this version with our packages")
    script = (
        "from orchestrator.plan import Plan\n"
        "from orchestrator.registry import Registry\n"
        "from orchestrator.targets.software.backend_selection import choose_backend\n"
        "from tests.orchestrator.targets.software import short_plans\n"
        "from orchestrator.errors import Refused\n"
        "resolved = Plan.load(short_plans.QCN).check(Registry.load())\n"
        "with choose_backend('auto', resolved) as choice:\n"
        "    print(choice.name, choice.said['why'])\n"
        "try:\n"
        "    with choose_backend('xdp', resolved): print('given')\n"
        "except Refused as refused:\n"
        "    print(refused)\n"
    )
    with tempfile.TemporaryDirectory() as home:
        os.chmod(home, 0o777)
        done = as_nobody([python, "-c", script], {"HOME": home})
    assert done.returncode == 0, done.stderr
    automatic, refusal = done.stdout.splitlines()
    for text in (automatic, refusal):
        assert "CAP_BPF and CAP_NET_ADMIN" in text
        assert "EPERM" in text
    assert automatic.startswith("packet ")
    assert "--datapath packet" in refusal


def test_a_value_that_is_none_is_bad_input():
    with pytest.raises(BadInput, match=r"'afxdp' is not accepted; did you mean xdp"):
        run(Plan.load(short_plans.QCN), target="software", out=None, datapath="afxdp")


def test_a_target_without_sockets_takes_no_datapath():
    with pytest.raises(BadInput, match="target simulated"):
        run(Plan.load(short_plans.QCN), target="simulated", out=None, datapath="xdp")


def test_frames_that_no_row_holds_are_refused_by_length():
    plan = Plan.load(short_plans.QCN).with_settings(["traffic.gen.frame=9000B"], said="")
    with pytest.raises(Refused, match=rf"at most {LONGEST} octets, and plan short-qcn .* 9000"):
        run(plan, target="software", out=None, datapath="xdp")


@pytest.mark.parametrize(
    ("longest", "stride"), [(60, 2048), (1792, 2048), (1793, 4096), (3840, 4096), (3841, None)]
)
def test_rows_are_as_short_as_frames_allow(longest, stride):
    assert stride_for(longest) == stride


@pytest.mark.parametrize(
    ("wires", "entries"), [(0, 1024), (1, 1024), (16, 1024), (17, 512), (100, 128), (10**6, 64)]
)
def test_ports_share_rows(wires, entries):
    assert entries_for(wires) == entries
    assert Xdp(None, 2048).armed(wires) == 0
