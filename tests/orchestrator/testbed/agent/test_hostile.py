"""An agent and a holder of a key who means ill: long texts, floods of leases, others' leases."""

from __future__ import annotations

import copy
import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.plan.algorithm_params import without_files
from orchestrator.testbed.agent import agent_service as agent_module
from orchestrator.testbed.agent import nic_claims
from orchestrator.testbed.agent.agent_messages import Fault
from orchestrator.testbed.agent.agent_service import LEASES, LEASES_OF_ONE
from orchestrator.testbed.controller import controller_messages as of_controller
from orchestrator.testbed.controller.controller_service import Controller
from orchestrator.testbed.curve_keys import ADMINISTER, RUN, WATCH, Caller
from orchestrator.testbed.wire.envelope import SENTENCE
from orchestrator.testbed.wire.rpc_server import RequestDispatcher
from tests.orchestrator.testbed.agent.test_agent_service import LEASE, RIGHT, Served

LONG = ["x" * 30_000, "é" * 30_000, "\x1b[31m" * 6000, "a/" * 15_000, "a." + "b" * 30_000]
MANY = 5000


@pytest.fixture
def served(tmp_path: Path):
    made = Served(tmp_path / "state")
    yield made
    made.agent.close()


def lengthened(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The body with a long text in every place where there is something, and long lists."""
    found = []
    places: list[tuple[Any, ...]] = [(key,) for key in body]
    for path in places:
        inside: Any = body
        for step in path:
            inside = inside[step]
        if isinstance(inside, dict):
            places += [(*path, key) for key in inside]
        elif isinstance(inside, list):
            places += [(*path, number) for number in range(len(inside))]
        many = [f"unknown{n}" for n in range(MANY)]
        for value in [*LONG, many, dict.fromkeys(many, "eth9"), dict.fromkeys(LONG, LONG[0])]:
            other = copy.deepcopy(body)
            parent: Any = other
            for step in path[:-1]:
                parent = parent[step]
            parent[path[-1]] = value
            found.append(other)
    return found


LEASE_BODY = {"lease": "12" * 8, "controller": "lab", "ttl_ms": 60_000, "nics": ["eth9"]}


@pytest.mark.parametrize("kind", [*RIGHT, "lease"])
def test_long_texts_in_any_message_are_answered(served: Served, kind: str):
    served.lease("99" * 8)
    for body in lengthened(RIGHT.get(kind, LEASE_BODY)):
        told = served.ask(kind, **body)
        assert told["refused"] is None or len(told["refused"]) <= SENTENCE
    assert served.broken == []
    assert served.ask("hello")["refused"] is None, "it still answers"


def test_thousands_of_unknown_ports_are_refused_in_a_sentence(served: Served):
    served.lease()
    ports = {f"a.port{n}": f"eth{n}" for n in range(4000)}
    pace = {"threads": 1, "first": 0}
    told = served.ask("deploy", lease=LEASE, plan="x", nodes=["a"], ports=ports, pace=pace)
    assert told["code"] == "nic"
    assert "and 3997 more" in told["refused"]


CONTROLLERS: dict[str, dict[str, Any]] = {
    "status": {},
    "submit": {"run": "ab" * 8, "plan": "x", "source": "x", "report": True, "pace": 1.0},
    "follow": {"run": "ab" * 8, "after": 0},
    "cancel": {"run": "ab" * 8},
    "files": {"run": "ab" * 8},
    "fetch": {"run": "ab" * 8, "number": 0, "offset": 0},
}


@pytest.mark.parametrize("kind", CONTROLLERS)
def test_long_texts_to_a_controller_are_answered(kind: str):
    """Its handlers, without its loop: nothing of it is asked for that needs one."""
    controller = Controller.__new__(Controller)
    controller.jobs = {}  # type: ignore[assignment]
    controller.peers, controller.bed = {}, SimpleNamespace(name="bed")  # type: ignore[assignment]
    desk = RequestDispatcher(controller.handlers())
    assert set(controller.handlers()) == set(CONTROLLERS)
    for number, body in enumerate(lengthened({"extra": "", **CONTROLLERS[kind]}), 1):
        data = {"v": 1, "session": "c" * 16, "id": number, "kind": kind, "body": body}
        (answer,) = desk.respond("lab", [json.dumps(data).encode()]) or ()
        told = json.loads(answer)
        assert told["code"] in ("schema", "too-long")
        assert len(told["refused"]) <= SENTENCE
    assert of_controller.Submit.model_fields["plan"].metadata, "a plan has a longest text"


def test_leases_have_a_cap_for_a_key_and_for_all(served: Served):
    def lease(number: int, peer: str) -> dict[str, Any]:
        return served.lease(f"{number:016x}", peer)

    for number in range(LEASES_OF_ONE):
        assert lease(number, "one")["refused"] is None
    assert lease(99, "one")["code"] == "busy"
    for number in range(LEASES_OF_ONE, LEASES):
        assert lease(number, f"key{number % 20}")["refused"] is None, "another key's turn"
    assert lease(100, "late")["code"] == "busy"
    assert len(served.agent.leases) == LEASES
    served.ask("release", "one", lease=f"{0:016x}")
    assert lease(101, "late")["refused"] is None


def test_data_paths_have_a_cap(served: Served, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(agent_module, "WORKERS", 1)
    served.lease("aa" * 8)
    served.lease("bb" * 8)
    busy = SimpleNamespace(close=lambda: None, stage="running")
    served.agent.leases["aa" * 8].hosting = busy  # type: ignore[assignment]
    body = {"plan": "x", "nodes": ["a"], "pace": {"threads": 1, "first": 0}}
    assert served.ask("deploy", lease="bb" * 8, **body)["code"] == "busy"


def start(faults: list[dict[str, Any]]) -> dict[str, Any]:
    return {"at_ns": time.monotonic_ns() + 10**12, "rate_ppb": 0, "faults": faults}


KILL = {"after_ns": 0, "verb": "kill_agent"}


def test_kill_agent_does_not_end_the_leases_of_others(served: Served):
    served.lease("aa" * 8, "mine")
    served.lease("bb" * 8, "theirs")
    told = served.ask("start", "mine", lease="aa" * 8, **start([KILL]))
    assert told["code"] == "others"
    assert "bb" * 8 in told["refused"]
    served.ask("release", "theirs", lease="bb" * 8)
    told = served.ask("start", "mine", lease="aa" * 8, **start([KILL]))
    assert told["code"] == "not-ready", "now it is about itself alone"


def test_no_lease_is_given_on_an_agent_that_is_about_to_be_ended(served: Served):
    served.lease("aa" * 8, "mine")
    served.agent.leases["aa" * 8].doomed = True
    assert served.lease("bb" * 8, "theirs")["code"] == "doomed"
    assert served.lease("cc" * 8, "mine")["refused"] is None


def test_delay_control_holds_back_the_answers_to_its_own_key(served: Served):
    held: list[tuple[str, float]] = []
    served.agent.delay = lambda owner, seconds: held.append((owner, seconds))
    served.lease("aa" * 8, "mine")
    served.lease("bb" * 8, "theirs")
    served.agent.leases["aa" * 8].on_fault(Fault(after_ns=0, verb="delay_control", delay_ms=500))
    assert held == [("mine", 0.5)]
    served.ask("release", "theirs", lease="bb" * 8)
    assert ("mine", 0.0) not in held, "another's release does not end it"
    served.ask("release", "mine", lease="aa" * 8)
    assert held[-1] == ("mine", 0.0)


def test_a_plan_from_another_machine_is_never_a_path(tmp_path: Path):
    """Root would open it, and quote it in what it says."""
    secret = tmp_path / "secret"
    secret.write_text("root:hash-of-a-password\n")
    for text in (str(secret), f"{secret}", "/etc/shadow", "quickstart", ""):
        with without_files(), pytest.raises(BadInput) as caught:
            Plan.load(text)
        assert "hash-of-a-password" not in str(caught.value)
        assert "cannot be read" not in str(caught.value), "it was opened"


def test_a_shared_clock_is_not_any_file_of_a_process(served: Served, tmp_path: Path):
    """What is named is looked at before it is opened."""
    opened: list[object] = []
    served.lease()
    with (tmp_path / "file").open("w") as file, pytest.MonkeyPatch.context() as patch:
        patch.setattr("orchestrator.testbed.agent.node_worker.os.open", lambda *a: opened.append(a))
        body = {"plan": "x", "nodes": ["a"], "pace": {"threads": 1, "first": 0}}
        body["pace"]["holder"] = [nic_claims.os.getpid(), file.fileno()]  # type: ignore[index, attr-defined]
        assert served.ask("deploy", lease=LEASE, **body)["code"] == "pace"
    assert opened == []


def test_the_owner_of_a_lease_is_a_key_and_not_a_name(served: Served):
    """Two key files may call their holders the same."""
    served.desk.caller = lambda key: Caller.of(key, "same name", RUN)
    served.lease("aa" * 8, "first")
    for kind in ("beat", "release", "collect"):
        assert served.ask(kind, "second", lease="aa" * 8)["code"] == "not-yours"
    assert served.ask("beat", "first", lease="aa" * 8)["refused"] is None


@pytest.mark.parametrize("name", ["aa" * 8, "lab", "named"])
def test_a_lease_is_released_by_force_by_one_who_may(served: Served, name: str):
    roles = {"boss": ADMINISTER, "lab": RUN, "eye": WATCH}
    served.desk.caller = lambda key: Caller.of(key, "named" if key == "lab" else key, roles[key])
    served.lease("aa" * 8, "lab")
    for peer in ("lab", "eye"):
        assert served.ask("force", peer, name=name)["code"] == "role"
    assert served.ask("force", "boss", name="nobody")["code"] == "no-lease"
    assert served.ask("force", "boss", name=name)["body"] == {"released": ["aa" * 8]}
    told = served.ask("beat", "lab", lease="aa" * 8)
    assert "released by force, by boss" in told["refused"], "its owner hears of it"


@pytest.mark.parametrize("kind", [*RIGHT, "lease"])
def test_who_may_watch_changes_nothing(served: Served, kind: str):
    served.desk.caller = lambda key: Caller.of(key, key, WATCH)
    told = served.ask(kind, **RIGHT.get(kind, LEASE_BODY))
    assert (told["code"] == "role") == (kind != "hello")
