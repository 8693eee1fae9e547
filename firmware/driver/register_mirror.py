"""Register mirror: writes the registers that differ from the wanted values, and verifies."""

from __future__ import annotations

from firmware.registers.register_window import Window


class RegisterMirror:
    """A window, with the values last written to it."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self._set: dict[str, int] = {}

    def want(self, **values: int) -> bool:
        """Write the registers whose values differ from the last ones; returns whether any did.

        Raises BadInput for a value that a register may not hold, WindowError when it is not kept.
        """
        changed = False
        for name, value in values.items():
            if self._set.get(name) != value:
                self.window.set(name, value)
                self._set[name] = value
                changed = True
        return changed
