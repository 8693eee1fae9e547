"""Messages and folders of runs as the console takes them in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.console import run_sources
from orchestrator.console.run_data import RunData
from orchestrator.console.run_sources import STALE_S, FolderSource, LiveSource, load, take_in
from orchestrator.errors import BadInput
from orchestrator.live import feed_messages
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from tests.orchestrator.batch.made import FULL, random_flow

ROW = {"metric": "m", "of": "o", "phase": "run", "min": 0.5, "value": 0.7, "met": True}


@pytest.mark.parametrize(
    ("changes", "met"),
    [
        ({}, True),
        ({"met": False}, False),
        ({"of_seeds": "median"}, None),
        ({"of_seeds": None, "met": False}, False),
        ({"of_seeds": "", "met": True}, True),
    ],
)
def test_a_row_that_seeds_judge_is_open_in_one_run(
    changes: dict[str, Any], met: bool | None
) -> None:
    row = run_sources._row(ROW | changes)
    assert (row.metric, row.min, row.value, row.met) == ("m", 0.5, 0.7, met)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a few milliseconds with a row that is met and one of seeds."""
    out = tmp_path_factory.mktemp("runs")
    rows = [FULL | {"min": 0.3}, FULL | {"min": 0.3, "of_seeds": "median"}]
    done = run(random_flow(duration="5ms", expect=rows), out=out, report=False)
    assert done.folder is not None
    return done.folder


def test_a_run_folder_is_read_with_samples_rows_and_state(folder: Path) -> None:
    data = load(folder)
    assert data.name.endswith(folder.name[-6:])
    assert data.folder == str(folder)
    assert data.rows > 1
    assert len(data.columns) > 5
    assert data.judged is not None
    assert [row.met for row in data.judged.rows] == [True, None]
    assert data.judged.final
    assert data.state is not None
    assert (data.state.stage, data.state.target) == ("done", "simulated")
    assert data.state.now_ps == data.state.duration_ps == 5 * 10**9
    (machine,) = data.state.machines
    assert machine.nodes == list(data.plan.nodes)
    source = FolderSource(folder)
    assert source.poll() == []
    assert source.ask(feed_messages.Stop(request="x")) is None
    source.close()


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("result.json", None, "is no run folder: there is no result.json in it"),
        ("result.json", "no json", "cannot be read"),
        ("result.json", "[]", "is damaged: it is not as tailback wrote it (TypeError)"),
        ("result.json", "[" * 50_000, ""),
        ("events.jsonl", '{"kind": 3, "entity": "e", "time_ps": 1, "detail": {}}', "is damaged"),
        ("events.jsonl", '{"kind": "k", "entity": "e", "time_ps": true, "detail": {}}', "damaged"),
        (
            "events.jsonl",
            f'{{"kind": "k", "entity": "e", "time_ps": {2**63}, "detail": {{}}}}',
            "is damaged",
        ),
    ],
)
def test_a_damaged_folder_is_refused(
    folder: Path, tmp_path: Path, name: str, text: str | None, words: str
) -> None:
    for file in folder.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    if text is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_text(text)
    with pytest.raises(BadInput) as caught:
        load(tmp_path)
    assert words in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_events_of_a_folder_are_moments(folder: Path, tmp_path: Path) -> None:
    for file in folder.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    lines = [
        '{"kind": "set", "entity": "a", "time_ps": 5, "detail": {"to": 0, "live": true}}',
        '{"kind": "cut", "entity": "b", "time_ps": 7, "detail": {}}',
    ]
    (tmp_path / "events.jsonl").write_text("\n".join(lines))
    found = [(m.time_ps, m.what, m.entity, m.text, m.live) for m in load(tmp_path).moments]
    assert found == [(5, "set", "a", "to 0", True), (7, "cut", "b", "", False)]


