"""Pool of machines that can run a whole plan: one plan at a time on each."""

from __future__ import annotations

from orchestrator.errors import Refused, RunFailed
from orchestrator.testbed.controller.peer import Peer

NOWHERE = ""


class Places:
    """The machines of a controller, and which of them have a plan to run."""

    def __init__(self, peers: dict[str, Peer]) -> None:
        self._peers = peers
        self._taken: set[str] = set()

    def able(self, target: str) -> list[str]:
        """Machines that are up and say that they can hold a plan on a target."""
        up = {name: p.offer for name, p in self._peers.items() if p.state == "up" and p.offer}
        return [name for name, offer in up.items() if offer.holds.get(target) == ""]

    def all_taken(self, target: str) -> bool:
        """Return whether there are able machines, and all are busy."""
        able = self.able(target)
        return bool(able) and self._taken.issuperset(able)

    def take(self, target: str) -> str:
        """Take an idle machine; NOWHERE if there is none."""
        machine = next((name for name in self.able(target) if name not in self._taken), NOWHERE)
        self._taken.add(machine)
        return machine

    def give_back(self, machine: str) -> None:
        """Mark a machine as idle."""
        self._taken.discard(machine)

    def lack(self, target: str) -> RunFailed | Refused:
        """Reason why no machine is able: Refused, with a remedy, where all have answered so;
        RunFailed where some that do not answer may be able."""
        said: list[str] = []
        silent: list[str] = []
        for name, peer in self._peers.items():
            if peer.state != "up" or peer.offer is None:
                silent.append(f"agent {name} does not answer ({peer.why or peer.state})")
            else:
                none = f"target {target}: there is none of that name"
                said.append(f"agent {name}: {peer.offer.holds.get(target, none) or 'it is busy'}")
        who, lack = "controller", f"no machine of the testbed can hold a plan on {target}"
        if silent:
            return RunFailed(f"{who}: {lack}: {'; '.join([*silent, *said])}")
        return Refused(who, lack, "; ".join(said))
