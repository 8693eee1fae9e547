"""Overflow proofs: every operation of an algorithm's kernels stays within an int64.

Obligations that bounds do not decide go to the solver, path by path. The solver's counterexamples
are run: an obligation is refuted only if the real kernel, as plain Python on checked integers,
fails with parameters that its model accepts, in a state that calls of the kernels lead to from a
new one (firmware.proof.reachability); otherwise it is open.
"""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from firmware.proof.counterexample_replay import field_out_of_range, overflow_of
from firmware.proof.field_ranges import ENTITY, RECORDS
from firmware.proof.parameter_bounds import presets_of
from firmware.proof.path_merge import LATE
from firmware.proof.random_calls import random_calls, random_value
from firmware.proof.reachability import Call, reaching_calls, text_of
from firmware.proof.smt_encoding import solve
from firmware.proof.state_bounds_fixpoint import KernelPaths, explore_kernels
from firmware.proof.symbolic_state import Obligation
from firmware.proof.term_graph import LEAST, MOST, Interval, Term, evaluate, variables
from firmware.proof.time_limit import ProofTimeout, checks_made, seconds_left, time_limit
from firmware.proof.z3_solver import separate_context
from orchestrator.algorithm import Algorithm

PROVED, REFUTED, OPEN = "proved", "refuted", "open"
TRIES = 60
CALLS = 400
"""Number of random calls after those."""
MOST_TRIED = 1_000_000
"""Most operations of all those runs together, about 1 s: some kernels loop endlessly."""
QUESTION_S = 4.0
"""Limit of one question, in resource counts of the solver (firmware.proof.z3_solver)."""
MOST_UNREACHED = 4
"""Counterexamples of a kernel for which calls that lead to them are searched in vain; after these
no further search is made."""
UNREACHED = "so in a state within its bounds that no calls were found to lead to"
MOST_OPEN = 2
"""Open paths of one location and kind after which the others are skipped."""
ROOT = Path(__file__).parents[2]
COUNTED = re.compile(r"round@\d+~\d+")
"""The number of a round, as an index."""
FAULT_PATTERNS = {
    "divides by 0": "^divides by 0",
    "shifts": "^shifts by",
    "runs over": " comes to ",
    "has an index": "^has index",
}
"""Kind of obligation -> pattern of the fault that a run reports."""
FaultCheck = Callable[[Algorithm, str, Mapping[str, int]], str]


@dataclass(frozen=True)
class Finding:
    """Finding: a location with a refuted or open obligation."""

    verdict: str
    event: str
    place: str
    what: str
    values: Mapping[str, int] = field(default_factory=dict)
    """Shortest call that shows it: the values other than 0, by record and field."""
    reached: str = ""
    """Events that lead from a new state to the fault; empty if none of those tried do."""
    calls: list[Call] = field(default_factory=list)
    """Event and values of each of these calls, and how often in a row."""


@dataclass
class Proof:
    """Proof of one algorithm or module, with its findings."""

    name: str
    kind: str
    verdict: str
    what: str
    findings: list[Finding] = field(default_factory=list)
    taken: dict[str, str] = field(default_factory=dict)
    """Assumptions of the proof, such as inductive bounds of the state."""
    paths: int = 0
    solved: int = 0
    """Number of questions to the solver."""
    seconds: float = 0.0
    solver: str = ""


def prove_no_overflow(
    algorithm: Algorithm, timeout_s: float, tell: Callable[[str], None] = lambda text: None
) -> Proof:
    """Prove that every operation of an algorithm's kernels fits an int64, within a time limit."""
    with time_limit(timeout_s), separate_context(timeout_s):
        return _prove(algorithm, timeout_s, tell)


def _prove(algorithm: Algorithm, timeout_s: float, tell: Callable[[str], None]) -> Proof:
    begun = time.process_time()
    followed = explore_kernels(algorithm, begun + timeout_s, tell)
    proof = Proof(algorithm.name, algorithm.kind, PROVED, "no operation runs over an int64")
    proof.taken = {name: _bounds_text(followed, name) for name in followed.bounds}
    proof.paths = followed.paths
    proof.findings += [
        Finding(OPEN, "", _short(text), "is late" if LATE in text else "is not translated")
        for text in dict.fromkeys(followed.untranslated)
    ]
    for event, obligations in followed.obligations.items():
        tell(f"{algorithm.name}: {event}: {len(obligations)} questions")
        proof.findings += _check_obligations(algorithm, event, obligations, proof, followed.bounds)
    verdicts = {one.verdict for one in proof.findings}
    proof.verdict = REFUTED if REFUTED in verdicts else OPEN if verdicts else PROVED
    proof.seconds = time.process_time() - begun
    return proof


def _bounds_text(followed: KernelPaths, name: str) -> str:
    low, high = followed.bounds[name]
    if (low, high) == (LEAST, MOST):
        return "any int64"
    text = f"{low} to {high}"
    if name in followed.counted:
        least, most = followed.counted[name]
        text += f", {least} to {most} more with every event"
    return text


