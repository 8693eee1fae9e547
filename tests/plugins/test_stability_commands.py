"""`tailback stability`, `delay-margin` and `thresholds`."""

from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner, Result

from orchestrator.errors import BadInput
from plugins.stability_commands import register


def run(*words: str) -> Result:
    app = typer.Typer()
    register(app)
    return CliRunner().invoke(app, list(words))


def test_the_papers_numbers_are_the_defaults():
    found = json.loads(run("stability", "--json", "--k", "0.0384").stdout)
    assert found["k_one_step"] == 0.0192
    assert found["k_limit"] == found["k_limit_averaged"] == 0.0384
    assert found["pause_interval_s"] == 24e-6
    assert found["verdict"] == "oscillates"
    text = run("stability", "--average", "1/2").stdout
    assert "0.1152" in text
    assert "24 µs" in text


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("stability", "--rate", "3"), "--rate"),
        (("stability", "--k", "x"), "--k"),
        (("stability", "--average", "2"), "--average"),
        (("stability", "--low", "200KB"), "--low"),
        (("stability", "--frame", "0B"), "--frame"),
        (("thresholds", "--buffer", "1s"), "--buffer"),
        (("thresholds", "--ports", "0"), "--ports"),
        (("delay-margin", "--sources", "0"), "--sources"),
        (("delay-margin", "--weight", "x"), "--weight"),
        (("delay-margin", "--sample", "1500B"), "--sample"),
    ],
)
def test_what_cannot_be_is_refused_by_name(words, named):
    error = run(*words).exception
    assert isinstance(error, BadInput)
    assert named in str(error)


def test_thresholds_and_a_buffer_that_is_too_small():
    done = run("thresholds", "--buffer", "1500KB", "--json")
    found = json.loads(done.stdout)
    assert (done.exit_code, found["possible"]) == (0, True)
    assert found["pfc"] == (1_500_000 - 32 * found["in_flight"]) // 32
    assert run("thresholds", "--buffer", "100KB").exit_code == 1


def test_the_delay_margin_is_in_units():
    found = json.loads(run("delay-margin", "--json").stdout)
    assert found["delay_margin_s"] == pytest.approx(2.8e-3, rel=0.05)
    text = run("delay-margin", "--sources", "1", "--weight", "1/2").stdout
    assert "µs" in text
    assert "Hz" in text
