"""Twenty-four further faults: owners, expiry, captures, samples, and what a run leaves behind.

tests/trials/planted.py has the form of a fault and plants it; chaos has to find it in its short
form. Those of `BESIDE` change less than a busy machine may: tests beside the code find them.
"""

# ruff: noqa: E501 (the exchanged texts are lines of the sources)
from __future__ import annotations

from tests.trials.drawn_faults import (
    AGENT,
    CAPTURED,
    CLAIMS,
    JOURNAL,
    LIFE,
    SERVER,
    SHARES,
    WRITER,
)
from tests.trials.planted import HOSTED, HOSTING, MERGE, Fault, fault

OF_JOB = "orchestrator.testbed.controller.run_job"
HOST = "orchestrator.targets.software.hosted_nodes_job"
SHUT = "            self._stop_listening()\n            self._end()\n"
PREPARED = "        state = switch_off(self.name)\n"
LAST_SWAPPED = (
    "    last = [max((n for n in range(one.values.shape[1]) if one.values[-1, n] != one.values[0, n]), default=0) for one in shares]\n"
    "    for one in shares:\n"
    "        one.values.setflags(write=True)\n"
    "    kept = shares[0].values[:, last[0]].copy()\n"
    "    shares[0].values[:, last[0]] = shares[-1].values[:, last[-1]]\n"
    "    shares[-1].values[:, last[-1]] = kept\n"
)
ROW_LATE = (
    "    shares[-1].values.setflags(write=True)\n"
    "    shares[-1].values[1:] = shares[-1].values[:-1].copy()\n"
)
TIMES_LATE = (
    "    for one in shares:\n"
    "        one.times.setflags(write=True)\n"
    "        one.times[1:] += one.times[-1] - one.times[-2]\n"
)


def _netlink(call: str) -> str:
    """A line that changes the machine's network when a NIC is prepared."""
    return f'        __import__("pyroute2").IPRoute().{call}\n' + PREPARED


INDEX = "socket.if_nametoindex(self.name)"

