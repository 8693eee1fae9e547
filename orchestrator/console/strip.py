"""Timeline of a run in three lines: progress bar with a cursor, phases, steps."""

from __future__ import annotations

from rich.text import Text

from orchestrator.console import words
from orchestrator.console.data import RunData


def draw(data: RunData, cursor_ps: int, width: int) -> Text:
    """Text of the timeline: progress, phases, and the times of steps."""
    duration = max(data.duration_ps, data.now_ps, 1)

    def cell(ps: int) -> int:
        return min(int(ps * width / duration), width - 1)

    state = data.state
    stage = words.STAGES[state.stage] if state else "○ no state yet"
    head = Text().append(stage, words.COLOURS.get(state.stage if state else "", "yellow"))
    if data.stale_s:
        head.append(f"  STALE: nothing came for {data.stale_s:.0f} s, trying again", "bold red")
    elif state is not None and state.detail and state.stage != "running":
        head.append(f"  {state.detail}")
    head.append(f"   {words.seconds(cursor_ps)} of {words.seconds(data.duration_ps)}", "bold")
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
