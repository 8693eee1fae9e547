"""docs/glossary.md: two sorted tables, and every word in a name that users read is in them.

Names are cut into words, so that a new key made of known words is fine, and one with a word that
stands nowhere is not: define it, or take one that is there.
"""

from __future__ import annotations

import itertools
import re
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.engine.histogram import new_histogram
from orchestrator.plan.metric_registry import ENTITIES, METRICS
from orchestrator.plan.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.datapath_stalls import CAUSES, LongIteration, StallLog
from orchestrator.run.run_fidelity import ORDER, VALID, Demand, Measured, judge
from orchestrator.run.stall_impact import ControlLoop
from orchestrator.run.stall_report import UnloggedMachine, stall_report
from orchestrator.run.verdict import verdict

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "glossary.md").read_text("utf-8")
TERMS, LISTS = PAGE.split("\n## Words of the field\n")


def words(name: str) -> set[str]:
    return set(re.findall(r"[a-z][a-z0-9]*", name.lower().replace("_", " ")))


FIELD_COLUMNS = ["term", "synonyms", "meaning"]
SECTIONS = ("Terms of the field", "Terms of tailback")
OWN_COLUMNS = ["term", "field term", "reason for another word", "meaning"]


def table(section: str, page: str) -> list[list[str]]:
    """Rows of the table of a section, its header first and the ruler left out."""
    text = page.split(f"\n## {section}\n")[1].split("\n## ")[0]
    lines = re.findall(r"^\| ?(.*)\|$", text, re.M)
    rows = [[cell.strip() for cell in re.split(r" ?\| ?", line.rstrip())] for line in lines]
    return [row for row in rows if set(row[0]) != set("-")]


def sort_key(row: list[str]) -> str:
    """Order of a term in its table: letters, digits and blanks, without case or marks."""
    return re.sub(r"[^a-z0-9 ]", "", row[0].lower())


def mistakes(page: str) -> list[str]:
    """Rules of the two tables that a page breaks, one sentence each."""
    wrong = []
    seen: dict[str, str] = {}
    for section, columns in zip(SECTIONS, (FIELD_COLUMNS, OWN_COLUMNS), strict=True):
        header, *rows = table(section, page)
        if header != columns:
            wrong.append(f"{section}: columns {header}, expected {columns}")
        wrong += [
            f"{section}: {row[0]!r} has {len(row)} cells, expected {len(columns)}"
            for row in rows
            if len(row) != len(columns)
        ]
        wrong += [
            f"{section}: {after[0]!r} stands behind {before[0]!r}"
            for before, after in itertools.pairwise(rows)
            if sort_key(before) > sort_key(after)
        ]
        may_be_empty = {"synonyms"}
        wrong += [
            f"{section}: {row[0]!r} has no {column}"
            for row in rows
            for column, cell in zip(columns, row, strict=False)
            if column not in may_be_empty and not re.search(r"\w", cell)
        ]
        for row in rows:
            if seen.setdefault(row[0], section) != section:
                wrong.append(f"{row[0]!r} stands in both tables")
    return wrong


def test_the_two_tables_are_sorted_and_complete() -> None:
    assert mistakes(PAGE) == []


def test_both_tables_are_read() -> None:
    assert len(table("Terms of the field", PAGE)) > 80
    assert len(table("Terms of tailback", PAGE)) > 50


SMALL = """
## Terms of the field

| term | synonyms | meaning |
|---|---|---|
| buffer | | octets |
| queue | qdisc | frames |

## Terms of tailback

| term | field term | reason for another word | meaning |
|---|---|---|---|
| lane | traffic class | wider | frames |
| pace | time dilation | inverse | ratio |
"""


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("lane | traffic class", "lane | ", "'lane' has no field term"),
        ("inverse", "", "'pace' has no reason for another word"),
        ("| octets |", "| |", "'buffer' has no meaning"),
        ("| lane", "| rate", "'pace' stands behind 'rate'"),
        ("| buffer", "| *Shaper*", "'queue' stands behind '*Shaper*'"),
        ("| pace", "| queue", "'queue' stands in both tables"),
        ("| wider ", "", "'lane' has 3 cells, expected 4"),
        ("| term | synonyms |", "| word | synonyms |", "columns"),
    ],
)
def test_a_planted_mistake_of_a_table_is_reported(before: str, after: str, sentence: str) -> None:
    assert mistakes(SMALL) == []
    assert before in SMALL
    assert any(sentence in wrong for wrong in mistakes(SMALL.replace(before, after)))


@pytest.mark.parametrize("term", ["ECMP", "DUT", "AQM", "heartbeat", "qdisc", "JCT"])
def test_a_reader_with_the_fields_word_finds_a_row(term: str) -> None:
    rows = table("Terms of the field", PAGE)
    (row,) = [row for row in rows if term in re.split(r", ", row[0])]
    named = re.findall(r"[\w-]+", row[2].removeprefix("see "))
    others = {row[0] for section in SECTIONS for row in table(section, PAGE)}
    assert all(any(word in other for other in others) for word in named)


