"""The register maps, what is made from them, and the host's accessor."""

from __future__ import annotations

import pytest

from firmware.registers import register_map as at
from firmware.registers.generated_files import generated
from firmware.registers.register_map import Register, RegisterMap, placed
from firmware.registers.register_maps import MAPS, QCN_CP, QCN_RP
from firmware.registers.register_window import Window, WindowError
from orchestrator.errors import BadInput
from tests.firmware.simulate import Part, simulate_together


@pytest.mark.parametrize("path", generated(), ids=lambda path: path.name)
def test_generated_files_are_those_of_the_declaration(path) -> None:
    assert path.read_text() == generated()[path], "run python -m firmware.registers"


def test_decodes_are_as_declared() -> None:
    tops = [f"{map_.module}_registers" for map_ in MAPS]
    simulate_together("registers", [Part("registers", top, {}, top) for top in tops])


def test_identities_differ() -> None:
    assert len({map_.identity for map_ in MAPS}) == len(MAPS)


class Memory:
    """A bus on words that keep what is written, as registers do."""

    def __init__(self, map_: RegisterMap, base: int) -> None:
        self.words = {base + at.ID: map_.identity, base + at.VERSION: map_.version}
        self.stuck = 0
        self.pulses = base + at.CONTROL

    def read(self, address: int) -> int:
        return self.words.get(address, 0) | self.stuck

    def write(self, address: int, value: int) -> None:
        self.words[address] = value & 1 if address == self.pulses else value


def test_accessor_sets_both_halves_and_reads_them_back() -> None:
    bus = Memory(QCN_RP, 0x3000)
    window = Window(bus, 0x3000, QCN_RP)
    window.set("link_rate", 4 * 10**11)
    assert window.get("link_rate") == 4 * 10**11
    offset = 0x3000 + QCN_RP["link_rate"].offset
    assert bus.words[offset] == 4 * 10**11 & 0xFFFF_FFFF
    assert bus.words[offset + 4] == 4 * 10**11 >> 32


@pytest.mark.parametrize(
    ("name", "value", "accepted"),
    [
        ("set_point", 0, "1 to 1073741823"),
        ("weight", 128, "0 to 127"),
        ("sampling", 4, "0 to 3"),
        ("random", 1, "read only"),
    ],
)
def test_accessor_refuses_what_a_register_may_not_hold(
    name: str, value: int, accepted: str
) -> None:
    window = Window(Memory(QCN_CP, 0), 0, QCN_CP)
    with pytest.raises(BadInput, match=f"(?s){name}.*{accepted}"):
        window.set(name, value)


def test_accessor_tells_what_the_hardware_did_not_keep() -> None:
    bus = Memory(QCN_CP, 0)
    window = Window(bus, 0, QCN_CP)
    bus.stuck = 1
    with pytest.raises(WindowError, match=r"weight at 0x24: set to 2, reads 3"):
        window.set("weight", 2)
    with pytest.raises(WindowError, match="CONTROL reads"):
        window.control(False)


def test_accessor_refuses_another_module() -> None:
    with pytest.raises(WindowError, match=r"qcn_cp at 0x0: word 0x0 is 0x51420002"):
        Window(Memory(QCN_RP, 0), 0, QCN_CP)


def test_counters_are_latched_together() -> None:
    bus = Memory(QCN_CP, 0)
    window = Window(bus, 0, QCN_CP)
    window.control(True)
    bus.words[QCN_CP["messages"].offset] = 7
    bus.words[QCN_CP["messages"].offset + 4] = 1
    assert window.counters() == {"samples": 0, "messages": (1 << 32) + 7}
    assert window.next == 0


def _map(*registers: Register) -> RegisterMap:
    return RegisterMap("m", 1, 1, "", "", registers)


def test_registers_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="both at 0x024"):
        _map(Register("a", 0x20, 40, "rw", "", ""), Register("b", 0x24, 8, "rw", "", ""))
    with pytest.raises(ValueError, match="not within"):
        _map(Register("a", 0xFC, 40, "rw", "", ""))
    with pytest.raises(ValueError, match="not within"):
        _map(Register("a", 0x20, 40, "counter", "", ""))
    with pytest.raises(ValueError, match="1 to 64"):
        _map(Register("a", 0x20, 65, "rw", "", ""))
    with pytest.raises(ValueError, match="reset value 8"):
        _map(Register("a", 0x20, 3, "rw", "", "", reset=8))
    with pytest.raises(KeyError, match="no register 'nothing'"):
        QCN_CP["nothing"]


def test_places_follow_each_other() -> None:
    registers = placed(("a", 33, "rw", "", ""), ("n", 8, "counter", "", ""), ("b", 1, "ro", "", ""))
    assert [r.offset for r in registers] == [0x20, 0x100, 0x28]
