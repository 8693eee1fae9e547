"""Modal dialogs: confirmation, value input, selection, help."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Footer, Input, Label, OptionList, SelectionList, Static
from textual.widgets.option_list import Option
from textual.widgets.selection_list import Selection


class Confirm(ModalScreen[bool]):
    """Dialog that asks for confirmation of an irreversible action; No has the focus."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,n", "answer(False)", "No", id="dialog.no"),
        Binding("y", "answer(True)", "Yes", id="dialog.yes"),
    ]

    def __init__(self, question: str, yes: str) -> None:
        super().__init__()
        self.question, self.yes = question, yes

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Label(self.question)
            with Horizontal(classes="answers"):
                yield Button(f"{self.yes} (y)", id="yes", variant="error")
                yield Button("No (n)", id="no", variant="default")
            yield Footer()

    def on_mount(self) -> None:
        """A slip of Enter does no harm."""
        self.query_one("#no").focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """As the keys do."""
        self.dismiss(event.button.id == "yes")

    def action_answer(self, answer: bool) -> None:
        """Close with an answer."""
        self.dismiss(answer)


class Ask(ModalScreen[str | None]):
    """Dialog for a value, validated on Enter. `check` returns an error text, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "give_up", "Cancel", id="dialog.cancel")
    ]

    def __init__(
        self, title: str, value: str, hint: str, check: Callable[[str], str | None]
    ) -> None:
        super().__init__()
        self.title_text, self.value, self.hint, self.check = title, value, hint, check

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Label(self.title_text, classes="heading")
            yield Label(f"{self.hint}. Enter takes it.", classes="hint")
            yield Input(self.value, id="value")
            yield Label("", id="wrong")
            yield Footer()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Close when it is right; say what is wrong otherwise."""
        wrong = self.check(event.value.strip())
        if wrong is None:
            self.dismiss(event.value.strip())
        else:
            self.query_one("#wrong", Label).update(Text(f"✗ {wrong}", "red"))

    def action_give_up(self) -> None:
        """Close without."""
        self.dismiss(None)


class Choose(ModalScreen[str | None]):
    """Dialog to select one item."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "give_up", "Cancel", id="dialog.cancel")
    ]

    def __init__(self, title: str, options: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self.title_text, self.options = title, options

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Label(self.title_text, classes="heading")
            yield OptionList(*(Option(Text(label), id=key) for key, label in self.options))
            yield Footer()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter or a click."""
        self.dismiss(event.option.id)

    def action_give_up(self) -> None:
        """Close without."""
        self.dismiss(None)


class Pick(ModalScreen[list[str] | None]):
    """Dialog to select several items."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "give_up", "Cancel", id="dialog.cancel"),
        Binding("enter", "take", "Show them", id="dialog.take", priority=True),
        Binding("space", "none", "Mark", id="dialog.mark"),
    ]

    def __init__(self, title: str, options: Sequence[str], chosen: Sequence[str]) -> None:
        super().__init__()
        self.title_text, self.options, self.chosen = title, options, set(chosen)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Label(self.title_text, classes="heading")
            yield Label("Space marks, Enter shows what is marked (8 at most).", classes="hint")
            yield SelectionList[str](
                *(Selection(Text(name), name, name in self.chosen) for name in self.options)
            )
            yield Footer()

    def action_take(self) -> None:
        """Close with what is marked."""
        self.dismiss(list(self.query_one(SelectionList).selected))

    def action_none(self) -> None:
        """The list marks by itself."""

    def action_give_up(self) -> None:
        """Close without."""
        self.dismiss(None)


def reflowed(text: str) -> str:
    """Paragraphs as one line each: the terminal breaks them."""
    return "\n\n".join(" ".join(part.split()) for part in text.strip().split("\n\n"))


class Help(ModalScreen[None]):
    """Dialog with a view's help text and its keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark", "give_up", "Close", id="dialog.close")
    ]

    def __init__(self, title: str, text: str, keys: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self.title_text, self.text, self.keys = title, text, keys

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog wide"):
            yield Label(self.title_text, classes="heading")
            with VerticalScroll():
                yield Static(reflowed(self.text))
                keys = "\n".join(f"{key:>14}  {text}" for key, text in self.keys)
                yield Static(f"\nKeys\n{keys}")
            yield Footer()

    def action_give_up(self) -> None:
        """Close."""
        self.dismiss(None)
