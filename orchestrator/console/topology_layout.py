"""Text drawing of the topology: a box per node, from sources to sinks, and a row per link.

`layout` says what stands in which row and depends on the plan alone; `NetworkSnapshot` tells one
row at a moment. So a large topology costs no more than what of it is on the screen.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from orchestrator.console import parameter_values, text_format
from orchestrator.console.run_data import RunData
from orchestrator.plan import Direction, Nic, Plan, Port, Switch
from orchestrator.plan.shortest_paths import by_its_node

RECEIVED = ("feedback_received", "feedback_ignored", "feedback_unassigned")
"""What becomes of a feedback message that comes to a NIC."""
OVER_PS = 50 * 10**9
"""Utilisation and messages are those of the last 50 ms."""
BOX = 18
LEAST_LINK = 26
MOST_INSIDE = 2
"""Lines in a box below its name."""
LEAST = 2 * BOX + LEAST_LINK + 4
"""Columns of the narrowest drawing."""


Piece = tuple[str, str]
"""Text and its style, in the words of rich."""


@dataclass(frozen=True)
class Row:
    """A row of the drawing: of which node's box, which line in it (-1: its top, None: its bottom),
    the link direction beside it, where that leads and what stands behind it."""

    node: str
    line: int | None
    direction: Direction | None = None
    right: bool = True
    behind: str = ""


@dataclass
class LinkState:
    """A link direction at a moment. `cnm`, `pauses`: messages per second on it; those to a NIC
    with several links are shown in its box, since the link of arrival is unknown."""

    share: float | None
    rate: float | None
    held: bool
    cut: bool
    cnm: float
    pauses: float


def ranks(plan: Plan) -> dict[str, int]:
    """Column of every node: sources left, then switches by their distance, sinks right."""
    near: dict[str, set[str]] = {name: set() for name in plan.nodes}
    for way in plan.directions():
        near[way.sender.node].add(way.receiver.node)
    found = {n: 0 for n, node in plan.nodes.items() if isinstance(node, Nic)}
    front = list(found) or list(plan.nodes)[:1]
    found |= dict.fromkeys(front, 0)
    while front:
        following = []
        for name in front:
            for other in sorted(near[name]):
                if other not in found:
                    found[other] = found[name] + 1
                    following.append(other)
        front = following
    return found | {name: 0 for name in plan.nodes if name not in found}


def layout(plan: Plan) -> list[Row]:
    """The whole drawing: one block of rows per node, its links to the right of it."""
    column = ranks(plan)
    done: set[str] = set()
    pairs = {way.link: way for way in plan.directions() if way.sender.forward}
    backs = {way.link: way for way in plan.directions() if not way.sender.forward}
    ends: dict[str, list[str]] = {}
    for link, way in pairs.items():
        for node in dict.fromkeys((way.sender.node, way.receiver.node)):
            ends.setdefault(node, []).append(link)
    rows: list[Row] = []
    for name in sorted(plan.nodes, key=lambda name: column[name]):
        mine = [link for link in ends.get(name, []) if link not in done]
        done |= set(mine)
        if mine:
            rows += _block(plan, name, [(pairs[link], backs[link]) for link in mine])
    return rows


def _block(plan: Plan, name: str, links: list[tuple[Direction, Direction]]) -> list[Row]:
    """A box with its links, two rows each: there and back."""
    rows = [Row(name, -1)]
    for there, back in links:
        outgoing, incoming = (there, back) if there.sender.node == name else (back, there)
        line = len(rows) - 1
        rows.append(Row(name, line, outgoing, behind=outgoing.receiver.node))
        rows.append(Row(name, line + 1, incoming, right=False, behind=there.link))
    if isinstance(plan.nodes[name], Switch) and len(rows) < 4:
        rows.append(Row(name, MOST_INSIDE))
    return [*rows, Row(name, None)]


class NetworkSnapshot:
    """The network of a run at a moment; each thing is looked up when a row asks for it."""

    def __init__(self, data: RunData, at_ps: int) -> None:
        self.data, self.at_ps = data, at_ps

    @functools.cached_property
    def _standing(self) -> tuple[set[str], set[str]]:
        """Links that are cut, ports that are paused by a step."""
        levels_at = (self.data, self.at_ps)
        return parameter_values.cut_links(*levels_at), parameter_values.paused_ports(*levels_at)

    @functools.cached_property
    def _feedback_rates(self) -> dict[str, float]:
        """NIC -> feedback messages per second that come to it, whatever becomes of them."""
        found: dict[str, float] = {}
        for quantity in RECEIVED:
            for entity in self.data.entities(quantity):
                node = entity.partition(".")[0]
                found[node] = found.get(node, 0.0) + self._rate(entity, quantity)
        return found

    @functools.cached_property
    def _pauses(self) -> dict[str, float]:
        """Port -> PAUSE and PFC frames per second that it sends, for the sake of its own input
        or of the outputs at the other ports of its switch, which speak at each of them."""
        found: dict[str, float] = {}
        for entity in self.data.entities("pause_sent"):
            rate = self._rate(entity, "pause_sent")
            holder = self._holders.get(entity)
            if holder is None or not rate:
                continue
            if entity.startswith(holder.input):
                speak = [holder.entity]
            else:
                mine = self._ports[holder.node]
                speak = [port.entity for port in mine if port is not holder]
            for port in speak:
                found[port] = found.get(port, 0.0) + rate / len(speak)
        return found

    @functools.cached_property
    def _ports(self) -> dict[str, list[Port]]:
        """Node -> its ports."""
        return by_its_node(self.data.plan)

    @functools.cached_property
    def _holders(self) -> dict[str, Port]:
        """Queue of a port, or of its input -> that port."""
        suffixes = [lane.suffix for lane in self.data.plan.lanes()]
        return {
            side + suffix: port
            for ports in self._ports.values()
            for port in ports
            for side in (port.entity, port.input)
            for suffix in suffixes
        }

    def _rate(self, entity: str, quantity: str) -> float:
        """By how much a counter grows per second."""
        return self.data.rate(entity, quantity, self.at_ps, OVER_PS) or 0.0

    def link_state(self, way: Direction) -> LinkState:
        """State of a link direction: utilisation, paused or cut, messages per second."""
        data, at_ps = self.data, self.at_ps
        sent = data.rate(way.entity, "bytes_out", at_ps, OVER_PS)
        line = data.value(way.entity, "rate", at_ps)
        cut, paused = self._standing
        alone = len(self._ports[way.receiver.node]) == 1
        return LinkState(
            share=8 * sent / line if sent is not None and line else None,
            rate=None if sent is None else 8 * sent,
            held=parameter_values.is_held(data, way.entity, at_ps) or way.sender.entity in paused,
            cut=way.link in cut,
            cnm=self._feedback_rates.get(way.receiver.node, 0.0) if alone else 0.0,
            pauses=self._pauses.get(way.sender.entity, 0.0),
        )

    def inside(self, name: str) -> list[str]:
        """Texts of a box below its name: rate limiters of a NIC, the fullest queue of a switch."""
        data, node = self.data, self.data.plan.nodes[name]
        if isinstance(node, Nic):
            mine = data.plan.limiters().get(name, [])
            active = sum(bool(data.value(limiter, "active", self.at_ps)) for limiter in mine)
            text = [f"{active} of {len(mine)} limit" if mine else "nic"]
            received = self._feedback_rates.get(name, 0.0) if len(self._ports[name]) > 1 else 0.0
            return [*text, f"✉ CNM {received:.0f}/s"] if received >= 1 else text
        if not isinstance(node, Switch):
            return [str(node.kind)]
        queues = [e for e in data.entities("queue_bytes") if e.startswith(f"{name}.")]
        lengths = [data.value(e, "queue_bytes", self.at_ps) or 0 for e in queues]
        return ["switch", f"queue {text_format.amount(max(lengths, default=0), 'B')}"]

    def row(self, row: Row, width: int) -> list[Piece]:
        """Row of the drawing, on a screen of `width` columns."""
        if row.line is None or row.line < 0:
            left, right = "└┘" if row.line is None else "┌┐"
            return [(left + "─" * (BOX - 2) + right, "bold")]
        text = row.node if row.line == 0 else ""
        if 0 < row.line <= MOST_INSIDE:
            text = "".join(self.inside(row.node)[row.line - 1 : row.line])
        label = f" {text[: BOX - 4]:<{BOX - 3}}"
        pieces = [("│", "bold"), (label, "bold" if row.line == 0 else ""), ("│", "bold")]
        if row.direction is not None:
            room = max(width - 2 * BOX - 4, LEAST_LINK)
            pieces.append(_arrow(self.link_state(row.direction), room, right=row.right))
            pieces.append((f" {row.behind}", "bold" if row.right else "dim"))
        return pieces


def _arrow(way: LinkState, room: int, *, right: bool) -> Piece:
    """Text of one link direction: utilisation, paused, cut, messages."""
    notes = []
    if way.cut:
        notes.append("╳ CUT")
    if way.held:
        notes.append("‖ PAUSED")
    if way.cnm >= 1:
        notes.append(f"✉ CNM {way.cnm:.0f}/s")
    if way.pauses >= 1:
        notes.append(f"✋ PAUSE {way.pauses:.0f}/s")
    busy = f"{text_format.percent(way.share):>5} {text_format.amount(way.rate, 'bit/s')}"
    label = f" {'  '.join([busy, *notes])} "
    sign = "╌" if way.cut else "═" if (way.share or 0) >= 0.95 else "─"
    line = max(room - len(label) - 1, 2)
    before, after = sign * (line // 2), sign * (line - line // 2)
    drawn = f"{before}{label}{after}▶" if right else f"◀{before}{label}{after}"
    colour = "red" if way.cut or way.held else text_format.load_colour(way.share)
    return drawn, colour
