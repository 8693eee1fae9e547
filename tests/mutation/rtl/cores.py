"""Which modules are mutated, and within which module their bench runs."""

from __future__ import annotations

from dataclasses import dataclass, field

RTL, BENCHES = "firmware/rtl", "tests/firmware/benches"


@dataclass(frozen=True)
class Core:
    """A module of `RTL` as it stands in the top module of a bench of `BENCHES`."""

    bench: str
    top: str
    path: str = ""
    """Of the instance within the top module; empty: it is that."""
    parameters: dict[str, int] = field(default_factory=dict)
    """Of the top module."""
    own: dict[str, int] = field(default_factory=dict)
    """Of the module itself, where it is within the top module."""
    count: int = 60
    """Mutants of it that are tried: the tool spreads them over all that it could change."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The files of its tests."""
        return (f"{BENCHES}/{self.bench}.py",)


CORES = {
    "lfsr_step": Core("random_source", "lfsr32", "advance"),
    "lfsr32": Core("random_source", "lfsr32"),
    "multiply": Core("multiplying", "multiply", parameters={"A_W": 40, "B_W": 34, "STEP": 2}),
    "jitter": Core("jitter", "jitter", parameters={"BASE_W": 45}),
    "divide": Core(
        *("dividing", "divide"), parameters={"DIVIDEND_W": 40, "DIVISOR_W": 40, "STEP": 1}
    ),
    "pause_timer": Core("pause_held", "pause_timer"),
    "pause_control": Core("pause_sent", "pause_control"),
    "service_limiter": Core("service", "service_limiter"),
    "token_bucket": Core("token_bucket", "token_bucket", parameters={"N": 4}),
    "qcn_quantiser": Core("quantiser", "qcn_quantiser"),
    "qcn_sampler": Core("sampler", "qcn_sampler"),
    "culprit_array": Core("culprits", "culprit_array", parameters={"UNITS": 64}),
    "occupancy_sampler": Core(
        "occupancy", "occupancy_sampler", parameters={"UNITS": 64, "SLOTS": 32}
    ),
    "qcn_cp": Core("congestion_point", "qcn_cp", count=100),
    "qcn_rp": Core("reaction_point", "qcn_rp", parameters={"N": 4}, count=120),
}
FILES = {f"{RTL}/{name}.v": core for name, core in CORES.items()}
