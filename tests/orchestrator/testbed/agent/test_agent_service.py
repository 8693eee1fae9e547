"""An agent without a network: leases, refusals, leftovers, and rubbish by the thousand."""

from __future__ import annotations

import copy
import json
import os
import random
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.errors import BadInput
from orchestrator.testbed.agent import agent_messages
from orchestrator.testbed.agent.agent_service import Agent
from orchestrator.testbed.agent.lease_journal import Journal, started
from orchestrator.testbed.agent.worker_supervisor import PlanWorker, SupervisedWorker
from orchestrator.testbed.wire.rpc_server import RequestDispatcher
from tests.orchestrator.test_private_cache import weakened
from tests.patience import PATIENCE_S

LEASE = "ab" * 8
MUTATED = int(os.environ.get("TAILBACK_FUZZED", "3000"))
"""Right messages that are made wrong; 100 000 by hand: TAILBACK_FUZZED=100000."""
DRAWN = MUTATED // 50
"""Messages that hypothesis draws: that takes it longer."""


class Served:
    """An agent and its desk."""

    def __init__(self, state: Path) -> None:
        self.said: list[str] = []
        self.agent = Agent("here", state, [], self.said.append)
        self.desk = RequestDispatcher(self.agent.handlers())
        self.broken: list[str] = []
        self.desk.broken = lambda kind, error: self.broken.append(f"{kind}: {error!r}")
        self.number = 0

    def ask(self, kind: str, peer: str = "lab", **body: Any) -> dict[str, Any]:
        self.number += 1
        data = {"v": 1, "session": "c" * 16, "id": self.number, "kind": kind, "body": body}
        answer = self.desk.respond(peer, [json.dumps(data).encode()])
        assert answer is not None
        told: dict[str, Any] = json.loads(answer[0])
        return told

    def lease(self, lease: str = LEASE, peer: str = "lab", **more: Any) -> dict[str, Any]:
        body = {"lease": lease, "controller": peer, "ttl_ms": 60_000, "nics": []} | more
        return self.ask("lease", peer, **body)


@pytest.fixture
def served(tmp_path: Path):
    made = Served(tmp_path / "state")
    yield made
    made.agent.close()


def test_the_offer_says_what_there_is(served: Served):
    offer = agent_messages.Offer.model_validate(served.ask("hello")["body"])
    assert offer.cores >= 1
    assert {nic.name for nic in offer.nics} == {
        name for name in os.listdir("/sys/class/net") if name != "lo"
    } or os.path.exists("/.dockerenv")
    assert offer.may == {"packet sockets": False, "settings of NICs": False, "priority": False}


def test_a_lease_is_one_controllers_alone(served: Served):
    assert served.lease()["refused"] is None
    assert served.ask("beat", lease=LEASE)["body"]["state"] == "leased"
    for kind in ("beat", "release", "collect"):
        assert served.ask(kind, "another", lease=LEASE)["code"] == "not-yours"
    assert served.lease()["code"] == "lease", "it is not given twice"


def test_a_lease_that_nobody_renews_ends(served: Served):
    before = time.monotonic()
    served.lease(ttl_ms=1000)
    end = served.agent.leases[LEASE].until_s
    assert before + 0.8 <= end <= time.monotonic() + 0.8, "the rest is for tearing down"
    served.agent.expire(end)
    assert served.agent.leases
    served.agent.expire(end + 0.001)
    assert not served.agent.leases
    assert "silent" in served.ask("beat", lease=LEASE)["refused"]
    assert any("silent for 0.8 s; torn down" in line for line in served.said)


def test_a_beat_renews_a_lease(served: Served):
    served.lease(ttl_ms=1000)
    before = served.agent.leases[LEASE].until_s
    served.ask("beat", lease=LEASE)
    assert served.agent.leases[LEASE].until_s > before


def test_a_beat_brings_every_event_since_the_last_one(served: Served):
    """Of events in quick succession none is lost."""
    served.lease()
    held = served.agent.leases[LEASE]
    for text in ("first", "second", "third"):
        held.say(text)
    events = served.ask("beat", lease=LEASE, events_after=1)["body"]["events"]
    assert [event["text"] for event in events] == ["first", "second", "third"]
    last = events[-1]["number"]
    assert served.ask("beat", lease=LEASE, events_after=last - 1)["body"]["events"] == events[-1:]
    assert served.ask("beat", lease=LEASE, events_after=last)["body"]["events"] == []


def test_a_beat_of_another_key_renews_nothing(served: Served):
    served.lease(ttl_ms=1000)
    before = served.agent.leases[LEASE].until_s
    assert served.ask("beat", "another", lease=LEASE)["code"] == "not-yours"
    assert served.agent.leases[LEASE].until_s == before


def test_release_can_be_repeated_and_comes_before_a_lease_that_was_overtaken(served: Served):
    assert served.ask("release", lease=LEASE)["refused"] is None
    assert served.lease()["code"] == "lease", "the overtaken request must not take it any more"
    served.lease("cd" * 8)
    for _ in range(2):
        assert served.ask("release", lease="cd" * 8)["refused"] is None
    assert not served.agent.leases


