"""pause_generate.v: PAUSE as scapy and the codec write it, PFC as scapy does."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from orchestrator.engine.frames.address_index import mac_of
from orchestrator.engine.records import PAUSE
from tests.firmware.benches.clocking import drive, start, until
from tests.firmware.benches.pause_frames import packed, pause_frame, pfc_frame
from tests.firmware.benches.streams import descriptor, sink, written


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def frames_are_those_of_scapy(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    receiver = sink(dut, rng)
    index = 0x4711
    mac = int(mac_of(index))
    await start(dut, request_valid=0, source_mac=mac, user=0)
    for _ in range(100):
        await FallingEdge(dut.clk)
        pfc, classes = rng.randrange(2), rng.randrange(256)
        quanta = [rng.choice((0, 0xFFFF, rng.randrange(1 << 16))) for _ in range(8)]
        drive(
            dut,
            request_valid=1,
            request_pfc=pfc,
            request_classes=classes,
            request_quanta=packed(quanta),
        )
        await until(dut, dut.request_ready)
        await FallingEdge(dut.clk)
        drive(dut, request_valid=0)
        octets = (await receiver.recv()).tdata
        source = mac.to_bytes(6, "big")
        if pfc:
            sent = [time if classes >> n & 1 else 0 for n, time in enumerate(quanta)]
            assert octets == pfc_frame(source, classes, sent)
        else:
            assert octets == pause_frame(source, quanta[0])
            codec = descriptor(kind=PAUSE, length=60, source=index, feedback=quanta[0])
            assert octets == written(codec)
