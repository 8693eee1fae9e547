"""The line of keys at the bottom, which forgets keys that are gone.

Each key listens to the footer that made it, and textual lets go of a listener only when what it
listens to changes: a console that is open for hours would keep every key that it ever showed.
"""

from __future__ import annotations

from textual.widgets import Footer


class Keys(Footer):
    """See the module."""

    async def recompose(self) -> None:
        """Show the keys that apply now, and let go of those before."""
        await super().recompose()
        self.mutate_reactive(Footer.compact)
