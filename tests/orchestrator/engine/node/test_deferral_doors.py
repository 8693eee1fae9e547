"""The engine syncs and reschedules what is lazy at few places, all of which are listed here."""

from __future__ import annotations

import ast
from pathlib import Path

ENGINE = Path(__file__).parents[4] / "orchestrator" / "engine"
NAMES = "crossbar_grants crossbar_transfer early_delivery event_sync"
NAMES += " lazy_egress lazy_nic link_delivery local_timers"
DEFERRAL = [ENGINE / "node" / f"{name}.py" for name in NAMES.split()]
VERBS = ("sync", "reschedule", "schedule", "send_lazily", "forward_lazily", "run_")
EAGER = {"schedule_flow", "schedule_queue", "schedule_node", "schedule_line"}
"""Wakes that no deferral has a part in."""
OF_ONE = {
    ("admit", "sync_input"),
    ("enqueue", "sync_egress"),
    ("push_control", "sync_egress"),
    ("serve", "schedule_port"),
    ("step", "reschedule"),
    ("step", "sync"),
}
OF_ALL = {
    ("simulate", "sync_until"),
    ("simulate_windows", "sync_until"),
    ("take_row", "sync_counters"),
}


def deferral_functions() -> set[str]:
    """Functions of these modules that sync or reschedule."""
    names = {
        node.name
        for file in DEFERRAL
        for node in ast.parse(file.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith(VERBS)
    }
    assert {"sync", "sync_port", "sync_egress", "sync_input", "schedule_input"} <= names
    return names


def outside_calls() -> list[tuple[str, str]]:
    """(caller, function of these modules) of every call in the engine outside these modules."""
    names = deferral_functions()
    assert not names & EAGER
    found = []
    for file in ENGINE.rglob("*.py"):
        if file in DEFERRAL:
            continue
        for function in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not isinstance(function, ast.FunctionDef):
                continue
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
                    name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
                    if name in names:
                        found.append((function.name, name))
    return sorted(found)


def test_the_rest_of_the_engine_syncs_at_less_than_eight_places() -> None:
    assert len(OF_ONE) < 8
    assert outside_calls() == sorted(OF_ONE | OF_ALL)


def test_the_first_lines_of_event_sync_list_these_modules() -> None:
    text = (ENGINE / "node" / "event_sync.py").read_text("utf-8").split('"""')[1]
    listed = [file.stem for file in DEFERRAL if file.stem != "event_sync"]
    assert [name for name in listed if f"`{name}`" not in text] == []


def test_only_these_modules_compare_with_the_actor_that_is_awake() -> None:
    """The rule about equal times is theirs: the event loop only sets `clock.actor`."""
    readers = {
        file.name
        for file in ENGINE.rglob("*.py")
        if file not in DEFERRAL and "[0].actor" in file.read_text("utf-8")
    }
    assert readers == set()
