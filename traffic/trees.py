"""Tree of hosts from the pairs of a traffic entry: each host with its parent, and reversed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

EXPECTED = 'pairing = "ring", or "tree" with both_ways = true, of at least two hosts is expected'


@dataclass(frozen=True)
class Tree:
    """Parents, children and depths by host; connections to the parent (`up`) and from it."""

    root: str
    parent: dict[str, str]
    children: dict[str, list[str]]
    depth: dict[str, int]
    up: dict[str, int]
    down: dict[str, int]

    @classmethod
    def of(cls, pairs: Sequence[tuple[str, str]]) -> Tree:
        """The tree of pairs (child, parent), followed by all of them turned round.

        Raises ValueError where they are none.
        """
        half = len(pairs) // 2
        upward, number = pairs[:half], {pair: place for place, pair in enumerate(pairs)}
        parent = dict(upward)
        roots = {above for above in parent.values() if above not in parent}
        turned = all((above, below) in number for below, above in upward)
        if len(pairs) != 2 * half or len(parent) != half or not turned or len(roots) != 1:
            raise ValueError(EXPECTED)
        (root,) = roots
        children: dict[str, list[str]] = {name: [] for name in (root, *parent)}
        for below, above in upward:
            children[above].append(below)
        depth, row = {root: 0}, [root]
        for node in row:
            for below in children[node]:
                depth[below] = depth[node] + 1
                row.append(below)
        if len(depth) <= half:  # a circle beside the tree
            raise ValueError(EXPECTED)
        up = {below: number[below, above] for below, above in upward}
        down = {below: number[above, below] for below, above in upward}
        return cls(root, parent, children, depth, up, down)

    @property
    def height(self) -> int:
        """Steps from the root to the farthest host."""
        return max(self.depth.values())

    @property
    def upwards(self) -> list[str]:
        """All but the root, the farthest first."""
        return sorted(self.parent, key=lambda node: -self.depth[node])
