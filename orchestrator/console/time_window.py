"""Time window of the plots: following, frozen or played."""

from __future__ import annotations

from dataclasses import dataclass

PS = 10**12
LEAST_PS = 10**8
"""The closest zoom: 100 us."""
SPEEDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


@dataclass
class Window:
    """`cursor_ps` is the time whose values are shown, at the right end of the plots.

    `follow`: the cursor goes with the newest sample. `playing`: it moves by itself, `speed` seconds
    of the run per second.
    """

    cursor_ps: int = 0
    span_ps: int = 2 * PS
    follow: bool = True
    playing: bool = False
    speed: float = 1.0

    @property
    def from_ps(self) -> int:
        """Left end of the plots."""
        return max(self.cursor_ps - self.span_ps, 0)

    @property
    def to_ps(self) -> int:
        """Right end of the plots; beyond the cursor when the run is younger than the span."""
        return self.from_ps + self.span_ps

    def move_on(self, newest_ps: int, seconds: float) -> bool:
        """Let `seconds` pass; True when something else is shown now."""
        before = self.cursor_ps
        if self.follow:
            self.cursor_ps = newest_ps
        elif self.playing:
            self.cursor_ps = min(self.cursor_ps + int(seconds * self.speed * PS), newest_ps)
            self.playing = self.cursor_ps < newest_ps
        return before != self.cursor_ps

    def go(self, to_ps: int, newest_ps: int) -> None:
        """Show a moment, and stay there."""
        self.follow = self.playing = False
        self.cursor_ps = min(max(to_ps, 0), newest_ps)

    def pan(self, share: float, newest_ps: int) -> None:
        """Move by a share of the span."""
        self.go(self.cursor_ps + int(share * self.span_ps), newest_ps)

    def zoom(self, factor: float, most_ps: int) -> None:
        """Show more (factor above 1) or less time; the cursor stays."""
        self.span_ps = int(min(max(self.span_ps * factor, LEAST_PS), max(most_ps, LEAST_PS)))

    def play(self, newest_ps: int, *, live: bool) -> None:
        """Play or stop; a live run is frozen or followed instead. At the end it begins again."""
        if live:
            self.follow = not self.follow
            self.playing = False
        elif self.playing:
            self.playing = False
        else:
            self.follow = False
            if self.cursor_ps >= newest_ps:
                self.cursor_ps = 0
            self.playing = True

    def faster(self, step: int) -> None:
        """The next speed, up or down."""
        nearest = min(range(len(SPEEDS)), key=lambda i: abs(SPEEDS[i] - self.speed))
        self.speed = SPEEDS[min(max(nearest + step, 0), len(SPEEDS) - 1)]
