"""`tailback calibrate`, `run --profile` and `run --as` on the command line."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.main import command_line
from orchestrator.errors import BadInput
from orchestrator.profile.profile_store import folder
from orchestrator.registry import Registry
from orchestrator.run.machine_diagnosis import diagnose
from orchestrator.run.machine_info import device
from orchestrator.targets.software import profile_advice
from tests.orchestrator.profile.made import forwarding, made

SHORT = str(Path(__file__).parents[2] / "short.toml")


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Profiles are looked for here."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


def kept(name: str = "", **changes: Any) -> Path:
    """A profile of this machine in its place."""
    data = made(machine=device() | changes.pop("machine", {}), **changes)
    path = folder() / f"{name or device()['name']}-20261123T120000Z.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_none_is_none(state: Path) -> None:
    kept()
    assert profile_advice.machine_profile("none") is None


def test_the_newest_is_found_without_a_word(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert profile_advice.machine_profile(None) is None
    path = kept()
    found = profile_advice.machine_profile(None)
    assert found is not None
    assert found.path == path
    assert capsys.readouterr().err == ""
    assert found.table()["date"] == "2026-11-23T12:00:00+00:00"


def test_the_newest_has_to_be_there_when_asked_for(state: Path) -> None:
    with pytest.raises(BadInput, match="tailback calibrate"):
        profile_advice.machine_profile("newest")


@pytest.mark.parametrize(
    ("change", "said"),
    [({"machine": {"kernel": "1.0"}}, "machine.kernel"), ({"tailback": "0.0.1"}, "tailback")],
)
def test_one_that_does_not_fit_is_left_out_or_refused(
    state: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], said: str
) -> None:
    path = kept(**change)
    assert profile_advice.machine_profile(None) is None
    assert said in capsys.readouterr().err
    with pytest.raises(BadInput, match=said):
        profile_advice.machine_profile(str(path))


def test_that_of_another_machine_is_refused_by_name(state: Path) -> None:
    path = state / "other.json"
    path.write_text(json.dumps(made(machine=device() | {"name": "other"})), encoding="utf-8")
    with pytest.raises(BadInput, match=r"machine\.name: 'other'"):
        profile_advice.machine_profile(str(path))


def finding() -> tuple[str, str]:
    (one,) = (one for one in diagnose(Registry([])) if one.what == "profile")
    return one.status, one.found


def test_doctor_tells_the_profiles_age(state: Path) -> None:
    assert "none of this machine" in finding()[1]
    now = datetime.datetime.now(datetime.UTC)
    path = kept(date=(now - datetime.timedelta(hours=5)).isoformat())
    assert finding() == ("ok", f"5 h old, {path}")
    kept(date=(now - datetime.timedelta(days=40)).isoformat())
    assert finding() == ("note", f"40 days old, {path}")
    kept(tailback="0.0.1")
    assert "tailback: '0.0.1' is not accepted" in finding()[1]
    path.write_text("{", encoding="utf-8")
    assert finding()[0] == "note"
    assert "damaged" in finding()[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", SHORT, "--profile", "none"], "--profile"),
        (["run", SHORT, "--as", "no-such.json"], "no-such.json"),
        (["run", SHORT, "--as", "x.json", "--target", "software"], "--as"),
        (["run", SHORT, "--as-pace", "0.5"], "--as-pace"),
        (["run", SHORT, "--as", "x.json", "--profile", "none"], "--profile"),
        (["run", SHORT, "--as", "x.json", "--controller", "tcp://127.0.0.1:1"], "--as"),
        (["calibrate", "--for", "1"], "--for"),
        (["calibrate", "--datapath", "carrier-pigeon"], "carrier-pigeon"),
        (["calibrate", "--ports", "a"], "--ports"),
        (["calibrate", "--ports", "a,a"], "named twice"),
        (["calibrate", "--ports", "a,b", "--datapath", "xdp"], "xdp"),
        (["calibrate", "--out", SHORT], "is there already"),
    ],
)
def test_bad_input_is_a_sentence(
    state: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert command_line(words) == 2
    told = capsys.readouterr()
    assert said in told.err
    assert "Traceback" not in told.err
    assert told.out == ""


def test_a_run_as_a_machine_says_so(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = state / "p.json"
    path.write_text(json.dumps(made()), encoding="utf-8")
    words = ["run", SHORT, "--as", str(path), "--json", "--no-report", "--out", str(state)]
    assert command_line(words) in (0, 1)
    result = json.loads(capsys.readouterr().out)
    manifest = json.loads((Path(result["folder"]) / "manifest.json").read_text())
    assert manifest["as"]["file"] == str(path)
    assert manifest["as"]["machine"] == "bench"
    assert "host-jitter" in (Path(result["folder"]) / "plan.toml").read_text()


def test_seeds_give_intervals(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = state / "p.json"
    path.write_text(json.dumps(made()), encoding="utf-8")
    words = ["run", SHORT, "--as", str(path), "--seeds", "4", "--json", "--out", str(state)]
    assert command_line(words) in (0, 1)
    result = json.loads(capsys.readouterr().out)
    assert result["predicted"]
    for one in result["predicted"].values():
        assert one["low"] <= one["mean"] <= one["high"]
        assert one["seeds"] == 4


@pytest.mark.software
@pytest.mark.shares_cores
def test_what_the_machine_cannot_hold_is_refused_before_the_run(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = kept(forwarding=[forwarding(1500, 1000)])
    words = ["run", SHORT, "--target", "software", "--out", str(state / "runs")]
    assert command_line(words) == 2
    said = capsys.readouterr().err
    assert "--pace" in said
    assert "--profile none" in said
    assert not (state / "runs").exists()
    assert path.exists()
