"""Metric families of tailback's processes: state of a run, controller, agent, storm.

Quantities of the emulated network come from the metric registry (`metric_families`). The families
here belong to no entity of a plan: each is declared once, and the exporters, the dashboard and the
reference page take it from here.
"""

from __future__ import annotations

from typing import Literal

from orchestrator.metrics_export.metric_families import (
    RUN_LABELS,
    Family,
    base_unit,
    family_name,
)


def _family(
    words: str,
    symbol: str,
    meaning: str,
    labels: tuple[str, ...] = (),
    kind: Literal["gauge", "counter"] = "gauge",
) -> Family:
    """Family of a quantity whose values are in base units already."""
    unit, _ = base_unit(symbol)
    return Family(family_name(words, unit), kind, unit, meaning, labels)


STATE = "1 for the current one, 0 for the others"

RUN_INFO = Family(
    "tailback_run_info",
    "gauge",
    "",
    "1; the run's plan, its seed and the version of tailback",
    (*RUN_LABELS, "plan", "seed", "version"),
)
RUN_STAGE = _family("run stage", "1", f"stage of the run: {STATE}", (*RUN_LABELS, "stage"))
RUN_TIME = _family("run time", "s", "time of the emulated network that the run reached", RUN_LABELS)
RUN_DURATION = _family("run duration", "s", "duration of the run by its plan", RUN_LABELS)
RUN_PACE = _family(
    "run pace", "ratio", "seconds of the run per second; absent without a pace", RUN_LABELS
)
RUN_ROWS = _family("run sample rows", "1", "rows of samples so far", RUN_LABELS, "counter")
RUN_VERDICT = _family(
    "run verdict", "1", f"verdict of the run, once it is judged: {STATE}", (*RUN_LABELS, "verdict")
)
RUN_EXPECTATION = _family(
    "run expectation met",
    "1",
    "1 if the expectation is met, 0 if it is missed or uncertain; `number` counts the plan's "
    "[[expect]] from 0",
    (*RUN_LABELS, "number", "metric", "entity", "phase"),
)
RUN_FIDELITY = _family(
    "run fidelity",
    "1",
    f"verdict on what the machine did to the run, once it is judged: {STATE}",
    (*RUN_LABELS, "fidelity"),
)
RUN_LATENESS = _family(
    "run lateness",
    "s",
    "lateness of departures on the data path, once the run is judged, by statistic (p50, p99, "
    "p99.9, max, mean)",
    (*RUN_LABELS, "statistic"),
)
RUN_DISPLACED = _family(
    "run displaced",
    "ratio",
    "share of departures later than the control loop's reaction time, once the run is judged",
    RUN_LABELS,
)
RUN_LOST = _family(
    "run frames lost outside queues",
    "1",
    "frames that the machine lost outside the emulated queues, once the run is judged",
    (*RUN_LABELS, "point"),
)
OF_RUNS = (
    RUN_INFO, RUN_STAGE, RUN_TIME, RUN_DURATION, RUN_PACE, RUN_ROWS, RUN_VERDICT, RUN_EXPECTATION,
    RUN_FIDELITY, RUN_LATENESS, RUN_DISPLACED, RUN_LOST,
)  # fmt: skip
"""State of a run, in `run`, `console` and `controller`."""

CONTROLLER_JOBS = _family(
    "controller jobs",
    "1",
    "submitted runs by state (waiting, running, done, failed), the last hundred finished ones "
    "included",
    ("state",),
)
CONTROLLER_JOB_STAGE = _family(
    "controller job stage", "1", "1; the stage of a run that is not over", (*RUN_LABELS, "stage")
)
CONTROLLER_JOB_PROGRESS = _family(
    "controller job progress",
    "ratio",
    "share of its stage that a run that is not over has done",
    RUN_LABELS,
)
CONTROLLER_JOB_EXIT = _family(
    "controller job exit code", "1", "exit code of a run that is over", RUN_LABELS
)
CONTROLLER_MACHINE = _family(
    "controller machine state",
    "1",
    f"connection to a machine's agent: {STATE}",
    ("machine", "state"),
)
CONTROLLER_LEASED = _family(
    "controller machine leased",
    "1",
    "1 while a lease of this controller is in force on the machine, else 0",
    ("machine",),
)
CONTROLLER_CORES = _family(
    "controller machine cores", "1", "processors that the machine offers", ("machine",)
)
CONTROLLER_CLOCK = _family(
    "controller machine clock error",
    "s",
    "bound on the error of the comparison with the machine's clock",
    ("machine",),
)
OF_CONTROLLERS = (
    CONTROLLER_JOBS, CONTROLLER_JOB_STAGE, CONTROLLER_JOB_PROGRESS, CONTROLLER_JOB_EXIT,
    CONTROLLER_MACHINE, CONTROLLER_LEASED, CONTROLLER_CORES, CONTROLLER_CLOCK,
)  # fmt: skip
"""Jobs and machines of a controller; it exports its runs as well."""

