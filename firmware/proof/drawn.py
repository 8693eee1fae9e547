"""Random calls of a kernel, for counterexamples that the solver's values do not confirm.

Of what a loop leaves the solver knows bounds alone, so that its values need not be those of a call.
Drawn are the fields of all records between what they are taken for, often at the ends, and about
half of what the solver said is kept.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

from firmware.proof.params import record_of
from firmware.proof.ranges import ENTITY, NOW, RECORDS
from firmware.proof.replay import shapes_of
from firmware.proof.terms import Interval
from orchestrator.algorithm import Algorithm
from orchestrator.engine.frames.stamps import FIRST, MOST_STAMPS, WORDS

CELLS = 2
"""Of an array, the first ones: the others hold 0."""
WORD: Interval = (0, (1 << 32) - 1)


def calls_at_random(
    algorithm: Algorithm,
    state: Mapping[str, Interval],
    said: Mapping[str, int],
    rng: random.Random,
    times: int,
) -> Iterator[dict[str, int]]:
    """Values of so many calls, by record and field; parameters may be such as no plan has.

    Each field is drawn by itself: what a record has beside those that a kernel reads is nothing to
    what is found.
    """
    bounds = _bounds(algorithm, state)
    seed = rng.random()
    own = {name: random.Random(f"{seed}/{name}") for name in bounds}
    for _ in range(times):
        kept = rng.random()
        parameters = rng.random() < 0.5
        values = {
            name: said[name]
            if name in said and own[name].random() < kept
            else drawn(own[name], *ends)
            for name, ends in bounds.items()
            if parameters or not name.startswith("params.") or name in said
        }
        for name in ("frame.entered", "frame.created"):
            values[name] = min(values[name], values["now"])
        yield values


def _bounds(algorithm: Algorithm, state: Mapping[str, Interval]) -> dict[str, Interval]:
    found = {"now": NOW.bounds}
    for record in (ENTITY[algorithm.kind], "frame"):
        found |= {f"{record}.{name}": one.bounds for name, one in RECORDS[record][1].items()}
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


def drawn(rng: random.Random, low: int, high: int) -> int:
    """A number between two, often one of them, or a small one, or of few bits."""
    kind = rng.randrange(5)
    if kind < 2:
        return (low, high)[kind]
    if kind == 2:
        return min(max(rng.choice((0, 1, 2)), low), high)
    if kind == 3:
        return rng.randint(low, high)
    return min(max(rng.getrandbits(rng.randrange(1, 63)), low), high)
