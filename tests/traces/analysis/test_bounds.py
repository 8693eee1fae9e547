"""Hostile captures: as many interfaces, flows and senders as a file can name take bounded time."""

from __future__ import annotations

import json
import random
import time

from tests.traces.capture import captures as make
from traces.analysis import Settings, analyze
from traces.analysis.cnm_statistics import MOST_POINTS
from traces.analysis.pause_spells import MOST_LINKS

CNM = bytes.fromhex("22e7 003f") + bytes(8) + bytes.fromhex("fffe 0003 a000 02544200000a 05ca")
PAUSE = bytes.fromhex("8808 0001 ffff") + bytes(42)
WITHIN_S = 20.0
"""Some three seconds here; what it must not be is quadratic in the file."""


def test_many_interfaces_and_senders(tmp_path) -> None:
    rng = random.Random(4)
    blocks = [make.section(), make.interface(options=[(2, b"same")]) * 20_000]
    for number in range(20_000):
        sender = rng.randbytes(6)
        blocks.append(make.enhanced(number, number, bytes(6) + sender + PAUSE))
        blocks.append(make.enhanced(0, number, bytes(6) + sender + CNM))
    path = tmp_path / "a"
    path.write_bytes(b"".join(blocks))
    begun = time.process_time()
    found = analyze(path, settings=Settings(rate_bps=10**9))
    json.dumps(found.as_json())
    assert time.process_time() - begun < WITHIN_S
    assert len(found.interfaces) == 20_000
    assert sum(one.frames["pause"] for one in found.interfaces) == 20_000
    assert found.more_messages == 20_000 - MOST_POINTS
    assert found.more_pauses == 20_000 - MOST_LINKS
    assert len(found.interfaces[0].congestion_points) == MOST_POINTS
