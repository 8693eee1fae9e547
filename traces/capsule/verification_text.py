"""Terminal output of `tailback verify`."""

from __future__ import annotations

from typing import Any

from orchestrator.terminal import format_output
from orchestrator.terminal.escape_control import plain
from traces.capsule.value_comparison import ComparedValue
from traces.capsule.verification import Verified

MOST_ROWS = 20


def show_verified(found: Verified) -> None:
    """Print which figures hold, which do not, and what differs."""
    from rich.text import Text

    out, differ = format_output.console(), found.count.differ
    if differ:
        rows = [
            (one.kind, one.name, _value(one, "packed"), _value(one, "here"), _within(one))
            for one in differ
        ]
        heads = ("differs", "", "in the capsule", "here", "may be apart")
        known = len(heads) if any(one.within is not None for one in differ) else len(heads) - 1
        out.print(format_output.table(heads[:known], [row[:known] for row in rows[:MOST_ROWS]]))
        if (more := _number(found, "differ") - min(len(rows), MOST_ROWS)) > 0:
            out.print(Text(f"… and {more} more; --json lists {len(differ)}", "dim"))
    style = "green" if found.holds else "bold red"
    lines = [
        ("capsule", Text("holds" if found.holds else "differs", style)),
        ("files", Text(_files(found))),
        *((label, Text(text)) for label, text in _figures(found)),
        ("tolerance", Text(found.tolerance.text)),
        *((one.kind, Text(one.text, "yellow")) for one in found.causes),
    ]
    if found.tried:
        lines.append(("tried", Text(found.tried, "yellow")))
    seeds = ", ".join(map(str, found.record.seeds[:5])) + (
        " …" if len(found.record.seeds) > 5 else ""
    )
    lines.append(("ran", Text(f"{found.record.name} on {found.record.target}, seed {seeds}")))
    lines.append(("sha256", Text(found.sha256)))
    if found.folder is not None:
        lines.append(("folder", Text(str(found.folder))))
    for label, text in lines:
        shown = Text(plain(text.plain), text.style)  # some of it is from an untrusted file
        out.print(Text(f"{label:<13}").append_text(shown), soft_wrap=True)


def _files(found: Verified) -> str:
    if not found.wrong:
        return f"all {found.files} are as they were packed"
    return f"{len(found.wrong)} of {found.files} are not as they were packed"


def _figures(found: Verified) -> list[tuple[str, str]]:
    texts = []
    for kind, of in found.count.kinds.items():
        text = f"{of['hold']} of {of['hold'] + of['differ']} hold"
        unsaid = f", {of['not_judged']} not judged" if of["not_judged"] else ""
        texts.append((f"{kind}s", text + unsaid))
    return texts


def _within(one: ComparedValue) -> str:
    return "" if one.within is None else format_output.quantity(one.within, one.unit)


def _number(found: Verified, key: str) -> int:
    return sum(of[key] for of in found.count.kinds.values())


def _value(one: ComparedValue, side: str) -> str:
    value: Any = getattr(one, side)
    if isinstance(value, float) and one.packed != one.here:
        return f"{value:.10g}{' ' + one.unit if one.unit else ''}"
    return str(value)
