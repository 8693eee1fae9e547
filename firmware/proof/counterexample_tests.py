"""Counterexamples as pytest tests, which fail until the fault is mended."""

from __future__ import annotations

import re
from pathlib import Path

from firmware.proof.overflow_proof import REFUTED, Proof
from firmware.proof.symbolic_bench import Stimulus, differences

KERNEL = '''"""{name}: {event} of {place} {what}."""

from firmware.proof.reachability import fault_of_calls
from orchestrator.registry import Registry

CALLS = [  # of a new state: event, values, how often
{calls}
]


def test_{test}():
    algorithm = Registry.load().find({kind!r}, {name!r})
    assert fault_of_calls(algorithm, CALLS) == ""
'''
MODULE = '''"""{name}: {what}."""

from firmware.proof.symbolic_bench import Stimulus, is_confirmed

STIMULUS = Stimulus(
    {module!r},
    {parameters!r},
    registers={registers!r},
    clocks=[  # the inputs, one clock after the other
{events}
    ],
    expected={expected!r},
    wrong={wrong!r},
)


def test_{test}():
    assert not is_confirmed(STIMULUS)
'''


def write_counterexamples(proof: Proof, stimuli: list[Stimulus], folder: Path) -> list[Path]:
    """Write a test for each, and a VCD for a module's; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for number, one in enumerate(f for f in proof.findings if f.verdict == REFUTED and f.event):
        name = _name(f"{proof.name}_{one.event}_{number}")
        path = folder / f"test_{name}.py"
        if proof.kind == "module":
            if number >= len(stimuli):
                continue
            stimulus = stimuli[number]
            parts = {**vars(stimulus), "events": _events(stimulus)}
            path.write_text(MODULE.format(name=proof.name, what=one.what, test=name, **parts))
            differences(stimulus, vcd=path.with_suffix(".vcd"))
        else:
            calls = "\n".join(f"    {tuple(call)!r}," for call in one.calls)
            parts = {"name": proof.name, "kind": proof.kind, "event": one.event, "test": name}
            path.write_text(KERNEL.format(place=one.place, what=one.what, calls=calls, **parts))
        written.append(path)
    return written


def _events(stimulus: Stimulus) -> str:
    return "\n".join(f"        {clock!r}," for clock in stimulus.clocks)


def _name(text: str) -> str:
    return re.sub(r"\W+", "_", text)
