"""Fluid models of ECN or Delay: prints the tables of docs/fluid-models.md, and draws its figures.

    python tests/referees/fluid_models.py --out docs

The shipped plans `dcqcn-fluid` and `timely-start-rates`, over ten seeds, mean ± 95 % interval; the
figures show seed 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev

import numpy as np
import scipy.stats
from matplotlib.figure import Figure
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[2]))

import tailback
from tests.referees import dcqcn_flow, dcqcn_fluid, timely_fluid
from tests.referees.dcqcn_fluid import Dcqcn

SEEDS = 10
PACKET = 1000
"""Octets."""
FRAMES = 250_000
"""That a port of 40 Gb/s sends in the plan's phase, 50 ms."""
SETTLED = slice(120_000, 170_001)
"""Steps of 1 us in which the solution is at rest, or in its cycle."""
DURATION_S = 0.17
WINDOW = 500
"""Samples, 20 us each, of a running mean in the figure."""
FROM_S = 0.015
"""Behind the first queue, of megabytes."""
Metrics = dict[str, dict[str, float | None]]
"""Of one seed in the plan's phase: entity -> metric -> value."""


@dataclass(frozen=True)
class Network:
    """One network of `dcqcn-fluid`."""

    name: str
    flows: int
    delay_s: float

    @property
    def port(self) -> str:
        return f"{self.name}-s.{self.name}-d"

    @property
    def title(self) -> str:
        return f"{self.flows} flows, {self.delay_s * 1e6:.0f} us"

    def solved(self) -> dcqcn_fluid.Solution:
        return dcqcn_fluid.solve(Dcqcn(), [self.flows], self.delay_s, DURATION_S)


NETWORKS = (
    Network("near2", 2, 4e-6),
    Network("near10", 10, 4e-6),
    Network("far2", 2, 85e-6),
    Network("far10", 10, 85e-6),
)


@dataclass(frozen=True)
class Row:
    """A quantity: its heading, of the equations' solution in the phase, and of a run."""

    name: str
    of_solution: Callable[[Network, dcqcn_fluid.Solution], float]
    of_run: Callable[[Network, Metrics], float]
    form: str


def marked_share(network: Network, solution: dcqcn_fluid.Solution) -> float:
    """Mean of the marking probability, over what the port sends."""
    marked = [Dcqcn().marking(length) for length in solution.queue[SETTLED][::10]]
    return 100 * mean(marked)


def used(network: Network, solution: dcqcn_fluid.Solution) -> float:
    """Share of the link's rate that is sent: less than 1 where the queue is empty."""
    rate = solution.rates[SETTLED, 0] * network.flows / Dcqcn().link
    sent = np.where(solution.queue[SETTLED] > 0, 1.0, np.minimum(rate, 1.0))
    return float(sent.mean())


def swing(queue: NDArray[np.float64]) -> float:
    """Half of what lies between the 5th and the 95th percentile."""
    low, high = np.percentile(queue, [5, 95])
    return float(high - low) / 2


def metric(entity: str, name: str, scale: float = 1.0) -> Callable[[Network, Metrics], float]:
    """A metric of an entity, whose name has `{0}` for the network's and `port` for its port."""

    def value(network: Network, metrics: Metrics) -> float:
        place = network.port if entity == "port" else entity.format(network.name)
        return scale * float(metrics[place][name] or 0)

    return value


ROWS = (
    Row(
        "mean queue, KB",
        lambda network, solution: float(solution.queue[SETTLED].mean()) * PACKET / 1e3,
        metric("port", "queue_bytes.mean", 1e-3),
        ".1f",
    ),
    Row(
        "swing of the queue, KB",
        lambda network, solution: swing(solution.queue[SETTLED]) * PACKET / 1e3,
        metric("port", "queue_bytes.amplitude", 1e-3),
        ".1f",
    ),
    Row("frames marked, %", marked_share, metric("port", "frames.marked", 100 / FRAMES), ".3f"),
    Row("utilisation", used, metric("port", "utilization"), ".3f"),
    Row("Jain's index", lambda network, solution: 1.0, metric("{0}", "fairness.jain"), ".3f"),
)


def interval(values: Sequence[float], form: str) -> str:
    """Mean and half of its 95 % interval (Student's t)."""
    factor = scipy.stats.t.ppf(0.975, len(values) - 1)
    half = float(factor) * stdev(values) / len(values) ** 0.5
    return f"{mean(values):{form}} ± {half:{form}}"


def fixed_points() -> None:
    """Print marking probabilities and their queues: equations, and one flow by the protocol."""
    model = Dcqcn()
    print("| flows | p and queue: equation 11 | equation 14 | one flow, event by event |")
    print("|---|---|---|---|")
    for flows in (2, 10):
        every = (
            model.fixed_marking(flows),
            model.approximate_marking(flows),
            dcqcn_flow.fixed_marking(model, flows),
        )
        cells = [f"{p:.5f}, {model.queue_at(p) * PACKET / 1e3:.1f} KB" for p in every]
        print(f"| {flows} | {' | '.join(cells)} |")


