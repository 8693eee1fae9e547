"""Markdown page of `tailback papers`: a section per paper, a table per plan."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from orchestrator.terminal import format_output

FROM = {"text": "the text", "measured": "a model", "ours": "ours"}
_SIGNS = re.compile(r"([\\`*<>\[\]|])")
SUMS = ("paper", "target", "plans", "run", "rows", "met", "not met", "not run", "mutants caught")
Json = dict[str, Any]


def as_markdown(result: Json, summary: bool = False) -> str:
    """The page; the same result makes the same page.

    `summary`: a row per plan, and of the expectations those alone that are not met.
    """
    return "\n".join(_summary_lines(result) if summary else _lines(result)) + "\n"


def _summary_lines(result: Json) -> Iterator[str]:
    yield from ("# The five papers, figure by figure", "", *_summary_head(result), "")
    yield from _joined(result.get("joined", []))
    yield from _table(SUMS, [row for paper in result["papers"] for row in _sums(paper)])
    for paper in result["papers"]:
        yield from ("", f"## {paper['paper']}", "")
        if not paper["plans"]:
            yield "It has no figures: the plans of the other papers are built on it."
            continue
        targets = [on["target"] for on in _first(paper)["on"]]
        columns = ("figure or table", "plan", *targets, "mutants caught")
        yield from _table(columns, [_plan_row(plan) for plan in paper["plans"]])
        if missed := [row for plan in paper["plans"] for row in _missed_rows(plan)]:
            yield from ("", "Not met:", "")
            columns = ("plan", "expected", "bound", "target", "came", "why")
            yield from _table(columns, missed)
        if paper["without"]:
            yield from ("", "Without a plan:", "", *_without(paper["without"]))


def _summary_head(result: Json) -> list[str]:
    return [
        f"This page is the output of `{result['command']['page']}`;",
        "nothing in it is written by hand. A row is a plan: how many of its expectations are met,",
        "over the seeds, on each target, and how many of its [mutants](mutants.md) are caught.",
        "Below each table stands what is not met: mean ± standard deviation, and why.",
        "Without `--summary` the command prints every expectation with its source and its value.",
        "Papers are cited as in [references](references.md).",
    ]


def _plan_row(plan: Json) -> list[str]:
    cells = []
    for on in plan["on"]:
        ran = "refused" if on["refused"] else "not run" if not on["rows"] else ""
        met = f"{sum(row['met'] for row in on['rows'])} of {len(on['rows'])}"
        cells.append(ran or met)
    tried = [_caught(on["mutants"]) for on in plan["on"] if on["mutants"]]
    shows = plan["shows"]
    figure = f"{shows[:1].upper()}{shows[1:]}"
    return [figure, f"`{plan['plan']}`", *cells, *(tried[:1] or ["-"])]


def _missed_rows(plan: Json) -> Iterator[list[str]]:
    for on in plan["on"]:
        for asked, row in zip(plan["asked"], on["rows"], strict=False):
            if not row["met"]:
                why = row["why"] or plain(asked["differs"]) or "the plan says no reason"
                yield [
                    *(f"`{plan['plan']}`", _called(asked), _bound(asked), on["target"]),
                    *(", ".join(_came(row, on, asked["unit"])), why),
                ]


def _lines(result: Json) -> Iterator[str]:
    yield from ("# The five papers, row by row", "", *_head(result["command"]["page"]), "")
    yield from _joined(result.get("joined", []))
    yield from _table(SUMS, [row for paper in result["papers"] for row in _sums(paper)])
    for paper in result["papers"]:
        yield from ("", f"## {paper['paper']}")
        if not paper["plans"]:
            yield from ("", "It has no figures: the plans of the other papers are built on it.")
        for plan in paper["plans"]:
            yield from ("", *_plan(plan))
        if paper["without"]:
            yield from ("", "Without a plan:", "", *_without(paper["without"]))


def _head(command: str) -> list[str]:
    """Introduction of the page: its contents and how to read it."""
    return [
        f"This page is the output of `{command}`;",
        "nothing in it is written by hand. Each table is a plan, each row one of its expectations:",
        "what is asked, and whether the paper's text says so, an independent model measured it, or",
        "the bound is ours. Then, for each target, mean ± standard deviation over the seeds and",
        "how many of them met it. The last column has what the paper says or why it is asked, and,",
        "where ours differs, why. Papers are cited as in [references](references.md);",
        "[mutants](mutants.md) are plans with something broken on purpose, which a row has to",
        "notice; those that none does stand there with the reason. Below each table stands what",
        "repeats it.",
    ]


def _joined(files: Sequence[Json]) -> Iterator[str]:
    """Columns that another command made, and their files."""
    for one in files:
        made, columns = one["made"], " and ".join(one["targets"])
        version = f"tailback {made['tailback']}" if made.get("tailback") else "an earlier version"
        commit = f" ({made['commit'][:12]})" if made.get("commit") else ""
        yield (
            f"- `{one['file']}` ({columns}) is what `{one['command']} --json` printed, of "
            f"{version}{commit}."
        )
    if files:
        yield ""


def _sums(paper: Json) -> Iterator[list[str]]:
    """A row per target: how it stands with the paper."""
    for at, target in enumerate(on["target"] for on in _first(paper)["on"]):
        places = [(plan, plan["on"][at]) for plan in paper["plans"]]
        able = [(plan, on) for plan, on in places if not on["refused"]]
        rows = [row for _, on in able for row in on["rows"]]
        count = sum(len(plan["asked"]) for plan, _ in able)
        met = sum(row["met"] for row in rows)
        tried = [on["mutants"] for _, on in able if on["mutants"]]
        done = [one for one in tried if one["caught"] is not None]
        waiting = sum(one["counted"] for one in tried) - sum(one["counted"] for one in done)
        caught = f"{sum(one['caught'] for one in done)} of {sum(one['counted'] for one in done)}"
        ran = sum(bool(on["rows"]) or on["verdict"] == "unjudged" for _, on in able)
        yield [
            *(
                paper["paper"],
                target,
                str(len(places)),
                f"{ran} ({len(places) - len(able)} refused)",
            ),
            *(str(count), str(met), str(len(rows) - met), str(count - len(rows))),
            (caught if done else "-") + (f", {waiting} not run" if waiting else ""),
        ]


def _first(paper: Json) -> Json:
    found: Json = paper["plans"][0] if paper["plans"] else {"on": []}
    return found


def _plan(plan: Json) -> Iterator[str]:
    shows = plan["shows"]
    yield from (f"### {shows[:1].upper()}{shows[1:]}: `{plan['plan']}`", "")
    if plan["title"]:
        yield from (plain(plan["title"]) + ".", "")
    if plan["asked"]:
        names = [name for on in _able(plan) for name in (on["target"], "met")]
        columns = ("expected", "bound", "from", *names, "what it says")
        yield from _table(columns, [_row(plan, at) for at in range(len(plan["asked"]))])
    else:
        yield "It expects nothing."
    yield ""
    for on in plan["on"]:
        yield from _standing(plan, on)


def _able(plan: Json) -> list[Json]:
    """Notes of the targets that accept the plan; where all refuse it, of all targets."""
    return [on for on in plan["on"] if not on["refused"]] or plan["on"]


def _row(plan: Json, at: int) -> list[str]:
    """Table row of an expectation on every target."""
    asked = plan["asked"][at]
    cells, notes = list[str](), [plain(asked["note"])] if asked["note"] else []
    missed = False
    for on in _able(plan):
        row = on["rows"][at] if on["rows"] else None
        cells += _came(row, on, asked["unit"])
        if row is not None and not row["met"]:
            notes += [f"**On {on['target']}:** {row['why']}"] if row["why"] else []
            missed |= not row["why"]
    if missed:
        why = plain(asked["differs"]) or "the plan says no reason"
        notes.append(f"**Why it differs:** {why}")
    return [_called(asked), _bound(asked), FROM[asked["source"]], *cells, ". ".join(notes)]


def _called(asked: Json) -> str:
    return f"`{asked['metric']}` of `{asked['of']}` in `{asked['phase']}`"


def _bound(asked: Json) -> str:
    bound = format_output.band(asked["min"], asked["max"], asked["unit"])
    if asked["of_seeds"]:
        bound += " (median)" if asked["of_seeds"] == "median" else f" (in {asked['of_seeds']})"
    return bound


def _came(row: Json | None, on: Json, unit: str) -> list[str]:
    if row is None:
        return ["", on["verdict"]]
    value = format_output.quantity(row["mean"], unit)
    if row["sd"] is not None:
        value += f" ± {format_output.quantity(row['sd'], unit)}"
    word = "met" if row["met"] else "uncertain" if row["uncertain"] else "**missed**"
    return [value, f"{word}, {row['met_in']} of {row['count']}"]


def _standing(plan: Json, on: Json) -> Iterator[str]:
    """The verdict on a target, its mutants, and the commands that repeat them."""
    seeds = on["seeds"]
    own = f"--seeds {_span(seeds)}" if len(seeds) > 1 else f"--seed {seeds[0]}"
    tail = "" if on["pace"] == 1.0 else f" --pace {on['pace']:g}"
    run = f"`tailback run {plan['plan']} --target {on['target']} {own}{tail}`"
    if on["refused"]:
        yield f"- {on['target']}: refused: {plain(on['refused'])}"
        return
    if not on["rows"] and on["run"] < len(on["seeds"]):
        yield f"- {on['target']}: not run yet ({on['run']} of {len(on['seeds'])} seeds): {run}"
    else:
        met = sum(row["met"] for row in on["rows"])
        reasons = "; ".join(plain(text) for text in on.get("reasons", []))
        why = f" ({reasons})" if reasons else ""
        yield f"- {on['target']}: {on['verdict']}, {met} of {len(on['rows'])}{why}: {run}"
    if on["mutants"] is not None:
        over = _span(on["mutants"].get("seeds", seeds))
        yield f"- {_mutants(on['mutants'])}: `tailback mutate {plan['plan']} --seeds {over}`"
        for one in on["mutants"]["others"]:
            why = plain(one["why"]) or "the plan says no reason"
            yield f"    - `{one['name']}`, {one['outcome']}: {why}"


def _mutants(mutants: Json) -> str:
    return f"mutants: {_caught(mutants)}" + ("" if mutants["caught"] is None else " caught")


def _caught(mutants: Json) -> str:
    if mutants["caught"] is None:
        return f"{mutants['counted']}, not run yet"
    return f"{mutants['caught']} of {mutants['counted']}"


def _span(seeds: Sequence[int]) -> str:
    """As `--seeds` takes them; one alone as 4..4, because 4 would be how many."""
    if list(seeds) == list(range(seeds[0], seeds[0] + len(seeds))):
        return f"{seeds[0]}..{seeds[-1]}"
    return ",".join(map(str, seeds))


def _without(without: dict[str, str]) -> Iterator[str]:
    """Lines of the page's omissions, one per reason."""
    for reason in dict.fromkeys(without.values()):
        places = [place for place, why in without.items() if why == reason]
        yield f"- {', '.join(places)}: {reason}"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield "|" + " --- |" * len(columns)
    for row in rows:
        yield f"| {' | '.join(row)} |"


def plain(text: str) -> str:
    """A text of a plan as Markdown shows it unchanged, in one line."""
    return _SIGNS.sub(r"\\\1", " ".join(text.split()))
