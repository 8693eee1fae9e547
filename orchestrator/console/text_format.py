"""Text formatting of numbers, bars and states without depending on colour."""

from __future__ import annotations

from orchestrator.terminal.format_output import quantity

BLOCKS = " ▏▎▍▌▋▊▉█"
PS = 10**12
MARKS = {True: "✓ met", False: "✗ MISSED", None: "… waits"}
VERDICTS = {
    "met": "✓ met",
    "missed": "✗ missed",
    "uncertain": "± uncertain",
    "unjudged": "– unjudged",
    "stopped": "■ stopped",
    "invalid": "! invalid",
    "valid": "✓ valid",
}
STAGES = {
    "preparing": "○ preparing",
    "compiling": "○ compiling",
    "running": "● running",
    "writing": "● writing",
    "done": "■ done",
    "failed": "✗ failed",
    "aborted": "✗ aborted",
}
COLOURS = {
    "met": "green",
    "valid": "green",
    "running": "green",
    "done": "green",
    "missed": "red",
    "invalid": "red",
    "failed": "red",
    "aborted": "red",
}


def seconds(ps: int) -> str:
    """A time of the run: "1.234 s", finer when it is short."""
    if abs(ps) < PS // 1000:
        return f"{ps / 1e6:.1f} µs"
    return f"{ps / 1e12:.3f} s" if abs(ps) < 1000 * PS else f"{ps / 1e12:.1f} s"


def amount(value: float | None, unit: str) -> str:
    """A number with its unit; "–" where there is none."""
    if value is None:
        return "–"
    if unit in ("1", "ratio", ""):
        return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}"
    return quantity(float(value), unit)


def bar(share: float, width: int) -> str:
    """A bar of `width` cells, filled to `share`."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    whole, rest = divmod(eighths, 8)
    text = "█" * whole + (BLOCKS[rest] if rest else "")
    return text.ljust(width)


def percent(share: float | None) -> str:
    """A share: "62 %"."""
    return "–" if share is None else f"{100 * share:.0f} %"


def load_colour(share: float | None) -> str:
    """The colour of a link by its utilisation."""
    if share is None or share < 0.01:
        return "dim"
    return "green" if share < 0.7 else "yellow" if share < 0.95 else "red"
