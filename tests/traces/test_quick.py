"""matplotlib is imported without its words about itself, and does all that it did."""

from __future__ import annotations

import subprocess
import sys

import pytest

FIRST = (
    "import sys; own = type('Spec', (), {'name': 'orchestrator.cli'}); "
    "sys.modules['__main__'].__spec__ = own; "
    "import traces.figures.lean_matplotlib, sys, matplotlib.figure, matplotlib.lines, "
    "matplotlib.artist;"
)
FIGURE = "figure = matplotlib.figure.Figure(); axes = figure.subplots(); "
LINE = "line, = axes.plot([0, 1], [2, 3]); "


def said(code: str) -> str:
    """What it prints, in a process of its own."""
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_properties_are_set_as_ever() -> None:
    code = FIGURE + LINE + "line.set(color='red', lw=3); axes.set(xlabel='x', ylim=(0, 9)); "
    code += "print(line.get_color(), line.get_linewidth(), axes.get_xlabel(), axes.get_ylim())"
    with_it, without = said(FIRST + code), said("import matplotlib.figure;" + code)
    assert with_it == without
    assert with_it.startswith("red 3")
    wrong = FIGURE + LINE + "\ntry: line.set(colour=1)\nexcept AttributeError as e: print(e)"
    assert "colour" in said(FIRST + wrong)
    assert said(FIRST + wrong) == said("import matplotlib.figure;" + wrong)


def test_a_class_of_somebody_s_own_keeps_the_set_that_it_wrote() -> None:
    code = (
        "class Mine(matplotlib.lines.Line2D):\n"
        "    def set(self, **said): return 'mine'\n"
        "class More(Mine): pass\n"
        "class Other(matplotlib.lines.Line2D):\n"
        "    def set_hue(self, hue): self.set_color(hue)\n"
        "other = Other([0], [1]); other.set(hue='red')\n"
        "print(More([0], [1]).set(), other.get_color(), 'hue' in Other.set.__doc__)"
    )
    assert said(FIRST + "\n" + code) == "mine red True"


@pytest.mark.parametrize("first", [FIRST, ""])
def test_names_of_glyphs_are_there_when_they_are_asked_for(first: str) -> None:
    code = "import fontTools.agl; from fontTools.agl import toUnicode, AGL2UV;"
    code += "print(toUnicode('alpha'), len(AGL2UV), hasattr(fontTools.agl, 'none'))"
    assert said(first + code) == said(code)


def test_they_are_not_read_before() -> None:
    code = (
        "print('AGL2UV' in vars(sys.modules['fontTools.agl']), matplotlib.lines.Line2D.set.__doc__)"
    )
    assert said(FIRST + code) == "False None"


def test_who_has_imported_matplotlib_before_has_its_words() -> None:
    code = "import matplotlib.figure; " + FIRST + "print(matplotlib.lines.Line2D.set.__doc__[:12])"
    assert said(code).startswith("Set multiple")
