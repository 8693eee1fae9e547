"""The four scores of the judge on one page: docs/scores.md, made from kept JSON files of draws.

    python -m tests.scores           # renew the page
    python -m tests.scores FILE ...  # keep these scores of a run, and renew the page

Each scorer writes one JSON object per run: {"score": "plans" | "frames" | "oracle" | "faults",
"seed", "day" (ISO 8601), "command", "tried", "found", "survivors": [{"name", "reason"}]} and, of
the oracle, "named". What `tailback mutate --draw N --json` prints is taken as it is. A draw with a
score and seed that is kept already takes its place.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[1]
KEPT = Path(__file__).with_name("draw_scores")
PAGE = HERE / "docs" / "scores.md"
MOST_OCTETS = 1 << 26
NAMED = 5
"""Of more plans than these a command says `--all`."""
SCORES = {
    "plans": (
        "Plan mutants",
        "mutants of shipped plans and of their kernels that move a quantity of the plan by more "
        "than its seeds do; found: an expectation is missed",
        "tailback mutate --all --draw N --seed S --json",
    ),
    "frames": (
        "Distortions of real frames",
        "runs on real frames that an XDP program or the link distorts; found: the run is not both "
        "valid and met",
        "make integrity DRAW=N SEED=S",
    ),
    "oracle": (
        "Edits of captures",
        "a frame dropped, doubled, swapped, moved by 10 us, changed in a field, its mark or its "
        "TTL, sent out of another port, or a rate 5 % less for 40 frames; found: the oracle "
        "departs; named: by the rule that a reader names, with a true reason",
        "make oracle-edits DRAW=N SEED=S",
    ),
    "faults": (
        "Planted faults",
        "one change of one source file; found: a test beside the file turns red",
        "make mutants DRAW=N SEED=S",
    ),
}
"""Score -> its title, what is drawn and when a draw counts as found, its command."""
HEAD = """\
# Scores of the judge

**How many faults the verdict, the oracle and the tests find, of faults drawn by a seed.**

Each score counts faults that a generator draws from a seed. The share found on a seed that was
not used while working on the code is the figure that counts. `python -m tests.scores FILE ...`
keeps the JSON that a scorer writes with `--out` and renews this page.

"""


@dataclass(frozen=True)
class Survivor:
    """A draw that was not found (or not named), and the reason."""

    name: str
    reason: str


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


@dataclass(frozen=True)
class Score:
    """Result of one draw."""

    score: str
    seed: int
    command: str
    tried: int
    found: int
    survivors: list[Survivor]
    named: int | None = None
    day: str = field(default_factory=_today)


def write_score(path: Path, score: Score) -> None:
    """Write the score of a draw as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(score), indent=1) + "\n", encoding="utf-8")


def read_score(path: Path) -> Score:
    """Read a score. Raises ValueError for what is none."""
    if path.stat().st_size > MOST_OCTETS:
        raise ValueError(f"{path}: more than {MOST_OCTETS} octets")
    data: Any = json.loads(path.read_text(encoding="utf-8"))
    try:
        if isinstance(data, list):
            return _plan_mutants(data)
        found = Score(
            str(data["score"]),
            int(data["seed"]),
            str(data["command"]),
            int(data["tried"]),
            int(data["found"]),
            [Survivor(str(one["name"]), str(one["reason"])) for one in data["survivors"]],
            None if data.get("named") is None else int(data["named"]),
            date.fromisoformat(data["day"]).isoformat(),
        )
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(f"{path}: no score: {error!r}") from error
    if found.score not in SCORES:
        raise ValueError(f"{path}: score {found.score!r}; known are {', '.join(SCORES)}")
    if not 0 <= (found.named or 0) <= found.found <= found.tried or found.tried == 0:
        raise ValueError(f"{path}: named <= found <= tried is expected")
    return found


def _plan_mutants(plans: list[dict[str, Any]]) -> Score:
    """The score of what `tailback mutate --json` printed, without mutants that move nothing."""
    names = "--all" if len(plans) > NAMED else " ".join(plan["plan"] for plan in plans)
    survivors = [
        Survivor(f"{plan['plan']}: {one['change']}", _moved(one["moved"]))
        for plan in plans
        for one in plan["mutants"]
        if one["outcome"] == "survived"
    ]
    command = f"tailback mutate {names} --draw {plans[0]['draw']} --seed {plans[0]['seed']} --json"
    caught = sum(int(plan["outcomes"]["caught"]) for plan in plans)
    return Score("plans", plans[0]["seed"], command, caught + len(survivors), caught, survivors)


def _moved(quantities: list[dict[str, Any]]) -> str:
    """The first two quantities that a mutant moved, and that no row asks for."""
    moves = [f"{one['quantity']} {one['before']:.6g} -> {one['after']:.6g}" for one in quantities]
    more = f" and {len(moves) - 2} more" if len(moves) > 2 else ""
    return "moves " + ", ".join(moves[:2]) + more


def kept_scores() -> list[Score]:
    """All that are kept, by score and seed."""
    found = [read_score(path) for path in sorted(KEPT.glob("*.json"))]
    return sorted(found, key=lambda one: (list(SCORES).index(one.score), one.seed))


def page(scores: list[Score]) -> str:
    """The page's text."""
    lines = [HEAD.rstrip("\n"), ""]
    for name, (title, what, command) in SCORES.items():
        mine = [one for one in scores if one.score == name]
        lines += [f"## {title}", "", f"{what[0].upper()}{what[1:]}. Command: `{command}`.", ""]
        if not mine:
            lines += ["Not run yet.", ""]
            continue
        lines.append("| seed | day | command | drawn | found | named |")
        lines.append("| ---: | --- | --- | ---: | ---: | ---: |")
        lines += [_row(one) for one in mine]
        lines.append("")
        for one in mine:
            lines += [
                f"- seed {one.seed}: {_code(survivor.name)}: {_plain(survivor.reason)}"
                for survivor in one.survivors
            ]
        lines += [""] if any(one.survivors for one in mine) else []
    return "\n".join(lines).rstrip() + "\n"


def _row(one: Score) -> str:
    named = "" if one.named is None else f"{one.named} ({one.named / one.tried:.0%})"
    found = f"{one.found} ({one.found / one.tried:.0%})"
    return f"| {one.seed} | {one.day} | `{one.command}` | {one.tried} | {found} | {named} |"


def _code(text: str) -> str:
    return "`" + " ".join(text.split()).replace("`", "'") + "`"


def _plain(text: str) -> str:
    """Text without what Markdown would take for markup."""
    return "".join(f"\\{one}" if one in "\\`*_<>[]|#" else one for one in " ".join(text.split()))


def main(arguments: list[str]) -> int:
    """Keep scores and write the page; returns the exit code."""
    try:
        for name in arguments:
            score = read_score(Path(name))
            write_score(KEPT / f"{score.score}-{score.seed}.json", score)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    PAGE.write_text(page(kept_scores()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