def test_a_nic_that_is_not_there_is_named(served: Served):
    told = served.lease(nics=["nonesuch"])
    assert "there is no NIC nonesuch" in told["refused"]
    assert not served.agent.leases


@pytest.mark.parametrize(
    "name", ["../../../etc/passwd", "part.npz", "/etc/passwd", "..", "numbers\0", "words"]
)
def test_no_message_names_a_path(served: Served, name: str):
    served.lease()
    told = served.ask("fetch", lease=LEASE, name=name, offset=0)
    assert told["code"] in ("schema", "no-file")


@pytest.mark.parametrize("lease", ["../../x", "..", "a" * 65, "XYZ" * 4, ""])
def test_a_lease_cannot_be_called_like_a_path(served: Served, lease: str):
    assert served.lease(lease)["code"] == "schema"
    assert served.ask("release", lease=lease)["code"] == "schema"


def test_steps_out_of_order_are_refused_by_name(served: Served):
    served.lease()
    assert "nothing is ready" in served.ask("start", lease=LEASE, at_ns=1, rate_ppb=0)["refused"]
    assert "nothing to collect" in served.ask("collect", lease=LEASE)["refused"]


def test_a_plan_is_held_on_targets_that_can_one_at_a_time(served: Served):
    body = {"lease": LEASE, "plan": "name = 'x'", "sources": "ab" * 32}
    served.lease()
    assert served.ask("hold", target="gateware", **body)["code"] == "target"
    served.agent.holds = {"gateware": "target gateware: Verilator is missing"}
    told = served.ask("hold", target="gateware", **body)
    assert (told["code"], told["refused"]) == ("target", "target gateware: Verilator is missing")
    assert served.ask("hello")["body"]["holds"] == served.agent.holds
    served.agent.holds = {"gateware": ""}
    served.lease("cd" * 8)
    whole = PlanWorker.__new__(PlanWorker)
    SupervisedWorker.__init__(whole, lambda: None)
    served.agent.leases["cd" * 8].hosting = whole
    told = served.ask("hold", target="gateware", **body)
    assert told["code"] == "busy"
    assert f"lease {'cd' * 8}" in told["refused"]
    assert served.agent.leases[LEASE].hosting is None


def test_what_it_notes_is_its_own_to_read(served: Served, tmp_path: Path):
    served.lease()
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "state" / "leases" / LEASE).stat().st_mode) == 0o600


def test_two_agents_do_not_share_a_state_folder(served: Served, tmp_path: Path):
    with pytest.raises(BadInput, match="another agent uses this state folder"):
        Journal(tmp_path / "state")


def test_an_agent_that_comes_back_removes_what_its_predecessor_left(tmp_path: Path):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        journal = Journal(tmp_path)
        journal.note(LEASE, nics={}, worker=[child.pid, started(child.pid)])
        journal.spool(LEASE).mkdir(parents=True)
        journal.close()  # as a kill would
        again = Served(tmp_path)
        assert child.wait(PATIENCE_S) == -9
        assert not (tmp_path / "spool" / LEASE).exists()
        assert any(f"process {child.pid} of lease {LEASE} was ended" in s for s in again.said)
        assert again.ask("hello")["body"]["left_over"] == again.agent.left_over
        again.agent.close()
    finally:
        child.kill()
        child.wait()


def test_a_process_that_got_a_dead_ones_number_is_left_alone(tmp_path: Path):
    journal = Journal(tmp_path)
    journal.note(LEASE, worker=[os.getpid(), "12345"])
    journal.close()
    again = Journal(tmp_path)
    assert again.recover() == []
    again.close()


@pytest.mark.parametrize("seed", range(8))
def test_an_agent_believes_no_folder_that_others_could_write_to(seed: int, tmp_path: Path):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        folder = weakened(tmp_path, random.Random(seed))
        (folder / "leases").mkdir()
        text = json.dumps({"worker": [child.pid, started(child.pid)]})
        (folder / "leases" / LEASE).write_text(text)
        with pytest.raises(BadInput, match="a folder of this user is expected"):
            Journal(folder)
        assert child.poll() is None
    finally:
        child.kill()
        child.wait()


def test_links_in_a_state_folder_are_not_followed(tmp_path: Path):
    state, other = tmp_path / "state", tmp_path / "other"
    other.mkdir()
    (other / "file").touch()
    (other / "note").write_text(json.dumps({"worker": [os.getpid(), started(os.getpid())]}))
    journal = Journal(state)
    (state / "spool" / LEASE).symlink_to(other)
    (state / "leases" / LEASE).symlink_to(other / "note")
    os.mkfifo(state / "leases" / ("ee" * 8))
    assert journal.recover() == [f"results of lease {LEASE} were removed"]
    assert (other / "file").exists()
    journal.close()
    (state / "spool").rmdir()
    (state / "spool").symlink_to(other)
    with pytest.raises(BadInput, match="is a link, and a folder is expected"):
        Journal(state)
    assert (other / "file").exists()


