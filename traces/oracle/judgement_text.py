"""Terminal output of a judgement: the first deviation first, with its surroundings."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from orchestrator.terminal.format_output import table
from traces.oracle.conformance_judge import Judgement
from traces.oracle.conformance_rules import RULES
from traces.oracle.rule_violation import Finding, in_words

AROUND = 4
"""Frames that are shown on either side of a departure."""


def show(found: Judgement, console: Console) -> None:
    """Print findings in order of time, then what was and what could not be judged."""
    for number, finding in enumerate(found.findings):
        _finding(finding, console, first=number == 0)
    rows = [
        (
            node.name,
            node.frames,
            "departs" if node.finding else "conforms" if node.frames else "not judged",
            *((node.finding.rule,) if node.finding else ("",)),
        )
        for node in found.nodes
    ]
    console.print(table(("node", "frames as predicted", "", "rule"), rows))
    for node in found.nodes:
        for excused in node.excused:
            console.print(
                Text(
                    f"{node.name}: {excused.rule} is switched off; broken first at "
                    f"{excused.time_ns / 1e9:.9f} s"
                )
            )
        for line in node.undecided:
            console.print(Text(f"{node.name}: not decided: {line}"))
    for note in found.notes:
        console.print(Text(note))


def _finding(finding: Finding, console: Console, *, first: bool) -> None:
    rule = RULES[finding.rule]
    departure = finding.departure
    expected, seen = finding.values()
    number = "" if departure.seen is None else f", frame {departure.seen.number}"
    head = "first departure" if first else "also"
    console.print(
        Text(
            f"{head}: {departure.node}, at {finding.time_ns / 1e9:.9f} s in {departure.path}"
            f"{number}",
            "bold",
        )
    )
    console.print(Text(f"  rule      {rule.name}: {rule.says}"))
    console.print(Text(f"            ({rule.source})"))
    console.print(Text(f"  differs   {departure.what}"))
    console.print(Text(f"  expected  {expected}"))
    console.print(Text(f"  seen      {seen}"))
    console.print(Text(f"  because   {finding.diagnosis.why}"))
    for other in finding.diagnosis.others:
        console.print(Text(f"  or        {other}"))
    rows = [("", in_words(one), in_words(one)) for one in departure.before[-AROUND:]]
    rows.append((">", in_words(departure.expected), in_words(departure.seen)))
    after = max(len(departure.expected_next), len(departure.seen_next))
    for index in range(min(after, AROUND)):
        wanted = departure.expected_next[index : index + 1]
        got = departure.seen_next[index : index + 1]
        rows.append(("", in_words(wanted[0]) if wanted else "", in_words(got[0]) if got else ""))
    console.print(
        table(("", f"expected at {departure.port}", f"seen at {departure.seen_at}"), rows)
    )
