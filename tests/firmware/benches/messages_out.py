"""cnm_generate.v: octet for octet the messages of engine.frames, and other tags by hand."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from orchestrator.engine.frames.address_index import mac_of
from orchestrator.engine.frames.frame_codec import sampled_length
from orchestrator.engine.records import CNM, DATA
from tests.firmware.benches.clocking import drive, start, until
from tests.firmware.benches.streams import descriptor, sink, written

HEADER = 84
CP = 0x000102


async def ask(dut: Any, octets: bytes, **fields: int) -> None:
    """Ask for the message about a frame."""
    await FallingEdge(dut.clk)
    drive(
        dut,
        request_valid=1,
        header=int.from_bytes(octets[:HEADER], "little"),
        length=len(octets),
        **fields,
    )
    await until(dut, dut.request_ready)
    await FallingEdge(dut.clk)
    drive(dut, request_valid=0)


async def begin(dut: Any, rng: Any) -> Any:
    """Reset; the port that the messages leave through."""
    receiver = sink(dut, rng)
    mac = int(mac_of(CP))
    await start(dut, request_valid=0, source_mac=mac, cpid=mac << 16, user=0)
    return receiver


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def messages_are_those_of_the_codec(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    receiver = await begin(dut, rng)
    for _ in range(80):
        length = rng.choice((70, 79, 80, 81, 1500, rng.randrange(70, 9000)))
        common = {
            "priority": rng.randrange(8),
            "flow": rng.randrange(1 << 31),
            "sequence": rng.randrange(1 << 62),
            "created": rng.randrange(1 << 62),
        }
        source, destination = rng.randrange(1 << 24), rng.randrange(1 << 24)
        sampled = written(
            descriptor(
                kind=DATA, length=length, source=source, destination=destination, mark=0, **common
            )
        )
        message = {
            "feedback": rng.randrange(64),
            "offset": rng.randrange(-(1 << rng.randrange(1, 33)), 1 << rng.randrange(1, 33)),
            "delta": rng.randrange(-(1 << rng.randrange(1, 33)), 1 << rng.randrange(1, 33)),
        }
        await ask(dut, sampled, **message)
        expected = written(
            descriptor(
                kind=CNM,
                length=int(sampled_length(length)),
                source=CP,
                destination=source,
                inner=destination,
                mark=length,
                **common,
                **message,
            )
        )
        assert (await receiver.recv()).tdata == expected


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def tags_are_copied(dut: Any) -> None:
    """Untagged, with a CN-TAG, with both; the octets written out by hand."""
    rng = random.Random(cocotb.RANDOM_SEED)
    receiver = await begin(dut, rng)
    vlan, flow = bytes.fromhex("8100 6001"), bytes.fromhex("22e9 1234")
    for tags in (b"", vlan, flow, vlan + flow):
        for payload in (*range(30, 110, 7), 1480):
            to, source = rng.randbytes(6), rng.randbytes(6)
            msdu = b"\x86\xdd" + rng.randbytes(payload)
            await ask(dut, to + source + tags + msdu, feedback=9, offset=6400, delta=-640)
            mac = int(mac_of(CP)).to_bytes(6, "big")
            priority = b"\x60\0" if vlan in tags else b"\0\0"
            pdu = b"\0\x09" + mac + b"\0\0" + b"\0\x64" + b"\xff\xf6" + priority + to
            expected = source + mac + tags + b"\x22\xe7" + pdu + len(msdu).to_bytes(2, "big")
            expected = (expected + msdu[:64]).ljust(60, b"\0")
            assert (await receiver.recv()).tdata == expected, (tags, payload)
