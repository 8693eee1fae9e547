"""Mutated capture files against reader, dissection, analysis and oracle: no crash, no hang.

    TMPDIR=/dev/shm python -m tests.trials.fuzz_captures --files 1000000 --whole 1

The temporary folder decides the rate: on a disk every file waits for its place there (some hundred
files a second), in memory the reader takes 2 500 and the whole analysis 500 a second.

Guided by behaviour: a file that makes the reader end in a new way (which damage, which kinds of
frames, how many interfaces) joins the pool that is mutated further. All of it runs compiled: a
tracer of Python lines would see nothing of it. Every now and then a mutated capture of a short run
goes through the oracle, with and without the seed, and through the counterfactual. Prints JSON; the
exit code is 1 when a file raised anything but BadInput, took more CPU time than LONGEST_S, or the
memory grew.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import resource
import shutil
import struct
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.progress import silent
from orchestrator.registry import Registry
from tests.traces.capture import captures as make
from tests.traces.oracle.plans import QCN
from traces import pcapng
from traces.analysis import Settings, analyze
from traces.capture import open_capture
from traces.dissect import dissect, messages, pauses, probes
from traces.oracle.conformance_judge import Settings as Known
from traces.oracle.conformance_judge import judge
from traces.oracle.counterfactual_cp import counterfactual

LONGEST_S = 5.0
"""CPU time of one file of a few KB."""
LONGEST_REPLAY_S = 60.0
"""The same for the oracle, which tries some seventy explanations of what it finds."""
GROWTH_MB = 200
WHOLE = 16
"""Every so manieth file goes through the whole analysis too."""
TOLD = 10_000
"""After so many files a line about how far it is goes to stderr."""
REPLAYED = 4096
"""After so many files comes one for the oracle, which takes seconds."""
MOST_POOL = 2_000
WARM = 500
INTERESTING = (0, 1, 2, 3, 4, 7, 8, 12, 16, 28, 32, 60, 63, 64, 127, 128, 255)
WORDS = (0, 1, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 262_145)
CNM = bytes.fromhex("22e7 003f") + bytes(8) + bytes.fromhex("fffe 0003 a000 02544200000a 05ca")
PFC = bytes.fromhex("8808 0101 00ff") + bytes(range(16)) + bytes(26)
PAUSE = bytes.fromhex("8808 0001 ffff") + bytes(42)
PROBE = bytes.fromhex("88b6 0101 000000003b9aca00 00000003 0000000000000007 0000000000000009")
IPV6 = bytes.fromhex("86dd 60000000 0028 00 40") + bytes(32) + bytes.fromhex("2c00 0000 00000000")
ROCE = (
    bytes.fromhex("8100 2001 0800 4500 0050 0000 4000 4011 0000 0a000001 0a000002")
    + bytes.fromhex("c000 12b7 003c 0000 8100ffff 400000d2 00000000")
    + bytes(20)
)
OURS = bytes.fromhex("025442000009 025442000007")
DATA = bytes.fromhex(
    "0800 4500 0050 0000 4000 4011 0000 0a000007 0a000009 c800 c7b1 003c 0000 74424b31 00000002"
) + bytes(24)
LLDP = bytes.fromhex("88cc 0207 04 020000000001 0403 05 6130 0602 0078 fe09 0080c2 08 0101 00 0000")


def seeds() -> list[bytes]:
    """Small files of every form and kind of frame that is read."""
    frames = [bytes(12) + body for body in (CNM, PFC, PAUSE, IPV6, ROCE, LLDP)]
    frames += [OURS + bytes.fromhex("81006001") + PROBE, OURS + bytes.fromhex("81006001") + DATA]
    frames += [bytes.fromhex("01000c") + bytes(40), bytes(13)]
    found = []
    for order in "<>":
        for magic in (0xA1B2C3D4, 0xA1B23C4D):
            records = [(n, 10 * n, octets, len(octets) + n) for n, octets in enumerate(frames)]
            found.append(make.pcap(records, order, magic))
        options = [(2, b"switch.sink"), (9, b"\x09"), (14, struct.pack(order + "q", 5))]
        flags = make.option(2, struct.pack(order + "I", 2), order)
        blocks = [make.section(order), make.interface(order, options, 64), make.interface(order)]
        blocks += [make.enhanced(n & 1, n << 20, f, order, flags) for n, f in enumerate(frames)]
        blocks += [make.simple(frames[0], 80, order), make.block(0xBAD, bytes(8), order)]
        blocks.append(make.block(5, struct.pack(order + "III", 0, 0, 0), order))
        found += [b"".join(blocks), b"".join(blocks) * 2]
    return [*found, gzip.compress(found[0])]


class Oracle:
    """A short run's captures, in one file, and its plan."""

    def __init__(self, folder: Path) -> None:
        registry = Registry.load()
        plan = Plan.load(QCN.replace('"0.25s"', '"3ms"').replace('"0.1s"', '"1ms"'))
        self.resolved = plan.check(registry)
        instead = ["nodes.switch.congestion_point.weight=0"]
        self.other = plan.with_settings(instead).check(registry)
        recording = registry.target("simulated").run(self.resolved, silent)
        pcapng.write(folder / "run", recording.captures)
        self.sound = (folder / "run").read_bytes()
        self.files = self.judged = 0
        assert judge([folder / "run"], self.resolved).conforming

    def ask(self, rng: random.Random, path: Path) -> None:
        """One mutated capture of the run. Raises whatever is not BadInput."""
        path.write_bytes(mutated(rng, [self.sound], 1 << 20))
        self.files += 1
        try:
            if self.files % 3 == 0:
                counterfactual([path], self.resolved, self.other, Known()).as_json()
            else:
                known = judge([path], self.resolved, Known(seed_known=self.files % 3 == 1))
                json.dumps(known.as_json())
            self.judged += 1
        except BadInput:
            return


