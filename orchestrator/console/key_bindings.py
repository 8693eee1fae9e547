"""Table of the console's actions: key, text, and the condition under which each applies.

The table is the one source of the bindings, the footer, the palette and the help. `id` names a
binding in the user's file of keys (see `keymap`).
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass

from orchestrator.errors import BadInput
from orchestrator.plan.input_problems import near
from orchestrator.user_folders import CONFIG, user_folder

TIMED = ("overview", "topology", "queues", "rates")
"""The views that show a moment of the run."""
VIEWS = ("runs", "overview", "topology", "queues", "rates", "events", "control")
SWEEP = "sweep"
"""The view of a sweep: beside the others as soon as one is open."""


@dataclass(frozen=True)
class Action:
    """`needs` all have to hold for it to apply; `shown`: the views in whose footer it stands."""

    id: str
    keys: str
    action: str
    text: str
    help: str
    needs: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()


ACTIONS = (
    *(
        Action(f"view.{name}", str(number), f"show_view('{name}')", name.title(), f"Go to {name}")
        for number, name in enumerate(VIEWS, 1)
    ),
    Action("view.sweep", "8", "sweep", "Sweep", "Go to the sweep that is open", ("sweep",)),
    Action("sweep.metric", "m", "metric", "Metric", "Draw the next metric", ("metrics",), (SWEEP,)),
    Action("sweep.turn", "t", "turn", "Turn", "Other two parameters", ("turns",), (SWEEP,)),
    Action("sweep.cut", "k", "cut", "Cut", "The others' next values", ("cuts",), (SWEEP,)),
    Action("run.start", "r", "run", "Run", "Start the chosen plan", ("draft",), ("control",)),
    Action("run.stop", "s", "stop", "Stop", "End the run now and keep it", ("halt",), VIEWS[1:]),
    Action("run.abort", "A", "abort", "Abort", "End the run now and keep nothing", ("abort",)),
    Action("run.change", "c", "change", "Change", "Change a parameter", ("changeable",), TIMED),
    Action("run.rate", "R", "service_rate", "Service rate", "Change a service rate", ("set",)),
    Action("run.link", "x", "link", "Cut/mend", "Cut or mend a link", ("act",)),
    Action("run.port", "p", "port", "Pause port", "Pause or resume a port", ("act",)),
    Action("run.pace", "P", "pace", "Pace", "How fast the run goes", ("pace",)),
    Action("run.save", "w", "save_plan", "Save as plan", "Save with all changes", ("plan",)),
    Action("run.again", "a", "rerun", "Run again", "Take this run's plan to Control", ("plan",)),
    Action("time.freeze", "space", "freeze", "Freeze", "Freeze, follow or play", ("run",), TIMED),
    Action("time.back", "comma", "pan(-0.1)", "Earlier", "Move to earlier", ("run",)),
    Action("time.on", "full_stop", "pan(0.1)", "Later", "Move to later", ("run",)),
    Action(
        "time.page_back",
        "less_than_sign",
        "pan(-1)",
        "A page earlier",
        "By what is shown",
        ("run",),
    ),
    Action(
        "time.page_on",
        "greater_than_sign",
        "pan(1)",
        "A page later",
        "By what is shown",
        ("run",),
    ),
    Action("time.in", "plus,equals_sign", "zoom(0.5)", "Zoom in", "Show less time", ("run",)),
    Action("time.out", "minus", "zoom(2)", "Zoom out", "Show more time", ("run",)),
    Action("time.all", "0,home", "show_all", "Whole run", "Show the whole run", ("run",)),
    Action("time.now", "f,end", "newest", "Now", "Go to the newest sample", ("run",)),
    Action(
        "time.faster", "right_square_bracket", "speed(1)", "Faster", "Play faster", ("finished",)
    ),
    Action(
        "time.slower", "left_square_bracket", "speed(-1)", "Slower", "Play slower", ("finished",)
    ),
    Action("time.go", "g", "go", "Go to time", "Type a moment to go to", ("run",)),
    Action("plot.choose", "e", "choose", "Choose", "Choose what is plotted", ("plots",), VIEWS),
    Action("plot.next", "n", "next", "Next", "The next queue or limiter alone", ("plots",)),
    Action(
        "events.filter",
        "slash",
        "filter",
        "Filter",
        "Filter runs, or events and log",
        ("lines",),
        ("runs", "events"),
    ),
    Action("events.unfilter", "escape", "unfilter", "", "End the filter", ("lines",)),
    Action(
        "runs.beside",
        "v",
        "compare",
        "Beside",
        "Put a finished run beside this one",
        ("run",),
        ("runs",),
    ),
    Action("runs.alone", "V", "alone", "Alone", "Take the second run away", ("other",), TIMED),
    Action("runs.open", "o", "open_folder", "Open folder", "Open a run folder by its path"),
    Action("app.look", "D", "toggle_look", "Dark/light", "Dark or light"),
    Action(
        "app.help",
        "question_mark",
        "help",
        "Help",
        "What this view shows, and its keys",
        (),
        (*VIEWS, SWEEP),
    ),
    Action("app.quit", "q", "leave", "Quit", "Leave the console", (), (*VIEWS, SWEEP)),
)


def keymap() -> dict[str, str]:
    """The user's own keys: a TOML table of binding id -> keys. Raises BadInput.

    They lie in `$XDG_CONFIG_HOME/tailback/keys.toml`, by default below `~/.config`.
    """
    path = user_folder(CONFIG) / "keys.toml"
    if not path.is_file():
        return {}
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(str(path), f"cannot be read ({error})") from error
    known = [action.id for action in ACTIONS]
    for name, keys in table.items():
        if name not in known:
            raise BadInput(str(path), f"{name!r} is no binding; {near(name, known)}")
        if not isinstance(keys, str):
            raise BadInput(str(path), f"{name}: {keys!r} is not accepted; keys as a text are")
    return {name: str(keys) for name, keys in table.items()}
