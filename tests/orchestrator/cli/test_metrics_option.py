"""`--metrics` of every command that has it: what is refused, before anything is done."""

from __future__ import annotations

import builtins
from typing import Any

import pytest

from tests.orchestrator.cli.test_run import core

__all__ = ["core"]

pytest.importorskip("prometheus_client")

COMMANDS = (("run", "mine.toml"), ("storm", "nothere"), ("agent",), ("controller",))


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
@pytest.mark.parametrize("address", ["10.0.0.1", "example:1", "127.0.0.1:99999"])
def test_an_address_that_is_none_is_refused_first(tailback, core, words, address):
    done = tailback(*words, "--metrics", address)
    assert done.exit_code == 2
    assert done.stderr.startswith("tailback: --metrics: ")
    assert "127.0.0.1" in done.stderr, "what would be accepted"
    assert "plan" not in core, "nothing was run"


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_a_missing_extra_is_refused_first(tailback, core, monkeypatch, words):
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("prometheus_client"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    done = tailback(*words, "--metrics", "127.0.0.1:0")
    assert done.exit_code == 2
    assert "pip install 'tailback-testbed[metrics]'" in done.stderr
    assert "plan" not in core, "nothing was run"


@pytest.mark.parametrize("hold", ["20", "-1s", "61min", "soon", "1h"])
def test_a_hold_without_unit_or_beyond_its_bound_is_refused(tailback, core, hold):
    done = tailback("run", "mine.toml", "--metrics", "0", "--metrics-hold", hold)
    assert done.exit_code == 2
    assert f"--metrics-hold: {hold!r} is not accepted" in done.stderr
    assert "plan" not in core


@pytest.mark.parametrize(
    ("more", "said"),
    [(("--seeds", "3"), "with --seeds"), (("--controller", "tcp://127.0.0.1:1"), "--controller")],
)
def test_runs_elsewhere_and_of_several_seeds_are_refused_by_name(tailback, core, more, said):
    done = tailback("run", "mine.toml", "--metrics", "127.0.0.1:0", *more)
    assert done.exit_code == 2
    assert done.stderr.startswith("tailback: --metrics: not together with")
    assert said in done.stderr
    assert "plan" not in core


def test_without_the_option_a_run_is_not_observed(tailback, core):
    assert tailback("run", "mine.toml").exit_code == 0
    assert core["observe"] is None
