"""Random event sequences for the QCN kernels, summed up in a digest of all they ever wrote.

    python -m tests.plugins.kernel_events SEED SEQUENCES

Each sequence is a reaction point or a congestion point with the parameters of a random preset,
some of them changed, that starts fresh or in the middle of its life and sees eight events. The
digest covers state, entity and message after every event. Arithmetic that overflows is an error.
Prints JSON: digest, whether kernels were compiled, how often things happened.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import warnings
from collections import Counter
from typing import Any

import numpy as np

from orchestrator.engine.jit import DISABLED
from orchestrator.engine.records import NEVER
from plugins.qcn_cp import QCN_CP
from plugins.qcn_rp import QCN_RP
from tests.plugins.kernel_driver import KernelDriver

EVENTS_PER_SEQUENCE = 8
PARAMETER_SETS = 300
"""Random parameters are drawn from so many sets per algorithm: validation is slow."""

Write = dict[str, int]
STAGES = ("byte_stage", "timer_stage")


class Sequences:
    """Draws sequences, runs them and keeps the digest."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.digest = hashlib.blake2b(digest_size=16)
        self.counts: Counter[str] = Counter()
        self.rp, self.cp = KernelDriver(QCN_RP), KernelDriver(QCN_CP)
        self.rp_params = [
            self.draw(QCN_RP.params, self.rp_changes()) for _ in range(PARAMETER_SETS)
        ]
        self.cp_params = [
            self.draw(QCN_CP.params, self.cp_changes()) for _ in range(PARAMETER_SETS)
        ]

    def draw(self, params: Any, changes: dict[str, Any]) -> Any:
        """A preset with about half of `changes`."""
        table: dict[str, Any] = {"preset": self.rng.choice(sorted(params.presets))}
        table |= {key: value for key, value in changes.items() if self.rng.random() < 0.5}
        return params.from_table(table, bare=True)

    def rp_changes(self) -> dict[str, Any]:
        rng = self.rng
        return {
            "time_reset": rng.randrange(10**6, 10**11),
            "byte_reset": rng.randrange(64, 20_000),
            "threshold": rng.randrange(1, 4),
            "ai_rate": rng.randrange(10**8),
            "hai_rate": rng.randrange(10**9),
            "gd": f"1/{rng.randrange(1, 256)}",
            "min_decrease_factor": f"{rng.randrange(9)}/8",
            "min_rate": rng.randrange(1, 10**8),
            "cap_target": rng.random() < 0.5,
            "extra_fast_recovery": rng.random() < 0.8,  # without it limiters are rarely released
            "jitter": rng.random() < 0.5,
        }

    def cp_changes(self) -> dict[str, Any]:
        rng = self.rng
        return {
            "set_point": rng.randrange(64, 10**6),
            "weight": rng.randrange(65),
            "sample_base": rng.randrange(64, 20_000),
            "sampling": rng.choice(["arrival", "head", "departure"]),
            "jitter": rng.random() < 0.5,
        }

    def event(self, driver: KernelDriver, name: str, now: int) -> int:
        """Run one event and take down everything that the kernel may have written."""
        result = driver.call(name, now)
        self.digest.update(driver.written.tobytes())
        self.digest.update(result.to_bytes(8, "little", signed=True))
        self.counts["events"] += 1
        return result

    def reaction_point(self) -> None:
        """A limiter, fresh or active with any rates and stages."""
        rng, driver, limiter = self.rng, self.rp, self.rp.entity
        driver.reset(rng.choice(self.rp_params), rng.randrange(1, 1 << 32))
        link_rate = rng.choice([10**9, 10**10, 10**11, 4 * 10**11])
        start: Write = {"rate": link_rate, "target": link_rate, "timer": NEVER}
        if rng.random() < 0.5:
            start = {
                "active": 1,
                "rate": link_rate >> rng.randrange(12),
                "target": link_rate >> rng.randrange(12),
                "timer": rng.randrange(10**12),
                "byte_stage": rng.randrange(9),
                "timer_stage": rng.randrange(9),
            }
            driver.state["countdown"] = rng.randrange(20_000)
        for field, value in {"link_rate": link_rate, "flow": 0, **start}.items():
            place = driver.state if field in STAGES else limiter
            place[field] = value
        now = 0
        for _ in range(EVENTS_PER_SEQUENCE):
            now += rng.randrange(10**10)
            name = rng.choices(("feedback", "sent", "timer"), (2, 5, 2))[0]
            driver.frame["feedback"] = rng.randrange(64)
            driver.frame["length"] = rng.randrange(60, 9001)
            limiter["backlog"] = rng.choice((0, 1500))
            before = int(limiter["active"][0]), int(limiter["rate"][0])
            self.event(driver, name, now)
            after = int(limiter["active"][0]), int(limiter["rate"][0])
            self.counts["activated"] += before[0] < after[0]
            self.counts["released"] += before[0] > after[0]
            self.counts["decreased"] += before[1] > after[1]
            self.counts["increased"] += before[1] < after[1]

    def congestion_point(self) -> None:
        """A queue's congestion point, fresh or about to sample."""
        rng, driver = self.rng, self.cp
        driver.reset(rng.choice(self.cp_params), rng.randrange(1, 1 << 32))
        if rng.random() < 0.5:
            driver.state["started"] = 1
            driver.state["countdown"] = rng.randrange(20_000)
            driver.state["old"] = rng.randrange(400_000)
        for _ in range(EVENTS_PER_SEQUENCE):
            driver.frame["length"] = rng.randrange(60, 9001)
            driver.entity["bytes"] = rng.randrange(400_000)
            driver.entity["capacity"] = rng.randrange(150_000, 500_000)
            told = self.event(driver, rng.choice(("arrival", "departure")), 0)
            self.counts["messages"] += told > 0

    def run(self, sequences: int) -> None:
        """Alternate between the two."""
        for index in range(sequences):
            (self.reaction_point if index % 2 else self.congestion_point)()


def main() -> None:
    """Run what the command line asks for and print the outcome."""
    seed, sequences = map(int, sys.argv[1:])
    warnings.simplefilter("error")
    np.seterr(all="raise")
    run = Sequences(seed)
    run.run(sequences)
    outcome = {"digest": run.digest.hexdigest(), "compiled": not DISABLED, "counts": run.counts}
    print(json.dumps(outcome))


if __name__ == "__main__":
    main()
