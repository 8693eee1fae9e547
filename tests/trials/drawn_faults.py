"""Twenty-four more faults, drawn over agent, controller, coordination and results.

tests/trials/planted.py has the form of a fault and plants it; chaos has to find it in its short
form, or endurance over as many runs as the fault says.
"""

# ruff: noqa: E501 (the exchanged texts are lines of the sources)
from __future__ import annotations

from tests.trials.planted import HOSTED, MERGE, PLANTED, Fault, fault

AGENT = "orchestrator.testbed.agent.agent_service"
LEASE = "orchestrator.testbed.agent.lease"
CLAIMS = "orchestrator.testbed.agent.nic_claims"
JOURNAL = "orchestrator.testbed.agent.lease_journal"
CONTROLLER = "orchestrator.testbed.controller.controller_service"
CONNECTION = "orchestrator.testbed.controller.agent_connection"
DISTRIBUTED = "orchestrator.testbed.controller.distributed_run"
JOB = "orchestrator.testbed.controller.distributed_job"
LIFE = "orchestrator.testbed.controller.run_lifecycle"
SERVER = "orchestrator.testbed.wire.rpc_server"
WRITER = "traces.pcapng.pcapng_writer"
CAPTURED = '            part.arrays[f"octets{number}"],\n'
SHARES = "    seconds = int(shares[0].times[-1]) / 1e12"
SWAPPED = (
    "    first = [next((n for n in range(one.values.shape[1]) if one.values[-1, n] != one.values[0, n]), 0) for one in shares]\n"
    "    for one in shares:\n"
    "        one.values.setflags(write=True)\n"
    "    kept = shares[0].values[:, first[0]].copy()\n"
    "    shares[0].values[:, first[0]] = shares[-1].values[:, first[-1]]\n"
    "    shares[-1].values[:, first[-1]] = kept\n"
)
BLACKHOLE = (
    '        __import__("pyroute2").IPRoute().route("replace", dst="198.51.100.0/24", type="blackhole")\n'
    "        state = switch_off(self.name)\n"
)

DRAWN: dict[str, Fault] = {
    "a lease is renewed for another's key": fault(
        "files leases",
        (
            AGENT,
            "        if held.owner != peer:\n",
            "        held.renew()\n        if held.owner != peer:\n",
        ),
    ),
    "sample columns are swapped between machines": fault(
        "value", (MERGE, SHARES, SWAPPED + SHARES)
    ),
    "a capture lacks its last block": fault(
        "capture",
        (
            WRITER,
            "        file.write(_layout(heads, _words(port.octets[part])).data)\n",
            "        file.write(bytes(_layout(heads, _words(port.octets[part])).data)[: -(len(port.octets[0]) + 3) // 4 * 4 - 32])\n",
        ),
    ),
    "a route is left behind": fault(
        "route", (CLAIMS, "        state = switch_off(self.name)\n", BLACKHOLE)
    ),
    "a worker is left stopped": fault(
        "workers process",
        (
            HOSTED,
            "        self._worker.process.kill()\n        self._worker.process.wait()\n",
            "        self._worker.process.send_signal(signal.SIGSTOP)\n",
        ),
    ),
    "an event is reported twice": fault(
        "event",
        (
            CONNECTION,
            "            if event.number > self._events:",
            "            if event.number >= self._events:",
        ),
        (CONNECTION, "events_after=self._events,", "events_after=max(self._events - 1, 0),"),
    ),
    "a lease does not expire": fault(
        "files leases workers interfaces sockets",
        (
            AGENT,
            "            if held.until_s < now_s:",
            "            if held.until_s < now_s - 3600:",
        ),
    ),
    "the NICs of a killed agent are not restored": fault(
        "nic", (JOURNAL, "        restore(nic, before)\n", "")
    ),
    "a stranger cancels a run": fault(
        "owner", (CONTROLLER, "if job.owner != peer and not peer.may(ADMINISTER):", "if False:")
    ),
    "a role is not checked": fault(
        "role", (SERVER, "if not caller.may(handler.role):", "if False:")
    ),
    "a revoked key is answered": fault(
        "revoked",
        (
            "orchestrator.testbed.wire.zap_authenticator",
            "        self._known = self._list.callers()\n",
            "        self._known |= self._list.callers()\n",
        ),
    ),
    "a controller does not release": fault(
        "expired",
        (
            LIFE,
            '                    await peer.asker.ask("release", OfLease(lease=lease), within_s=2.0)\n',
            "                    pass\n",
        ),
    ),
    "a thread stays with the controller": fault(
        "threads",
        (
            "orchestrator.testbed.controller.live_feed",
            "        self.feed.start()\n",
            '        __import__("threading").Thread(target=__import__("time").sleep, args=(1000,), daemon=True).start()\n        self.feed.start()\n',
        ),
        runs=40,
    ),
    "counters of NICs are not from the start on": fault(
        "loss",
        (LEASE, "{key: row[key] - self._before.get(nic, row)[key] for key in row}", "dict(row)"),
    ),
    "nodes are listed at other machines": fault(
        "machines",
        (
            JOB,
            "            name: [node for node, where in machines.items() if where == name]\n",
            "            name: [node for node, where in machines.items() if where != name]\n",
        ),
    ),
    "delays are counted twice": fault(
        "latency", (MERGE, "        found.append(fixed)\n", "        found.append(2 * fixed)\n")
    ),
    "offloads stay on": fault(
        "offloads",
        (
            CLAIMS,
            "        state = switch_off(self.name)\n",
            "        state = ethtool.offloads(self.name)\n",
        ),
    ),
    "a run's number is taken twice": fault(
        "owner", (CONTROLLER, "        if body.run in self.jobs:\n", "        if False:\n")
    ),
    "a NIC is leased twice": fault(
        "owner",
        (AGENT, "if taken := sorted(set(held.asked.nics) & set(body.nics)):", "if taken := []:"),
        (CLAIMS, "        if len(theirs) > 1:  # ours is one of them\n", "        if False:\n"),
    ),
    "a machine starts late": fault(
        "value loss capture",
        (
            DISTRIBUTED,
            "                at_ns=estimate.theirs(self.start_ns),\n",
            '                at_ns=estimate.theirs(self.start_ns) + 200_000_000 * (share.nodes == ["sink"]),\n',
        ),
    ),
    "the digest of a file is not checked": fault(
        "retry digest", (LIFE, "                taking.check()\n", "")
    ),
    "results of runs stay in memory": fault(
        "memory",
        (
            JOB,
            "        if session is None:\n            return recording, delays\n",
            "        kept.append(recording)\n        if session is None:\n            return recording, delays\n",
        ),
        (JOB, "TICK_S = 0.1\n", "TICK_S = 0.1\nkept: list[object] = []\n"),
        runs=500,
    ),
    "offsets of clocks have the wrong sign": fault(
        "ended retry",
        (
            "orchestrator.testbed.wire.clock_offset",
            "        return at + self.offset(at)\n",
            "        return at - self.offset(at)\n",
        ),
    ),
    "frames of a capture are out of order": fault(
        "capture", (MERGE, CAPTURED, CAPTURED.replace("],", "][::-1],"))
    ),
}
ALL: dict[str, Fault] = PLANTED | DRAWN