# --- rubbish

words = st.text(max_size=20) | st.sampled_from(
    [LEASE, "lease", "hello", "beat", "deploy", "start", "fetch", "../x", "numbers", "nic", "lo"]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=8,
)
kinds = st.sampled_from(
    ["hello", "beat", "probe", "probes", "deploy", "start", "collect", "fetch", "release", "x"]
)
fields = st.sampled_from(
    ["lease", "nonce", "plan", "nodes", "ports", "pace", "at_ns", "rate_ppb", "name", "offset"]
)
requests = st.fixed_dictionaries(
    {},
    optional={
        "v": st.just(1) | values,
        "session": st.just("d" * 16) | words,
        "id": st.integers(1, 2**53) | values,
        "kind": kinds | words,
        "run": st.none() | words,
        "body": st.dictionaries(fields, st.just(LEASE) | values, max_size=5) | values,
    },
)
whole = requests.map(lambda data: {"v": 1, "session": "d" * 16, "id": 7, "kind": "beat"} | data)
rubbish = st.binary(max_size=200) | whole.map(lambda data: json.dumps(data).encode())


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory):
    made = Served(tmp_path_factory.mktemp("fuzzed"))
    made.lease("99" * 8)
    yield made
    made.agent.close()


@settings(max_examples=DRAWN)
@given(st.lists(rubbish, min_size=1, max_size=2))
def test_rubbish_is_answered_and_changes_nothing(fuzzed: Served, frames: list[bytes]):
    survives(fuzzed, frames)


def survives(fuzzed: Served, frames: list[bytes]) -> None:
    """It answers, and has done nothing."""
    answer = fuzzed.desk.respond("stranger", frames)
    assert answer is not None
    assert json.loads(answer[0])["v"] == 1
    assert fuzzed.broken == [], frames
    assert list(fuzzed.agent.leases) == ["99" * 8]
    assert fuzzed.agent.leases["99" * 8].hosting is None


OF_LEASE = {"lease": "99" * 8}
PACE = {"threads": 1, "first": 0, "holder": [1, 3], "core": 0}
RIGHT: dict[str, dict[str, Any]] = {
    "hello": {},
    "beat": {**OF_LEASE, "events_after": 3, "rows_after": -1},
    "probe": {**OF_LEASE, "nonce": "ab" * 8},
    "probes": {**OF_LEASE, "nonce": "ab" * 8},
    "deploy": {
        **OF_LEASE,
        "plan": "name = 'x'",
        "nodes": ["a"],
        "ports": {"a.b": "e"},
        "pace": PACE,
        "ps_per_us": 100_000,
    },
    "hold": {**OF_LEASE, "plan": "name = 'x'", "target": "gateware", "sources": "ab" * 32},
    "start": {
        **OF_LEASE,
        "at_ns": 10**18,
        "rate_ppb": 5,
        "faults": [{"after_ns": 7, "verb": "kill_agent", "nic": "eth0", "delay_ms": 3}],
    },
    "collect": OF_LEASE,
    "fetch": {**OF_LEASE, "name": "numbers", "offset": 0},
    "release": OF_LEASE,
}
"""What an agent understands, all but `lease`, which anybody with a key may ask for."""
ODD = [
    None,
    True,
    -1,
    0,
    2**53,
    2**64,
    10**400,
    0.5,
    "",
    "x" * 5000,
    "../..",
    "\0",
    "\ud800",
    [],
    {},
]


def mutated(draw: random.Random) -> bytes:
    """A right message with one to three things wrong with it, or with its octets."""
    kind = draw.choice(list(RIGHT))
    whole: Any = {"v": 1, "session": "e" * 16, "id": draw.randrange(1, 2**53), "kind": kind}
    whole["body"] = copy.deepcopy(RIGHT[kind])
    for _ in range(draw.randrange(1, 4)):
        places = [(whole, key) for key in whole]
        for parent, key in places:
            inside = parent[key]
            if isinstance(inside, dict):
                places += [(inside, key) for key in inside]
            elif isinstance(inside, list):
                places += [(inside, index) for index in range(len(inside))]
        if not places:
            break
        parent, key = draw.choice(places)
        what = draw.randrange(4)
        if what == 0:
            del parent[key]
        elif what == 1 and isinstance(parent, dict):
            parent[draw.choice(["extra", "lease", "v", "\0", ""])] = draw.choice(ODD)
        elif what == 2:
            parent[key] = [[parent[key]] * draw.randrange(3)]
        else:
            parent[key] = draw.choice(ODD)
    octets = bytearray(json.dumps(whole).encode())
    if draw.randrange(4) == 0:
        place = draw.randrange(len(octets))
        octets[place : place + draw.randrange(9)] = draw.randbytes(draw.randrange(9))
    return bytes(octets)


def test_rubbish_made_of_right_messages_changes_nothing(fuzzed: Served):
    draw = random.Random(1)
    for _ in range(MUTATED):
        survives(fuzzed, [mutated(draw)])
