"""Markdown page of proofs: results, ranges and times of each, and the open questions."""

from __future__ import annotations

from firmware.proof.field_ranges import ANSWERS, RECORDS
from firmware.proof.function_contracts import CONTRACTS
from firmware.proof.overflow_proof import PROVED, Finding, Proof

HEAD = """# Proofs

This page is made by `tailback prove --page docs/proofs.md`; do not edit it.

`tailback prove NAME` checks for all inputs that no operation of an algorithm's kernels overflows an
int64, divides by 0, shifts too far or leaves an array, and that a Verilog module computes the
result of its kernel. It accepts the name of any installed plugin and needs `pip install
'tailback-testbed[prove]'`. The exit code is 0 if everything is proved, 1 if something is refuted or
open. With `--out FOLDER` every counterexample becomes a pytest test that calls the kernel as plain
Python with checked integers, or runs the Verilog in Icarus Verilog.

**Kernels** are proved by symbolic execution of every path. Parameters range over the bounds of
their model, and fields of records over the bounds of the last table. A state starts with zeros; the
prover searches for bounds that every kernel preserves, or checks those that the algorithm declares
(`bounds`). It does the same for a limiter's `window`, `rate` and `target`, which only kernels
write: they start as the assembly and a new flow set them. Loops without unrolling are bounded by
their invariants. If a kernel has more than some hundred paths, they are joined after every
statement. Interval analysis knows relations of operands (a share, a part, a mean); remaining
questions go to the solver, over the integers. A solver's counterexample counts only after the
kernel was run with it, in a state that kernels lead to: the prover searches for calls from a new
state (the same call up to some thousand times, random walks), and the page names them. A
counterexample whose state is within the bounds, but to which no calls were found to lead, refutes
nothing: the question is open. Fields that count frames or octets of a run are within their ranges
for the reason in the last table, and each increment of a kernel is limited to 2^12 events or 2^32
octets.

**Modules** are proved against their kernels: yosys converts the Verilog to a transition system that
is unrolled over the clocks of an event from any state that the other questions of the claim permit;
the result is compared with the terms of the kernel, as vectors of 64 bits. If a part of a module
multiplies, divides, draws or spreads, the proof is cut: the result of the part becomes an
uninterpreted function (`product`, `quotient`, ...), also in the kernel's terms, and a separate
question proves this part in place; no claim relies on the proof of another module. Lemmas of one
clock are combined by induction, by hand. A solver's counterexample is recomputed with the actual
functions and run in Icarus Verilog; only then the claim is refuted. A question with contradictory
assumptions is open.

**Results are reproducible**: they depend neither on earlier proofs nor on the load of the machine.
Each proof has a solver context of its own and a limit of solver steps for each question and proof,
and each run of a kernel a limit of operations. `--timeout` also limits the CPU time of a proof; on
common cores the step limit comes first.

**Cache**: a proof is stored in `~/.cache/tailback/proofs` under a digest of its dependencies: the
prover, the solver, the engine, and the packages of the kernel's files; for a module all Verilog and
all kernels. `make test-slow`, which CI runs, checks every kernel and every claimed module against
this page, `qcn_cp` included: unchanged proofs come from the cache, others are repeated, and a
failed proof fails the test. `make test` always proves some kernels and the smallest module. Both
also try planted faults in kernels and Verilog, never from the cache.
"""

UNCLAIMED = {
    "qcn_rp": "its parts are proved (`multiply` at 40 by 24, `divide` at 56 by 16, `jitter` at 45 "
    "bits, `lfsr_step`); no claim joins them yet. Open are: an event that meets an idle reaction "
    "point, each of `feedback`, `sent` and `timer`, against the kernel of its name; events that "
    "change no rate; events behind one another in its pipeline, where the one at hand is read "
    "again; timers that its own scan finds; stages above 8 000 000",
    "token_bucket": "a rate's gain is a product of 40 by 34 bits and a division of 40 by 40, "
    "at which both are proved; what is due while a wish waits has no invariant yet, and a gain of "
    "74 bits is beyond the vectors of 64 bits that kernels are compared by",
    "cnm_parse": "a message is some eight words behind one another; `octet_swap` is proved at 6 "
    "octets, not at the 46 of this header, and `frame_header` before it has no claim",
}


