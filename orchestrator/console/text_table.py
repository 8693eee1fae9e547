"""Text table whose rows are selected by key, mouse or wheel.

textual's own table draws every cell by itself, each through rich: a screen of it takes 100 ms of a
slow processor, and a console that changes views is seen to wait. Here a row is one piece of text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

Row = tuple[str, Sequence[str]]
"""Key and cells."""
LOOKS = ("header", "even", "odd", "cursor", "pointed")


class Table(ScrollView, can_focus=True):
    """See the module. It keeps its cursor on the same key when it is filled again."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "Take", show=False),
        Binding("up", "move(-1)", "Up", show=False),
        Binding("down", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "A page up", show=False),
        Binding("pagedown", "page(1)", "A page down", show=False),
        Binding("home", "go(0)", "First", show=False),
        Binding("end", "go(-1)", "Last", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"table--{look}" for look in LOOKS}
    DEFAULT_CSS = """
    Table { background: $surface; color: $foreground; }
    Table:focus { background-tint: $foreground 5%; }
    Table > .table--header { background: $panel; text-style: bold; }
    Table:focus > .table--header { background-tint: $foreground 5%; }
    Table > .table--even { background: $surface-lighten-1 50%; }
    Table:dark > .table--even { background: $surface-darken-1 40%; }
    Table > .table--pointed { background: $block-hover-background; }
    Table > .table--cursor {
        background: $block-cursor-blurred-background; color: $block-cursor-blurred-foreground;
        text-style: $block-cursor-blurred-text-style;
    }
    Table:focus > .table--cursor {
        background: $block-cursor-background; color: $block-cursor-foreground;
        text-style: $block-cursor-text-style;
    }
    """

    class Taken(Message):
        """Enter, or a click on the row under the cursor."""

        def __init__(self, key: str) -> None:
            self.key = key
            super().__init__()

    class Reached(Message):
        """The cursor stands on this row now."""

        def __init__(self, key: str) -> None:
            self.key = key
            super().__init__()

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._headings: Sequence[str] = ()
        self._keys: list[str] = []
        self._cells: list[Sequence[str]] = []
        self._widths: list[int] = []
        self._lines: dict[int, str] = {}
        """Row (-1: the headings) -> its text, of those that were drawn."""
        self._cursor = 0
        self._pointed = -1
        """Row under the mouse."""
        self._styles: dict[str, Style] = {}

    @property
    def chosen(self) -> str | None:
        """Key of the row under the cursor."""
        return self._keys[self._cursor] if self._keys else None

    # --- what it shows

    def fill(self, headings: Sequence[str], rows: Sequence[Row]) -> None:
        """Show these rows; each is (key, cells). Only what differs is drawn."""
        before, keys = self.chosen, [key for key, _ in rows]
        old, cells = self._cells, [row for _, row in rows]
        widths = _widths(headings, cells)
        fresh = list(headings) != list(self._headings) or widths != self._widths
        longer = len(keys) != len(self._keys)
        self._headings, self._keys, self._cells, self._widths = headings, keys, cells, widths
        if fresh or longer:
            self._lines.clear()
            self.virtual_size = Size(sum(widths), len(keys) + 1)
            self.refresh()
        else:
            for row in [n for n, mine in enumerate(cells) if mine != old[n]]:
                self._lines.pop(row, None)
                self.refresh_line(row + 1)
        if before is None or keys[self._cursor : self._cursor + 1] != [before]:
            self._follow(before)

    def _follow(self, key: str | None) -> None:
        """Stand on this row if it is still there, at the same place of the screen."""
        row = self._keys.index(key) if key in self._keys else self._cursor
        row = min(row, max(len(self._keys) - 1, 0))
        if row != self._cursor:
            self.scroll_to(y=self.scroll_y + row - self._cursor, animate=False)
        self._cursor = row
        self.refresh()
        if self._keys and self.chosen != key:
            self.post_message(self.Reached(self._keys[row]))

    def render_lines(self, crop: Region) -> list[Strip]:
        """Rows of the screen."""
        self._styles = {k: self.get_component_rich_style(f"table--{k}") for k in LOOKS}
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """A row of the screen; the first has the headings, wherever the others are scrolled to."""
        across, down = self.scroll_offset
        row = y - 1 + down if y else -1
        width = self.size.width
        if row >= len(self._keys) or not self._headings:
            return Strip.blank(width, self.rich_style)
        style = self._styles[self._look(row)]
        text = set_cell_size(self._line(row), max(across + width, sum(self._widths)))
        return Strip([Segment(text, style)]).crop(across, across + width)

    def _look(self, row: int) -> str:
        if row < 0:
            return "header"
        if row == self._cursor:
            return "cursor"
        return "pointed" if row == self._pointed else "odd" if row % 2 else "even"

    def _line(self, row: int) -> str:
        if row not in self._lines:
            cells = self._headings if row < 0 else self._cells[row]
            pairs = zip(cells, self._widths, strict=True)
            self._lines[row] = "".join(" " + set_cell_size(c, width - 1) for c, width in pairs)
        return self._lines[row]

    # --- the cursor

    def move_cursor(self, row: int) -> None:
        """Stand on this row (from 0), and show it."""
        row = min(max(row, 0), len(self._keys) - 1)
        if row < 0:
            return
        page, top = self._page, self.scroll_offset.y
        if not top <= row < top + page:
            self.scroll_to(y=row if row < top else row - page + 1, animate=False)
        if row != self._cursor:
            self.refresh_line(self._cursor + 1)
            self._cursor = row
            self.refresh_line(row + 1)
            self.post_message(self.Reached(self._keys[row]))

    @property
    def _page(self) -> int:
        """Rows that are seen at once."""
        return max(self.scrollable_content_region.height - 1, 1)

    def action_move(self, rows: int) -> None:
        """Up or down."""
        self.move_cursor(self._cursor + rows)

    def action_page(self, pages: int) -> None:
        """Move by a page up or down."""
        self.move_cursor(self._cursor + pages * self._page)

    def action_go(self, row: int) -> None:
        """The first or, from the end, the last."""
        self.move_cursor(row if row >= 0 else len(self._keys) + row)

    def action_take(self) -> None:
        """Enter."""
        if self.chosen is not None:
            self.post_message(self.Taken(self.chosen))

    def _at(self, event: events.MouseEvent) -> int:
        """The row under the mouse; -1 where there is none."""
        row = event.y - 1 + self.scroll_offset.y
        return row if event.y and row < len(self._keys) else -1

    def on_click(self, event: events.Click) -> None:
        """The first click moves the cursor, another one takes."""
        row = self._at(event)
        if row < 0:
            return
        event.stop()
        if row == self._cursor:
            self.action_take()
        self.move_cursor(row)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Show what a click would move to."""
        self._point(self._at(event))

    def on_leave(self) -> None:
        """The mouse is elsewhere."""
        self._point(-1)

    def _point(self, row: int) -> None:
        for changed in {row, self._pointed} - {-1} if row != self._pointed else ():
            self.refresh_line(changed + 1)
        self._pointed = row


def _widths(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """Columns of the terminal, with a blank on both sides."""
    columns = zip(headings, *rows, strict=True)
    return [2 + max(map(cell_len, column)) for column in columns]