AGENT_INFO = Family(
    "tailback_agent_info",
    "gauge",
    "",
    "1; the machine's name in its offer and the version of tailback",
    ("machine", "version"),
)
AGENT_LEASES = _family(
    "agent leases", "1", "leases in force, by the state of their nodes", ("state",)
)
AGENT_LEASE_EXPIRY = _family(
    "agent lease expiry",
    "s",
    "time until the lease ends unless its controller renews it",
    ("lease", "controller"),
)
AGENT_LEASE_NICS = _family(
    "agent lease nics", "1", "NICs that the lease holds", ("lease", "controller")
)
AGENT_DATAPATHS = _family("agent data paths", "1", "processes that run nodes or a plan")
AGENT_TARGET = _family(
    "agent target available",
    "1",
    "1 if the machine can run a plan on the target alone, else 0",
    ("target",),
)
OF_AGENTS = (
    AGENT_INFO, AGENT_LEASES, AGENT_LEASE_EXPIRY, AGENT_LEASE_NICS, AGENT_DATAPATHS, AGENT_TARGET,
)  # fmt: skip
"""Leases of an agent."""

_OBSERVED = ("interface", "observer")
STORM_PAUSED = _family(
    "storm paused",
    "1",
    "1 while the storm pauses the neighbour's priority (empty: the link), 0 while it does not",
    ("interface", "priority"),
)
STORM_FRAMES = _family(
    "storm frames",
    "count",
    "PAUSE and PFC frames that the observer saw, those that release the port included",
    _OBSERVED,
    "counter",
)
STORM_HELD = _family(
    "storm held",
    "s",
    "time in which the neighbour was paused, by the observer",
    _OBSERVED,
    "counter",
)
STORM_LAPSES = _family(
    "storm lapses",
    "count",
    "times that the quanta expired before the next frame, by the observer",
    _OBSERVED,
    "counter",
)
STORM_LAPSED = _family(
    "storm lapsed", "s", "duration of all lapses together, by the observer", _OBSERVED, "counter"
)
STORM_LONGEST = _family("storm longest lapse", "s", "the longest of these lapses", _OBSERVED)
STORM_MARGIN = _family(
    "storm worst margin",
    "s",
    "least time before the expiry of the quanta at which the next frame was seen; negative after a "
    "lapse",
    _OBSERVED,
)
STORM_REFUSED = _family(
    "storm frames refused", "count", "frames that the kernel refused", ("interface",), "counter"
)
STORM_MISSED = _family(
    "storm holds missed",
    "count",
    "holds of the pattern that did not begin",
    ("interface",),
    "counter",
)
STORM_VERDICT = _family(
    "storm verdict", "1", f"verdict of the storm, once it is over: {STATE}", ("verdict",)
)
OF_STORMS = (
    STORM_PAUSED, STORM_FRAMES, STORM_HELD, STORM_LAPSES, STORM_LAPSED, STORM_LONGEST, STORM_MARGIN,
    STORM_REFUSED, STORM_MISSED, STORM_VERDICT,
)  # fmt: skip
"""Ports of a storm, by its observers: the sender's clock, the kernel, the far end."""

_OTG_PORT, _OTG_FLOW = ("port", "interface"), ("flow", "port")


def _otg_count(words: str, meaning: str, *labels: str) -> Family:
    return _family(f"otg {words}", "count", meaning, labels, "counter")


OTG_PORT_FRAMES = _otg_count(
    "port frames", "frames of a port, by direction (sent, received)", *_OTG_PORT, "direction"
)
OTG_PORT_BYTES = _family(
    "otg port", "B", "octets of these frames, with FCS", (*_OTG_PORT, "direction"), "counter"
)
OTG_PORT_REFUSED = _otg_count("port frames refused", "frames that the kernel refused", *_OTG_PORT)
OTG_FLOW_STATE = _family(
    "otg flow state", "1", f"stopped, started or paused: {STATE}", (*_OTG_FLOW, "state")
)
OTG_FLOW_FRAMES = _otg_count(
    "flow frames", "frames since the flow was started, by direction", *_OTG_FLOW, "direction"
)
OTG_FLOW_LOST = _family(
    "otg flow frames lost",
    "count",
    "sequence numbers that are missing before later ones",
    _OTG_FLOW,
)
OTG_FLOW_REORDERED = _otg_count(
    "flow frames reordered", "frames that came after later ones, or twice", *_OTG_FLOW
)
OTG_FLOW_MISDIRECTED = _otg_count(
    "flow frames misdirected", "frames at ports that the flow does not name", *_OTG_FLOW
)
OTG_FLOW_SKIPPED = _otg_count(
    "flow departures skipped", "times that the flow gave up over 100 ms of lateness", *_OTG_FLOW
)
OTG_FLOW_LATENCY = _family(
    "otg flow latency",
    "s",
    "latency of a flow's frames since it was started, by statistic (min, mean, max)",
    (*_OTG_FLOW, "statistic"),
)
OTG_LATENESS = _family(
    "otg lateness",
    "s",
    "lateness of departures since the configuration was set, by statistic (p50, p99, p99.9, max)",
    ("statistic",),
)
OF_OTG = (
    OTG_PORT_FRAMES, OTG_PORT_BYTES, OTG_PORT_REFUSED, OTG_FLOW_STATE, OTG_FLOW_FRAMES,
    OTG_FLOW_LOST, OTG_FLOW_REORDERED, OTG_FLOW_MISDIRECTED, OTG_FLOW_SKIPPED, OTG_FLOW_LATENCY,
    OTG_LATENESS,
)  # fmt: skip
"""Ports and flows of an Open Traffic Generator server."""

PROCESS_FAMILIES: dict[str, tuple[Family, ...]] = {
    "run": OF_RUNS,
    "controller": OF_CONTROLLERS,
    "agent": OF_AGENTS,
    "storm": OF_STORMS,
    "otg": OF_OTG,
}
"""Subject -> its families."""