def page_of(proofs: list[Proof]) -> str:
    """Markdown text of the page."""
    modules = [proof for proof in proofs if proof.kind == "module"]
    algorithms = [proof for proof in proofs if proof.kind != "module"]
    claimed = [proof for proof in modules if proof.taken]
    unclaimed = [proof for proof in modules if not proof.taken]
    lines = [HEAD, "## Kernels: no overflow", ""]
    lines += [
        "| algorithm | kind | verdict | paths | questions to the solver |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| `{one.name}` | {one.kind} | {one.verdict} | {one.paths} | {one.solved} |"
        for one in algorithms
    ]
    lines += ["", "## Modules", ""]
    lines += ["| module | what | for which inputs | how | verdict |", "|---|---|---|---|---|"]
    lines += [
        f"| `{one.name}` | {one.what} | {' | '.join(one.taken.values())} | {one.verdict} |"
        for one in claimed
    ]
    names = ", ".join(f"`{one.name}`" for one in unclaimed)
    lines += ["", f"Nothing is claimed yet of {names}; their benches compare them at random.", ""]
    lines += ["What keeps those from a claim that have a kernel beside them:", ""]
    lines += [f"- `{name}`: {why}" for name, why in UNCLAIMED.items() if name in names]
    lines += [""]
    lines += _open([*algorithms, *claimed])
    lines += _bounds(algorithms)
    return "\n".join([*lines, *_ranges(), *_ending(proofs)]) + "\n"


def _open(proofs: list[Proof]) -> list[str]:
    lines = ["## What is refuted or open", ""]
    for proof in proofs:
        if proof.verdict == PROVED:
            continue
        lines.append(f"- `{proof.name}`:")
        lines += [f"    - {_finding(one)}" for one in proof.findings]
    return [*lines, ""]


def _finding(one: Finding) -> str:
    event = f"{one.event}, " if one.event else ""
    shown = ", ".join(f"{name} = {value}" for name, value in list(one.values.items())[:6])
    line = f"{one.verdict}: {event}{one.place} {one.what}" + (f" (`{shown}`)" if shown else "")
    return line + (f"; a new state comes to it by {one.reached}" if one.reached else "")


def _bounds(algorithms: list[Proof]) -> list[str]:
    lines = [
        "## Bounds that kernels keep of their states",
        "",
        "| algorithm | field | bounds |",
        "|---|---|---|",
    ]
    for proof in algorithms:
        lines += [
            f"| `{proof.name}` | `{name}` | {text} |"
            for name, text in proof.taken.items()
            if name != "unused"
        ]
    return [*lines, ""]


def _ranges() -> list[str]:
    lines = [
        "## Ranges of the records' fields",
        "",
        "| record | fields | bounds | why |",
        "|---|---|---|---|",
    ]
    for record, (_, ranges) in RECORDS.items():
        if record == "message":
            continue
        by: dict[tuple[tuple[int, int], str], list[str]] = {}
        for name, one in ranges.items():
            by.setdefault((one.bounds, one.reason), []).append(f"`{name}`")
        for ((low, high), reason), names in by.items():
            lines.append(f"| {record} | {' '.join(names)} | {low} to {high} | {reason} |")
    for name, one in ANSWERS.items():
        (low, high), where = one.bounds, "frame, of transports and reaction points"
        lines.append(f"| {where} | `{name}` | {low} to {high} | {one.reason} |")
    lines += ["", "Functions that are taken from their contracts, to which tests hold them:", ""]
    lines += [f"- `{module}.{name}`: {one.reason}" for (module, name), one in CONTRACTS.items()]
    return [*lines, ""]


def _ending(proofs: list[Proof]) -> list[str]:
    solver = next((proof.solver for proof in proofs if proof.solver), "")
    seconds = sum(proof.seconds for proof in proofs)
    slow = sorted(proofs, key=lambda proof: -proof.seconds)[:5]
    longest = ", ".join(f"`{proof.name}` {proof.seconds:.0f} s" for proof in slow)
    return [
        f"Solver: {solver}. All of it took {seconds:.0f} s on one core; the longest: {longest}."
    ]
