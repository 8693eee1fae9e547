"""Which plans show what of which paper, and in which order."""

from __future__ import annotations

import pytest

from orchestrator.batch.paper_figures import PAPERS, of_paper, plans_of, select_papers, shown_by
from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from tests.docs.test_citations import papers as cited


def test_a_paper_is_meant_by_the_beginning_of_its_name() -> None:
    assert [one.name for one in select_papers(["p4", "netFPGA"])] == ["NetFPGA-QCN", "P4QCN"]
    assert select_papers([]) == list(PAPERS)


@pytest.mark.parametrize("name", ["dctcp", "", " ", "e"])
def test_another_name_is_answered_by_all_of_them(name: str) -> None:
    with pytest.raises(BadInput) as caught:
        select_papers([name])
    assert all(paper.name in str(caught.value) for paper in PAPERS)


@pytest.mark.parametrize(
    ("text", "of"),
    [
        ("FECN, table I (section IV)", ("FECN", "table I (section IV)")),
        ("QCN 2.2, L164", ("QCN 2.2", "L164")),
        ("none; QCN as in NetFPGA-QCN, section 4", None),
        ("FECNish, figure 1", None),
        ("FECN", None),
        (None, None),
    ],
)
def test_a_plan_belongs_to_the_paper_that_it_begins_with(
    text: str | None, of: tuple[str, str] | None
) -> None:
    assert of_paper(text) == of


def test_plans_stand_in_the_order_of_the_paper() -> None:
    said = {
        "a": "P4QCN, section 4",
        "b": "P4QCN, figure 14",
        "c": "P4QCN, figure 13b",
        "d": "P4QCN, figure 13a",
        "e": "P4QCN, figure 9",
        "f": "P4QCN, table 1 (section 3)",
        "g": "FECN, table II",
        "h": "P4QCN, figure 1: its set-up; no figure",
        "i": "FECN, table I (section IV)",
    }
    shown = plans_of(select_papers(["p4", "fecn"]), said)
    assert [name for name, _ in shown["P4QCN"]] == ["f", "e", "d", "c", "b", "h", "a"]
    assert [name for name, _ in shown["FECN"]] == ["i", "g"]


def test_every_figure_and_table_has_a_plan_or_a_reason_why_not() -> None:
    registry = Registry.load()
    said = {name: Plan.load(path, registry).paper for name, path in registry.plans().items()}
    shown = plans_of(PAPERS, said)
    for paper in PAPERS:
        places = {place for _, text in shown[paper.name] for place in shown_by(text)}
        whole = {place.rstrip("abcd") for place in places}
        kinds = (("figure", "Figures"), ("table", "Tables"))
        there = {
            f"{kind} {number}"
            for kind, row in kinds
            for number in cited()[paper.name].get(row, ())
            if number.rstrip("abcd") == number
        }
        assert whole | set(paper.without) == there
        assert not whole & set(paper.without)