def described() -> feed_messages.RunDescription:
    plan = random_flow(duration="5ms").check(Registry.load()).plan
    column = feed_messages.ColumnName(node="n", entity="e", quantity="q", unit="B", kind="gauge")
    return feed_messages.RunDescription(plan_text=plan.to_toml(), columns=[column])


def event(time_ps: int, what: str = "set", **detail: Any) -> feed_messages.RunEvent:
    return feed_messages.RunEvent(number=0, time_ps=time_ps, what=what, entity="e", detail=detail)


def test_messages_of_a_feed_are_taken_in() -> None:
    data = RunData("x")
    take_in(data, described())
    assert data.resolved is not None
    assert isinstance(data.resolved.plan, Plan)
    assert [c.quantity for c in data.columns] == ["q"]
    take_in(data, feed_messages.LogLine(number=0, level="warning", text="a\x1b[31mred"))
    assert data.lines[0][0] == "warning"
    assert "\x1b" not in data.lines[0][1]
    judged = feed_messages.Judgement(final=False)
    take_in(data, judged)
    assert data.judged is judged
    state = feed_messages.RunState(
        plan="p",
        target="simulated",
        seed=1,
        stage="running",
        duration_ps=9,
        detail="a\x1bb",
        reason="c\x1bd",
        folder="f",
    )
    take_in(data, state)
    assert data.state is not None
    assert data.folder == "f"
    assert "\x1b" not in f"{data.state.detail}{data.state.reason}"
    take_in(data, state.model_copy(update={"reason": None}))
    assert data.state.reason is None
    assert data.version >= 5


def test_events_of_a_feed_are_in_order_of_time_and_once_each() -> None:
    data = RunData("x")
    for one in (event(9), event(5, to="20KB"), event(9, to=3), event(9, "cut")):
        take_in(data, one)
    assert [(m.time_ps, m.what, m.text) for m in data.moments] == [
        (5, "set", "to 20KB"),
        (9, "set", "to 3"),
        (9, "cut", ""),
    ]
    assert all(m.live for m in data.moments)


def test_a_plan_that_cannot_be_read_here_is_said_in_the_log() -> None:
    data = RunData("x")
    take_in(data, described().model_copy(update={"plan_text": "no plan"}))
    ((level, text),) = data.lines
    assert level == "error"
    assert text.startswith("the plan of the run is not readable here: ")


class Client:
    """A client of a feed with messages that are made up."""

    silent_s, dropped = 0.0, 0

    def __init__(self, *_: Any) -> None:
        self.messages: list[Any] = []
        self.asked: list[Any] = []
        self.closed = False

    def start(self) -> None:
        pass

    def take(self) -> list[Any]:
        found, self.messages = self.messages, []
        return found

    def ask(self, request: Any) -> str:
        self.asked.append(request)
        return "number"

    def close(self) -> None:
        self.closed = True


def test_a_live_run_that_is_silent_is_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_sources, "FeedClient", Client)
    source = LiveSource("address", "run", "name")
    client: Any = source.client
    answer = feed_messages.Answer(request="r", done=True)
    state = feed_messages.RunState(
        plan="p", target="software", seed=1, stage="running", duration_ps=9
    )
    client.messages = [state, answer]
    assert source.poll() == [answer]
    assert source.spins
    for silent, stale in ((STALE_S, 0.0), (STALE_S + 1, STALE_S + 1), (STALE_S + 2, STALE_S + 2)):
        client.silent_s = silent
        source.poll()
        assert source.data.stale_s == stale
    before = source.data.version
    client.silent_s, client.dropped = 0.0, 4
    source.poll()
    assert (source.data.stale_s, source.data.dropped) == (0.0, 4)
    assert source.data.version == before + 1
    client.messages = [state.model_copy(update={"stage": "done"})]
    client.silent_s = 99.0
    source.poll()
    assert source.data.stale_s == 0.0
    assert not source.spins
    assert source.ask(feed_messages.Stop(request="x")) == "number"
    source.close()
    assert client.closed
    assert not LiveSource("address", "run", "name", lambda _: None).spins
