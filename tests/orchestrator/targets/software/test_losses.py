"""What was lost outside the queues, from the kernel's counters: here of machines made up."""

from __future__ import annotations

import pytest

from orchestrator.targets.software.network_namespaces import Machine, Machines

QUIET = {"tx_packets": 0, "tx_dropped": 0, "tx_errors": 0, "rx_errors": 0}


class Counted(Machines):
    """Two machines joined by a link, and one of programs, with counters of our own."""

    def __init__(self) -> None:
        self.machines = {name: Machine(name, -1) for name in ("nic", "switch", "programs")}
        self.machines["programs"].counted = False
        self.ports = {name: [dict(QUIET)] for name in self.machines}
        self.sockets = {name: {"received": 0, "dropped": 0} for name in self.machines}

    def interface_counters(self, name: str) -> list[dict[str, int]]:
        return self.ports[name]

    def socket_counters(self, name: str) -> dict[str, int]:
        return self.sockets[name]


@pytest.fixture
def machines() -> Counted:
    """100 frames went one way and 40 the other, and all of them arrived."""
    found = Counted()
    found.ports["nic"][0]["tx_packets"], found.sockets["switch"]["received"] = 100, 100
    found.ports["switch"][0]["tx_packets"], found.sockets["nic"]["received"] = 40, 40
    return found


def test_nothing_is_lost_where_all_arrived(machines: Counted) -> None:
    assert machines.losses() == {"sockets": 0, "interfaces": 0, "between": 0}


@pytest.mark.parametrize("name", ["nic", "switch"])
def test_a_frame_that_no_socket_saw_was_lost_between(machines: Counted, name: str) -> None:
    machines.sockets[name]["received"] -= 7
    assert machines.losses() == {"sockets": 0, "interfaces": 0, "between": 7}


@pytest.mark.parametrize("name", ["nic", "switch"])
@pytest.mark.parametrize("counter", ["tx_dropped", "tx_errors"])
def test_a_frame_that_its_interface_dropped_is_lost_there(
    machines: Counted, name: str, counter: str
) -> None:
    machines.ports[name].append(QUIET | {counter: 3})
    assert machines.losses() == {"sockets": 0, "interfaces": 3, "between": 0}


@pytest.mark.parametrize("name", ["nic", "switch"])
def test_a_frame_for_which_a_socket_had_no_room_is_lost_there(machines: Counted, name: str) -> None:
    machines.sockets[name]["dropped"] = 2
    assert machines.losses() == {"sockets": 2, "interfaces": 0, "between": 0}


def test_what_programs_lose_is_their_own(machines: Counted) -> None:
    machines.ports["programs"][0] |= {"tx_packets": 9, "tx_dropped": 9}
    machines.sockets["programs"]["dropped"] = 9
    assert machines.losses() == {"sockets": 0, "interfaces": 0, "between": 0}
