"""Overview: progress of the run, machines and nodes, expectations as they are judged."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.widgets import Static

from orchestrator.console import text_format
from orchestrator.console.containers import Across, Down
from orchestrator.console.run_data import RunData
from orchestrator.console.text_table import Row as Cells
from orchestrator.console.text_table import Table
from orchestrator.console.views.view_base import EMPTY, Shown, View
from orchestrator.live.feed_messages import Row
from orchestrator.terminal.escape_control import plain
from orchestrator.terminal.format_output import band


def timeline_text(data: RunData, cursor_ps: int, width: int) -> Text:
    """Text of the timeline: progress, phases, and the times of steps."""
    duration = max(data.duration_ps, data.now_ps, 1)

    def cell(ps: int) -> int:
        return min(int(ps * width / duration), width - 1)

    state = data.state
    stage = text_format.STAGES[state.stage] if state else "○ no state yet"
    head = Text().append(stage, text_format.COLOURS.get(state.stage if state else "", "yellow"))
    if data.stale_s:
        head.append(f"  STALE: nothing came for {data.stale_s:.0f} s, trying again", "bold red")
    elif state is not None and state.detail and state.stage != "running":
        head.append(f"  {state.detail}")
    head.append(
        f"   {text_format.seconds(cursor_ps)} of {text_format.seconds(data.duration_ps)}", "bold"
    )
    if phase := data.phase_at(cursor_ps):
        head.append(f"   phase {phase}")
    mark = " " * cell(cursor_ps) + "▼"
    done = cell(data.now_ps) + 1 if data.now_ps else 0
    bar = "█" * done + "░" * (width - done)
    steps, names = [" "] * width, [" "] * width
    for moment in data.moments:
        if moment.what != "phase" and moment.time_ps <= duration:
            steps[cell(moment.time_ps)] = "◇" if moment.live else "◆"
    for name, phase in data.plan.phases.items() if data.plan else ():
        begin, end = cell(phase.from_), max(cell(phase.to), cell(phase.from_) + 1)
        label = f"├{name}"[: end - begin].ljust(end - begin, "─")
        names[begin:end] = label
    lines = [mark[:width], bar, "".join(names), "".join(steps)]
    return Text("\n").join([head, *(Text(line) for line in lines)])


class Overview(View):
    """See the module."""

    name_of = "Overview"
    help_text = """\
The run at a glance. On top: where it is in its plan; ▼ marks the moment that is shown, the letters
below the bar name the phases, ◆ is a step of the timeline, ◇ one that was made live.

Nodes: what they are, where they live, the lease of their machine and the error of its clock.

Expectations: what the plan wants. Each is judged as soon as its phase is over; until then it waits.
A run that the machine distorted is invalid, whatever its expectations say: the reasons are below.
"""

    def compose(self) -> ComposeResult:
        yield Static(EMPTY, id="progress")
        with Across(id="tables"):
            with Down(id="left"):
                yield Static("Nodes", classes="heading")
                yield Table(id="nodes")
            with Down(id="right"):
                yield Static("Expectations", classes="heading")
                yield Table(id="expectations")
        yield Static("", id="reasons")

    def draw(self, shown: Shown) -> None:
        data = shown.first
        self.query_one("#tables").display = data is not None
        self.query_one("#reasons").display = data is not None
        if data is None:
            self.query_one("#progress", Static).update(EMPTY)
            return
        width = max(self.app.size.width - 4, 40)  # its own is not known when it is shown first
        cursor = shown.window.cursor_ps
        self.query_one("#progress", Static).update(timeline_text(data, cursor, width))
        self.query_one("#nodes", Table).fill(
            ("node", "kind", "state", "target", "machine", "lease", "clock"), _nodes(data)
        )
        beside = [f"in {run.name}" for run in shown.runs[1:]]
        self.query_one("#expectations", Table).fill(
            ("", "metric", "of", "phase", "value", *beside, "wanted"),
            _expectations(data, shown.runs[1] if beside else None),
        )
        self.query_one("#reasons", Static).update(reasons(data))


def _nodes(data: RunData) -> list[Cells]:
    machines = {node: m for m in (data.state.machines if data.state else ()) for node in m.nodes}
    rows: list[Cells] = []
    for name, node in data.plan.nodes.items() if data.plan else ():
        machine = machines.get(name)
        if machine is None:
            rows.append((name, [name, node.kind, "–", "–", "–", "–", "–"]))
            continue
        lease = "none" if machine.lease_s is None else f"{machine.lease_s:.0f} s"
        error = machine.clock_error_s
        clock = "own" if error is None else text_format.amount(error, "s")
        state = "stale" if data.stale_s else machine.state
        rows.append((name, [name, node.kind, state, machine.target, machine.name, lease, clock]))
    return rows


def _expectations(data: RunData, other: RunData | None) -> list[Cells]:
    """Expectations of the run; with a second run, also its values for the same expectations."""
    known = {_of(row): row for row in (other.judged.rows if other and other.judged else ())}
    rows: list[Cells] = []
    for number, row in enumerate(data.judged.rows if data.judged else ()):
        value = text_format.amount(row.value, row.unit)
        wanted = band(row.min, row.max, row.unit)
        there = known.get(_of(row))
        beside = [text_format.amount(there.value if there else None, row.unit)] if other else []
        cells = [
            text_format.VERDICTS["uncertain"] if row.uncertain else text_format.MARKS[row.met],
            row.metric,
            row.of,
            row.phase,
            value,
            *beside,
            wanted,
        ]
        rows.append((str(number), cells))
    return rows


def _of(row: Row) -> tuple[str, str, str]:
    return row.metric, row.of, row.phase


def reasons(data: RunData) -> str:
    """The verdict on a run, why, and where it is kept."""
    lines = []
    if data.judged is not None and data.judged.final:
        verdict = text_format.VERDICTS.get(data.judged.verdict or "", data.judged.verdict or "")
        lines.append(f"verdict {verdict}")
        fidelity = data.judged.fidelity
        if fidelity:
            verdict_text = text_format.VERDICTS.get(fidelity["verdict"], fidelity["verdict"])
            lines[-1] += f"   fidelity {verdict_text}"
            lines += [f"  {reason}" for reason in fidelity.get("reasons", [])]
            if fidelity.get("stalls"):
                lines.append(f"  stalls {plain(str(fidelity['stalls']))}")
    if data.state is not None and data.state.reason:
        lines.append(f"{text_format.STAGES[data.state.stage]}: {data.state.reason}")
    if data.folder:
        lines.append(f"folder {plain(data.folder)}")
    return "\n".join(lines)
