"""Each generated page is the one in the repository; parts of it, on values that are known."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Annotated, Literal, get_type_hints

import pytest
from pydantic import BaseModel, Field

import orchestrator.pages.algorithms_page as algorithms_page
import orchestrator.pages.api_page as api_page
import orchestrator.pages.commands_page as commands_page
import orchestrator.pages.markdown as markdown
import orchestrator.pages.metrics_page as metrics_page
import orchestrator.pages.plan_page as plan_page
import orchestrator.pages.type_names as type_names
import orchestrator.plan.external_node_metrics as external_node_metrics
import orchestrator.plan.link_metrics as link_metrics
import orchestrator.plan.queue_metrics as queue_metrics
import orchestrator.plan.traffic_metrics as traffic_metrics
from orchestrator.pages import generated
from orchestrator.plan.algorithm_params import Rate, Size
from orchestrator.plan.metric import Metric, Sampled

FOLDER = Path(__file__).parents[3] / "docs" / "reference"
MARK = "Made from the code by `python -m orchestrator.pages`; not to be edited."
PAGES = {
    "algorithms": algorithms_page,
    "api": api_page,
    "commands": commands_page,
    "metrics": metrics_page,
    "plan": plan_page,
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_that_of_the_repository(name: str) -> None:
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    assert generated()[f"{name}.md"] == text
    assert PAGES[name].page().split() == text.replace(MARK, "").split()


METRICS = (queue_metrics, traffic_metrics, link_metrics, external_node_metrics)


def declared(module: ModuleType) -> list[Metric | Sampled]:
    """All metrics and samples in the tables of a module."""
    return [
        one
        for name, table in vars(module).items()
        if name.isupper() and isinstance(table, tuple)
        for one in table
        if isinstance(one, Metric | Sampled)
    ]


@pytest.mark.parametrize("module", METRICS, ids=lambda one: one.__name__.rpartition(".")[2])
def test_every_metric_that_is_declared_is_on_the_page(module: ModuleType) -> None:
    page = (FOLDER / "metrics.md").read_text(encoding="utf-8")
    found = declared(module)
    assert len(found) > 3
    for one in found:
        name = one.name if isinstance(one, Metric) else one.quantity
        assert f"| `{name}` |" in page, name


def test_cells_of_a_table_are_one_line_each() -> None:
    found = markdown.table(("a", "b"), [("x\n y", "p|q"), ("", " z ")])
    assert found == "| a | b |\n| --- | --- |\n| x y | p\\|q |\n|  | z |\n"
    assert markdown.table(("a",), []) == "| a |\n| --- |\n"


def test_text_is_escaped_but_for_what_is_code() -> None:
    assert markdown.plain("a*b `c*d` [e] <f> g_h") == "a\\*b `c*d` \\[e\\] \\<f> g\\_h"
    assert markdown.code("x") == "`x`"
    assert (markdown.code(""), markdown.code(0)) == ("", "`0`")


class Table(BaseModel):
    """Keys of several types."""

    size: Size = Field(33_000, gt=0, le=10**9, description="octets")
    rate: Rate = Field(description="rate")
    ratio: float = Field(0.5, ge=0, lt=1, description="share")
    several: list[int] = Field([], min_length=1, max_length=8, description="numbers")
    choice: Literal["a", "b"] = Field("a", description="choice")
    flag: bool = Field(True, description="flag")
    empty: str = Field("", description="text")
    large: int = Field(1 << 62, description="number")
    bound: Annotated[int, Field(ge=3)] = Field(4, le=7, description="number")


@pytest.mark.parametrize(
    ("key", "words", "bounds", "default"),
    [
        ("size", "size", "> 0B, ≤ 1GB", '`"33KB"`'),
        ("rate", "rate", "", "must be given"),
        ("ratio", "number", "≥ 0, < 1", "`0.5`"),
        ("several", "list of whole number", "≥ 1 of them, ≤ 8 of them", ""),
        ("choice", "choice", '`"a"`, `"b"`', '`"a"`'),
        ("flag", "true or false", "", '`"true"`'),
        ("empty", "text", "", ""),
        ("large", "whole number", "", '`"2^62"`'),
        ("bound", "whole number", "≥ 3, ≤ 7", "`4`"),
    ],
)
def test_keys_have_their_type_bounds_and_default(
    key: str, words: str, bounds: str, default: str
) -> None:
    field = Table.model_fields[key]
    annotation = get_type_hints(Table, include_extras=True)[key]
    assert type_names.words(annotation) == words
    assert type_names.bounds(annotation, field) == bounds
    assert type_names.default(annotation, field) == default


def test_values_are_as_a_plan_writes_them() -> None:
    assert type_names.value(True, None) == "true"
    assert type_names.value(Fraction(1, 128), None) == "1/128"
    assert type_names.value(1 << 41, None) == "2^41"
    assert type_names.value(1 << 40, None) == str(1 << 40)
    assert type_names.value((1 << 41) + 1, None) == str((1 << 41) + 1)


def test_tables_in_a_type_are_found_once() -> None:
    assert type_names.tables_in(dict[str, Table] | list[Table] | None) == [Table]
    assert type_names.tables_in(dict[str, int]) == []
    assert type_names.words(dict[str, Table]) == "tables by text"
    assert type_names.words(dict[str, int]) == "table of names"
    assert type_names.words(list[Table]) == "list of tables"
    assert type_names.words(tuple[int, int]) == "list of 2 whole numbers"
    assert type_names.words(int | str | None) == "whole number or text"
