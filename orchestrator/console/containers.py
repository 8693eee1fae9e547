"""Lean containers: background only, without borders and scroll bars.

textual draws a container line by line, and cuts each line wherever something on the screen begins,
though children cover all of it: with containers in containers that is most of the work of changing
a view. The lines of these are one and the same line, which is cut once.
"""

from __future__ import annotations

from typing import Any

from rich.style import Style
from textual import containers
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import ContentSwitcher


class Ground(Widget):
    """See the module. The second base of each: the first one says how children are laid out."""

    def render_lines(self, crop: Region) -> list[Strip]:
        """As many times the same line."""
        ground = self.background_colors[1]
        strip = Strip.blank(crop.width, Style(bgcolor=ground.rich_color))
        for each in self.get_line_filters():
            strip = strip.apply_filter(each, ground)
        return [strip] * crop.height


class Page(Screen[Any], Ground):
    """The screen below all dialogs. The code that shows a view sets the focus."""

    AUTO_FOCUS = ""


class Switcher(ContentSwitcher, Ground):
    """Shows one of its children."""


class Across(containers.Horizontal, Ground):
    """Children beside each other."""


class Down(containers.Vertical, Ground):
    """Children below each other."""
