"""Overview: progress of the run, machines and nodes, expectations as they are judged."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import Static

from orchestrator.console import strip, words
from orchestrator.console.data import RunData
from orchestrator.console.grounds import Across, Down
from orchestrator.console.table import Row as Cells
from orchestrator.console.table import Table
from orchestrator.console.views.view import EMPTY, Shown, View
from orchestrator.live.protocol import Row
from orchestrator.terminal.plain import plain
from orchestrator.terminal.show import band


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
        self.query_one("#progress", Static).update(strip.draw(data, cursor, width))
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
        clock = "own" if error is None else words.amount(error, "s")
        state = "stale" if data.stale_s else machine.state
        rows.append((name, [name, node.kind, state, machine.target, machine.name, lease, clock]))
    return rows


def _expectations(data: RunData, other: RunData | None) -> list[Cells]:
    """Expectations of the run; with a second run, also its values for the same expectations."""
    known = {_of(row): row for row in (other.judged.rows if other and other.judged else ())}
    rows: list[Cells] = []
    for number, row in enumerate(data.judged.rows if data.judged else ()):
        value = words.amount(row.value, row.unit)
        wanted = band(row.min, row.max, row.unit)
        there = known.get(_of(row))
        beside = [words.amount(there.value if there else None, row.unit)] if other else []
        cells = [
            words.VERDICTS["uncertain"] if row.uncertain else words.MARKS[row.met],
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
        verdict = words.VERDICTS.get(data.judged.verdict or "", data.judged.verdict or "")
        lines.append(f"verdict {verdict}")
        fidelity = data.judged.fidelity
        if fidelity:
            told = words.VERDICTS.get(fidelity["verdict"], fidelity["verdict"])
            lines[-1] += f"   fidelity {told}"
            lines += [f"  {reason}" for reason in fidelity.get("reasons", [])]
            if fidelity.get("stalls"):
                lines.append(f"  stalls {plain(str(fidelity['stalls']))}")
    if data.state is not None and data.state.reason:
        lines.append(f"{words.STAGES[data.state.stage]}: {data.state.reason}")
    if data.folder:
        lines.append(f"folder {plain(data.folder)}")
    return "\n".join(lines)
