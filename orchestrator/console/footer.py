"""Footer line with the most used keys.

textual's own footer makes a widget for each key, and all of them anew whenever a view is changed;
half the time between a key and the new view went into that. Here it is one line of text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

BAR = "▏"


@dataclass(frozen=True)
class Entry:
    """A key as it is written, what it does, what it is called inside and what it says at length."""

    sign: str
    text: str
    key: str
    tip: str

    @property
    def width(self) -> int:
        """In columns, with blanks around."""
        return cell_len(self.sign) + cell_len(self.text) + 3


class Keys(Widget):
    """See the module."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"keys--key", "keys--text", "keys--bar"}
    DEFAULT_CSS = """
    Keys { dock: bottom; height: 1; color: $footer-foreground; background: $footer-background; }
    Keys > .keys--key {
        color: $footer-key-foreground; background: $footer-key-background; text-style: bold;
    }
    Keys > .keys--text {
        color: $footer-description-foreground; background: $footer-description-background;
    }
    Keys > .keys--bar { color: $foreground 20%; }
    """

    def __init__(self, text_of: Callable[[Binding], str]) -> None:
        """`text_of` a key says what it does now; nothing when it does not stand here."""
        super().__init__()
        self._text_of = text_of
        self._entries: list[Entry] = []
        self._palette: Entry | None = None

    def on_mount(self) -> None:
        """Hear which keys apply."""
        self.screen.bindings_updated_signal.subscribe(self, self._changed)

    def _changed(self, screen: Screen[Any]) -> None:
        if screen is not self.screen or not screen.app.app_focus:
            return
        entries, palette = [], None
        for _, binding, enabled, tooltip in screen.active_bindings.values():
            is_palette = binding.key == self.app.COMMAND_PALETTE_BINDING
            text = binding.description if is_palette else self._text_of(binding)
            sign = self.app.get_key_display(binding)
            entry = Entry(sign, text, binding.key, tooltip or text)
            if is_palette:
                palette = entry
            elif text and enabled:
                entries.append(entry)
        if (entries, palette) != (self._entries, self._palette):
            self._entries, self._palette = entries, palette
            self.refresh()

    def _layout_entries(self) -> list[tuple[int, Entry]]:
        """Column and entry of each key that fits; the palette's entry is at the right end."""
        room, at = self.size.width, 0
        last = []
        if self._palette is not None:
            room -= self._palette.width
            last = [(room, self._palette)]
        found = []
        for entry in self._entries:
            if at + entry.width <= room:
                found.append((at, entry))
                at += entry.width
        return found + last

    def render_lines(self, crop: Region) -> list[Strip]:
        """The line."""
        names = ("key", "text", "bar")
        self._looks = [self.get_component_rich_style(f"keys--{name}") for name in names]
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """The line."""
        width, ground = self.size.width, self.rich_style
        return Strip(self._pieces(ground)).adjust_cell_length(width, ground)

    def _pieces(self, ground: Style) -> list[Segment]:
        key, text, bar = self._looks
        pieces, end = [], 0
        for at, entry in self._layout_entries():
            if entry is self._palette:
                pieces += [Segment(" " * (at - end), ground), Segment(BAR, bar)]
            else:
                pieces.append(Segment(" ", key))
            pieces += [Segment(f"{entry.sign} ", key), Segment(f"{entry.text} ", text)]
            end = at + entry.width
        return pieces

    def _under(self, event: events.MouseEvent) -> Entry | None:
        """The key under the mouse."""
        places = self._layout_entries()
        return next((e for at, e in places if at <= event.x < at + e.width), None)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Say at length what the key does."""
        entry = self._under(event)
        self.tooltip = entry.tip if entry is not None else None

    def on_click(self, event: events.Click) -> None:
        """As if the key were pressed."""
        entry = self._under(event)
        if entry is not None:
            self.app.simulate_key(entry.key)
