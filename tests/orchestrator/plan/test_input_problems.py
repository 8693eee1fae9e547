"""Problems of an input in words: shown values, near names, key paths."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.plan.input_problems import Clash, Missing, dotted, join, near, shown, unknown


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({}, "a table"),
        ({"a": 1}, "a table"),
        ([], "a list"),
        ((1, 2), "a list"),
        ("x" * 60, repr("x" * 60)),
        ("x" * 61, repr("x" * 57 + "...")),
        (10**20 - 1, str(10**20 - 1)),
        (10**20, "a number of more than 20 digits"),
        (-(10**20), "a number of more than 20 digits"),
        (True, "True"),
        (1.5, "1.5"),
        (None, "None"),
        (Fraction(1, 2), "a Fraction"),
        (b"x", "a bytes"),
    ],
)
def test_a_value_that_would_fill_the_screen_is_named(value: object, text: str) -> None:
    assert repr(shown(value)) == text


def test_a_similar_name_is_advised_else_all_of_them() -> None:
    names = ["queue_bytes", "frames_sent", "utilization"]
    assert near("queue_byte", names) == "did you mean queue_bytes?"
    assert near("zzz", names) == "known: frames_sent, queue_bytes, utilization"
    assert near("zzz", []) == "there are none"
    assert near("rate1", ["rate2", "rate3"]) == "did you mean rate3 or rate2?"


def test_of_many_names_the_first_twenty_are_listed() -> None:
    names = [f"n{n:02}" for n in range(21)]
    listed = ", ".join(names[:20])
    assert near("zzz", names) == f"known: {listed}, ..."
    assert near("zzz", names[:20]) == f"known: {listed}"
    assert near("rate", (f"n{n}" for n in range(5000))).endswith(", ...")


def test_a_former_name_leads_to_the_current_one() -> None:
    former = {"says_queue": "report_queue"}
    assert near("say_queue", ["report_queue"], former) == "did you mean report_queue?"
    assert near("zzz", ["report_queue"], former) == "known: report_queue"
    assert near("x" * 10_000, ["report_queue"]) == "known: report_queue"


def test_sentences_name_place_value_and_what_is_accepted() -> None:
    assert str(Missing("nodes.s.kind", None, "it is required")) == (
        "nodes.s.kind: missing; it is required"
    )
    assert str(Clash("a.b", 3, "two is expected")) == "a.b: two is expected"
    found = unknown("nodes.s", "key", "bufer", ["buffer"])
    assert str(found) == "nodes.s: unknown key 'bufer'; did you mean buffer?"
    assert str(unknown("x", "key", "y" * 99, ["a"])) == f"x: unknown key '{'y' * 57}...'; known: a"


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([], ""),
        (["nodes", "switch", "buffer"], "nodes.switch.buffer"),
        (["timeline", 0, "at"], "timeline[0].at"),
        ([3, "x"], "[3].x"),
        (["a", "y" * 61], f"a.{'y' * 57}..."),
    ],
)
def test_key_paths_are_as_in_a_plan(parts: list[int | str], text: str) -> None:
    assert dotted(parts) == text


def test_paths_are_joined_where_there_is_something_on_both_sides() -> None:
    assert join("a", "b") == "a.b"
    assert (join("", "b"), join("a", ""), join("", "")) == ("b", "a", "")


def test_a_wrong_key_of_a_table_is_named_with_the_path_to_it() -> None:
    table: dict[str, Any] = {"nodes": {"a b": {"kind": "nic"}}}
    with pytest.raises(BadInput, match=r"(?m)^ *nodes\.a b: 'a b' is not accepted; a name has"):
        Plan(**table)
