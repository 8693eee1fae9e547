"""When sources are on: by their table, by the timeline, by both."""

from __future__ import annotations

from orchestrator.assembly.source_activity import sources_on
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from tests.orchestrator.worlds import MS, line_of_three


def test_starts_and_stops_of_table_and_timeline_are_joined() -> None:
    plan = line_of_three(
        duration=20 * MS,
        timeline=[
            {"at": 8 * MS, "start": "gen"},
            {"at": 9 * MS, "start": "gen"},
            {"at": 12 * MS, "stop": "gen"},
            {"at": 15 * MS, "start": "late"},
        ],
    )
    gen = plan["traffic"]["gen"] | {"start": MS, "stop": 4 * MS, "flows": 2}
    late = plan["traffic"]["gen"] | {"start": 2 * MS, "stop": 3 * MS}
    plan["traffic"] = {"gen": gen, "late": late, "always": plan["traffic"]["gen"]}
    twice = [(MS, 4 * MS), (8 * MS, 12 * MS)]
    assert sources_on(Plan(**plan).check(Registry.load())) == {
        "gen.0": twice,
        "gen.1": twice,
        "late": [(2 * MS, 3 * MS), (15 * MS, 20 * MS)],
        "always": [(0, 20 * MS)],
    }
