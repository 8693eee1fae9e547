"""Random calls of a kernel, for counterexamples that the solver's values do not confirm.

The solver knows only bounds of a loop's results, so that its values need not belong to a call. The
fields of all records are drawn within their ranges, often at the bounds; about half of the solver's
values are kept.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

from firmware.proof.counterexample_replay import shapes_of
from firmware.proof.field_ranges import ENTITY, NOW, RECORDS
from firmware.proof.parameter_bounds import record_of
from firmware.proof.term_graph import Interval
from orchestrator.algorithm import Algorithm
from orchestrator.engine.frames.telemetry_header import FIRST, MOST_STAMPS, WORDS

CELLS = 2
"""Number of drawn cells of an array; the others are 0."""
WORD: Interval = (0, (1 << 32) - 1)


def random_calls(
    algorithm: Algorithm,
    state: Mapping[str, Interval],
    said: Mapping[str, int],
    rng: random.Random,
    times: int,
) -> Iterator[dict[str, int]]:
    """Values of random calls, by record and field; no plan need have such parameters.

    Each field is drawn independently, so that fields that a kernel does not read have no effect on
    the others.
    """
    bounds = ranges_of_call(algorithm, state)
    seed = rng.random()
    own = {name: random.Random(f"{seed}/{name}") for name in bounds}
    for _ in range(times):
        kept = rng.random()
        parameters = rng.random() < 0.5
        values = {
            name: said[name]
            if name in said and own[name].random() < kept
            else random_value(own[name], *ends)
            for name, ends in bounds.items()
            if parameters or not name.startswith("params.") or name in said
        }
        for name in ("frame.entered", "frame.created"):
            values[name] = min(values[name], values["now"])
        yield values


def ranges_of_call(algorithm: Algorithm, state: Mapping[str, Interval]) -> dict[str, Interval]:
    """Ranges of all values of a call, by record and field.

    :param state: bounds of the state's fields, and of those of the entity that kernels keep
    """
    found = {"now": NOW.bounds}
    for record in (ENTITY[algorithm.kind], "frame"):
        for name, one in RECORDS[record][1].items():
            found[f"{record}.{name}"] = state.get(f"{record}.{name}", one.bounds)
    for name, shape in shapes_of(algorithm.state).items():
        if not shape:
            found[f"state.{name}"] = state[name]
        elif len(shape) == 1:
            found |= {f"state.{name}[{place}]": state[name] for place in range(CELLS)}
        else:
            places = range(min(shape[1], WORDS))
            found |= {f"state.{name}[0, {place}]": state[name] for place in places}
    parameters = record_of(algorithm.params)
    found |= {f"params.{name}": parameters.bounds(name) for name in parameters.shapes}
    found |= {"word[0]": (0, MOST_STAMPS), "word[1]": (0, MOST_STAMPS)}
    return found | {f"word[{FIRST + place}]": WORD for place in range(CELLS * WORDS)}


def random_value(rng: random.Random, low: int, high: int) -> int:
    """Random number within bounds; often a bound, a small number, or one of few bits."""
    kind = rng.randrange(5)
    if kind < 2:
        return (low, high)[kind]
    if kind == 2:
        return min(max(rng.choice((0, 1, 2)), low), high)
    if kind == 3:
        return rng.randint(low, high)
    return min(max(rng.getrandbits(rng.randrange(1, 63)), low), high)
