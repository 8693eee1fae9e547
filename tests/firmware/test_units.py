"""The drivers of a delay line and of a packet generator, on words in memory."""

from __future__ import annotations

import pytest

from firmware.driver.delay_line_driver import Delay
from firmware.driver.packet_generator_driver import Generator
from firmware.driver.window_discovery import WindowLocation
from firmware.registers.register_maps import DELAY_LINE, PACKET_GENERATOR
from firmware.registers.register_window import Window
from orchestrator.errors import Refused
from tests.firmware.test_registers import Memory


def test_a_delay_is_set_and_what_does_not_fit_is_refused() -> None:
    bus = Memory(DELAY_LINE, 0)
    delay = Delay("d1", bus, WindowLocation(DELAY_LINE, 0, caps=32_768, clock_hz=125_000_000))
    delay.set(20_000_000, rate=10**10)
    assert Window(bus, 0, DELAY_LINE).get("delay") == 20_000_000
    assert bus.words[8] == 1
    with pytest.raises(Refused, match="37500 octets, it holds 32768"):
        delay.set(30_000_000, rate=10**10)
    bus.words[DELAY_LINE["dropped"].offset] = 3
    assert delay.losses() == {"frames in d1": 3}


def test_a_generator_keeps_its_rate_without_rounding() -> None:
    bus = Memory(PACKET_GENERATOR, 0)
    found = WindowLocation(PACKET_GENERATOR, 0, caps=8, clock_hz=125_000_000)
    generator = Generator("g1", bus, found)
    generator.begin(333_333_333, 1500, source=3, destination=9)
    window = Window(bus, 0, PACKET_GENERATOR)
    assert window.get("whole") * 333_333_333 + window.get("rest") == 1500 * 8 * 10**12
    assert (window.get("length"), window.get("source"), window.get("destination")) == (1500, 3, 9)
    bus.words[PACKET_GENERATOR["frames"].offset] = 12
    assert generator.end() == 12
    assert bus.words[8] == 0


def test_another_module_is_refused() -> None:
    found = WindowLocation(PACKET_GENERATOR, 0, caps=8, clock_hz=125_000_000)
    with pytest.raises(Refused, match="it is a packet_generator"):
        Delay("d1", Memory(PACKET_GENERATOR, 0), found)
