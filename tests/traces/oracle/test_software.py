"""Real frames: the oracle finds nothing, and a capture alone gives the numbers of its run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from orchestrator.engine.records import NEVER
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from orchestrator.targets.software.namespace_probe import probe
from tests.traces.oracle.test_answers import PLAN, SCHEMES
from tests.trials.whole_figure import FRAME, SHARE, captured, figures, queue_apart
from traces.oracle.captured_streams import INCOMING, StreamSource, frame_stream
from traces.oracle.conformance_judge import NodeJudged, Settings, judge
from traces.oracle.replay_command import lateness
from traces.pause_agreement import paused_ports
from traces.run_reader import Run, load

pytestmark = pytest.mark.software
DURATION = "0.4s"
PAUSED = Path(__file__).parents[2] / "hardware" / "plans" / "pause.toml"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short run of figure 11 on real frames, all ports of NICs and switch captured."""
    if (refused := probe()) is not None:
        pytest.skip(str(refused))
    text = Registry.load().plans()["netfpga-fig11"]
    plan = captured(text, duration=DURATION, timeline=[], phases={}, expect=[])
    done = run(plan, target="software", out=tmp_path_factory.mktemp("runs"), report=False)
    assert done.folder is not None
    return done.folder


@pytest.fixture(scope="module")
def ran(folder: Path) -> Run:
    return load(folder)


def test_the_oracle_finds_nothing_and_has_the_queue(folder: Path, ran: Run) -> None:
    findings, apart, samples = queue_apart(folder, ran)
    assert findings == 0
    assert samples > 300
    assert apart <= FRAME


def test_times_alone_tell_in_which_order_a_node_took_its_frames(folder: Path) -> None:
    """Also where several came in with one look at the sockets, through several ports."""
    ports = sorted((folder / "captures").glob("switch-*.pcapng"))
    times = np.concatenate([incoming(path) for path in ports])
    assert len(times) > 10_000
    assert len(np.unique(times)) == len(times)


def incoming(path: Path) -> np.ndarray:
    """When the frames came in that a capture of one port holds, ns."""
    place = StreamSource(str(path), 0, INCOMING, path.stem, path.stem)
    parts = [part.times_ns for part in frame_stream(place, 0, NEVER)]
    return np.concatenate([np.zeros(0, np.int64), *parts])


def test_rates_and_messages_alone(folder: Path, ran: Run) -> None:
    seen = list(figures(folder, ran))
    assert len(seen) == 8 + 2
    assert all(counted > 0 for _, _, counted, _ in seen)
    for what, alone, counted, allowed in seen:
        # what is on its way when the run ends is in one of the two: two frames, a message
        least = 2 * FRAME if what.startswith("octets") else 2
        assert abs(alone - counted) <= max(allowed, least), what


def test_pauses_alone(tmp_path: Path) -> None:
    """A PAUSE's time by the capture is that which the port has counted."""
    plan = Plan.load(PAUSED.read_text()).with_settings(['capture.ports=["nic1.switch"]'])
    done = run(plan, target="software", out=tmp_path, report=False, pace=0.05)
    assert done.folder is not None
    ran = load(done.folder)
    (row,) = paused_ports(done.folder, ran.plan_text, ran.table)
    assert (row.frames, row.note) == (2, "")
    assert row.capture_s == pytest.approx(row.counter_s, rel=SHARE)
    assert row.counter_s == pytest.approx(2 * 1000 * 512e-9, rel=SHARE)


# Schemes on real frames: their switches conform, one that is set otherwise does not, and what is
# not followed is named.
#
# At a pace at which two cores have time for a gigabit: what a capture cannot decide because frames
# are late would be no answer.

PACE = 0.005
CAPTURED = 'capture.ports=["s.d", "s.h1", "s.h2", "s.h3", "h1.s"]'


@pytest.mark.parametrize(
    ("name", "answers"), [("codel", "acknowledgements of"), ("credits", "credits of")]
)
def test_a_capture_of_real_frames_is_answered_as_one_of_the_simulator(
    name: str, answers: str, tmp_path: Path
) -> None:
    if (refused := probe()) is not None:
        pytest.skip(str(refused))
    has, wrong = SCHEMES[name]
    plan = Plan.load(PLAN).with_settings([*has, CAPTURED])
    folder = run(plan, target="software", out=tmp_path, report=False, pace=PACE).folder
    assert folder is not None
    paths = sorted((folder / "captures").iterdir())
    registry, known = Registry.load(), Settings(late_ns=lateness(folder))

    def judged(*more: str) -> dict[str, NodeJudged]:
        """Its nodes, by a plan that is changed."""
        nodes = judge(paths, plan.with_settings(list(more)).check(registry), known).nodes
        return {node.name: node for node in nodes}

    found = judged()
    assert (found["s"].finding, found["s"].undecided) == (None, [])
    assert found["s"].frames > 200
    (said,) = found["h1"].undecided
    assert f"what a NIC makes of {answers}" in said
    assert "is not followed" in said
    finding = judged(wrong)["s"].finding
    assert finding is not None
    assert finding.rule == "queue.drop"
