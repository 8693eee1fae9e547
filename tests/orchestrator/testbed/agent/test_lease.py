"""A lease step by step, on a machine whose NICs, clock and worker are made up."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.targets.software.worker_stages import COLLECT, COLLECTED, ENDED, READY, RUNNING
from orchestrator.testbed.agent import lease as lease_module
from orchestrator.testbed.agent.agent_messages import (
    Deploy,
    Fault,
    Lease,
    Pace,
    ProbeReceived,
    Start,
)
from orchestrator.testbed.agent.lease import EVENTS, ActiveLease
from orchestrator.testbed.agent.lease_journal import Journal
from orchestrator.testbed.curve_keys import Caller
from orchestrator.testbed.wire.envelope import Unacceptable

LEASE = "ab" * 8
SECOND = 10**9


class Aside:
    """Stands for the thread that does what takes long."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def submit(self, work: Callable[[], None]) -> None:
        self.waiting.append(work)

    def work(self) -> None:
        while self.waiting:
            self.waiting.pop(0)()


class Ear:
    """Stands for a packet socket; a NIC that is down refuses."""

    def __init__(self, log: list[str]) -> None:
        self.log = log

    def sendto(self, octets: str, where: tuple[str, int]) -> None:
        self.log.append(f"send {octets} to {where[0]} {where[1]}")
        if where[0] == "down":
            raise OSError("down")

    def close(self) -> None:
        self.log.append("close ear")


class Machine:
    """What a lease reaches for; what it did with it is in `log`."""

    def __init__(self, patch: pytest.MonkeyPatch, state: Path) -> None:
        self.log: list[str] = []
        self.now_ns = 100 * SECOND
        self.wrong: Exception | None = None
        self.counts: dict[str, dict[str, int]] = {}
        self.heard: list[tuple[str, str, str]] = []
        self.timers: list[tuple[float, Any, Fault]] = []
        self.hosting: Any = None
        self.aside, self.journal, self.state = Aside(), Journal(state), state
        clock = SimpleNamespace(
            monotonic=lambda: self.now_ns / 1e9, monotonic_ns=lambda: self.now_ns
        )
        patch.setattr(lease_module, "time", clock)
        patch.setattr(lease_module, "check", lambda nic: self.log.append(f"check {nic}"))
        patch.setattr(lease_module, "Claim", SimpleNamespace(make=self.claim))
        patch.setattr(lease_module, "NodeWorker", self.host)
        patch.setattr(lease_module, "started", lambda process: f"since {process}")
        net = {"counters": lambda nics: {nic: dict(self.counts[nic]) for nic in nics}}
        net["set_up"] = lambda nic, up: self.log.append(f"{nic} up {up}")  # type: ignore[assignment]
        patch.setattr(lease_module, "ethtool", SimpleNamespace(**net))
        wire = {"open_on": self.open_on, "received_probes": lambda ear, nonce: self.heard}
        wire["probe"] = lambda *words: "/".join(words)
        patch.setattr(lease_module, "probe_frames", SimpleNamespace(**wire))
        loop = SimpleNamespace(call_later=self.call_later)
        patch.setattr(lease_module, "asyncio", SimpleNamespace(get_running_loop=lambda: loop))

    def did(self) -> list[str]:
        """What was done since it was asked last."""
        done, self.log[:] = list(self.log), []
        return done

    def claim(self, nic: str, stamps: bool, launches: bool) -> Any:
        assert (stamps, launches) == (False, False)  # these leases ask for none
        self.did_or_fail(f"claim {nic}")
        return SimpleNamespace(
            name=nic,
            before={"was": nic},
            prepare=lambda: self.log.append(f"prepare {nic}, noted {self.noted()['nics']}"),
            release=lambda: self.log.append(f"release {nic}"),
        )

    def open_on(self, nics: list[str]) -> Ear:
        self.did_or_fail(f"open {' '.join(nics)}")
        return Ear(self.log)

    def did_or_fail(self, what: str) -> None:
        self.log.append(what)
        if self.wrong is not None:
            raise self.wrong

    def host(self, wanted: Deploy, spool: Path, changed: Callable[[], None]) -> Any:
        self.hosting = SimpleNamespace(stage="", cause="", process=4711, changed=changed)
        self.hosting.spool = spool
        self.hosting.order = lambda order: self.log.append(f"order {order}")
        self.hosting.close = lambda: self.log.append("close hosting")
        return self.hosting

    def call_later(self, due_s: float, do: Any, fault: Fault) -> Any:
        self.timers.append((due_s, do, fault))
        return SimpleNamespace(cancel=lambda: self.log.append(f"cancel {fault.verb}"))

    def noted(self) -> dict[str, Any]:
        """What the journal says of the lease."""
        found: dict[str, Any] = json.loads((self.state / "leases" / LEASE).read_text())
        return found

    def lease(self, *nics: str, ttl_ms: int = 10_000) -> ActiveLease:
        asked = Lease(lease=LEASE, controller="lab", ttl_ms=ttl_ms, nics=list(nics))
        owner = Caller.of("k" * 40, "lab", "run")
        return ActiveLease(asked, owner, "here", self.journal, self.aside)  # type: ignore[arg-type]

    def leased(self, *nics: str) -> ActiveLease:
        """A lease whose NICs are set up."""
        held = self.lease(*nics)
        self.aside.work()
        self.log.clear()
        return held

    def deployed(self, *nics: str, stage: str = READY) -> ActiveLease:
        """One that hosts nodes, as far as that."""
        held = self.leased(*nics)
        held.deploy(deploy(*nics))
        self.hosting.stage = stage
        self.log.clear()
        return held


