"""Reachability of a counterexample: short sequences of events from a new state.

The state of a counterexample is within inductive bounds, but not every such state is reachable.
Tried are the call itself on an initial state, one or two other kernels before it, and repeated
calls, with the counterexample's parameters and records. If none of these shows the fault, nothing
follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from firmware.proof.checked import Cells, Fields, OutOfRange
from firmware.proof.deadline import Endless, Late
from firmware.proof.replay import kernels_of, run_kernel, trouble_of
from orchestrator.algorithm import Algorithm

AGAIN = 8


def how_reached(algorithm: Algorithm, event: str, values: Mapping[str, int]) -> str:
    """Sequence of events that ends with `event` and shows the fault; empty without one, or after
    the time limit."""
    for before in _sequences(algorithm, event):
        state = _begun(algorithm, values)
        try:
            for one in before:
                _, records = run_kernel(algorithm, one, {**values, **state})
                state = _state_of(records["state"], values)
            shown = trouble_of(algorithm, event, {**values, **state})
        except (OutOfRange, Endless):
            continue
        except Late:
            break
        if shown:
            return ", ".join([*before, event])
    return ""


def _sequences(algorithm: Algorithm, event: str) -> Iterator[list[str]]:
    yield []
    events = list(kernels_of(algorithm))
    yield from ([one] for one in events)
    yield from ([one, other] for one in events for other in events if one != other)
    yield from ([event] * times for times in range(2, AGAIN))


def _begun(algorithm: Algorithm, values: Mapping[str, int]) -> dict[str, int]:
    """Initial state: zeros, and seeds other than 0."""
    begun = {name: 0 for name in values if name.startswith("state.")}
    seeds = [name for name in algorithm.state.names or () if name in ("lfsr", "lfsr_alike")]
    return begun | {f"state.{name}": values.get(f"state.{name}", 0) or 1 for name in seeds}


def _state_of(state: Fields, values: Mapping[str, int]) -> dict[str, int]:
    """State after a call, without values of the counterexample's own state."""
    found = {name: 0 for name in values if name.startswith("state.")}
    found |= {f"state.{name}": value for name, value in state.numbers().items()}
    for name, cells in vars(state).items():
        if isinstance(cells, Cells):
            for place, value in cells.items():
                found[f"state.{name}[{', '.join(map(str, place))}]"] = int(value)
    return found
