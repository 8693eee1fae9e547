"""Cyclic buffer dependencies (CBD) of a network: its cycles of waits, and remedies."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

from orchestrator.plan.pause_dependencies import Network, Wait

if TYPE_CHECKING:
    import networkx

SEARCHED_LINKS = 20
"""Links of a knot from which its shortest ring is looked for: one cycle is reported per knot."""


@dataclass(frozen=True)
class WaitCycle:
    """The shortest ring of one knot: of links each of which can, over others, wait for itself."""

    links: tuple[str, ...]
    """Each waits for the next one, the last for the first."""
    waits: tuple[Wait, ...]
    """Why, link by link."""
    knot: int
    """Number of links in the knot; more than in the ring if it has other rings too."""
    alone: tuple[int, ...]
    """Places of the waits without which, each alone, the knot has no ring at all."""
    ended_by: tuple[str, ...] = ()
    """Watchdogs at ports of the ring, as plugin at link: it stands until one of them acts."""

    @property
    def text(self) -> str:
        """Possible deadlock, in a sentence."""
        chain = " waits for ".join((*self.links, self.links[0]))
        text = f"links may hold each other in a ring, so that nothing moves any more: {chain}"
        if self.ended_by:
            text += f" (until a watchdog acts: {', '.join(self.ended_by)})"
        return text

    def remedies(self) -> list[str]:
        """Remedies, a sentence each; those that are enough alone first."""
        order = sorted(range(len(self.links)), key=lambda place: place not in self.alone)
        pairs = list(pairwise((*self.links, self.links[0])))
        found = []
        for place in order:
            (link, after), wait = pairs[place], self.waits[place]
            rest = "" if place in self.alone else "; the knot has other rings, too"
            found.append(
                f"no frames from {link} to {after} in one lane (by forwarding, or in another lane "
                f"from there on; now: {wait.traffic}), or no '{wait.plugin}' at {wait.buffer}{rest}"
            )
        return found

    def as_table(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "links": list(self.links),
            "waits": [asdict(wait) for wait in self.waits],
            "knot": self.knot,
            "breaks_alone": list(self.alone),
            "ended_by": list(self.ended_by),
            "text": self.text,
            "remedies": self.remedies(),
        }


def wait_cycles(network: Network) -> list[WaitCycle]:
    """One ring for each knot, the shortest that was found there; none: it cannot deadlock."""
    if _is_acyclic(network):  # most are, and what finds the rings takes longer to import
        return []
    import networkx as nx

    graph: networkx.DiGraph[str] = (
        nx.DiGraph()
    )  # handed edges it imports SciPy, to see what they are
    graph.add_edges_from(network.waits)
    knots = [sorted(knot) for knot in nx.strongly_connected_components(graph)]
    looped = [k for k in knots if len(k) > 1 or graph.has_edge(k[0], k[0])]
    return [_ring(network, graph.subgraph(knot), knot) for knot in sorted(looped)]


def _is_acyclic(network: Network) -> bool:
    """True if no link can wait for itself."""
    order = TopologicalSorter[str]()
    for link, after in network.waits:
        order.add(link, after)
    try:
        order.prepare()
    except CycleError:
        return False
    return True


def _ring(network: Network, graph: networkx.DiGraph[str], knot: list[str]) -> WaitCycle:
    links = min((_through(graph, link) for link in islice(knot, SEARCHED_LINKS)), key=len)
    first = links.index(min(links))
    links = links[first:] + links[:first]
    pairs = list(pairwise((*links, links[0])))
    return WaitCycle(
        links=tuple(links),
        waits=tuple(network.waits[pair] for pair in pairs),
        knot=len(knot),
        alone=tuple(place for place, pair in enumerate(pairs) if _ends(graph, pair)),
        ended_by=tuple(
            f"{network.ended_by[link]} at {link}" for link in links if link in network.ended_by
        ),
    )


def _through(graph: networkx.DiGraph[str], link: str) -> list[str]:
    """The shortest ring through a link of a knot."""
    import networkx as nx

    if graph.has_edge(link, link):
        return [link]
    back = nx.single_target_shortest_path(graph, link)
    return [link, *min((back[after] for after in sorted(graph[link])), key=len)[:-1]]


def _ends(graph: networkx.DiGraph[str], pair: tuple[str, str]) -> bool:
    """True if a knot without one wait has no ring."""
    import networkx as nx

    other: networkx.DiGraph[str] = nx.DiGraph()
    other.add_edges_from(edge for edge in graph.edges if edge != pair)
    return bool(nx.is_directed_acyclic_graph(other))