def mutated(rng: random.Random, pool: list[bytes], most: int = 1 << 16) -> bytes:
    """One file of the pool with a few changes."""
    data = bytearray(rng.choice(pool))
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        if not data:
            break
        at = rng.randrange(len(data))
        way = rng.randrange(8)
        if way == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif way == 1:
            data[at] = rng.choice(INTERESTING)
        elif way == 2:
            data[at : at + 4] = struct.pack(rng.choice("<>") + "I", rng.choice(WORDS))
        elif way == 3:
            data[at : at + 2] = struct.pack(rng.choice("<>") + "H", rng.choice(WORDS[:5]))
        elif way == 4:
            del data[at : at + rng.choice((1, 2, 4, 16, 64))]
        elif way == 5:
            data[at:at] = rng.randbytes(rng.choice((1, 4, 32)))
        elif way == 6:
            other = rng.choice(pool)
            data[at:] = other[rng.randrange(len(other) + 1) :]
        else:
            data = data[:at]
    return bytes(data[:most])


def behaviour(path: Path, whole: bool) -> tuple[Any, ...]:
    """What became of a file. Raises whatever is not BadInput."""
    kinds: set[int] = set()
    layers: set[int] = set()
    try:
        with open_capture(path) as stream:
            for batch in stream.batches():
                headers = dissect(batch, stream.interfaces)
                kinds.update(headers["kind"].tolist())
                layers.update((headers["version"] * 4 + headers["tags"].clip(0, 3)).tolist())
                messages(batch, headers)
                pauses(batch, headers)
                probes(batch, headers)
            damage = str(stream.damage)
            count = min(len(stream.interfaces), 4)
        if whole:
            json.dumps(analyze(path, settings=Settings(rate_bps=10**9)).as_json())
    except BadInput as error:
        damage, count = str(error), 0
    plain = re.sub(r"[0-9a-f]{2,}|[0-9]+", "#", damage.replace(str(path), ""))
    return plain[:120], tuple(sorted(kinds)), tuple(sorted(layers)), count


def memory_mb() -> float:
    """The most that this process has used."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def fuzz(
    files: int,
    seed: int = 1,
    keep: Path | None = None,
    replayed: int = REPLAYED,
    whole: int = WHOLE,
) -> dict[str, Any]:
    """Try so many files; what was found. Captures that the oracle failed at go to `keep`."""
    rng = random.Random(seed)
    pool = seeds()
    known: set[tuple[Any, ...]] = set()
    failures: list[str] = []
    slowest, longest, base, begun = 0.0, 0.0, 0.0, time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a"
        oracle = Oracle(Path(folder)) if files >= replayed else None
        for number in range(files):
            if number % TOLD == TOLD - 1:
                line = f"{number + 1} files, {len(failures)} failures, {len(known)} behaviours"
                print(line, file=sys.stderr, flush=True)
            if oracle and number % replayed == replayed - 1:
                started = time.process_time()
                try:
                    oracle.ask(rng, path)
                except Exception as error:
                    failures.append(f"oracle: {type(error).__name__}: {error}, file {number}")
                    if keep is not None:
                        shutil.copy(path, keep / f"oracle-{seed}-{number}.pcapng")
                longest = max(longest, time.process_time() - started)
            data = mutated(rng, pool)
            path.write_bytes(data)
            started = time.process_time()
            try:
                seen = behaviour(path, number % whole == 0)
            except Exception as error:
                failures.append(f"{type(error).__name__}: {error} for {data[:400].hex()}")
                continue
            if number > WARM:
                slowest = max(slowest, time.process_time() - started)
            if seen not in known:
                known.add(seen)
                if len(pool) < MOST_POOL:
                    pool.append(data)
            if number == WARM:
                base = memory_mb()
    grown = memory_mb() - base if base else 0.0
    return {
        "files": files,
        "analysed": -(-files // whole),
        "seed": seed,
        "seconds": round(time.perf_counter() - begun, 1),
        "behaviours": len(known),
        "failures": failures[:20],
        "slowest_s": round(slowest, 3),
        "replayed": oracle.files if oracle else 0,
        "judged": oracle.judged if oracle else 0,
        "longest_replay_s": round(longest, 2),
        "memory_grown_mb": round(grown, 1),
    }


def sound(found: dict[str, Any]) -> bool:
    """Nothing crashed, hung or grew."""
    small = found["memory_grown_mb"] < GROWTH_MB
    quick = found["slowest_s"] < LONGEST_S and found["longest_replay_s"] < LONGEST_REPLAY_S
    return not found["failures"] and quick and small


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description="Mutated captures against all that reads them.")
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder for captures that the oracle failed at")
    parser.add_argument(
        "--replayed", type=int, default=REPLAYED, help="one for the oracle after so many"
    )
    parser.add_argument(
        "--whole", type=int, default=WHOLE, help="every so manieth goes through the whole analysis"
    )
    return parser.parse_args()


if __name__ == "__main__":
    result = fuzz(**vars(arguments()))
    print(json.dumps(result, indent=2))
    sys.exit(0 if sound(result) else 1)
