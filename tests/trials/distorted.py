"""The job: a plan's run as target software does it, with one of its links meddled with."""

from __future__ import annotations

import threading
import time
from typing import Any

from orchestrator.plan import Plan
from orchestrator.recording import Recording
from orchestrator.targets.software import plan_job
from orchestrator.targets.software.network_namespaces import MTU, Machines
from tests.trials import frame_changes
from tests.trials.distortions import KINDS, Kind, Place
from tests.trials.relay import NAME, Relay, straight

BEGINS = 0.3
"""Of the run's time, before anything happens to it."""


FRAMES, RELAY = "frames", "relay alone"
"""Of a distortion of frames by kind, which is drawn: see `frame_changes`; of the relay that it
takes, which passes all on as it is: the machine's own share of what that does to a run."""
BACK = "back"
"""The way of a distortion of what comes back over a link, from its receiver to its sender."""


def kind_of(what: dict[str, Any], pace: float) -> Kind:
    """The kind of a distortion."""
    if what["kind"] == RELAY:
        return Kind((1.0,), "", "", rule=lambda _: straight)
    if what["kind"] != FRAMES:
        return KINDS[what["kind"]]
    return Kind((1.0,), "", "", rule=lambda _: frame_changes.rule(what, 1 / pace))


class Watched:
    """A job's way to its parent, which tells when the run begins."""

    def __init__(self, control: Any, begun: threading.Event) -> None:
        self._control, self._begun = control, begun

    def report(self, news: Any) -> None:
        """See worker.Control."""
        self._control.report(news)
        if news == plan_job.STARTED:
            self._begun.set()


def run(control: Any, text: str, what: dict[str, Any], pace: float, most: int | None) -> Recording:
    """`what`: the kind, its strength, the link; nothing where the run is left alone."""
    begun = threading.Event()
    if what:
        kind, strength = kind_of(what, pace), what["strength"]
        back = what.get("way") == BACK
        honest = plan_job.join

        def join(plan: Plan, machines: Machines, devices: Any) -> dict[str, tuple[str, int]]:
            def joined(plan: Plan, machines: Machines) -> dict[str, tuple[str, int]]:
                return honest(plan, machines, devices)

            local, here = _joined(joined, plan, machines, what["link"], kind, strength, pace, back)
            if kind.before is not None:
                kind.before(here, strength)
            if kind.during is not None:
                wait_s = plan_job.LEAD_NS / 1e9 + BEGINS * plan.duration / 1e12 / pace
                words = (kind, here, strength, begun, wait_s)
                threading.Thread(target=_during, args=words, daemon=True).start()
            return local

        plan_job.join = join
    return plan_job.run(Watched(control, begun), text, False, pace, most)


def _joined(
    honest: Any,
    plan: Plan,
    machines: Machines,
    link: str,
    kind: Kind,
    strength: float,
    pace: float,
    back: bool,
) -> tuple[dict[str, tuple[str, int]], Place]:
    """The machines of a plan, with a relay in the link where the kind has a rule."""
    way = next(way for way in plan.directions() if way.link == link and way.sender.forward)
    ends = way.sender.node, way.receiver.node
    direct = machines.join
    if kind.rule is not None:
        machines.add(NAME).counted = False

        def through(left: str, right: str, mtu: int = MTU) -> tuple[int, int]:
            if (left, right) != ends:
                return direct(left, right, mtu)
            return direct(left, NAME, mtu)[0], direct(NAME, right, mtu)[1]

        machines.join = through  # type: ignore[method-assign]
    local = honest(plan, machines)
    if kind.rule is not None:
        slow = 1 / pace if kind.unit == "s" else 1.0
        rules = kind.rule(strength * slow), straight
        Relay(machines, *(reversed(rules) if back else rules)).start()
    (_, out), (_, into) = local[way.sender.entity], local[way.receiver.entity]
    return local, Place(machines, ends[0], out, ends[1], into, 1 / pace)


def _during(
    kind: Kind, place: Place, strength: float, begun: threading.Event, wait_s: float
) -> None:
    begun.wait()
    time.sleep(wait_s)
    assert kind.during is not None
    kind.during(place, strength)
