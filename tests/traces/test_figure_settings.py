"""Figures do not depend on matplotlib's settings of the user, the process or the working folder."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import matplotlib
import pytest

from orchestrator import python_command
from traces.figures.figure_style import png, stacked, styled, svg

DRAWN = """
import sys
sys.modules["__main__"].__spec__ = type("Spec", (), {"name": "orchestrator.cli"})()
import traces.figures
from tests.traces.test_figure_settings import drawn
sys.stdout.write(drawn())
"""


def drawn() -> str:
    """A figure with lines, bars, hatches, a legend and a grid, as two kinds of file."""
    with styled():
        figure, panels = stacked([1.0, 1.0], title="Queue")
        for panel in panels:
            panel.plot([0, 1, 2], [3, 1, 2], label="a line")
            panel.bar([0, 1], [1, 2], hatch="//")
            panel.legend()
            panel.grid()
    return svg(figure) + png(figure).hex()


SETTINGS = {
    "lines.linestyle": "None",
    "lines.linewidth": 7.0,
    "axes.grid": True,
    "savefig.dpi": 30,
    "savefig.bbox": "tight",
    "savefig.transparent": True,
    "axes.prop_cycle": "cycler('color', ['#ffffff'])",
    "figure.autolayout": True,
    "font.size": 30,
    "text.usetex": True,
    "path.sketch": (1.0, 100.0, 2.0),
    "agg.path.chunksize": 1,
    "axes.xmargin": 0.4,
    "svg.fonttype": "path",
    "legend.loc": "lower left",
    "hatch.color": "red",
}


def test_settings_of_the_process_change_nothing() -> None:
    expected = drawn()
    draw = random.Random(3)
    drawings = [dict(draw.sample(sorted(SETTINGS.items()), 5)) for _ in range(6)]
    for chosen in (*drawings, SETTINGS):
        with matplotlib.rc_context(chosen):  # type: ignore[arg-type]
            before = dict(matplotlib.rcParams)
            assert drawn() == expected, chosen
            assert dict(matplotlib.rcParams) == before


def in_process(folder: Path, code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        python_command.code(code),
        cwd=folder,
        env=python_command.environment(**variables),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


FILES = {
    "settings": b"lines.linestyle: None\naxes.prop_cycle: cycler('color', ['white'])\n",
    "nonsense": b"no.such.key: 3\nlines.linewidth: thick\nxyz\n",
    "not UTF-8": b"font.family: \xff\xfe\n",
    "backend": b"backend: no_such_backend\n",
}


@pytest.mark.parametrize(
    ("kind", "where"),
    [*((kind, "folder") for kind in FILES), ("nonsense", "user"), ("not UTF-8", "variable")],
)
def test_files_and_variables_change_nothing(kind: str, where: str, tmp_path: Path) -> None:
    user = tmp_path / "home" / "matplotlib"
    user.mkdir(parents=True)
    places = {"folder": tmp_path, "user": user, "variable": tmp_path / "home"}
    place = places[where] / "matplotlibrc"
    place.write_bytes(FILES[kind])
    variables = {"MPLCONFIGDIR": str(user), "MPLBACKEND": "no such backend"}
    if where == "variable":
        variables["MATPLOTLIBRC"] = str(place)
    done = in_process(tmp_path, DRAWN, **variables)
    lines = [line for line in done.stderr.splitlines() if "font cache" not in line]
    assert (done.returncode, lines) == (0, [])
    assert done.stdout == drawn()


def test_a_script_has_its_own_settings_for_its_own_figures(tmp_path: Path) -> None:
    (tmp_path / "matplotlibrc").write_text("lines.linewidth: 7.5\n")
    shown = "print(matplotlib.rcParams['lines.linewidth'])"
    for imported in ("traces.figures, matplotlib", "matplotlib, traces.figures"):
        done = in_process(tmp_path, f"import {imported}; {shown}")
        assert done.stdout == "7.5\n", done.stderr
    (tmp_path / "matplotlibrc").write_bytes(FILES["not UTF-8"])
    done = in_process(tmp_path, "import traces.figures")
    assert done.returncode == 0, done.stderr
    assert "matplotlib's settings of this user are not used" in done.stderr


def test_matplotlib_is_imported_by_its_own_package_alone() -> None:
    """So that its settings are those of `lean_matplotlib` in every process."""
    root = Path(__file__).parents[2]
    found = [
        str(path.relative_to(root))
        for package in ("traces", "orchestrator", "firmware", "plugins", "traffic", "tailback")
        for path in (root / package).rglob("*.py")
        if path.parent != root / "traces" / "figures"
        and re.search(r"^(import|from) matplotlib", path.read_text(), re.MULTILINE)
    ]
    assert found == []


def test_a_notebook_keeps_the_backend_that_it_asks_for() -> None:
    """Importing figures chooses none for it, and does not import pyplot."""
    text = (
        "import sys, traces.figures, matplotlib\n"
        "print('matplotlib.pyplot' in sys.modules, matplotlib.get_backend(auto_select=False))\n"
    )
    for asked, kept in (("svg", "svg"), (None, "None")):
        environment = {key: text for key, text in os.environ.items() if key != "MPLBACKEND"}
        environment |= {"MPLBACKEND": asked} if asked else {}
        done = subprocess.run(
            [sys.executable, "-c", text],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.split() == ["False", kept]
