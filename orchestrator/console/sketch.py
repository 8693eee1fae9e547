"""The topology as text: nodes as boxes from sources to sinks, links between them as rows."""

from __future__ import annotations

from dataclasses import dataclass

from rich.text import Text

from orchestrator.console import levels, words
from orchestrator.console.data import RunData
from orchestrator.plan import Direction, Nic, Switch

OVER_PS = 50 * 10**9
"""Utilisation and messages are those of the last 50 ms."""
BOX = 18
LEAST_LINK = 26


@dataclass
class Way:
    """A link direction at a moment."""

    entity: str
    share: float | None
    rate: float | None
    held: bool
    cut: bool
    cnm: float
    pauses: float


def ways_at(data: RunData, at_ps: int) -> dict[str, Way]:
    """Every link direction: how busy it is, whether it is held or cut, what messages it carries."""
    found = {}
    back = {w.sender.entity: w.entity for w in data.plan.directions()}
    told = _messages(data, at_ps, "feedback_sent")
    pauses = _messages(data, at_ps, "pause_sent")
    for way in data.plan.directions():
        sent = data.rate(way.entity, "bytes_out", at_ps, OVER_PS)
        line = data.value(way.entity, "rate", at_ps)
        found[way.entity] = Way(
            way.entity,
            share=8 * sent / line if sent is not None and line else None,
            rate=None if sent is None else 8 * sent,
            held=levels.is_held(data, way.entity, at_ps)
            or levels.is_paused(data, way.sender.entity, at_ps),
            cut=levels.is_cut(data, way.link, at_ps),
            cnm=told.get(way.sender.node, 0.0) if _to_nic(data, way) else 0.0,
            pauses=pauses.get(way.sender.node, 0.0) if back.get(way.sender.entity) else 0.0,
        )
    return found


def _to_nic(data: RunData, way: Direction) -> bool:
    return isinstance(data.plan.nodes[way.receiver.node], Nic)


def _messages(data: RunData, at_ps: int, quantity: str) -> dict[str, float]:
    """Messages per second that each switch sends."""
    found: dict[str, float] = {}
    for entity in data.entities(quantity):
        rate = data.rate(entity, quantity, at_ps, OVER_PS) or 0.0
        node = entity.partition(".")[0]
        found[node] = found.get(node, 0.0) + rate
    return found


def ranks(data: RunData) -> dict[str, int]:
    """Column of every node: sources left, then switches by their distance, sinks right."""
    plan = data.plan
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


def draw(data: RunData, at_ps: int, width: int) -> Text:
    """The whole drawing: one block of rows per node of a column, its links to the right of it."""
    ways, column = ways_at(data, at_ps), ranks(data)
    text = Text()
    done: set[str] = set()
    order = sorted(data.plan.nodes, key=lambda name: column[name])
    room = max(width - 2 * BOX - 4, LEAST_LINK)
    pairs = {way.link: way for way in data.plan.directions() if way.sender.forward}
    backs = {way.link: way for way in data.plan.directions() if not way.sender.forward}
    for name in order:
        mine = [
            way
            for link, way in pairs.items()
            if link not in done and name in (way.sender.node, way.receiver.node)
        ]
        if not mine:
            continue
        done |= {way.link for way in mine}
        text.append_text(_node(data, name, mine, backs, ways, at_ps, room))
    return text


def _node(
    data: RunData,
    name: str,
    mine: list[Direction],
    backs: dict[str, Direction],
    ways: dict[str, Way],
    at_ps: int,
    room: int,
) -> Text:
    """A box with its links, two rows each: there and back."""
    text = Text()
    text.append("┌" + "─" * (BOX - 2) + "┐\n", "bold")
    inside = [name, *_inside(data, name, at_ps)]
    rows = max(2 * len(mine), len(inside))
    for row in range(rows):
        label = inside[row] if row < len(inside) else ""
        text.append("│", "bold")
        text.append(f" {label[: BOX - 4]:<{BOX - 3}}", "bold" if row == 0 else "")
        text.append("│", "bold")
        if row < 2 * len(mine):
            there = mine[row // 2]
            back = backs[there.link]
            outgoing = there if there.sender.node == name else back
            incoming = back if outgoing is there else there
            if row % 2 == 0:
                text.append_text(_arrow(ways[outgoing.entity], room, right=True))
                text.append(f" {outgoing.receiver.node}", "bold")
            else:
                text.append_text(_arrow(ways[incoming.entity], room, right=False))
                text.append(f" {there.link}", "dim")
        text.append("\n")
    text.append("└" + "─" * (BOX - 2) + "┘\n", "bold")
    return text


def _inside(data: RunData, name: str, at_ps: int) -> list[str]:
    """What a box tells besides the name: the fullest queue of a switch."""
    node = data.plan.nodes[name]
    if isinstance(node, Nic):
        mine = data.plan.limiters().get(name, [])
        active = sum(bool(data.value(limiter, "active", at_ps)) for limiter in mine)
        return [f"{active} of {len(mine)} limit"] if mine else ["nic"]
    if not isinstance(node, Switch):
        return [node.kind]
    queues = [e for e in data.entities("queue_bytes") if e.startswith(f"{name}.")]
    lengths = [data.value(e, "queue_bytes", at_ps) or 0 for e in queues]
    return ["switch", f"queue {words.amount(max(lengths, default=0), 'B')}"]


def _arrow(way: Way, room: int, *, right: bool) -> Text:
    """One direction: busy, held, cut; messages on it."""
    notes = []
    if way.cut:
        notes.append("╳ CUT")
    if way.held:
        notes.append("‖ PAUSED")
    if way.cnm >= 1:
        notes.append(f"✉ CNM {way.cnm:.0f}/s")
    if way.pauses >= 1:
        notes.append(f"✋ PAUSE {way.pauses:.0f}/s")
    busy = f"{words.percent(way.share):>5} {words.amount(way.rate, 'bit/s')}"
    label = f" {'  '.join([busy, *notes])} "
    sign = "╌" if way.cut else "═" if (way.share or 0) >= 0.95 else "─"
    line = max(room - len(label) - 1, 2)
    before, after = sign * (line // 2), sign * (line - line // 2)
    drawn = f"{before}{label}{after}▶" if right else f"◀{before}{label}{after}"
    colour = "red" if way.cut or way.held else words.load_colour(way.share)
    return Text(drawn, colour)
