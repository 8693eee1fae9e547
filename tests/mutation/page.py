"""docs/mutation.md, made from scores.json and the reasons for survivors in reasons.toml."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from tests.mutation.covered import HERE, ROOMS

SCORES = Path(__file__).with_name("scores.json")
REASONS = Path(__file__).with_name("reasons.toml")
PAGE = HERE / "docs" / "mutation.md"
HEAD = """\
# Mutation testing

**Does a test turn red when a line is wrong? Every small change to the files below was tried.**

A *mutant* is a source file with one change: a comparison off by its edge or turned round, `and`
for `or`, a sum for a difference, a number one up or down, a condition negated, a loop that does
nothing, a call or an assignment left out. For each, the tests beside the file run, those that reach
the line; a mutant is *found* when one of them fails. What survives is a test that is missing, or a
change that nobody could see, and then its reason stands here.

```text
make mutants                    # covered files that differ from main, and their tests
make mutants FILES="FILE ..."   # these
make mutants ALL=1              # all; renews this page
make mutants AGAIN=1 FILES=...  # what survived last time, where only tests have changed
make mutants SAMPLE=20 FILES=...  # twenty of each file, spread evenly
```

cosmic-ray makes the changes, but for the one that leaves a statement out. Its runner is not used:
it writes every mutant over the file and starts an interpreter for it; and mutmut leaves decorated
functions alone, which all kernels are. `python -m tests.mutation` collects the tests once, forks
for each mutant and exchanges the code of the function in memory, some 0.1 s each; where a change is
not in a function's body (a constant, a default) the child imports our modules anew, some 0.5 s.
Kernels run as plain Python (`NUMBA_DISABLE_JIT=1`); of a property that takes long there, the first
few examples are tried. Where a file has a plain form and a compiled one of the same, what survives
plain is tried compiled. Which tests belong to which file: `tests/mutation/covered.py`.

The Verilog cores (room gateware) are changed by `mutate` of yosys, which does not change their text
but single bits between their cells: a bit is stuck at 0 or 1, is inverted, or is inverted where
another bit of the same port is 0 or 1. It spreads some tens of mutants over all bits of a module;
all of them are in one design, compiled once by Icarus, and a register chooses one. The bench that
holds the core to its kernel runs on each, its short tests first, of drawn sequences those that are
drawn evenly and, for what survives, those of hypothesis (`--quick`: not). One that keeps the
simulator busy for many times what the module takes is found, too. Of what survives yosys proves,
where it can, that nothing has changed (a bit that nobody reads, one that is always 0): that is no
mutant and not counted. A line tells the statement and, of the cell made of it, port and bit.

"""


def scores() -> dict[str, dict[str, Any]]:
    """What was measured last, by file."""
    found: dict[str, dict[str, Any]] = json.loads(SCORES.read_text()) if SCORES.exists() else {}
    return found


def keep(file: str, score: dict[str, Any]) -> None:
    """Note a score."""
    known = scores() | {file: score}
    SCORES.write_text(json.dumps(known, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def share(score: dict[str, Any]) -> float:
    """Of the mutants, how many were found."""
    return float(score["found"] / max(score["mutants"], 1))


def reaches(file: str, score: dict[str, Any]) -> bool:
    """Whether a file's score is what its room aims at."""
    return share(score) >= next(room.aim for room in ROOMS if file in room.files)


def line(file: str, score: dict[str, Any]) -> str:
    """A score in words."""
    return f"{file}: {score['found']} of {score['mutants']} found, {share(score):.0%}"


def reason(file: str, survivor: dict[str, Any]) -> str:
    """Why a survivor is no fault that a test should find; empty: nobody has said."""
    known = tomllib.loads(REASONS.read_text(encoding="utf-8")).get(file, {})
    return next((why for part, why in known.items() if part in survivor["change"]), "")


def unexplained(file: str, score: dict[str, Any]) -> list[dict[str, Any]]:
    """Survivors without a reason."""
    return [survivor for survivor in score["survivors"] if not reason(file, survivor)]


def text() -> str:
    """The page."""
    known = scores()
    lines = [HEAD + "## Scores", "", "| room | file | mutants | found | aim |"]
    lines.append("| --- | --- | ---: | ---: | ---: |")
    for room in ROOMS:
        for file in room.files:
            score = known.get(file)
            cells = f"{score['mutants']} | {share(score):.0%}" if score else "- | not yet tried"
            if score and "note" in score:
                cells += f" ({score['note']})"
            lines.append(f"| {room.name} | `{file}` | {cells} | {room.aim:.0%} |")
    lines += ["", "## Survivors", ""]
    for file, score in sorted(known.items()):
        open_ones = unexplained(file, score)
        explained = [one for one in score["survivors"] if one not in open_ones]
        if not score["survivors"]:
            continue
        lines += [f"### {file}", ""]
        for survivor in explained:
            lines += [f"- {reason(file, survivor)}:", *_block(survivor)]
        for survivor in open_ones:
            lines += [f"- No reason: {survivor['outcome']}.", *_block(survivor)]
    return "\n".join(lines).rstrip() + "\n"


def _block(survivor: dict[str, Any]) -> list[str]:
    before, _, after = survivor["change"].partition("  ->  ")
    return ["", "    ```text", f"    - {before}", f"    + {after}", "    ```", ""]


def write() -> None:
    """Renew the page."""
    PAGE.write_text(text(), encoding="utf-8")