def deploy(*nics: str) -> Deploy:
    ports = {f"node.port{place}": nic for place, nic in enumerate(nics)}
    return Deploy(lease=LEASE, plan="x", nodes=["node"], ports=ports, pace=Pace(threads=1, first=0))


def start(at_ns: int, *faults: Fault) -> Start:
    return Start(lease=LEASE, at_ns=at_ns, rate_ppb=7, faults=list(faults))


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    made = Machine(monkeypatch, tmp_path / "state")
    yield made
    made.journal.close()


def said(held: ActiveLease) -> list[str]:
    return [event.text for event in held.events]


def test_silence_ends_it_while_there_is_time_to_tear_down(machine: Machine):
    held = machine.lease(ttl_ms=10_000)
    assert (held.patience_s, held.until_s) == (8.0, 108.0)
    machine.now_ns += 3 * SECOND
    held.renew()
    assert held.until_s == 111.0


def test_nics_are_checked_at_once_and_set_up_aside(machine: Machine):
    held = machine.lease("e1", "e2")
    assert machine.did() == ["check e1", "check e2"]
    assert (held.state, machine.noted()) == ("leasing", {"nics": {}})
    machine.aside.work()
    before = {"e1": {"was": "e1"}, "e2": {"was": "e2"}}
    assert machine.did() == [
        *("claim e1", "claim e2"),
        *(f"prepare e1, noted {before}", f"prepare e2, noted {before}"),
    ]
    assert held.state == "leased"
    assert said(held) == ["leased to lab: e1, e2"]


def test_without_nics_it_is_ready_at_once(machine: Machine):
    held = machine.lease()
    assert (held.state, machine.aside.waiting, said(held)) == (
        *("leased", [], ["leased to lab: no NIC"]),
    )
    held.close()
    assert not (machine.state / "leases" / LEASE).exists()


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (Unacceptable("nic-held", "NIC e1 is held"), "NIC e1 is held"),
        (OSError(19, "No such device"), "NICs cannot be set up: No such device"),
    ],
)
def test_nics_that_cannot_be_set_up_fail_it(machine: Machine, wrong: Exception, sentence: str):
    held = machine.lease("e1")
    machine.wrong = wrong
    machine.aside.work()
    assert (held.state, held.failure) == ("failed", sentence)
    with pytest.raises(Unacceptable, match="not set up yet"):
        held.deploy(deploy("e1"))


def test_the_latest_events_are_remembered_and_their_numbers_go_on(machine: Machine):
    held = machine.lease()
    for number in range(2, EVENTS + 11):
        machine.now_ns += 5
        held.say(f"event {number}")
    held.say("x" * 501)
    assert [event.number for event in held.events] == list(range(12, EVENTS + 12))
    assert (held.events[0].text, held.events[-1].text) == ("event 12", "x" * 500)
    assert held.events[-1].at_ns == machine.now_ns
    assert EVENTS == 1000


def test_probes_leave_through_every_nic_and_those_of_others_are_heard(machine: Machine):
    held = machine.leased("e1", "down", "e2")
    assert held.probe("99" * 8) == 3
    sent = [f"send {'99' * 8}/here/{nic} to {nic} 0" for nic in ("e1", "down", "e2")]
    assert machine.did() == ["open e1 down e2", *sent]
    machine.heard = [("e1", "there", "e7")]
    assert held.probes_received("99" * 8) == [ProbeReceived(nic="e1", machine="there", sender="e7")]
    assert machine.did() == [], "the ear is open already"
    held.deploy(deploy("e1"))
    assert machine.did() == ["close ear"]
    assert len(held.probes_received("99" * 8)) == 1
    assert machine.did() == ["open e1 down e2"], "who asks for probes hears them from then on"