def dcqcn(seeds: int, out: Path) -> None:
    """Print the table of DCQCN, and draw its figure."""
    runs = [tailback.run("dcqcn-fluid", seed=seed) for seed in range(1, seeds + 1)]
    solutions = {network: network.solved() for network in NETWORKS}
    print("\n| network | quantity | equations | tailback |\n|---|---|---|---|")
    for network, solution in solutions.items():
        for row in ROWS:
            ours = interval([row.of_run(network, run.metrics["steady"]) for run in runs], row.form)
            theirs = f"{row.of_solution(network, solution):{row.form}}"
            print(f"| {network.title} | {row.name} | {theirs} | {ours} |")
    figure = Figure(figsize=(9, 5), layout="constrained")
    above, below = figure.subplots(2, 3, sharex=True)
    for network, upper, lower in zip(
        (NETWORKS[0], NETWORKS[1], NETWORKS[3]), above, below, strict=True
    ):
        solution = solutions[network]
        times, queue = series(runs[0], network.port, "queue_bytes")
        upper.plot(times, queue / 1e3, lw=0.4, color="C0", alpha=0.6, label="tailback")
        mean_of = np.convolve(queue / 1e3, np.full(WINDOW, 1 / WINDOW), "valid")
        begins = times[WINDOW // 2 : WINDOW // 2 + len(mean_of)]
        later = begins > 1e3 * FROM_S
        upper.plot(begins[later], mean_of[later], lw=1, color="k", label="its mean over 10 ms")
        upper.plot(
            1e3 * solution.times, solution.queue * PACKET / 1e3, lw=1, color="C1", label="equations"
        )
        upper.set_title(network.title)
        upper.set_ylim(0, 80 if network.flows == 2 else 320)
        for number in range(1, network.flows + 1):
            times, rate = series(runs[0], f"{network.name}-h{number}.rp0", "current_rate")
            lower.plot(times[5:], rate[5:] / 1e9, lw=0.4, color="C0", alpha=0.6)
        lower.plot(1e3 * solution.times, solution.rates * PACKET * 8 / 1e9, lw=1, color="C1")
        lower.set_ylim(0, 80 / network.flows)
        lower.set_xlabel("time, ms")
        lower.set_xlim(0, 100)
    above[0].set_ylabel("queue, KB")
    below[0].set_ylabel("rate of each flow, Gb/s")
    above[2].legend(fontsize="small", loc="upper left")
    figure.savefig(out / "dcqcn-fluid.png", dpi=110)


def series(
    run: tailback.Run, entity: str, quantity: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Samples of a run: times in ms, and values."""
    table = run.samples(entity=entity, quantity=quantity)
    return table["time_ps"].to_numpy() / 1e9, table["value"].to_numpy().astype(float)


def timely(seeds: int, out: Path) -> None:
    """Print the table of TIMELY, and draw its figure."""
    runs = [tailback.run("timely-start-rates", seed=seed) for seed in range(1, seeds + 1)]
    figure = Figure(figsize=(9, 2.8), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    print("\n| pair | flow | equations, Gb/s | an update for each segment | tailback |")
    print("|---|---|---|---|---|")
    for panel, name, begins in zip(
        panels, ("even", "uneven"), ((5e9, 5e9), (7e9, 3e9)), strict=True
    ):
        model = timely_fluid.Timely(segment=512e3)
        solution = timely_fluid.solve(model, begins, 0.2)
        by_segment = timely_fluid.solve_by_segment(model, begins, 0.2)
        solved, single = (
            each.rates[100_000:].mean(axis=0) / 1e9 for each in (solution, by_segment)
        )
        for number in (1, 2):
            found = [run.metrics["steady"][f"{name}-{number}"]["throughput_bps"] for run in runs]
            ours = interval([float(value or 0) / 1e9 for value in found], ".2f")
            cells = f"{solved[number - 1]:.2f} | {single[number - 1]:.2f}"
            print(f"| {name} | {number} | {cells} | {ours} |")
            times, rate = series(runs[0], f"{name}-h{number}.rp0", "current_rate")
            colour = f"C{number - 1}"
            panel.plot(times, rate / 1e9, lw=0.8, color=colour, label=f"flow {number}, tailback")
            every = slice(0, None, 50)
            panel.plot(
                1e3 * solution.times[every],
                solution.rates[every, number - 1] / 1e9,
                lw=0.8,
                ls=":",
                color=colour,
                label=f"flow {number}, equations",
            )
        panel.set_title(f"{begins[0] / 1e9:.0f} and {begins[1] / 1e9:.0f} Gb/s at first")
        panel.set_xlabel("time, ms")
        panel.set_ylim(0, 10)
    panels[0].set_ylabel("rate, Gb/s")
    panels[0].legend(ncols=2, fontsize="small")
    figure.savefig(out / "timely-start-rates.png", dpi=110)


def main() -> None:
    """Print the tables and draw the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(), help="folder of the figures")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="seeds of each plan, 2 or more")
    words = parser.parse_args()
    if words.seeds < 2:
        parser.error("--seeds has to be 2 or more: one seed has no interval")
    if not words.out.is_dir():
        parser.error(f"--out {words.out}: no such folder")
    fixed_points()
    dcqcn(words.seeds, words.out)
    timely(words.seeds, words.out)


if __name__ == "__main__":
    main()
