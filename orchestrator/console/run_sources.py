"""Sources of a run's data: a live feed or a run folder. Each fills a `RunData` when polled."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from orchestrator.console import change_detection
from orchestrator.console.run_data import Moment, RunData
from orchestrator.errors import BadInput
from orchestrator.live import feed_messages
from orchestrator.live.feed_client import FeedClient
from orchestrator.plan import Plan
from orchestrator.recording import Column
from orchestrator.registry import Registry
from orchestrator.terminal import stall_sentences
from orchestrator.terminal.escape_control import plain, plain_tree

STALE_S = 3.0
"""A live run that is silent for so long is shown as stale."""


class Source(Protocol):
    """Fills the data of one run."""

    data: RunData

    def poll(self) -> list[feed_messages.Reply]:
        """Take in what is new; answers to requests come back."""

    def ask(self, request: feed_messages.Request) -> str | None:
        """Ask the run for something; None when it cannot be asked."""

    def close(self) -> None:
        """Let it go."""


class LiveSource:
    """A run that goes on, here or at a controller."""

    def __init__(
        self, address: str, run: str, name: str, prepare: Callable[[Any], None] | None = None
    ) -> None:
        self.data = RunData(name)
        self._here = prepare is None  # a controller, wherever it is, asks for keys
        self.client = FeedClient(address, run, prepare)
        self.client.start()

    def poll(self) -> list[feed_messages.Reply]:
        """Take in messages."""
        answers: list[feed_messages.Reply] = []
        data = self.data
        for message in self.client.take():
            if isinstance(message, feed_messages.Reply):
                answers.append(message)
            else:
                take_in(data, message)
        silent = self.client.silent_s
        stale = silent if data.live and silent > STALE_S else 0.0
        if bool(stale) != bool(data.stale_s):
            data.version += 1
        data.stale_s = stale
        data.dropped = self.client.dropped
        return answers

    @property
    def spins(self) -> bool:
        """Do threads of this run take cores of this machine as long as it goes on?"""
        state = self.data.state
        return self._here and self.data.live and state is not None and state.target == "software"

    def ask(self, request: feed_messages.Request) -> str | None:
        """Send a request."""
        return self.client.ask(request)

    def close(self) -> None:
        """Leave; the run goes on."""
        self.client.close()


def take_in(data: RunData, message: Any) -> None:
    """Apply one message of the feed; its texts may be untrusted, such as a program's output."""
    data.version += 1
    if isinstance(message, feed_messages.RunDescription):
        try:
            data.resolved = Plan.load(message.plan_text).check(Registry.load())
        except BadInput as error:
            data.lines.append(("error", f"the plan of the run is not readable here: {error}"))
        live = [moment for moment in data.moments if moment.live]
        known = {(moment.time_ps, moment.what, moment.entity) for moment in live}
        planned = [
            m
            for m in change_detection.plan_moments(data)
            if (m.time_ps, m.what, m.entity) not in known
        ]
        data.moments = sorted(planned + live, key=lambda moment: moment.time_ps)
        data.describe([Column(**c.model_dump()) for c in message.columns])
    elif isinstance(message, feed_messages.Samples):
        data.add(message.times_ps, message.values)
    elif isinstance(message, feed_messages.RunState):
        reason = None if message.reason is None else plain(message.reason)
        data.state = message.model_copy(update={"reason": reason, "detail": plain(message.detail)})
        data.folder = message.folder
    elif isinstance(message, feed_messages.Judgement):
        data.judged = message
    elif isinstance(message, feed_messages.LogLine):
        data.lines.append((message.level, plain(message.text)))
    elif isinstance(message, feed_messages.RunEvent):
        text = f"to {message.detail['to']}" if "to" in message.detail else ""
        moment = Moment(message.time_ps, message.what, message.entity, text, live=True)
        same = (moment.time_ps, moment.what, moment.entity)
        data.moments = [m for m in data.moments if (m.time_ps, m.what, m.entity) != same]
        data.moments = sorted([*data.moments, moment], key=lambda m: m.time_ps)


class FolderSource:
    """A finished run."""

    def __init__(self, folder: Path) -> None:
        self.data = load(folder)

    def poll(self) -> list[feed_messages.Reply]:
        """Nothing changes."""
        return []

    def ask(self, request: feed_messages.Request) -> str | None:
        """It is over."""
        return None

    def close(self) -> None:
        """Nothing is held."""


def load(folder: Path) -> RunData:
    """Read a run folder, its samples by the hook `tailback_samples`. Raises BadInput."""
    try:
        return _load(folder)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        words = f"is damaged: it is not as tailback wrote it ({type(error).__name__})"
        raise BadInput(str(folder), words) from error
    except RecursionError as error:
        raise BadInput(str(folder), "is damaged: something in it is nested too deeply") from error


def _row(row: dict[str, Any]) -> feed_messages.Row:
    """Table row of an expectation; without `met` where one seed cannot judge it."""
    open_ = {"met": None} if row.get("of_seeds") else {}
    return feed_messages.Row.model_validate(row | open_)


def _load(folder: Path) -> RunData:
    if not (folder / "result.json").is_file():
        raise BadInput(str(folder), "is no run folder: there is no result.json in it")
    registry = Registry.load()
    result = plain_tree(_read(folder / "result.json", json.loads))
    data = RunData(
        f"{result['plan']} {plain(folder.name[-6:])}", folder=str(folder), budget=1 << 34
    )
    data.resolved = Plan.load(folder / "plan.toml", registry).check(registry)
    answers = registry.call("tailback_samples", folder=folder)
    if not answers:
        raise BadInput(str(folder), "no plugin here reads its samples")
    times, columns, values = answers[0]
    data.describe([_plain_column(column) for column in columns])
    data.add(times, values)
    for line in _read(folder / "events.jsonl", str.splitlines):
        event = plain_tree(json.loads(line))
        words = isinstance(event["kind"], str) and isinstance(event["entity"], str)
        if not words or type(event["time_ps"]) is not int or abs(event["time_ps"]) >= 2**63:
            raise ValueError("no event of a run")
        to = event["detail"].get("to")
        data.moments.append(
            Moment(
                event["time_ps"],
                event["kind"],
                event["entity"],
                f"to {to}" if to is not None else "",
                live=bool(event["detail"].get("live")),
            )
        )
    fidelity = result["fidelity"]
    data.judged = feed_messages.Judgement(
        final=True,
        verdict=result["verdict"],
        rows=[_row(row) for row in result["expectations"]],
        fidelity={
            "verdict": fidelity["verdict"],
            "reasons": fidelity.get("reasons", []),
            **stall_sentences.as_entry(fidelity),
        },
    )
    data.state = feed_messages.RunState(
        plan=result["plan"],
        target=result["target"],
        seed=result["seed"],
        stage="done",
        now_ps=int(times[-1]) if len(times) else 0,
        duration_ps=data.plan.duration,
        machines=[
            feed_messages.Machine(
                name="its machine", nodes=list(data.plan.nodes), target=result["target"], state="-"
            )
        ],
        verdict=result["verdict"],
        folder=str(folder),
    )
    data.lines += [("warning", note) for note in result.get("notes", [])]
    data.lines += [("warning", reason) for reason in fidelity.get("reasons", [])]
    return data


def _plain_column(column: Column) -> Column:
    return replace(column, node=plain(column.node), entity=plain(column.entity))


def _read(path: Path, parse: Callable[[str], Any]) -> Any:
    try:
        return parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(str(path), f"cannot be read ({error})") from error


def clock() -> float:
    """Seconds that never go back."""
    return time.monotonic()