def _short(text: str) -> str:
    return text.replace(f"{ROOT}/", "")


def _check_obligations(
    algorithm: Algorithm,
    event: str,
    obligations: list[Obligation],
    proof: Proof,
    state: Mapping[str, Interval],
) -> Iterable[Finding]:
    """Findings of one kernel, at most one per location and kind; refuted ones take precedence."""
    found: dict[tuple[str, int, str], Finding] = {}
    unreached: list[Mapping[str, int]] = []
    asked: Counter[tuple[str, int, str]] = Counter()
    for one in obligations:
        key = (one.file, one.line, one.what)
        if key in found and (found[key].verdict == REFUTED or asked[key] >= MOST_OPEN):
            continue
        proof.solved += 1
        try:
            late = seconds_left() <= 0
            finding = (
                _timed_out(event, one)
                if late
                else _question(algorithm, event, one, state, unreached)
            )
        except ProofTimeout:
            finding = _timed_out(event, one)
        asked[key] += finding is not None
        if finding is not None and (key not in found or finding.verdict == REFUTED):
            found[key] = finding
    return found.values()


def _question(
    algorithm: Algorithm,
    event: str,
    one: Obligation,
    state: Mapping[str, Interval],
    unreached: list[Mapping[str, int]],
) -> Finding | None:
    place = _short(f"{one.file}:{one.line}")
    wanted = _violated(one)
    answer, model = solve(one.known, [wanted], QUESTION_S)
    if answer == "unsat":
        return None
    begun = checks_made()
    tried: list[Mapping[str, int]] = []
    for values in _calls(algorithm, one, wanted, model, state):
        if checks_made() - begun > MOST_TRIED:
            break
        shown = _as_parameters(algorithm, _with_cells(algorithm, values))
        if shown is None:
            continue
        shows = _fault_check(one.what)
        if shows(algorithm, event, shown):
            values = _nonzero_values(_shortest(algorithm, event, shown, shows, state))
            tried.append(values)
            if len(unreached) >= MOST_UNREACHED:
                break
            calls = reaching_calls(algorithm, event, values, state, _fault_matcher(one.what))
            if calls:
                made = [(name, _nonzero_values(given), times) for name, given, times in calls]
                return Finding(REFUTED, event, place, one.what, values, text_of(calls), made)
            unreached.append(values)
            break
    if tried:
        return Finding(OPEN, event, place, f"{one.what}: {UNREACHED}", tried[0])
    finding = _by_walks(algorithm, event, one, model, state, unreached)
    if finding is not None:
        return finding
    why = (
        "the solver has no answer in its time" if answer == "unknown" else "not confirmed by a run"
    )
    return Finding(OPEN, event, place, f"{one.what}: {why}")


def _by_walks(
    algorithm: Algorithm,
    event: str,
    one: Obligation,
    model: Mapping[str, int],
    state: Mapping[str, Interval],
    unreached: list[Mapping[str, int]],
) -> Finding | None:
    """Search calls that show the fault where no single call does: of a receiver's flows, whose
    states are no values of a call."""
    values = _as_parameters(algorithm, _with_cells(algorithm, model)) if model else None
    if values is None or len(unreached) >= MOST_UNREACHED:
        return None
    values = {name: value for name, value in values.items() if "~" not in name}
    calls = reaching_calls(algorithm, event, values, state, _fault_matcher(one.what))
    if not calls:
        unreached.append(values)
        return None
    made = [(name, _nonzero_values(given), times) for name, given, times in calls]
    place = _short(f"{one.file}:{one.line}")
    return Finding(REFUTED, event, place, one.what, made[-1][1], text_of(calls), made)


def _calls(
    algorithm: Algorithm,
    one: Obligation,
    wanted: Term,
    model: dict[str, int],
    state: Mapping[str, Interval],
) -> Iterator[dict[str, int]]:
    """Candidate calls that may show the fault, generated on demand.

    No plan need have the solver's parameters (a model's own validators are not terms), so the
    solver is asked once more for every preset, whose parameters are valid.
    """
    names = variables([*one.known.assumed, wanted])
    yield from _candidates(one, wanted, names, model)
    whole = _with_cells(algorithm, model)
    yield from random_calls(algorithm, state, whole, random.Random(1), CALLS)
    if not model:
        return
    for preset in presets_of(algorithm.params):
        fixed = [
            Term("eq", (name, Term("const", value=preset[name.name])))
            for name in names
            if name.name in preset
        ]
        found = solve(one.known, [wanted, *fixed], QUESTION_S)[1]
        if found:
            yield preset | _of_names(one, names, found)


def _timed_out(event: str, one: Obligation) -> Finding:
    place = _short(f"{one.file}:{one.line}")
    return Finding(OPEN, event, place, f"{one.what}: not asked in its time")


def _violated(one: Obligation) -> Term:
    low, high = (Term("const", value=bound) for bound in one.bounds)
    outside = Term("or", (Term("lt", (one.term, low)), Term("lt", (high, one.term))))
    if one.excluded is None:
        return outside
    equal = Term("eq", (one.term, Term("const", value=one.excluded)))
    return Term("or", (equal, outside))


