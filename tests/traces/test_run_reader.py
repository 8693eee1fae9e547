"""Run folders: read whole, or refused in a sentence."""

from __future__ import annotations

import json

import pytest

from orchestrator.errors import BadInput
from traces.run_reader import FILES, load


def test_load(make_folder) -> None:
    run = load(make_folder("a"))
    assert run.result.verdict == "missed"
    assert run.label == "synthetic simulated (a)"
    assert run.phases == {"high": (10**12, 2 * 10**12), "low": (2 * 10**12, 3 * 10**12)}
    assert run.set_points == {"switch.sink": 33_000}
    assert [event.kind for event in run.events] == ["set"]
    assert run.table.column("switch.sink", "queue_bytes").max() == 149_000


@pytest.mark.parametrize("name", FILES)
def test_missing_file(make_folder, name: str) -> None:
    folder = make_folder()
    (folder / name).unlink()
    with pytest.raises(BadInput, match=name):
        load(folder)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"[", b"{}", b"[1]\n[2]", b""])
def test_damaged_file(make_folder, name: str, content: bytes) -> None:
    folder = make_folder()
    (folder / name).write_bytes(content)
    empty = name == "events.jsonl" and content == b""
    nothing = name == "plan.toml" and content in (b"", b"[1]\n[2]")
    if empty or nothing or (name == "manifest.json" and content == b"{}"):
        load(folder)
        return
    with pytest.raises(BadInput, match=name):
        load(folder)


def test_every_problem_of_a_result_is_told(make_folder) -> None:
    folder = make_folder()
    result = json.loads((folder / "result.json").read_text())
    result["verdict"] = "perhaps"
    result["metrics"]["run"]["switch.sink"]["utilization"] = "much"
    (folder / "result.json").write_text(json.dumps(result))
    with pytest.raises(BadInput) as caught:
        load(folder)
    assert "verdict" in str(caught.value)
    assert "metrics.run.switch.sink.utilization" in str(caught.value)


def test_other_format(make_folder) -> None:
    folder = make_folder()
    (folder / "result.json").write_text('{"tailback": 2}')
    with pytest.raises(BadInput, match="format 2"):
        load(folder)


def test_not_a_folder(tmp_path) -> None:
    with pytest.raises(BadInput, match="no such run folder"):
        load(tmp_path / "none")


@pytest.mark.parametrize(
    "line", ["phases = 3", "[phases]\nhigh = 3", '[phases.high]\nfrom = "1 apple"\nto = "2s"']
)
def test_plan_with_a_wrong_key(make_folder, line: str) -> None:
    folder = make_folder()
    (folder / "plan.toml").write_text(line)
    with pytest.raises(BadInput, match="phases"):
        load(folder)