def test_without_nics_nothing_is_heard(machine: Machine):
    held = machine.leased()
    machine.heard = [("e1", "there", "e7")]
    assert (held.probe("99" * 8), held.probes_received("99" * 8), machine.did()) == (0, [], [])


def test_who_may_not_open_packet_sockets_is_told_how(machine: Machine):
    held = machine.leased("e1")
    machine.wrong = PermissionError(1, "no")
    with pytest.raises(Unacceptable, match="start the agent as root"):
        held.listen()


def test_nodes_are_hosted_once_and_on_its_own_nics(machine: Machine):
    held = machine.leased("e1", "e2")
    with pytest.raises(Unacceptable, match="not of this lease: a, b, c and 2 more"):
        held.deploy(deploy("e1", "e", "d", "c", "b", "a"))
    with pytest.raises(Unacceptable, match=r"not of this lease: a, b, c and 1 more$"):
        held.deploy(deploy("d", "c", "b", "a", "e2"))
    with pytest.raises(Unacceptable, match=r"not of this lease: a, b, c$"):
        held.deploy(deploy("c", "b", "a", "e2"))
    hosting = held.deploy(deploy("e2"))
    assert hosting.spool == machine.state / "spool" / LEASE
    assert machine.noted()["worker"] == [4711, "since 4711"]
    with pytest.raises(Unacceptable, match="hosts nodes already"):
        held.deploy(deploy("e2"))


def test_nothing_is_hosted_before_the_nics_are_set_up(machine: Machine):
    with pytest.raises(Unacceptable, match="not set up yet"):
        machine.lease("e1").deploy(deploy("e1"))


@pytest.mark.parametrize(
    ("stage", "state"),
    [
        *(("", "deploying"), ("building", "deploying"), ("compiling", "deploying")),
        *((stage, stage) for stage in (READY, RUNNING, ENDED, COLLECTED, "failed")),
    ],
)
def test_its_state_is_its_workers(machine: Machine, stage: str, state: str):
    assert machine.deployed(stage=stage).state == state


def test_time_0_is_told_while_it_is_to_come(machine: Machine):
    held = machine.deployed("e1")
    machine.counts = {"e1": {"rx": 5}}
    for late_ns, told in ((0, "was 0.0 ms ago"), (2_500_000, "was 2.5 ms ago")):
        with pytest.raises(Unacceptable, match=told):
            held.start(start(machine.now_ns - late_ns))
    assert machine.did() == []
    held.start(start(machine.now_ns + 1))
    assert machine.did() == [f"order {(machine.now_ns + 1, 7)}"]


@pytest.mark.parametrize("stage", ["", RUNNING, ENDED])
def test_it_is_started_when_it_is_ready(machine: Machine, stage: str):
    with pytest.raises(Unacceptable, match="nothing is ready to start"):
        machine.deployed(stage=stage).start(start(machine.now_ns + 1))
    with pytest.raises(Unacceptable, match=r"nothing is ready to start \(it is leased\)"):
        machine.leased().start(start(machine.now_ns + 1))


def test_who_is_to_be_killed_is_doomed_from_the_start(machine: Machine):
    machine.counts = {"e1": {"rx": 5}}
    for faults, doomed in (((), False), ((CUT,), False), ((KILL,), True), ((CUT, KILL), True)):
        held = machine.deployed("e1")
        assert not held.doomed
        held.start(start(machine.now_ns + 1, *faults))
        assert held.doomed is doomed


