"""Pairings of traffic ends: all pairs, a permutation, random pairs."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from random import Random

Pairs = list[tuple[str, str]]


def drawn(pairing: str, sources: Sequence[str], targets: Sequence[str], seed: int) -> Pairs:
    """The pairs of `pairing` ("all", "permutation", ...); no end is paired with itself.

    A permutation leaves out, of lists of different lengths, what has no partner; and a source whose
    only partner left would be itself.
    """
    random = Random(seed)
    if pairing == "all":
        return [(source, target) for source in sources for target in targets if source != target]
    if pairing == "ring":
        following = [*targets[1:], *targets[:1]]
        return [pair for pair in zip(sources, following, strict=False) if pair[0] != pair[1]]
    if pairing == "tree":
        above = [targets[(place - 1) // 2] for place in range(1, len(sources)) if targets]
        return [pair for pair in zip(sources[1:], above, strict=True) if pair[0] != pair[1]]
    if pairing == "random":
        return _random(sources, targets, random)
    return _permutation(list(sources), list(targets), random)


def most(pairing: str, sources: Sequence[str], targets: Sequence[str]) -> int:
    """Number of pairs that `drawn` would examine, without making one of them.

    A permutation looks for another target for each source that got itself: each does so as often as
    it is among the targets, of so many as there are.
    """
    if pairing == "all":
        return len(sources) * len(targets)
    if pairing == "permutation":
        among = Counter(targets)
        return len(sources) + sum(among[source] for source in sources)
    return len(sources)


def _random(sources: Sequence[str], targets: Sequence[str], random: Random) -> Pairs:
    """Draws among all targets but the source itself, without a list of them for every source."""
    before: dict[str, list[int]] = {}
    """Name -> for each of its places, how many other names stand before it; ascending."""
    for place, target in enumerate(targets):
        mine = before.setdefault(target, [])
        mine.append(place - len(mine))
    pairs = []
    for source in sources:
        own = before.get(source, [])
        if len(own) == len(targets):
            continue
        chosen = random.choice(range(len(targets) - len(own)))
        pairs.append((source, targets[chosen + bisect_right(own, chosen)]))
    return pairs


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
