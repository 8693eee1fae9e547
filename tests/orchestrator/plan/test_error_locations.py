"""Every mistake of a plan is told with the file and the line on which it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.plan.error_locations import lines, segments
from orchestrator.registry import Registry

TEXT = '''name = "x"
nodes.a.kind = 1  # a dotted key

[nodes."b c"]
like = { a = 1, "q.r".z = [1,
   { deep = 2 }] }
[[expect]]
metric = "m"

[[expect]]
'of' = """two
lines = 3"""
[expect.below]
x = 1
[[expect.list]]
[[expect.list]]
y = 2
'''


def test_the_line_of_every_key_is_known() -> None:
    found = lines(TEXT)
    wanted = {
        ("name",): 1,
        ("nodes",): 2,
        ("nodes", "a", "kind"): 2,
        ("nodes", "b c"): 4,
        ("nodes", "b c", "like", "q.r"): 5,
        ("nodes", "b c", "like", "q.r", "z"): 5,
        ("nodes", "b c", "like", "q.r", "z", 1, "deep"): 6,
        ("expect",): 7,
        ("expect", 0, "metric"): 8,
        ("expect", 1): 10,
        ("expect", 1, "of"): 11,
        ("expect", 1, "below", "x"): 14,
        ("expect", 1, "list", 0): 15,
        ("expect", 1, "list", 1, "y"): 17,
    }
    assert {path: found.get(path) for path in wanted} == wanted
    assert ("lines",) not in found


@pytest.mark.parametrize("text", ["", "[", "a = [[[", "= = =", "\x00", "[[a]]\n[a]\n", "é = 1"])
def test_no_text_stops_it(text: str) -> None:
    assert isinstance(lines(text), dict)


def test_paths_are_read_as_messages_write_them() -> None:
    assert segments("timeline[12].at") == ("timeline", 12, "at")
    assert segments("nodes.switch.ports.b.buffer") == ("nodes", "switch", "ports", "b", "buffer")
    assert segments("") == ()


BASE = """name = "base"
duration = "3s"

[templates.fast]
rate = "1Gb/x"                          # WRONG rate

[nodes."h{1..3}"]
kind = "nic"
host_queu = "3KB"                       # WRONG host_queu

[nodes.switch]
kind = "switch"
buffer = "150KB"
congestion_point = { plugin = "qcn-cp", weight = 700 }  # WRONG weight

[nodes.sink]
kind = "sink"

[links."l{1..3}"]
ends = ["h{}", "switch"]
like = "fast"

[links.down]
ends = ["switch", "sink"]
rate = "1Gb/s"

[[timeline]]
at = "1s"
cut = "l{1..3}"

[[expect]]
metric = "utilization"
of = "switch.sink"
min = "high"                            # WRONG min
"""
MINE = """base = "base"
name = "mine"

[nodes.switch]
bufer = "3KB"                           # WRONG bufer

[[timeline]]
at = "1s"
cut = "l9"                              # WRONG cut

[[expect]]
metric = "queue_byte.mean"              # WRONG metric
of = "switch.sink"

[[expect]]
metric = "queue_bytes.mean"
of = "switch.snk"                       # WRONG of
min = "2KB"
phase = "hig"                           # WRONG phase

[[expect]]
metric = "utilization"
of = "sink.switc"                       # WRONG of
phase = "low"                           # WRONG phase

