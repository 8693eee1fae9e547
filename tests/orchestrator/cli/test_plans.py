"""`tailback plans`."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from orchestrator.cli import plans
from orchestrator.plan import Plan
from orchestrator.registry import Registry


def test_a_list_that_is_piped_has_a_line_per_plan():
    command = [sys.executable, "-m", "orchestrator.cli", "plans"]
    own = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=own)
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    assert len(lines) == 2 + len(Registry.load().plans())


def test_the_shipped_plans_are_listed(tailback):
    done = tailback("plans")
    assert done.exit_code == 0
    assert "quickstart" in done.stdout
    assert "A first run" in done.stdout


def test_a_machine_gets_json(tailback, registry):
    (found,) = json.loads(tailback("plans", "--json").stdout)
    assert found["name"] == "quickstart"
    assert found["paper"] is None
    assert found["path"] == str(registry.plans()["quickstart"])


def test_a_plan_that_cannot_be_read_is_named_and_harms_no_other(
    tailback, registry, tmp_path, monkeypatch
):
    broken = tmp_path / "broken.toml"
    broken.write_text("x = [", encoding="utf-8")
    shipped = registry.plans()
    monkeypatch.setattr(registry, "plans", lambda: shipped | {"broken": broken})
    done = tailback("plans", "--json")
    assert done.exit_code == 0
    assert [one["name"] for one in json.loads(done.stdout)] == sorted(shipped)
    assert "plan broken is left out: " in done.stderr
    assert str(broken) in done.stderr


def test_a_plan_is_printed_as_it_is(tailback, registry):
    text = registry.plans()["quickstart"].read_text()
    assert tailback("plans", "quickstart").stdout == text
    assert json.loads(tailback("plans", "quickstart", "--json").stdout)["duration"] == "2s"


def test_a_plan_is_printed_whole(tailback, registry, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\nduration = "1ms"\n[nodes."h{1..2}"]\nkind = "nic"\n')
    plan = Plan.load(path, registry).check(registry).plan
    assert list(plan.nodes) == ["h1", "h2"]
    assert tailback("plans", str(path), "--resolved").stdout == plan.to_toml()
    table = json.loads(tailback("plans", str(path), "--resolved", "--json").stdout)
    assert table == plan.to_table()
    assert "needs the NAME" in tailback("plans", "--resolved").stderr


def test_an_editor_gets_a_schema(tailback):
    schema = json.loads(tailback("plans", "--schema").stdout)
    assert {"base", "templates", "nodes", "expect"} <= set(schema["properties"])


def test_an_unknown_plan_is_named_with_one_that_comes_near(tailback):
    done = tailback("plans", "quikstart")
    assert done.exit_code == 2
    assert "'quikstart'; did you mean quickstart?" in done.stderr


def test_the_shell_completes_plans_folders_and_files(registry, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("quick.toml", "quiz.txt", ".hidden.toml"):
        (tmp_path / name).write_text("")
    assert plans.complete("qui") == ["quickstart", "quick.toml"]
    assert plans.complete("") == ["quickstart", "plans/", "quick.toml"]
    assert plans.complete("plans/") == ["plans/quickstart.toml"]
    assert plans.complete(f"{tmp_path}/q") == [f"{tmp_path}/quick.toml"]
    assert plans.complete("/no/such/place") == []