def _candidates(
    one: Obligation, wanted: Term, names: list[Term], model: dict[str, int]
) -> Iterable[dict[str, int]]:
    """Candidate values: the solver's, then values at the bounds of ranges that take this path."""
    if model:
        yield _of_names(one, names, model)
    rng = random.Random(1)
    for _ in range(TRIES):
        values = {name.name: random_value(rng, *one.known.bounds(name)) for name in names}
        if model:
            kept = rng.random()
            values |= {n: v for n, v in model.items() if n in values and rng.random() < kept}
        try:
            met = evaluate([wanted, *one.known.assumed], values)
        except (KeyError, ValueError, OverflowError, ZeroDivisionError):
            continue
        if all(met):
            yield values


def _with_cells(algorithm: Algorithm, values: Mapping[str, int]) -> dict[str, int]:
    """Values completed by cells of a loop's first round, and by fields that this path does not read
    and that cannot be 0."""
    found = dict(values)
    for name, value in values.items():
        if "~" in name:
            cell = COUNTED.sub("0", name.rpartition("~")[0])
            if "~" not in cell:
                found.setdefault(cell, value)
    entity = ENTITY[algorithm.kind]
    for record in (entity, "frame", "message"):
        for name, one in RECORDS[record][1].items():
            if not one.bounds[0] <= 0 <= one.bounds[1]:
                found.setdefault(f"{record}.{name}", one.bounds[0])
    return found


def _fault_check(what: str) -> FaultCheck:
    """Function that runs a call and returns the fault of this kind; empty without one."""
    if "left outside" in what:
        return field_out_of_range
    matches = _fault_matcher(what)

    def shows(algorithm: Algorithm, event: str, values: Mapping[str, int]) -> str:
        trouble = overflow_of(algorithm, event, values)
        return trouble if matches(trouble) else ""

    return shows


def _fault_matcher(what: str) -> Callable[[str], bool]:
    """Function that says if the text of a fault is of this kind."""
    if "left outside" in what:
        return lambda trouble: " is left at " in trouble
    said = next((said for kind, said in FAULT_PATTERNS.items() if what.startswith(kind)), "")
    return lambda trouble: bool(trouble) and re.search(said, trouble) is not None


def _of_names(one: Obligation, names: list[Term], model: Mapping[str, int]) -> dict[str, int]:
    """The solver's values of these variables, or the values nearest to 0."""
    bounds = ((name.name, one.known.bounds(name)) for name in names)
    return {name: model.get(name, min(max(0, low), high)) for name, (low, high) in bounds}


def _as_parameters(algorithm: Algorithm, values: Mapping[str, int]) -> dict[str, int] | None:
    """Values with valid parameters; None where the model refuses them."""
    given: dict[str, Any] = {}
    for name, model_field in algorithm.params.model_fields.items():
        parts = [values.get(f"params.{part}") for part in algorithm.params.record_fields(name)]
        if parts[0] is None and (len(parts) == 1 or parts[1] is None):
            continue
        if model_field.annotation is Fraction:
            given[name] = Fraction(parts[0] or 0, parts[1] or 1)
        elif model_field.annotation is bool:
            given[name] = bool(parts[0])
        elif model_field.annotation is int:
            given[name] = parts[0]
        elif len(parts) == 1:
            given[name] = _choices(model_field.annotation)[parts[0] or 0]
    try:
        model = algorithm.params.model_validate(given)
        record = model.record()
    except ValidationError:
        return None
    real = {f"params.{name}": int(record[name][0]) for name in record.dtype.names or ()}
    return {**values, **real}


def _choices(kind: Any) -> tuple[Any, ...]:
    from typing import get_args

    return get_args(kind)


def _shortest(
    algorithm: Algorithm,
    event: str,
    values: dict[str, int],
    shows: FaultCheck,
    state: Mapping[str, Interval],
) -> dict[str, int]:
    """Minimised values: as many as possible are 0 or the defaults."""
    kept = dict(values)
    for name in sorted(values):
        if name.startswith("params.") or not kept[name]:
            continue
        tried = {**kept, name: 0}
        try:
            if _fits(algorithm, name, 0, state) and shows(algorithm, event, tried):
                kept = tried
        except ProofTimeout:
            break
    return kept


def _fits(algorithm: Algorithm, name: str, value: int, state: Mapping[str, Interval]) -> bool:
    from firmware.proof.field_ranges import NOW

    if "." in name and name in state:
        return state[name][0] <= value <= state[name][1]

    record, _, part = name.partition(".")
    if name == "now":
        return NOW.bounds[0] <= value
    if record in (ENTITY[algorithm.kind], "frame", "message"):
        ranges = RECORDS[record][1].get(part)
        return ranges is not None and ranges.bounds[0] <= value <= ranges.bounds[1]
    return record == "state" and part != "lfsr"


def _nonzero_values(values: Mapping[str, int]) -> dict[str, int]:
    return {name: value for name, value in values.items() if value and "~" not in name}