FURTHER: dict[str, Fault] = {
    "any heartbeat renews a lease": fault(
        "files leases",
        (
            AGENT,
            "        if body.lease is not None:\n            held = self._find",
            "        if body.lease is not None:\n            body.lease in self.leases and self.leases[body.lease].renew()\n            held = self._find",
        ),
    ),
    "last columns are swapped between machines": fault(
        "value", (MERGE, SHARES, LAST_SWAPPED + SHARES)
    ),
    "the last frame of a capture is lost": fault(
        "capture",
        (
            MERGE,
            'part.clock.apply(part.arrays[f"times{number}"]),\n',
            'part.clock.apply(part.arrays[f"times{number}"])[:-1],\n',
        ),
        (
            MERGE,
            'part.arrays[f"lengths{number}"],\n',
            'part.arrays[f"lengths{number}"][:-1],\n',
        ),
        (MERGE, CAPTURED, CAPTURED.replace("],", "][:-1],")),
    ),
    "a route of the kernel's kind is left behind": fault(
        "route",
        (
            CLAIMS,
            PREPARED,
            _netlink(
                'route("replace", dst="198.51.100.0/24", type="unreachable", table=77, proto=2)'
            ),
        ),
    ),
    "a worker is stopped and not ended": fault(
        "workers process",
        (HOSTED, SHUT, SHUT.replace("self._end()", "os.kill(self.process, signal.SIGSTOP)")),
    ),
    "a lease with a worker does not expire": fault(
        "files leases workers interfaces sockets",
        (
            AGENT,
            "            if held.until_s < now_s:",
            "            if held.until_s < now_s and held.hosting is None:",
        ),
    ),
    "force takes no role": fault(
        "role owner", (AGENT, "self._force, role=ADMINISTER", "self._force")
    ),
    "lengths of captured frames are those with the FCS": fault(
        "capture",
        (
            MERGE,
            'part.arrays[f"lengths{number}"],\n',
            'part.arrays[f"lengths{number}"] + 4,\n',
        ),
    ),
    "times of captured frames are halved": fault(
        "capture", (WRITER, "NS_PER_PS = 1000\n", "NS_PER_PS = 2000\n")
    ),
    "times of samples are an interval late": fault(
        "row value", (MERGE, SHARES, TIMES_LATE + SHARES)
    ),
    "samples of a machine are a row late": fault("value", (MERGE, SHARES, ROW_LATE + SHARES)),
    "what agents sent stays in run folders": fault(
        "file", (OF_JOB, "        shutil.rmtree(folder.path / SPOOL)\n", "")
    ),
    "a worker is not waited for": fault(
        "process zombie",
        (
            HOSTED,
            "        self._worker.process.kill()\n        self._worker.process.wait()\n",
            "        self._worker.process.kill()\n",
        ),
    ),
    "a thread stays with an agent for each lease": fault(
        "thread threads",
        (
            AGENT,
            "        held.on_fault = lambda",
            '        __import__("threading").Thread(target=time.sleep, args=(1000,), daemon=True).start()\n        held.on_fault = lambda',
        ),
    ),
    "shared memory is left behind": fault(
        "file memory",
        (
            HOSTING,
            "        self.pace = self._pace(wanted)\n",
            '        open(f"/dev/shm/tailback-{spool.name}", "wb").close()\n        self.pace = self._pace(wanted)\n',
        ),
    ),
    "an address is left at a NIC": fault(
        "nic",
        (
            CLAIMS,
            PREPARED,
            _netlink(f'addr("replace", index={INDEX}, address="198.51.100.9", prefixlen=32)'),
        ),
    ),
    "a queue discipline is left at a NIC": fault(
        "nic qdisc",
        (CLAIMS, PREPARED, _netlink(f'tc("replace", "pfifo", {INDEX}, 0x10000, limit=5)')),
    ),
    "a lease stays noted": fault(
        "leases file",
        (JOURNAL, "        (self.folder / LEASES / lease).unlink(missing_ok=True)\n", ""),
    ),
    "results are fetched with any key": fault(
        "owner",
        (
            AGENT,
            "cut(self._find(peer, body.lease).path(body.name)",
            "cut(self.leases[body.lease].path(body.name)",
        ),
    ),
    "results of an agent can be read by others": fault(
        "mode file",
        (
            HOSTING,
            "        spool.mkdir(parents=True, exist_ok=True, mode=0o700)\n",
            "        spool.mkdir(parents=True, exist_ok=True)\n        os.chmod(spool, 0o777)\n        os.chmod(spool.parent, 0o755)\n        os.chmod(spool.parents[1], 0o755)\n",
        ),
    ),
    "an agent reports only its latest event": fault(
        "event",
        (
            AGENT,
            "[e for e in held.events if e.number > body.events_after][-50:]",
            "[e for e in held.events if e.number > body.events_after][-1:]",
        ),
    ),
    "only the first lease is released": fault(
        "expired",
        (
            LIFE,
            '            if peer.state == "up":\n',
            '            if peer.state == "up" and machine == min(self.leases):\n',
        ),
    ),
    "delays are corrected the wrong way": fault(
        "latency",
        (
            "orchestrator.testbed.controller.clock_correction",
            "np.interp(edges - by, edges, below)",
            "np.interp(edges + by, edges, below)",
        ),
    ),
    "a session is any key's": fault(
        "owner session",
        (
            SERVER,
            "        sessions = self._peers.setdefault(peer, OrderedDict())\n",
            '        sessions = self._peers.setdefault("", OrderedDict())\n',
        ),
    ),
}

BESIDE = {
    "times of samples are an interval late": "controller/test_merge_recordings.py",
    "samples of a machine are a row late": "controller/test_merge_recordings.py",
    "delays are corrected the wrong way": "controller/test_clock_correction.py",
    "a session is any key's": "wire/test_rpc_server.py",
    "an agent reports only its latest event": "agent/test_agent_service.py",
}
"""Fault -> the file of tests that finds it."""
