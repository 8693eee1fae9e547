"""Markdown page of proofs: results, ranges and times of each, and the open questions."""

from __future__ import annotations

from firmware.proof.field_ranges import ANSWERS, RECORDS
from firmware.proof.function_contracts import CONTRACTS
from firmware.proof.overflow_proof import PROVED, Finding, Proof

HEAD = """# Proofs

This page is made by `tailback prove --page docs/proofs.md`; do not edit it.

`tailback prove NAME` says of an algorithm whether an operation of its kernels can run over an
int64, divide by 0, shift too far or leave an array, and of a Verilog module whether it computes
what its kernel does, for all inputs. It takes any installed plugin's name, needs the extra `prove`
(`pip install 'tailback-testbed[prove]'`), and ends with exit code 0 where all is proved, 1 where
something is refuted or open. With `--out FOLDER` every counterexample becomes a test of pytest that
calls the real kernel, as plain Python on numbers that notice, or runs the Verilog in Icarus
Verilog.

How kernels are proved: every path of a kernel is followed with parameters between what their
model declares and fields of records between what the last table says. A state begins with zeros;
bounds are looked for that every kernel keeps, or are declared by the algorithm (`bounds`) and
held. Loops that are not gone round are bounded by what a round keeps. Where a kernel has more
than some hundred ways they are joined behind every statement. Bounds know what operands have to
do with each other (a share, a part, a mean); what they do not settle goes to the solver as whole
numbers. The solver's word that something can happen does not count: it is run, and only then
refuted. The state of a counterexample is within those bounds; that a run comes to it is said where
a few events lead there from a new state, else nothing is known of it. Fields that count frames or
octets of a whole run are within their ranges by the reason in the last table, not by what a kernel
adds, which is held to 2^12 events or 2^32 octets at once.

How modules are proved: yosys makes a transition system of the Verilog, which is followed over the
clocks of an event from any state that the claim's other questions leave it in; what comes out is
compared with the terms of the kernel, as vectors of 64 bits. Where a part of a module multiplies,
divides, draws or spreads, the proof is cut: what the part comes to gets a name (`product`,
`quotient`, ...), which the kernel's terms have as well, and that the part computes this is a
question of its own, asked of that part where it lies; no claim leans on what was proved of another
module. Lemmas of one clock are put together by induction, by hand. What a solver finds against a
claim is computed again with the functions behind the names, and is run in Icarus Verilog: only
what that shows is refuted, and rather than something within a part what is seen from outside. A
question whose assumptions nothing fulfils is open.

What a proof comes to hangs neither on what was proved before it nor on how busy the machine is:
its terms are made in a context of the solver's in which there are no others, a question and a
proof get so many of the solver's own steps, which it counts, and a run of a kernel so many
operations. `--timeout` bounds a proof by the time of a core as well; on a core that is not much
slower than ours steps are over first.

A proof is kept in `~/.cache/tailback/proofs` by a digest of all that it depends on: the prover, the
solver, the engine, and the rooms of the kernel's own files; of a module all Verilog and all
kernels. `make test-slow`, which CI runs, holds every kernel and every module that has a claim to
this page, `qcn_cp` with them: what has not changed is taken from what is kept, anything else is
proved anew, and what is no longer proved fails. `make test` before it proves some kernels and the
smallest module in any case. Faults that are planted in kernels and Verilog are tried by both, never
from what is kept.
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