def known() -> set[str]:
    """Words of the terms (first cells, plurals too) and of the lists."""
    cells = re.findall(r"^\| ([^|]+) \|", TERMS, re.M)
    found = words(" ".join(cells)) | words(LISTS)
    return found | {f"{word}s" for word in words(" ".join(cells))}


def keys(schema: Any) -> Iterator[str]:
    """Keys of all tables of a JSON schema."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
    for part in schema.values() if isinstance(schema, dict) else schema:
        if isinstance(part, dict | list):
            yield from keys(part)


def choices(schema: Any) -> Iterator[str]:
    """Words that a key may have as its value."""
    if isinstance(schema, dict):
        yield from (value for value in schema.get("enum", ()) if isinstance(value, str))
        if isinstance(schema.get("const"), str):
            yield schema["const"]
    for part in schema.values() if isinstance(schema, dict) else schema:
        if isinstance(part, dict | list):
            yield from choices(part)


def of_plans() -> Iterator[str]:
    schema = Plan.model_json_schema()
    yield from keys(schema)
    yield from choices(schema)


def of_plugins() -> Iterator[str]:
    for algorithm in Registry.load().algorithms:
        schema = algorithm.params.model_json_schema()
        yield algorithm.name
        yield from keys(schema)
        yield from choices(schema)


def of_metrics() -> Iterator[str]:
    for kind, metrics in METRICS.items():
        yield kind
        yield from metrics


def of_samples() -> Iterator[str]:
    """What every kind of entity is sampled by."""
    assert len(ENTITIES) >= 10
    for entity, quantities in ENTITIES.items():
        yield entity
        for sampled in quantities:
            yield from (sampled.quantity, sampled.unit, sampled.kind)


def of_results() -> Iterator[str]:
    """Fidelity's figures, and every verdict there is."""
    quiet = Measured(new_histogram(), sent=1, lost={}, capture_lost=0)
    yield from judge(quiet, Demand(1, 1, 1))
    yield from judge(quiet, Demand(1, 1, 1))["held"]
    yield from of_stalls()
    yield from ORDER
    yield from (verdict([{"met": met}], {"verdict": VALID}) for met in (True, False))
    yield verdict([], {"verdict": VALID})


def of_stalls() -> Iterator[str]:
    """`fidelity["stalls"]`, down to its rows."""
    turn = LongIteration(0, 2, 0, 2, span_ns=2)
    log, silent = (
        StallLog(frozenset("s"), [turn], 1, machine="m"),
        UnloggedMachine("n", frozenset("s"), "older"),
    )
    said = stall_report([log], [ControlLoop("s.d", frozenset("s"), 1, 0)], silent=[silent])
    yield from ("stalls", *said, *CAUSES, *said["loops"]["s.d"], *said["longest"][0])
    yield from said["machines"]["n"]
    yield from said["causes"]["unexplained"]


@pytest.mark.parametrize("names", [of_plans, of_plugins, of_metrics, of_samples, of_results])
def test_every_word_that_users_read_is_on_the_page(names: Callable[[], Iterator[str]]) -> None:
    shown = set(names())
    assert len(shown) > 5
    unknown = {name: lacking for name in sorted(shown) if (lacking := words(name) - known())}
    assert unknown == {}


REFUSED = {
    "heard",
    "witness",
    "witnessed",
    "witnesses",
    "sighting",
    "sightings",
    "inloop",
    "byhand",
}
"""Words of nobody's but ours, for which the field has its own: received, measured."""
REFUSED_IN_GATEWARE = REFUSED | {"told", "said", "say"}
"""Signals are notified of congestion, and PAUSE is sent; `stall_report` may be a local name
elsewhere."""
ROOMS = ("orchestrator", "plugins", "traffic", "traces", "firmware")


def test_a_word_of_our_own_would_be_found() -> None:
    assert words("feedback_heard") - known() == {"heard"}
    assert REFUSED.isdisjoint(known())


def named_in_python(path: Path) -> set[str]:
    """Words of a file's names, and of texts that are one word: keys, headings, kinds."""
    found: set[str] = set()
    text = path.read_text("utf-8").lower()
    if not any(
        word in text for word in REFUSED
    ):  # prose may have them, which is long to tell apart
        return found
    with path.open("rb") as lines:
        for token in tokenize.tokenize(lines.readline):
            text = token.string.strip("rbfu'\"")
            if token.type == tokenize.NAME or (
                token.type == tokenize.STRING and re.fullmatch(r"\w+", text)
            ):
                found |= words(re.sub(r"([a-z])([A-Z])", r"\1_\2", text))
    return found


def named_in_gateware(path: Path) -> set[str]:
    return words(re.sub(r"//.*", "", path.read_text("utf-8")))


@pytest.mark.parametrize("room", ROOMS)
def test_nothing_in_a_room_is_named_by_a_refused_word(room: str) -> None:
    paths = [p for p in sorted((ROOT / room).rglob("*")) if p.suffix in (".py", ".v", ".cpp")]
    assert len(paths) > 5
    refused = {
        path.relative_to(ROOT).as_posix(): wrong
        for path in paths
        if (
            wrong := named_in_python(path) & REFUSED
            if path.suffix == ".py"
            else named_in_gateware(path) & REFUSED_IN_GATEWARE
        )
    }
    assert refused == {}