CUT = Fault(after_ns=SECOND // 2, verb="cut_link", nic="e1")
CUT_ANOTHER = Fault(after_ns=1, verb="cut_link", nic="e9")
KILL = Fault(after_ns=2 * SECOND, verb="kill_agent")


def test_faults_come_so_long_after_time_0(machine: Machine):
    held = machine.deployed("e1")
    machine.counts = {"e1": {"rx": 5}}
    held.start(start(machine.now_ns + 3 * SECOND, CUT, KILL))
    assert [due for due, *_ in machine.timers] == [3.5, 5.0]
    assert held.doomed
    machine.log.clear()
    faults: list[Fault] = []
    held.on_fault = faults.append
    for _, do, fault in machine.timers:
        do(fault)
    assert machine.did() == ["e1 up False"]
    assert faults == [KILL]
    held._do(CUT_ANOTHER)
    assert faults == [KILL, CUT_ANOTHER], "it is not ours: somebody else knows what to do"
    assert said(held)[-3:] == [
        *("timeline: cut_link e1", "timeline: kill_agent", "timeline: cut_link e9"),
    ]
    held.close()
    assert machine.did()[:2] == ["cancel cut_link", "cancel kill_agent"]


def test_a_fault_that_nobody_waits_for_is_only_said(machine: Machine):
    held = machine.deployed()
    held._do(KILL)
    assert said(held)[-1] == "timeline: kill_agent"


def test_a_run_goes_on_between_its_start_and_its_end(machine: Machine):
    assert machine.deployed(stage=RUNNING).running() is machine.hosting
    for stage in (READY, ENDED):
        machine.hosting.stage = stage
        with pytest.raises(Unacceptable, match=f"no run goes on .it is {stage}"):
            machine.deployed(stage=stage).running()
    with pytest.raises(Unacceptable, match="no run goes on"):
        machine.leased().running()


def test_results_are_written_once_with_what_nics_counted_meanwhile(machine: Machine):
    held = machine.deployed("e1", "e2")
    machine.counts = {"e1": {"rx": 5, "tx": 7}, "e2": {"rx": 1, "tx": 1}}
    held.start(start(machine.now_ns + 1))
    for stage in (READY, RUNNING, "failed"):
        machine.hosting.stage = stage
        with pytest.raises(Unacceptable, match="there is nothing to collect"):
            held.collect()
    machine.did()
    machine.hosting.stage = ENDED
    machine.counts = {"e1": {"rx": 25, "tx": 107}, "e2": {"rx": 1, "tx": 4}}
    held.collect()
    assert held.interfaces == {"e1": {"rx": 20, "tx": 100}, "e2": {"rx": 0, "tx": 3}}
    assert machine.did() == [f"order {(COLLECT,)}"]
    machine.counts["e1"]["rx"] = 999
    held.collect()
    machine.hosting.stage = COLLECTED
    held.collect()
    assert (machine.did(), held.interfaces["e1"]["rx"]) == ([], 20)
    with pytest.raises(Unacceptable, match="there is nothing to collect"):
        machine.leased().collect()


def test_a_nic_that_was_not_counted_before_counts_nothing(machine: Machine):
    held = machine.deployed("e1", stage=ENDED)
    machine.counts = {"e1": {"rx": 25}}
    held.collect()
    assert held.interfaces == {"e1": {"rx": 0}}


def test_results_are_on_the_list_when_they_are_written(machine: Machine):
    held = machine.deployed()
    spool = machine.hosting.spool
    spool.mkdir(parents=True)
    (spool / "part.npz").write_bytes(b"12345")
    (spool / "part.json").write_bytes(b"{}")
    with pytest.raises(Unacceptable, match="numbers is not on the list"):
        held.path("numbers")
    machine.hosting.stage = COLLECTED
    machine.hosting.changed()
    assert [(one.name, one.octets) for one in held.files] == [("numbers", 5), ("words", 2)]
    assert held.path("words") == spool / "part.json"
    with pytest.raises(Unacceptable, match=r"part\.json is not on the list"):
        held.path("part.json")
    (spool / "part.json").write_bytes(b"{later}")
    machine.hosting.changed()
    assert held.files[1].octets == 2, "they were measured once"


def test_results_that_cannot_be_read_fail_it(machine: Machine):
    held = machine.deployed(stage=COLLECTED)
    machine.hosting.changed()
    assert held.state == "failed"
    assert said(held)[-1] == "results: No such file or directory"


def test_each_stage_is_said_once(machine: Machine):
    held = machine.deployed(stage="building")
    for stage in ("building", "building", READY):
        machine.hosting.stage = stage
        machine.hosting.changed()
    machine.hosting.stage, machine.hosting.cause = "failed", "it broke"
    machine.hosting.changed()
    assert said(held)[1:] == ["building", READY, "it broke"]


def test_nothing_of_it_is_left(machine: Machine):
    held = machine.leased("e1", "e2")
    held.listen()
    held.deploy(deploy("e1"))
    held.listen()
    machine.log.clear()
    held.close()
    assert machine.did() == ["close hosting", "close ear"]
    assert (machine.state / "leases" / LEASE).exists(), "until the NICs are put back"
    machine.aside.work()
    assert machine.did() == ["release e1", "release e2"]
    assert not (machine.state / "leases" / LEASE).exists()
    held._give_back()
    assert machine.did() == [], "each is given back once"
