"""Regression tests: writes a differing sequence as a pytest test, and reads it back."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from firmware.equivalence.event_sequence import Event, Sequence
from firmware.equivalence.rtl_comparison import Difference, open_pair
from orchestrator.algorithm import Algorithm
from orchestrator.errors import BadInput
from orchestrator.fuzz.algorithm_file import load_algorithms
from orchestrator.registry import Registry

TEST = '''"""{name}: {text}

Found by `tailback hunt --against {file}`; `{vcd}` has the module's signals.
"""

from pathlib import Path

from firmware.equivalence.regression_test import difference_of

SEQUENCE = {sequence}


def test_{test}():
    assert difference_of(Path({path!r}), {kind!r}, {name!r}, SEQUENCE) is None
'''


def write_regression_test(
    folder: Path, source: Path, algorithm: Algorithm, one: Difference, sequence: Sequence
) -> Path:
    """Write a sequence's test; a repeated finding overwrites its file. The VCD goes next to it."""
    folder.mkdir(parents=True, exist_ok=True)
    key = f"{algorithm.kind} {algorithm.name} {one.what}"
    name = re.sub(r"\W+", "_", f"rtl_{algorithm.name}_{one.what}")[:48].rstrip("_")
    name += "_" + hashlib.sha256(key.encode()).hexdigest()[:6]
    path = folder / f"test_{name}.py"
    text = TEST.format(
        name=algorithm.name, kind=algorithm.kind, text=one.text, file=source.name,
        vcd=path.with_suffix(".vcd").name, path=str(source.resolve()), test=name,
        sequence=_sequence_literal(sequence),
    )  # fmt: skip
    path.write_text(text, encoding="utf-8")
    return path


def _sequence_literal(sequence: Sequence) -> str:
    lines = ["{", f'    "params": {sequence.params!r},', f'    "values": {sequence.values!r},']
    lines += ['    "events": [  # kernel, ps, idle clocks before it, numbers that it brings along']
    lines += [
        f"        ({one.event!r}, {one.now}, {one.idle}, {one.values!r}),"
        for one in sequence.events
    ]
    return "\n".join([*lines, "    ],", "}"])


def sequence_of(table: dict[str, object]) -> Sequence:
    """Sequence of a test's literal. Raises TypeError, KeyError for an invalid one."""
    events = tuple(Event(*one) for one in table["events"])  # type: ignore[attr-defined]
    return Sequence(table["params"], table["values"], events)  # type: ignore[arg-type]


def stored_sequences(folder: Path, algorithm: Algorithm) -> Iterator[tuple[Path, Sequence]]:
    """Stored sequences of an algorithm in a folder. Raises BadInput for a damaged file."""
    for path in sorted(folder.glob("test_rtl_*.py")):
        text = path.read_text("utf-8")
        if f", {algorithm.kind!r}, {algorithm.name!r}, SEQUENCE)" not in text:
            continue
        try:
            (value,) = (
                node.value
                for node in ast.parse(text).body
                if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SEQUENCE"
            )
            yield path, sequence_of(ast.literal_eval(value))
        except (SyntaxError, ValueError, TypeError, KeyError) as error:
            raise BadInput(str(path), f"it has no sequence: {error}") from None


def difference_of(file: Path, kind: str, name: str, sequence: dict[str, Any]) -> str | None:
    """First difference of a file's algorithm from its module on a sequence; None: equal.

    Raises BadInput, and Refused without a simulator.
    """
    registry = Registry.load()
    if not any((one.kind, one.name) == (kind, name) for one in registry.algorithms):
        load_algorithms(file)
    with open_pair(registry.find(kind, name)) as pair:
        found = pair.difference(sequence_of(sequence))
    return None if found is None else found.text
