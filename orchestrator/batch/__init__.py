"""Batch execution: many runs of plans of which only the numbers are wanted.

A point is a resolved plan, a seed, and the sources of everything that makes its result (`subject`).
Its result is that of `orchestrator.run.run_result.measure`: metrics, error bars, fidelity, notes.
Expectations are judged later, so that a changed band needs no new run. `carry` runs points, `store`
keeps their results, `seeds` and `mutants` judge many together.
"""
