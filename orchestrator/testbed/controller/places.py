"""Which machine holds a whole plan: one at a time on each, for whoever asked first."""

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
        """Whether there are some, and none that has nothing to do."""
        able = self.able(target)
        return bool(able) and self._taken.issuperset(able)

    def take(self, target: str) -> str:
        """One that has nothing to do; NOWHERE if there is none."""
        machine = next((name for name in self.able(target) if name not in self._taken), NOWHERE)
        self._taken.add(machine)
        return machine

    def give_back(self, machine: str) -> None:
        """It has nothing to do any more."""
        self._taken.discard(machine)

    def lack(self, target: str) -> RunFailed | Refused:
        """Why none can: Refused where all have said so, and what would mend it; RunFailed where
        some do not answer, that may be able to."""
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
