"""Pairs of ends that are not written down one by one: all of them, a permutation, random ones."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

Pairs = list[tuple[str, str]]


def drawn(pairing: str, sources: Sequence[str], targets: Sequence[str], seed: int) -> Pairs:
    """The pairs of `pairing` ("all", "permutation", "random"); nobody is paired with itself.

    A permutation leaves out, of lists of different lengths, what has no partner; and a source whose
    only partner left would be itself.
    """
    random = Random(seed)
    if pairing == "all":
        return [(source, target) for source in sources for target in targets if source != target]
    if pairing == "random":
        choices = {source: [target for target in targets if target != source] for source in sources}
        return [(source, random.choice(choices[source])) for source in sources if choices[source]]
    return _permutation(list(sources), list(targets), random)


def _permutation(sources: list[str], targets: list[str], random: Random) -> Pairs:
    random.shuffle(targets)
    for place, source in enumerate(sources[: len(targets)]):
        if targets[place] != source:
            continue
        fitting = [
            other
            for other, target in enumerate(targets)
            if target != source and (other >= len(sources) or sources[other] != source)
        ]
        if fitting:
            other = random.choice(fitting)
            targets[place], targets[other] = targets[other], targets[place]
    return [pair for pair in zip(sources, targets, strict=False) if pair[0] != pair[1]]
