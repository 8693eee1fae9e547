"""`tailback prove`: no overflow in kernels, and modules that equal them, for all inputs."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any

import typer

from orchestrator.errors import BadInput


def prove_command(
    names: Annotated[
        list[str] | None, typer.Argument(help="Algorithms and Verilog modules; all.")
    ] = None,
    timeout: Annotated[
        float,
        typer.Option(
            min=0.001,
            max=1e6,
            help="CPU seconds that a proof may take; questions left then are open.",
        ),
    ] = 60.0,
    jobs: Annotated[int, typer.Option("-j", min=1, max=1024, help="Proofs in parallel.")] = 1,
    out: Annotated[
        Path | None, typer.Option(help="Write a test of pytest for every counterexample there.")
    ] = None,
    page: Annotated[Path | None, typer.Option(help="Write the page of all results there.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Ignore the cache of proofs.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Prove that kernels do not overflow and that modules equal their kernels, for all inputs.

    \b
      tailback prove qcn-cp
      tailback prove qcn_quantiser multiply
      tailback prove --page docs/proofs.md -j 2

    The exit code is 0 when all is proved, 1 when something is refuted or open.
    """
    from firmware.proof.overflow_proof import PROVED
    from firmware.proof.proof_cache import proofs_as_json as table_of
    from firmware.proof.proof_subjects import select_subjects
    from firmware.proof.proofs_page import page_of
    from firmware.proof.z3_solver import z3
    from orchestrator.registry import Registry

    z3()
    if page is not None and names:
        raise BadInput("prove", "--page covers all proofs: name no algorithm and no module with it")
    if page is not None and not page.parent.is_dir():
        raise BadInput("prove", f"--page {page}: {page.parent} is no folder")
    wanted = select_subjects(Registry.load(), list(names or []))
    tasks = [
        (one.kind, one.name, timeout, again, None if out is None else str(out)) for one in wanted
    ]
    proofs = []
    for number, (proof, files) in enumerate(_prove_all(tasks, jobs), 1):
        proofs.append(proof)
        print(f"[{number}/{len(tasks)}] {proof.name}: {proof.verdict}", file=sys.stderr, flush=True)
        if not as_json:
            _show(proof)
        for file in files:
            print(file, file=sys.stderr)
    if page is not None:
        page.write_text(page_of(proofs), encoding="utf-8")
    counts = Counter(proof.verdict for proof in proofs)
    if as_json:
        print(table_of(proofs))
    else:
        print(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    if set(counts) != {PROVED}:
        raise typer.Exit(1)


def _prove_all(tasks: list[tuple[Any, ...]], jobs: int) -> Iterator[tuple[Any, list[str]]]:
    if jobs == 1 or len(tasks) == 1:
        yield from map(proof_of, tasks)
        return
    with ProcessPoolExecutor(min(jobs, len(tasks)), get_context("spawn")) as pool:
        yield from pool.map(proof_of, tasks)


def proof_of(task: tuple[Any, ...]) -> tuple[Any, list[str]]:
    """One proof, from the cache if possible, and the tests written for it.

    The task: kind, name, seconds, whether to ignore the cache, a folder or None.
    """
    from firmware.proof.counterexample_tests import write_counterexamples
    from firmware.proof.overflow_proof import REFUTED
    from firmware.proof.proof_cache import cached_proof, digest_of, store_proof
    from firmware.proof.proof_subjects import ProofSubject, algorithm_of_subject, prove_subject
    from firmware.proof.z3_solver import z3
    from orchestrator.registry import Registry

    kind, name, timeout, again, out = task
    registry, subject = Registry.load(), ProofSubject(kind, name)
    solver = f"z3 {z3().get_version_string()}"
    algorithm = None if kind == "module" else algorithm_of_subject(registry, subject)
    digest = digest_of(algorithm, f"{kind}/{name}", solver, timeout)
    found = None if again else cached_proof(digest)
    stimuli: list[Any] = []
    if found is None or (kind == "module" and out is not None and found.verdict == REFUTED):
        found, stimuli = prove_subject(subject, timeout, registry, _print_progress)
        found.solver = solver
        store_proof(digest, found)
    files = [] if out is None else write_counterexamples(found, stimuli, Path(out))
    return found, [str(file) for file in files]


def _print_progress(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)


def _show(proof: Any) -> None:
    paths = f"{proof.paths} paths, " if proof.paths else ""
    asked = f"{proof.solved} questions, {proof.seconds:.1f} s"
    print(f"{proof.name:20} {proof.verdict:8} {paths}{asked}")
    for one in proof.findings:
        print(f"    {one.verdict}: {one.event + ': ' if one.event else ''}{one.place} {one.what}")
        shown = ", ".join(f"{name} = {value}" for name, value in one.values.items())
        if shown:
            print(f"        {shown}")
        if one.reached:
            print(f"        a new state comes to it by: {one.reached}")