[traffic.g]
plugin = "cbrr"                         # WRONG plugin
from = "h{1..3}"
to = "sink"
"""


def refusal(file: Path) -> BadInput:
    with pytest.raises(BadInput) as error:
        Plan.load(file, Registry.load())
    return error.value


def marked(*files: Path) -> set[tuple[str, str]]:
    """(file:line, key) of every mistake that the files say they have."""
    return {
        (f"{file}:{number}", match[1])
        for file in files
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if (match := re.search(r"# WRONG (\w+)$", line))
    }


def test_all_mistakes_are_told_at_once_where_they_stand(tmp_path: Path) -> None:
    base, mine = tmp_path / "base.toml", tmp_path / "mine.toml"
    base.write_text(BASE)
    mine.write_text(MINE)
    error = refusal(mine)
    told = {(problem.at, problem.where.rpartition(".")[2]) for problem in error.problems}
    assert marked(base, mine) <= told, "through a base, ranges, a template, lists of tables"
    assert f"  {mine}:5: nodes.switch.bufer: unknown key" in str(error)


def test_a_step_behind_those_of_ranges_and_of_the_base_has_its_own_line(tmp_path: Path) -> None:
    base, mine = tmp_path / "base.toml", tmp_path / "mine.toml"
    base.write_text(re.sub(r'"1Gb/x"|"high"', "0.5", BASE).replace("0.5  ", '"1Gb/s"', 1))
    mine.write_text(MINE[: MINE.index("[[expect]]")])
    assert (f"{mine}:9", "timeline[3].cut") in {(p.at, p.where) for p in refusal(mine).problems}


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ('name = "x"\nseed = -1\n', 2),
        ('name = "x"\nduration = "1s"\n[nodes.a]\nkind = "nik"\n', 4),
        ('name = "x"\nduration = "1s"\n[nodes.a]\nreaction_points = 1\n', 3),
        ('name = "x"\n\n[groups]\na = [\n "b{1..}",\n]\n', 4),
        ('name = "x"\n\n[lists]\na = []\n', 4),
        ('name = "x"\nduration = "1s"\n[nodes]\n[nodes."a b"]\nkind = "nic"\n', 4),
        ('name = "x"\nduration = "1s"\nexpect = 3\n', 3),
        ('name = "x"\nduration = "1s"\nexpect = [3]\n', 3),
        ('name = "x"\nduration = "1s"\nexpect = [{ of = 3 }]\n', 3),
    ],
)
def test_one_mistake_of_many_kinds(tmp_path: Path, text: str, at: int) -> None:
    file = tmp_path / "p.toml"
    file.write_text(text)
    assert f"{file}:{at}" in {problem.at for problem in refusal(file).problems}


def test_keys_that_look_like_our_marks_do_no_harm(tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_text('name = "x"\n[nodes.a]\n"\\u0000own\\u00007\\u0000999" = 1\nkind = "nic"\n')
    assert f"{file}:3" in {problem.at for problem in refusal(file).problems}


RATE, NAME = "nodes.switch.service_rate", "x" * 100


@pytest.mark.parametrize(
    ("settings", "at"),
    [
        (["duration=3"], ["--set 'duration=3'"]),
        (["seed=1", "duration=3"], ["--set 'duration=3'"]),
        (["duration=1s", "duration=3"], ["--set 'duration=3'"]),
        (["duration=3", "seed=x"], ["--set 'seed=x'", "--set 'duration=3'"]),
        ([f"{RATE}=3%"], [f"--set '{RATE}=3%'"]),
        (["nodes.{nic,switch}.buffr=1KB"], ["--set 'nodes.{nic,switch}.buffr=1KB'"] * 2),
        (["nodes.swich.buffer=1KB"], ["--set 'nodes.swich.buffer=1KB'"]),
        (["expect.0.phase=nix"], ["--set 'expect.0.phase=nix'"]),
        (["expect[0].phase=nix"], ["--set 'expect[0].phase=nix'"]),
        (["nodes.switch.kind=sink"], None),  # what follows from it is elsewhere
        ([f"name={NAME}"], None),
        (["duration"], [""]),  # it says so itself
    ],
)
def test_what_was_set_by_hand_has_the_setting_for_its_place(
    settings: list[str], at: list[str] | None
) -> None:
    plan = Plan.load(Registry.load().plans()["quickstart"], Registry.load())
    with pytest.raises(BadInput) as error:
        plan.with_settings(settings)
    found = [problem.at for problem in error.value.problems]
    if at is None:
        assert set(found) == {found[0]}
        assert found[0].startswith(f"--set '{settings[0][:20]}")
        assert len(found[0]) < 80
    else:
        assert sorted(found) == sorted(at)


def test_a_parameter_of_a_plugin_that_was_set_has_the_setting_for_its_place() -> None:
    registry = Registry.load()
    plan = Plan.load(registry.plans()["quickstart"], registry)
    wrong = plan.with_settings(["seed=2", "nodes.switch.congestion_point.wieght=1"])
    with pytest.raises(BadInput, match=r"--set 'nodes\.switch\.congestion_point\.wieght=1': "):
        wrong.check(registry)
    silent = plan.with_settings(["nodes.switch.congestion_point.wieght=1"], said="")
    with pytest.raises(BadInput) as error:
        silent.check(registry)
    assert [problem.at for problem in error.value.problems] == [""]


@pytest.mark.parametrize(
    ("load", "said"),
    [("40", "did you mean '40%'?"), ("70.5", "did you mean '70.5%'?"), ("900", "at most 2")],
)
def test_a_share_that_was_meant_in_percent_is_refused(load: str, said: str) -> None:
    text = f"""name = "x"
duration = "1s"
nodes = {{ a = {{ kind = "nic" }}, s = {{ kind = "sink" }} }}
[links.l]
ends = ["a", "s"]
rate = "1Gb/s"
[traffic.t]
plugin = "poisson"
from = "a"
to = "s"
load = "{load}"
"""
    with pytest.raises(BadInput) as error:
        Plan.load(text, Registry.load())
    (problem,) = error.value.problems
    assert said in problem.accepted
    assert ("%" in problem.accepted) == ("%" in said)
    assert problem.at == "plan:11"
    Plan.load(text.replace(f'"{load}"', '"40%"'), Registry.load())
